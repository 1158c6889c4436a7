//! Joins whose build side has no room: both sides are partitioned by the hash of their keys on the device, and
//! partitions are joined one after the other.
//!
//! Rows with equal keys lie in the same partition, so that each row finds its matches there, and is without a match if
//! there are none. A partition whose build side has no room either is partitioned again, with its probe side,
//! [`LEVELS_MAX`] times at most; then the statement fails with 53200, as it does where many rows have one key.

use interleave::released;
use spill::{LEVELS_MAX, PartitionedFile, Partitions, Run, RunReader};
use types::{Charge, Result, Value, granted};

use super::HashJoinOperator;
use crate::execute::{ExecutionContext, Spilled};
use batch::Rows;
use logical::relation::JoinKind;

/// Bytes that a row takes in a hash table and in lists beside it, at most.
const TABLE_BYTES_PER_ROW: usize = 64;

/// Both sides of a partition.
struct Pair {
    /// Number of times that the rows were partitioned.
    level: u32,
    build: Run,
    probe: Run,
}

/// Rows that were put by, and their partitions.
#[derive(Default)]
pub(super) struct PutBy {
    /// Memory for the hash table of the rows that are read.
    table: Charge,
    /// Bytes of the rows when they were held last.
    held: usize,
    file: PartitionedFile,
    /// Partitions of the build side.
    writing: Option<Partitions>,
    waiting: Vec<Pair>,
    /// Sides of the partition that is joined.
    build: Option<RunReader>,
    probe: Option<RunReader>,
    level: u32,
    /// Number of rows with NULL keys that were put by.
    without_key: u64,
    /// Number of partitions that were begun.
    batches: usize,
    /// Most bytes on the device so far; 0 if no rows were put by.
    bytes: u64,
}

impl PutBy {
    /// Returns whether rows were put by.
    pub(super) fn has_rows(&self) -> bool {
        self.file.is_used()
    }

    /// Returns whether rows of the build side are put by: all of them are to be.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Returns the build side of the partition that is joined, if there is one.
    pub(super) fn build_side(&mut self) -> Option<&mut RunReader> {
        self.build.as_mut()
    }

    /// Returns what was put by, if anything was.
    pub(super) fn spilled(&self) -> Option<Spilled> {
        (self.bytes > 0).then_some(Spilled::Hash {
            batches: self.batches,
            bytes: self.bytes,
        })
    }

