//! Rows that several readers read, each of them from the beginning, while they are being computed.
//!
//! Rows stay in memory as long as there is room. The statement's share or its `work_mem` decides, as for sorts: rows
//! are then written to the device as a run, in their order, and later rows follow in runs of their own. A reader reads
//! the runs one after the other, ahead of itself, and then the rows that are in memory. A reader that lies behind when
//! the rows in memory are written reads their run from its beginning, and leaves out what it had read.
//!
//! # Bounds
//! Once there are runs, rows in memory take a part of the operator's memory ([`BEHIND_PART`]), a piece of the file, or
//! a batch.
//! A writer and each reader of a run have the memory that the crate `spill` says, and a reader a batch of rows.

use std::{cell::RefCell, ops::Range, rc::Rc};

use batch::Rows;
use engine::Session;
use interleave::released;
use types::{Result, SqlError, SqlState, granted};

use crate::{
    budget::Budget,
    file::{Run, SpillFile},
    reader::RunReader,
    spilled::{Spilled, WriterRoom},
    writer::RunWriter,
};

/// Divisor of an operator's memory for the rows that are kept before memory to write them is held.
const SMALL_PART: usize = 2;

/// Divisor of an operator's memory for the rows behind those on the device.
const BEHIND_PART: usize = 8;

/// Rows in the order in which they came: see the module text.
#[derive(Debug, Default)]
pub struct KeptRows {
    /// Runs on the device, each with the numbers of its rows.
    runs: Vec<(Range<usize>, Rc<Run>)>,
    /// Rows behind those on the device.
    rows: Rows,
    room: WriterRoom,
    file: Option<Rc<SpillFile>>,
    /// Writer of the next run, between the first one and the end of the rows.
    writer: Option<RunWriter>,
    /// Most bytes on the device before the rows were forgotten last.
    bytes: u64,
}

impl KeptRows {
    /// Makes an empty list of rows with `width` values each.
    pub fn new(width: usize) -> Self {
        Self {
            rows: Rows::new(width),
            ..Self::default()
        }
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.first_in_memory() + self.rows.len()
    }

    /// Returns the number of the first row that is in memory, or would be.
    fn first_in_memory(&self) -> usize {
        self.runs.last().map_or(0, |(rows, _)| rows.end)
    }

    /// Returns the run that a row lies in, and the numbers of the run's rows; `None` for a row in memory.
    fn run_of(&self, row: usize) -> Option<(Range<usize>, Rc<Run>)> {
        let at = self.runs.partition_point(|(rows, _)| rows.end <= row);
        self.runs.get(at).cloned()
    }

    /// Returns the most bytes that rows have had on the device, those that were forgotten included; 0 if all were in
    /// memory.
    pub fn bytes(&self) -> u64 {
        let bytes = self.file.as_ref().map_or(0, |file| file.bytes());
        bytes.max(self.bytes)
    }

    /// Returns what was put by, if anything was.
    pub fn spilled(&self) -> Option<Spilled> {
        let bytes = self.bytes();
        (bytes > 0).then_some(Spilled::Rows { bytes })
    }

    /// Adds rows; writes the rows before them to the device if all have no room. The rows stay in memory, where a
    /// reader that has come to them finds them.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much and rows cannot be put by; errors of the device.
    ///
    /// # Cancellation
    /// Dropping the future loses rows: the list can only be dropped.
    pub async fn add(
        &mut self,
        mut rows: Rows,
        budget: &Budget,
        session: &Rc<Session>,
    ) -> Result<()> {
        let has_device = session.has_temporary_files();
        if has_device
            && !self.rows.is_empty()
            && granted(self.is_short(&mut rows, budget))?.unwrap_or(true)
        {
            self.put_by(budget, session).await?;
        }
        let all = 0..rows.len();
        self.rows.adopt(&mut rows, all, &mut Rows::default());
        drop(rows);
        let settled = self.rows.settle(budget.memory());
        if !has_device {
            return settled;
        }
        match granted(settled)? {
            Some(()) => Ok(()),
            None => self.put_by(budget, session).await,
        }
    }

    /// Charges `more` rows, and holds what is needed to write those in memory; returns whether these are to be put by.
    fn is_short(&mut self, more: &mut Rows, budget: &Budget) -> Result<bool> {
        more.settle(budget.memory())?;
        let (bytes, most) = (self.rows.bytes() + more.bytes(), budget.operator_bytes());
        // The next batch may take as much.
        let grown = self.room.grown_to(bytes);
        if let Some(file) = &self.file {
            return Ok(bytes > file.piece_bytes().max(most / BEHIND_PART));
        }
        let is_small = !budget.is_much(bytes) && bytes <= most / SMALL_PART;
        Ok(!is_small && self.room.hold(budget)? && budget.is_short(bytes, grown))
    }

