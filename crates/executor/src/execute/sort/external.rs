//! The part of a sort that is on the device.
//!
//! While a sort reads, it keeps charges for the memory that it needs to put its rows in order and by: a sort that is
//! refused memory for more rows has what it needs to get rid of those that it has.

use std::{cmp::Ordering, mem::take};

use spill::{Merge, RunWriter, SortedRuns, SpillFile};
use types::{Charge, Result, Value, granted};

use crate::execute::{ExecutionContext, Spilled};
use batch::{COLUMN_ROWS, Order, Rows};

/// Rows of a batch that may come before the memory for the next run is held, at most.
const ROWS_OF_BATCH: usize = COLUMN_ROWS;

/// Runs of a sort, and the memory to write the next one.
#[derive(Default)]
pub(super) struct External {
    /// Memory to put the rows in order.
    order: Charge,
    /// Memory of the writer, before the first run.
    buffers: Charge,
    /// Bytes of the rows when they were held last.
    held: usize,
    runs: Option<SortedRuns>,
    merge: Option<Merge>,
    /// Most bytes on the device so far; 0 if no rows were put by.
    bytes: u64,
}

impl External {
    /// Returns whether rows were put by.
    pub(super) fn has_runs(&self) -> bool {
        self.runs.is_some()
    }

    /// Returns whether all rows were put by, and are being merged.
    pub(super) fn is_merging(&self) -> bool {
        self.merge.is_some()
    }

    /// Returns what was put by, if anything was.
    pub(super) fn spilled(&self) -> Option<Spilled> {
        (self.bytes > 0).then_some(Spilled::Sort { bytes: self.bytes })
    }

    /// Charges rows to the statement, and what is needed to put them by if they are more than a batch. Returns whether
    /// they are to be put by.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much: all rows but those of the last batch are charged then.
    pub(super) fn hold(&mut self, rows: &mut Rows, context: &ExecutionContext<'_>) -> Result<bool> {
        let (memory, budget) = (context.memory(), context.budget);
        rows.settle(memory)?;
        if !rows.is_full() {
            return Ok(false);
        }
        let order = Order::bytes(rows.len() + ROWS_OF_BATCH);
        self.order.set(memory, order)?;
        if self.runs.is_none() {
            let piece_bytes = SpillFile::piece_bytes_for(budget.operator_bytes());
            let buffers = RunWriter::memory_bytes(piece_bytes);
            if granted(self.buffers.set(memory, buffers))?.is_none() {
                // Rows could not be put by: they are kept as long as there is memory.
                return Ok(false);
            }
        }
        let bytes = rows.bytes() + self.order.bytes();
        // The next batch may take as much, and so may a large row on its way to the device.
        let grown = bytes.saturating_sub(std::mem::replace(&mut self.held, bytes));
        Ok(budget.is_short(bytes, grown))
    }

    /// Takes the charge of the memory to put rows in order.
    pub(super) fn take_charge(&mut self) -> Charge {
        take(&mut self.order)
    }

    /// Writes rows, in an order, as a run.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the writer's memory; errors of the device.
    pub(super) async fn write(
        &mut self,
        rows: &Rows,
        order: &[u32],
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let runs = match self.runs.take() {
            Some(runs) => runs,
            None => {
                let piece_bytes = SpillFile::piece_bytes_for(context.budget.operator_bytes());
                SortedRuns::new(
                    context.transaction.session(),
                    piece_bytes,
                    context.memory(),
                    take(&mut self.buffers),
                    rows.width(),
                )?
            }
        };
        let runs = self.runs.insert(runs);
        let writer = runs.writer()?;
        for at in order {
            let row = rows.row(*at as usize).iter().copied();
            writer.push(row, context.turn()).await?;
        }
        runs.end_run().await?;
        self.bytes = self.bytes.max(runs.bytes());
        self.held = 0;
        Ok(())
    }

    /// Begins to merge the runs, of which no more than `limit` rows are wanted.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the memory of two runs; errors of the device.
    pub(super) async fn merge(
        &mut self,
        limit: usize,
        compare: &impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let Some(mut runs) = self.runs.take() else {
            return Ok(());
        };
        let bytes = context.budget.bytes_left();
        let merge = runs.merge(bytes, limit, compare, context.turn()).await?;
        self.bytes = self.bytes.max(runs.bytes());
        self.merge = Some(merge);
        Ok(())
    }

    /// Adds the first `width` values of the next rows to `out`, which is empty, `most` at most.
    ///
    /// # Errors
    /// 53200 if the statement may not hold the rows that are read; errors of the device.
    pub(super) async fn give(
        &mut self,
        most: usize,
        width: usize,
        compare: &impl Fn(&[Value<'_>], &[Value<'_>]) -> Ordering,
        context: &ExecutionContext<'_>,
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
            merge.advance(compare, context.turn()).await?;
        }
        if out.is_empty() {
            self.merge = None;
        }
        Ok(())
    }

    /// Forgets all rows, and gives back the room on the device.
    pub(super) fn clear(&mut self) {
        *self = Self {
            bytes: self.bytes,
            ..Self::default()
        };
    }
}