    /// Charges rows of the build side to the statement, and what is needed for their table and to put them by. Returns
    /// whether they are to be put by.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    fn hold(&mut self, rows: &mut Rows, context: &ExecutionContext<'_>) -> Result<bool> {
        let (memory, budget) = (context.memory(), context.budget);
        rows.settle(memory)?;
        let bytes = rows.bytes();
        if !budget.is_much(bytes) && bytes <= budget.operator_bytes() / 2 {
            return Ok(false);
        }
        if self.writing.is_none() {
            if granted(self.file.hold_room(memory, budget.operator_bytes()))?.is_none() {
                // Rows could not be put by: they are kept as long as there is memory.
                return Ok(false);
            }
            self.table.set(memory, TABLE_BYTES_PER_ROW * rows.len())?;
        }
        let bytes = bytes + self.table.bytes();
        // The next batch may take as much, and so may a large row on its way to the device.
        let grown = bytes.saturating_sub(std::mem::replace(&mut self.held, bytes));
        Ok(budget.is_short(bytes, grown))
    }

    /// Gives the charge for the table back: the table is about to be made.
    pub(super) fn release(&mut self) {
        self.table.lower(0);
        self.held = 0;
        self.file.release_room();
    }

    /// Makes empty partitions.
    fn begin(&mut self, context: &ExecutionContext<'_>) -> Result<Partitions> {
        let (session, bytes) = (
            context.transaction.session(),
            context.budget.operator_bytes(),
        );
        self.file
            .partitions(session, self.level, bytes, context.memory())
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

impl HashJoinOperator<'_> {
    /// Charges rows of the build side; puts them by, and keeps none, if they have no room.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much and rows cannot be put by; errors of the device.
    pub(super) async fn hold(
        &mut self,
        rows: &mut Rows,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let has_device = context.transaction.session().has_temporary_files();
        if !has_device || self.put_by.level == LEVELS_MAX {
            return rows.settle(context.memory());
        }
        match granted(self.put_by.hold(rows, context))?.unwrap_or(true) {
            true => self.put_by(rows, context).await,
            false => Ok(()),
        }
    }

    /// Puts rows of the build side by, and keeps none.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the writers' memory; errors of the device.
    pub(super) async fn put_by(
        &mut self,
        rows: &mut Rows,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let partitions = match self.put_by.writing.take() {
            Some(partitions) => partitions,
            None => self.put_by.begin(context)?,
        };
        let partitions = self.put_by.writing.insert(partitions);
        for row in rows.iter() {
            // Rows with NULL keys match none: any partition does, and one alone would have no room for many.
            let hash = match self.keys.has_null(row) {
                true => {
                    self.put_by.without_key += 1;
                    self.put_by.without_key
                }
                false => self.keys.hash_of_row(row),
            };
            let partition = partitions.of(hash);
            partitions
                .push(partition, row.iter().copied(), context.turn())
                .await?;
        }
        *rows = Rows::new(rows.width());
        self.put_by.release();
        released().await;
        rows.settle(context.memory())
    }

    /// Ends the partitions of the build side, and puts the probe side by.
    ///
    /// # Errors
    /// Errors of the probe side and of its keys; 53200 if the statement may not hold the writers' memory; errors of the
    /// device.
    pub(super) async fn partition(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let Some(partitions) = self.put_by.writing.take() else {
            return Ok(());
        };
        let builds = partitions.finish().await?;
        self.put_by.build = None;
        let mut probes = self.put_by.begin(context)?;
        let needs_match = self.join.needs_match();
        while self.more(context).await? {
            self.probe.batch.columns_to_rows();
            self.probe.batch.settle(context.memory())?;
            self.scratch.reset();
            let mut evaluator = context.evaluator(&self.scratch);
            let mut keys = Vec::with_capacity(self.join.probe_keys.len());
            for at in self.probe.taken..self.probe.batch.len() {
                let row = self.probe.batch.row(at);
                keys.clear();
                for program in &self.join.probe_keys {
                    keys.push(program.run(&mut evaluator, row)?);
                }
                let partition = probes.of(self.keys.hash(&keys));
                let is_alone = builds[partition].rows() == 0 || keys.iter().any(Value::is_null);
                if !(needs_match && is_alone) {
                    let row = row.iter().copied();
                    probes.push(partition, row, context.turn()).await?;
                }
                context.pause(1).await;
            }
            self.probe.taken = self.probe.batch.len();
        }
        let probes = probes.finish().await?;
        self.put_by.probe = None;
        let level = self.put_by.level + 1;
        for (build, probe) in builds.into_iter().zip(probes) {
            let gives_rows = match (self.join.kind, self.join.is_turned) {
                (JoinKind::Full, _) => build.rows() + probe.rows() > 0,
                (JoinKind::Left | JoinKind::Anti, true) => build.rows() > 0,
                _ => probe.rows() > 0,
            };
            if gives_rows {
                self.put_by.waiting.push(Pair {
                    level,
                    build,
                    probe,
                });
            }
        }
        self.put_by.bytes = self.put_by.bytes.max(self.put_by.file.bytes());
        Ok(())
    }

    /// Returns whether there are rows of the probe side that were not looked at, of the input or of the partition that
    /// is joined; reads a batch if the last one is used up.
    ///
    /// # Errors
    /// Errors of the probe side and of the device.
    pub(super) async fn more(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        let Some(reader) = &mut self.put_by.probe else {
            return self.probe.more(context).await;
        };
        let batch = &mut self.probe.batch;
        if self.probe.taken < batch.len() {
            return Ok(true);
        }
        batch.clear();
        self.probe.taken = 0;
        let more = reader.read(batch, context.turn()).await?;
        batch.settle(context.memory())?;
        Ok(more)
    }

    /// Begins to join the next partition, once all rows of the one before were handed over; returns false if there is
    /// none.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the readers' memory; errors of the device.
    pub(super) async fn begin_partition(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        let Some(pair) = self.put_by.waiting.pop() else {
            return Ok(false);
        };
        self.probe.batch.clear();
        self.probe.taken = 0;
        self.forget_build_side();
        released().await;
        let memory = context.memory();
        self.put_by.level = pair.level;
        self.put_by.batches += 1;
        self.put_by.build = Some(RunReader::new(pair.build, memory).await?);
        self.put_by.probe = Some(RunReader::new(pair.probe, memory).await?);
        Ok(true)
    }
}
