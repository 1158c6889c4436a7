//! Rows that have no room in an operator's table: they are put by on the device, in partitions by the hash of their
//! keys, and looked at again when the input has ended.
//!
//! Once the table is as large as memory allows, no row is added to it any more. Rows whose keys are in the table are
//! taken into account as before; other rows go to partitions. No key is in the table and in a partition, or in two
//! partitions, and the rows of a partition are in the order in which they came. A partition whose keys have no room
//! either is partitioned again, [`LEVELS_MAX`] times at most; then the statement fails with 53200.

use std::rc::Rc;

use batch::Rows;
use engine::Session;
use interleave::released;
use types::{Result, Value, granted};

use crate::{
    budget::Budget,
    file::Run,
    partitions::{LEVELS_MAX, PartitionedFile, Partitions},
    reader::RunReader,
    spilled::Spilled,
};

/// Rows that were put by, and their partitions.
#[derive(Debug, Default)]
pub struct PutBy {
    file: PartitionedFile,
    /// Whether memory for partitions is held, or they are written.
    has_room: bool,
    /// Whether rows whose keys are not in the table are put by.
    is_full: bool,
    writing: Option<Partitions>,
    /// Partitions to be read, with the number of times that their rows were partitioned.
    waiting: Vec<(u32, Run)>,
    /// Partition that is read, and its level.
    reading: Option<RunReader>,
    level: u32,
    /// Number of partitions that were begun.
    batches: usize,
    /// Most bytes on the device before the rows were forgotten last.
    bytes: u64,
}

impl PutBy {
    /// Returns whether rows whose keys are not in the table are put by.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Has rows whose keys are not in the table put by from now on, if making room for more was refused (`made`), or
    /// memory `is_short`. Returns whether it has.
    ///
    /// # Errors
    /// Errors of `made` but 53200.
    pub fn fill_if(&mut self, made: Result<()>, is_short: impl FnOnce() -> bool) -> Result<bool> {
        let is_short = granted(made)?.is_none() || is_short();
        self.is_full |= is_short;
        Ok(is_short)
    }

    /// Returns whether a partition is read.
    pub fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Returns what was put by, if anything was; each partition counts, and so does the table before them.
    pub fn spilled(&self) -> Option<Spilled> {
        let (batches, bytes) = (self.batches + 1, self.bytes());
        (bytes > 0).then_some(Spilled::Hash { batches, bytes })
    }

    /// Returns the most bytes on the device so far; 0 if no rows were put by.
    fn bytes(&self) -> u64 {
        self.bytes.max(self.file.bytes())
    }

    /// Returns whether rows can be put by: there is a device, and the rows were not partitioned too often.
    pub fn is_possible(&self, session: &Session) -> bool {
        self.level < LEVELS_MAX && session.has_temporary_files()
    }

    /// Returns whether memory for partitions is held, or they are written.
    pub fn has_room(&self) -> bool {
        self.has_room
    }

    /// Holds memory for partitions; returns false if it is refused, and rows could not be put by.
    ///
    /// # Errors
    /// None but those of a fault.
    pub fn hold_room(&mut self, budget: &Budget) -> Result<bool> {
        let held = self
            .file
            .hold_room(budget.memory(), budget.operator_bytes());
        self.has_room = granted(held)?.is_some();
        Ok(self.has_room)
    }

    /// Puts a row by, whose keys have a hash.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the writers' memory; errors of the device.
    pub async fn push<'v>(
        &mut self,
        hash: u64,
        row: impl IntoIterator<Item = Value<'v>, IntoIter: Clone>,
        budget: &Budget,
        session: &Rc<Session>,
    ) -> Result<()> {
        let partitions = match self.writing.take() {
            Some(partitions) => partitions,
            None => {
                let (bytes, memory) = (budget.operator_bytes(), budget.memory());
                self.file.partitions(session, self.level, bytes, memory)?
            }
        };
        let partitions = self.writing.insert(partitions);
        let partition = partitions.of(hash);
        partitions.push(partition, row, budget.turn()).await
    }

    /// Reads the next rows of the partition into `batch`, which is empty; returns false at its end.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the rows; errors of the device.
    pub async fn read(&mut self, batch: &mut Rows, budget: &Budget) -> Result<bool> {
        let Some(reader) = &mut self.reading else {
            return Ok(false);
        };
        let more = reader.read(batch, budget.turn()).await?;
        batch.settle(budget.memory())?;
        Ok(more)
    }

    /// Ends the partitions that were written, once the input or the partition that is read has ended.
    ///
    /// # Errors
    /// Errors of the device.
    pub async fn end_partitions(&mut self) -> Result<()> {
        self.is_full = false;
        self.has_room = false;
        self.reading = None;
        self.file.release_room();
        if let Some(partitions) = self.writing.take() {
            let runs = partitions.finish().await?.into_iter();
            let runs = runs.filter(|run| run.rows() > 0);
            self.waiting.extend(runs.map(|run| (self.level + 1, run)));
        }
        Ok(())
    }

    /// Returns whether there are partitions to be read.
    pub fn has_partitions(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Begins to read the next partition, after the table was forgotten; `batch` is restarted for its rows, which have
    /// `width` values each.
    ///
    /// # Errors
    /// 53200 if the statement may not hold a reader's memory; errors of the device.
    pub async fn begin(&mut self, batch: &mut Rows, width: usize, budget: &Budget) -> Result<()> {
        if let Some((level, run)) = self.waiting.pop() {
            released().await;
            self.level = level;
            self.batches += 1;
            self.reading = Some(RunReader::new(run, budget.memory()).await?);
            batch.restart(width);
        }
        Ok(())
    }

    /// Forgets all rows, and gives back the room on the device.
    pub fn clear(&mut self) {
        *self = Self {
            batches: self.batches,
            bytes: self.bytes(),
            ..Self::default()
        };
    }
}
