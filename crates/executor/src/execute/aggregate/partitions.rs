//! Rows whose groups have no room: they are put by on the device, and grouped when the groups in memory were handed
//! over.
//!
//! Once the groups are as many as memory allows, none is added any more. Rows of those groups are taken into account as
//! before; other rows go to partitions by the hash of their keys, as they are, with the keys behind them. No group is
//! in memory and in a partition, or in two partitions. A partition whose groups have no room either is partitioned
//! again, [`LEVELS_MAX`] times at most; then the statement fails with 53200, as it does where it has several grouping
//! sets.

use std::ops::Range;

use interleave::released;
use spill::{LEVELS_MAX, PartitionedFile, Partitions, Run, RunReader};
use types::{Result, Value, granted};

use super::{
    AggregateOperator,
    groups::{Groups, NONE},
};
use crate::execute::{ExecutionContext, Spilled};
use batch::{COLUMN_ROWS, Rows};

/// Number of groups from which on room for those of a batch is made before the batch is looked at.
const MANY_GROUPS: usize = 4 * COLUMN_ROWS;

/// Growth for which states that keep values have room when no group is added any more.
const GROWN: usize = 2;

/// Rows that were put by, and their partitions.
#[derive(Default)]
pub(super) struct PutBy {
    file: PartitionedFile,
    /// Whether rows of new groups are put by.
    is_full: bool,
    writing: Option<Partitions>,
    /// Partitions to be grouped, with the number of times that their rows were partitioned.
    waiting: Vec<(u32, Run)>,
    /// Partition that is grouped, and its level.
    reading: Option<RunReader>,
    level: u32,
    /// Number of partitions that were begun.
    batches: usize,
    /// Most bytes on the device so far; 0 if no rows were put by.
    bytes: u64,
}

impl PutBy {
    /// Returns whether rows of new groups are put by.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns whether a partition is grouped.
    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Returns whether rows are to be looked at one by one.
    pub(super) fn is_by_rows(&self) -> bool {
        self.is_full || self.is_reading()
    }

    /// Returns what was put by, if anything was.
    pub(super) fn spilled(&self) -> Option<Spilled> {
        (self.bytes > 0).then_some(Spilled::Hash {
            batches: self.batches + 1,
            bytes: self.bytes,
        })
    }

    /// Puts the first `width` values of some rows of a batch by, with their keys, if they have no group.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the writers' memory; errors of the device.
    pub(super) async fn put_by(
        &mut self,
        (batch, width, rows): (&Rows, usize, Range<usize>),
        keys: &[Value<'_>],
        (found, groups): (&[u32], &Groups),
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let of_row = keys.len() / rows.len().max(1);
        for ((at, group), keys) in rows.zip(found).zip(keys.chunks(of_row.max(1))) {
            if *group != NONE {
                continue;
            }
            let partitions = match self.writing.take() {
                Some(partitions) => partitions,
                None => self.file.partitions(
                    context.transaction.session(),
                    self.level,
                    context.budget.operator_bytes(),
                    context.memory(),
                )?,
            };
            let partitions = self.writing.insert(partitions);
            let partition = partitions.of(groups.hash(keys));
            let row = batch.row(at)[..width].iter().chain(keys).copied();
            partitions.push(partition, row, context.turn()).await?;
        }
        Ok(())
    }

    /// Ends the partitions that were written.
    ///
    /// # Errors
    /// Errors of the device.
    pub(super) async fn end_partitions(&mut self) -> Result<()> {
        self.is_full = false;
        self.reading = None;
        self.file.release_room();
        if let Some(partitions) = self.writing.take() {
            let runs = partitions.finish().await?.into_iter();
            let runs = runs.filter(|run| run.rows() > 0);
            self.waiting.extend(runs.map(|run| (self.level + 1, run)));
        }
        self.bytes = self.bytes.max(self.file.bytes());
        Ok(())
    }

    /// Forgets all rows, and gives back the room on the device.
    pub(super) fn clear(&mut self) {
        *self = Self {
            batches: self.batches,
            bytes: self.bytes,
            ..Self::default()
        };
    }
}

impl AggregateOperator<'_> {
    /// Returns whether rows can be put by.
    pub(super) fn can_put_by(&self, context: &ExecutionContext<'_>) -> bool {
        self.sets.len() == 1
            && !self.plan.sets[0].is_empty()
            && self.put_by.level < LEVELS_MAX
            && context.transaction.session().has_temporary_files()
    }

    /// Returns whether the groups have no room for others.
    pub(super) fn is_short(&self, context: &ExecutionContext<'_>) -> bool {
        let bytes: usize = self.sets.iter().map(Groups::bytes).sum();
        // States that keep values grow also when no group is added any more.
        let grows = self.calls.iter().any(|call| call.grows);
        let bytes = bytes * if grows { GROWN } else { 1 };
        let each = bytes / self.sets[0].rows().len().max(1);
        // Few groups may be large ones, of which a batch hardly adds as many.
        let more = (each * self.input.batch.len()).min(bytes);
        context.budget.is_short(bytes, more)
    }

    /// Returns whether there are rows that were not looked at, of the input or of the partition that is read; reads a
    /// batch if the last one is used up.
    ///
    /// # Errors
    /// Errors of the input and of the device.
    pub(super) async fn more(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        let Some(reader) = &mut self.put_by.reading else {
            return self.input.more(context).await;
        };
        let batch = &mut self.input.batch;
        if self.input.taken < batch.len() {
            return Ok(true);
        }
        batch.clear();
        self.input.taken = 0;
        let more = reader.read(batch, context.turn()).await?;
        batch.settle(context.memory())?;
        Ok(more)
    }

    /// Holds memory for the groups of a batch, and for partitions; or adds no groups from now on, if there is no room
    /// for more.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the groups that there are.
    pub(super) async fn hold(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        if self.put_by.is_full || context.part.is_some() || !self.can_put_by(context) {
            return Ok(());
        }
        let groups = &self.sets[0];
        let is_much = groups.rows().len() >= MANY_GROUPS || context.budget.is_much(groups.bytes());
        if groups.rows().is_empty() || !is_much {
            return Ok(());
        }
        // Where the memory for partitions is refused, rows could not be put by: the groups go on as long as they can.
        let (memory, bytes) = (context.memory(), context.budget.operator_bytes());
        if granted(self.put_by.file.hold_room(memory, bytes))?.is_none() {
            return Ok(());
        }
        let made = self.sets[0].make_room(self.input.batch.len(), context);
        if granted(made.await)?.is_none() || self.is_short(context) {
            self.put_by.is_full = true;
            self.sets[0].close()?;
        }
        Ok(())
    }

    /// Begins to group the next partition, once all groups were handed over; returns false if there is none.
    ///
    /// # Errors
    /// 53200 if the statement may not hold a reader's memory; errors of the device.
    pub(super) async fn begin_partition(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        let Some((level, run)) = self.put_by.waiting.pop() else {
            return Ok(false);
        };
        // A list that was cleared would keep memory for many groups.
        self.sets[0] = Groups::new(&self.plan.key_types, &self.calls);
        released().await;
        self.put_by.level = level;
        self.put_by.batches += 1;
        self.put_by.reading = Some(RunReader::new(run, context.memory()).await?);
        let width = self.width + self.plan.keys.len();
        self.input.batch.restart(width);
        self.input.taken = 0;
        self.next = (0, 0);
        self.is_read = false;
        Ok(true)
    }
}
