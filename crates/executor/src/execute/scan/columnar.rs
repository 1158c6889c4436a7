//! Scans of whole tables by columns.
//!
//! Records are decoded into columns, many for a batch, and the filter is computed for all of them at once. A batch goes
//! on where the task's turn has cut it.

use batch::{BATCH_BYTES, COLUMN_ROWS, Columns, Rows, View};
use planner::program::Program;
use types::{Result, Scratch};

use super::{
    super::ExecutionContext, End, Output, Progress, Reader, ScanOperator, unordered_piece,
};

/// Rows that a filter is computed for one after the other before the values that it has made are forgotten.
const ROWS_AT_ONCE: usize = 64;

/// Fewest records of a table that is read by columns: fewer are done before it pays.
pub(super) const RECORDS_MIN: u64 = 4 * COLUMN_ROWS as u64;

impl Output for Columns {
    #[inline(always)]
    fn take(
        &mut self,
        reader: &mut Reader<'_>,
        _: &ExecutionContext<'_>,
        _: &Scratch,
        _: &[u8],
        record: &[u8],
    ) -> Result<bool> {
        reader.take_into(record, self)
    }

    #[inline(always)]
    fn is_full(&self, _: usize) -> bool {
        Columns::is_full(self)
    }
}

impl ScanOperator<'_> {
    /// Reads records into the columns of `out` until there are many for which the filter holds, or no more.
    pub(super) async fn columns(
        &mut self,
        context: &ExecutionContext<'_>,
        out: &mut Rows,
    ) -> Result<bool> {
        while let Progress::Unordered(position) = &mut self.progress {
            let Some(columns) = out.begin_columns() else {
                return Ok(false);
            };
            loop {
                let piece = unordered_piece(self.scan, position, context, COLUMN_ROWS, columns);
                match piece.await? {
                    End::Range => {
                        self.progress = Progress::End;
                        break;
                    }
                    End::Turn => context.end_turn().await,
                    End::Batch => {}
                }
                columns.settle(context.memory())?;
                if columns.is_full() {
                    break;
                }
            }
            if let Some(filter) = &self.scan.filter {
                let chosen = chosen(filter, context, &mut self.scratch, columns.view()).await?;
                columns.select(chosen);
            }
            out.end_columns();
            if !out.is_empty() {
                return Ok(true);
            }
            out.clear();
        }
        Ok(false)
    }
}

/// Returns the positions for which a filter holds.
async fn chosen(
    filter: &Program,
    context: &ExecutionContext<'_>,
    scratch: &mut Scratch,
    columns: View<'_>,
) -> Result<Vec<u32>> {
    scratch.reset();
    let mut evaluator = context.evaluator(scratch);
    if let Some(chosen) = filter.select_columns(&mut evaluator, columns).await {
        return Ok(chosen);
    }
    let (mut chosen, mut positions) = (Vec::new(), columns.positions().peekable());
    while positions.peek().is_some() {
        // Values that were made for some rows are forgotten before they are many.
        scratch.reset();
        let mut evaluator = context.evaluator(scratch);
        let mut row = Vec::new();
        for at in positions.by_ref().take(ROWS_AT_ONCE) {
            columns.read(at, &mut row);
            if filter.holds(&mut evaluator, &row)? {
                chosen.push(at as u32);
            }
            context.pause(1).await;
            if scratch.allocated_bytes() >= BATCH_BYTES {
                break;
            }
        }
    }
    Ok(chosen)
}
