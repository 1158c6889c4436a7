//! The part of a sort that is on the device.
//!
//! While a sort reads, it keeps charges for the memory that it needs to put its rows in order and by: a sort that is
//! refused memory for more rows has what it needs to get rid of those that it has.

use std::{cmp::Ordering, mem::take, rc::Rc};

use batch::{COLUMN_ROWS, Order, Rows};
use engine::Session;
use types::{Charge, Result, Value};

use crate::{
    budget::Budget,
    file::SpillFile,
    merge::{Merge, SortedRuns},
    spilled::{Spilled, WriterRoom},
};

/// Rows of a batch that may come before the memory for the next run is held, at most.
const ROWS_OF_BATCH: usize = COLUMN_ROWS;

/// Runs of a sort, and the memory to write the next one.
#[derive(Debug, Default)]
pub struct External {
    /// Memory to put the rows in order.
    order: Charge,
    room: WriterRoom,
    runs: Option<SortedRuns>,
    merge: Option<Merge>,
    /// Most bytes on the device so far; 0 if no rows were put by.
    bytes: u64,
}

impl External {
    /// Returns whether rows were put by.
    pub fn has_runs(&self) -> bool {
        self.runs.is_some()
    }

    /// Returns whether all rows were put by, and are being merged.
    pub fn is_merging(&self) -> bool {
        self.merge.is_some()
    }

    /// Returns what was put by, if anything was.
    pub fn spilled(&self) -> Option<Spilled> {
        let bytes = self.bytes;
        (bytes > 0).then_some(Spilled::Sort { bytes })
    }

    /// Charges rows to the statement, and what is needed to put them by if they are more than a batch. Returns whether
    /// they are to be put by, since they may take a part of the operator's memory.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much: all rows but those of the last batch are charged then.
    pub fn hold(&mut self, rows: &mut Rows, part: usize, budget: &Budget) -> Result<bool> {
        let memory = budget.memory();
        rows.settle(memory)?;
        let is_full = rows.is_full();
        if is_full {
            let order = Order::bytes(rows.len() + ROWS_OF_BATCH);
            self.order.set(memory, order)?;
        }
        let bytes = part * (rows.bytes() + self.order.bytes());
        // The next batch may take as much, and so may a large row on its way to the device.
        let grown = self.room.grown_to(bytes);
        let can_write = is_full && (self.runs.is_some() || self.room.hold(budget)?);
        Ok(can_write && budget.is_short(bytes, grown))
    }

    /// Takes the charge of the memory to put rows in order.
    pub fn take_charge(&mut self) -> Charge {
        take(&mut self.order)
    }

    /// Writes rows, in an order, as a run.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the writer's memory; errors of the device.
    pub async fn write(
        &mut self,
        rows: &Rows,
        order: &[u32],
        budget: &Budget,
        session: &Rc<Session>,
    ) -> Result<()> {
        let runs = match self.runs.take() {
            Some(runs) => runs,
            None => {
                let piece_bytes = SpillFile::piece_bytes_for(budget.operator_bytes());
                SortedRuns::new(
                    session,
                    piece_bytes,
                    budget.memory(),
                    self.room.take(),
                    rows.width(),
                )?
            }
        };
        let runs = self.runs.insert(runs);
        let writer = runs.writer()?;
        for at in order {
            let row = rows.row(*at as usize).iter().copied();
            writer.push(row, budget.turn()).await?;
        }
        runs.end_run().await?;
        self.bytes = self.bytes.max(runs.bytes());
        self.room.grown_to(0);
        Ok(())
    }

    /// Begins to merge the runs, of which no more than `limit` rows are wanted, with a part of the memory that is left.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the memory of two runs; errors of the device.
    pub async fn merge(
        &mut self,
        limit: usize,
        part: usize,
        compare: &impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering,
        budget: &Budget,
    ) -> Result<()> {
        let Some(mut runs) = self.runs.take() else {
            return Ok(());
        };
        let bytes = budget.bytes_left() / part;
        let merge = runs.merge(bytes, limit, compare, budget.turn()).await?;
        self.bytes = self.bytes.max(runs.bytes());
        self.merge = Some(merge);
        Ok(())
    }

    /// Returns the first of the rows that are left while they are merged.
    pub fn first(&self) -> Option<&[Value<'_>]> {
        self.merge.as_ref()?.first()
    }

    /// Leaves the first row behind while rows are merged.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the rows that are read; errors of the device.
    pub async fn advance(
        &mut self,
        compare: &impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering,
        budget: &Budget,
    ) -> Result<()> {
        match &mut self.merge {
            Some(merge) => merge.advance(compare, budget.turn()).await,
            None => Ok(()),
        }
    }

    /// Adds the first `width` values of the next rows to `out`, which is empty, `most` at most.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the rows that are read; errors of the device.
    pub async fn give(
        &mut self,
        most: usize,
        width: usize,
        compare: &impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering,
        budget: &Budget,
        out: &mut Rows,
    ) -> Result<()> {
        let Some(merge) = &mut self.merge else {
            return Ok(());
        };
        while out.len() < most
            && !out.is_full()
            && let Some(row) = merge.first()
        {
            out.push(row[..width].iter().copied());
            merge.advance(compare, budget.turn()).await?;
        }
        if out.is_empty() {
            self.merge = None;
        }
        Ok(())
    }

    /// Forgets all rows, and gives back the room on the device.
    pub fn clear(&mut self) {
        *self = Self {
            bytes: self.bytes,
            ..Self::default()
        };
    }
}