    /// Writes the rows in memory to the device.
    async fn put_by(&mut self, budget: &Budget, session: &Rc<Session>) -> Result<()> {
        let memory = budget.memory();
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let piece_bytes = SpillFile::piece_bytes_for(budget.operator_bytes());
                let file = SpillFile::new(session, piece_bytes)?;
                let buffers = self.room.take();
                RunWriter::new(self.file.insert(file), memory, buffers)?
            }
        };
        for row in self.rows.iter() {
            writer.push(row.iter().copied(), budget.turn()).await?;
        }
        let run = Rc::new(writer.finish().await?);
        self.writer = Some(writer);
        let numbers = self.first_in_memory()..self.len();
        self.runs.push((numbers, run));
        self.rows = Rows::new(self.rows.width());
        released().await;
        self.rows.settle(memory)
    }

    /// Gives back the memory to write rows: there are no more.
    pub fn end(&mut self) {
        self.writer = None;
        self.room = WriterRoom::default();
    }

    /// Forgets all rows; memory is kept for the next ones.
    pub fn clear(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        match self.file {
            Some(_) => rows = Rows::new(rows.width()),
            None => rows.clear(),
        }
        *self = Self {
            rows,
            bytes: self.bytes(),
            ..Self::default()
        };
    }
}

/// The place of a reader of kept rows.
#[derive(Debug, Default)]
pub struct KeptReader {
    /// Number of the next row.
    next: usize,
    /// Reader of a run, and the number of the first row behind the run.
    reader: Option<(usize, RunReader)>,
    /// Rows that were read from the run, and how many of them were given or left out.
    batch: Rows,
    taken: usize,
}

impl KeptReader {
    /// Returns the number of the next row.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Gives back the memory of a reader that has no run to read any more; its place stays.
    pub fn release(&mut self) {
        if self.reader.is_some() {
            *self = Self {
                next: self.next,
                ..Self::default()
            };
        }
    }

    /// Adds rows of `kept` from the next one on, with only these columns, to `out`; at least one if there is one.
    ///
    /// # Errors
    /// 53200 if the statement may not hold a reader's memory; errors of the device.
    ///
    /// # Cancellation
    /// Dropping the future loses rows: the reader can only be dropped.
    pub async fn give(
        &mut self,
        kept: &RefCell<KeptRows>,
        columns: &[usize],
        budget: &Budget,
        out: &mut Rows,
    ) -> Result<()> {
        let run = kept.borrow().run_of(self.next);
        let Some((numbers, run)) = run else {
            self.release();
            let kept = kept.borrow();
            let first = kept.first_in_memory();
            self.next = first + give(&kept.rows, self.next - first, columns, out);
            return Ok(());
        };
        if self.taken == self.batch.len() {
            let width = kept.borrow().rows.width();
            self.bring(numbers, &run, width, budget).await?;
        }
        let taken = give(&self.batch, self.taken, columns, out);
        self.next += taken - std::mem::replace(&mut self.taken, taken);
        Ok(())
    }

    /// Reads the batch with the next row, which lies in `run`, whose rows have these numbers and `width` values each.
    async fn bring(
        &mut self,
        numbers: Range<usize>,
        run: &Rc<Run>,
        width: usize,
        budget: &Budget,
    ) -> Result<()> {
        let memory = budget.memory();
        let before = self.reader.take();
        let (mut reader, mut from) = match before.filter(|(end, _)| *end == numbers.end) {
            Some((_, reader)) => (reader, self.next),
            None => (RunReader::again(run, memory).await?, numbers.start),
        };
        loop {
            self.batch.restart(width);
            if !reader.read(&mut self.batch, budget.turn()).await? {
                let message = "a kept row is missing";
                return Err(SqlError::new(SqlState::INTERNAL_ERROR, message));
            }
            self.batch.settle(memory)?;
            let behind = from + self.batch.len();
            if self.next < behind {
                break;
            }
            from = behind;
        }
        self.taken = self.next - from;
        self.reader = Some((numbers.end, reader));
        Ok(())
    }
}

/// Adds rows from a place on, with only these columns, to `out` until it is full; returns where the rest begins.
pub fn give(rows: &Rows, from: usize, columns: &[usize], out: &mut Rows) -> usize {
    let mut at = from;
    while at < rows.len() && !out.is_full() {
        let row = rows.row(at);
        out.push(columns.iter().map(|column| row[*column]));
        at += 1;
    }
    at
}
