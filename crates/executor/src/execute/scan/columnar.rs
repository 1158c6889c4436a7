//! Scans of whole tables by blocks of columns, and by columns.
//!
//! The engine gives blocks where it has them, and records elsewhere. Rows of blocks are taken out column by column;
//! records are decoded into columns, too, if the reader of the rows takes them. The filter is computed for all rows of
//! a batch at once. A batch goes on where the task's turn has cut it. A scan that is a part of a division
//! (`parallel.rs`) reads ranges of chunks, as it gets them.

use batch::{BATCH_BYTES, BATCH_ROWS, COLUMN_ROWS, Columns, Rows, View};
use engine::BlockScan;
use planner::{plan::Scan, program::Program};
use types::{Result, Scratch};

use super::{
    super::{ExecutionContext, parallel::Part},
    FIRST_ROWS, Progress, Reader, ScanOperator,
    blocks::BlockRows,
    pieces::{End, Output, piece_by_blocks},
};

/// Rows that a filter is computed for one after the other before the values that it has made are forgotten.
const ROWS_AT_ONCE: usize = 64;

/// Fewest records of a table that is read by blocks and by columns: fewer are done before it pays.
pub(super) const RECORDS_MIN: u64 = 4 * COLUMN_ROWS as u64;

/// State of a scan by blocks.
#[derive(Default)]
pub(super) struct Blocks {
    pub(super) scan: BlockScan,
    /// Rows of the block that the scan has come to.
    pub(super) rows: Option<BlockRows>,
    /// Whether there are no more records behind these rows.
    is_over: bool,
    /// A batch that rows of blocks are taken into if the reader takes no columns, and how many of its rows were handed
    /// on.
    columns: Columns,
    handed_on: usize,
    positions: Vec<u32>,
    /// Columns that are read of blocks, in ascending order; empty before the first block.
    pub(super) wanted: Vec<usize>,
    /// Whether the reader takes columns, as aggregates and joins by hash do: blocks are built at once then.
    pub(super) is_by_columns: bool,
}

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
    /// Reads until there are rows for which the filter holds, or no more.
    pub(super) async fn by_blocks(
        &mut self,
        context: &ExecutionContext<'_>,
        out: &mut Rows,
        first: bool,
    ) -> Result<bool> {
        let mut wanted = if first { FIRST_ROWS } else { BATCH_ROWS };
        while let Progress::Blocks(blocks) = &mut self.progress {
            if blocks.is_over && blocks.columns.is_empty() {
                self.progress = Progress::End;
                return Ok(false);
            }
            let scratch = &mut self.scratch;
            match out.begin_columns() {
                Some(columns) => {
                    blocks.is_by_columns = true;
                    blocks.columns(self.scan, context, scratch, columns).await?;
                    out.end_columns();
                }
                None => {
                    blocks
                        .rows(self.scan, context, scratch, out, wanted)
                        .await?;
                }
            }
            if !out.is_empty() {
                return Ok(true);
            }
            out.clear();
            wanted = BATCH_ROWS;
        }
        Ok(false)
    }
}

impl Blocks {
    /// Fills an empty batch by columns: with rows of the block, then with records up to the next block.
    async fn columns(
        &mut self,
        scan: &Scan,
        context: &ExecutionContext<'_>,
        scratch: &mut Scratch,
        columns: &mut Columns,
    ) -> Result<()> {
        self.take_rows(scan, context, columns, COLUMN_ROWS).await?;
        while self.rows.is_none() && !self.is_over && !columns.is_full() {
            self.piece(scan, context, COLUMN_ROWS, columns).await?;
            columns.settle(context.memory())?;
        }
        filter(scan, context, scratch, columns).await
    }

    /// Adds about `wanted` rows: those of the block, or records.
    async fn rows(
        &mut self,
        scan: &Scan,
        context: &ExecutionContext<'_>,
        scratch: &mut Scratch,
        out: &mut Rows,
        wanted: usize,
    ) -> Result<()> {
        let mut columns = std::mem::take(&mut self.columns);
        if columns.is_empty() {
            if self.rows.is_none() {
                return self.piece(scan, context, wanted, out).await;
            }
            columns.restart(scan.columns.len());
            self.take_rows(scan, context, &mut columns, wanted).await?;
            filter(scan, context, scratch, &mut columns).await?;
            self.handed_on = 0;
        }
        self.handed_on = columns.add_some_to(out, self.handed_on);
        if self.handed_on == columns.selected() {
            columns.clear();
        }
        self.columns = columns;
        Ok(())
    }

    /// Takes about `wanted` rows of the block into an empty batch, if there is a block.
    async fn take_rows(
        &mut self,
        scan: &Scan,
        context: &ExecutionContext<'_>,
        columns: &mut Columns,
        wanted: usize,
    ) -> Result<()> {
        let Some(rows) = &mut self.rows else {
            return Ok(());
        };
        let are_left = rows.take(scan, columns, &mut self.positions, wanted)?;
        if !are_left {
            self.rows = None;
        }
        columns.settle(context.memory())?;
        context.pause(columns.len()).await;
        Ok(())
    }

    /// Reads records into `out` up to the next block, until there are many, or the task's turn is over.
    async fn piece(
        &mut self,
        scan: &Scan,
        context: &ExecutionContext<'_>,
        wanted: usize,
        out: &mut impl Output,
    ) -> Result<()> {
        match piece_by_blocks(scan, self, context, wanted, out).await? {
            End::Range => match context.part.and_then(Part::next_chunks) {
                Some(chunks) => self.scan.enter(chunks),
                None => self.is_over = true,
            },
            End::Turn => context.end_turn().await,
            End::Batch => {}
        }
        Ok(())
    }
}

/// Lets those rows of a batch count alone for which the scan's filter holds.
async fn filter(
    scan: &Scan,
    context: &ExecutionContext<'_>,
    scratch: &mut Scratch,
    columns: &mut Columns,
) -> Result<()> {
    if let Some(filter) = &scan.filter
        && !columns.is_empty()
    {
        let chosen = chosen(filter, context, scratch, columns.view()).await?;
        columns.select(chosen);
    }
    Ok(())
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
