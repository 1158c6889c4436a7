//! Pieces of scans: records are visited until a batch is full, the task's turn is over, or no more are left.

use std::ops::{Bound, ControlFlow};

use engine::{Direction, IndexPosition, Met, ScanPosition, Wanted};
use interleave::{Interleaved, Turn};
use types::{Result, Scratch, SqlError};

use super::{
    super::{BATCH_ROWS, ExecutionContext, errors::of_engine, key::Keys},
    Reader,
    blocks::{BlockRows, StoredRows, may_have},
    columnar::Blocks,
    index_of,
};
use batch::Rows;
use planner::plan::{AccessPath, Scan};

/// The reason why a piece has ended.
pub(super) enum End {
    /// There are as many rows as were wanted, or nothing is known of what follows.
    Batch,
    /// The task's turn is over, however few rows a filter has left.
    Turn,
    /// There are no more records.
    Range,
}

/// A visitor of records that stops when there are enough rows, or when the task's turn is over.
struct Looking<'t, 'p, O> {
    reader: Reader<'p>,
    context: &'t ExecutionContext<'t>,
    turn: &'t Turn,
    scratch: Scratch,
    out: &'t mut O,
    wanted: usize,
    is_over: bool,
    failure: Option<SqlError>,
}

/// A batch that records are read into.
pub(super) trait Output {
    /// Adds a record's row if the scan's conditions hold for it, as far as they are checked here; returns whether they
    /// do.
    fn take(
        &mut self,
        reader: &mut Reader<'_>,
        context: &ExecutionContext<'_>,
        scratch: &Scratch,
        key: &[u8],
        record: &[u8],
    ) -> Result<bool>;

    /// Returns whether there are `wanted` rows, or many bytes.
    fn is_full(&self, wanted: usize) -> bool;
}

impl Output for Rows {
    #[inline(always)]
    fn take(
        &mut self,
        reader: &mut Reader<'_>,
        context: &ExecutionContext<'_>,
        scratch: &Scratch,
        key: &[u8],
        record: &[u8],
    ) -> Result<bool> {
        reader.take(context, scratch, key, record, self)
    }

    #[inline(always)]
    fn is_full(&self, wanted: usize) -> bool {
        self.len() >= wanted || self.is_large()
    }
}

impl<'t, 'p, O: Output> Looking<'t, 'p, O> {
    fn new(
        scan: &'p Scan,
        context: &'t ExecutionContext<'t>,
        wanted: usize,
        out: &'t mut O,
    ) -> Result<Self> {
        let scratch = Scratch::new();
        context.turn().read_within(BATCH_ROWS as u32);
        Ok(Self {
            reader: Reader::new(scan, context, &scratch)?,
            context,
            turn: context.turn(),
            scratch,
            out,
            wanted,
            is_over: false,
            failure: None,
        })
    }

    /// Looks at a record; returns whether to go on with the next.
    #[inline(always)]
    fn visit(&mut self, key: &[u8], record: &[u8]) -> ControlFlow<()> {
        let taken = self
            .out
            .take(&mut self.reader, self.context, &self.scratch, key, record);
        let is_due = self.turn.tick();
        match taken {
            Ok(false) if !is_due => ControlFlow::Continue(()),
            Ok(true) if !is_due && !self.is_full() => ControlFlow::Continue(()),
            Ok(_) => self.count(),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.out.is_full(self.wanted)
    }

    /// Reads the clock if that is due; returns whether to go on.
    #[cold]
    fn count(&mut self) -> ControlFlow<()> {
        // A filter may leave much behind.
        self.scratch.reset();
        let is_full = self.is_full();
        self.is_over = self.turn_is_over();
        self.turn.read_within(BATCH_ROWS as u32);
        match self.is_over || is_full {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn turn_is_over(&self) -> bool {
        self.turn.is_due() && self.turn.spend(0)
    }

    /// Returns why the piece has ended, if not for want of records.
    ///
    /// # Errors
    /// Errors of the conditions.
    fn end(mut self) -> Result<End> {
        self.is_over |= self.turn_is_over();
        match (self.failure, self.is_over) {
            (Some(error), _) => Err(error),
            (None, true) => Ok(End::Turn),
            (None, false) => Ok(End::Batch),
        }
    }
}

/// Scans until there are `wanted` rows, or the task's turn is over. `keys`, behind a position of
/// the index, are the keys that are left.
pub(super) async fn piece(
    scan: &Scan,
    keys: &mut Keys,
    behind: &mut Option<Vec<u8>>,
    context: &ExecutionContext<'_>,
    wanted: usize,
    out: &mut Rows,
) -> Result<End> {
    let mut looking = Looking::new(scan, context, wanted, out)?;
    let mut last: Option<Vec<u8>> = None;
    let direction = if scan.descending {
        Direction::Backward
    } else {
        Direction::Forward
    };
    {
        let mut visit = |position: &[u8], key: &[u8], record: &[u8]| {
            let flow = looking.visit(key, record);
            if flow.is_break() {
                last = Some(position.to_vec());
            }
            flow
        };
        let range = (
            keys.from.as_ref().map(Vec::as_slice),
            keys.to.as_ref().map(Vec::as_slice),
        );
        let scanned = match &scan.access {
            AccessPath::Full | AccessPath::Key(_) => {
                let table = scan.table.storage();
                let scanned =
                    context
                        .reads
                        .scan::<Interleaved>(table, range, direction, |key, record| {
                            visit(key, key, record)
                        });
                scanned.await
            }
            AccessPath::Index { index, .. } => {
                let handle = index_of(&scan.table, *index)?;
                let scanned = context.reads.scan_by_from::<Interleaved>(
                    handle,
                    range,
                    direction,
                    behind.as_deref().map(IndexPosition::new),
                    |at, _, key, record| visit(at.bytes(), key, record),
                );
                scanned.await
            }
        };
        scanned.map_err(|error| of_engine(error, &scan.table))?;
    }
    let end = looking.end()?;
    let Some(last) = last else {
        return Ok(End::Range);
    };
    match &scan.access {
        AccessPath::Index { .. } => *behind = Some(last),
        _ if scan.descending => keys.to = Bound::Excluded(last),
        _ => keys.from = Bound::Excluded(last),
    }
    Ok(end)
}

/// Scans in no order, and otherwise as [`piece`]; `position` is where the scan goes on.
pub(super) async fn unordered_piece(
    scan: &Scan,
    position: &mut ScanPosition,
    context: &ExecutionContext<'_>,
    wanted: usize,
    out: &mut impl Output,
) -> Result<End> {
    let Some(unordered) = context.reads.unordered() else {
        return Ok(End::Range);
    };
    let mut looking = Looking::new(scan, context, wanted, out)?;
    let visit = |record: &[u8]| looking.visit(&[], record);
    let scanned = unordered.scan::<Interleaved>(scan.table.storage(), *position, visit);
    let next = scanned
        .await
        .map_err(|error| of_engine(error, &scan.table))?;
    let end = looking.end()?;
    let Some(next) = next else {
        return Ok(End::Range);
    };
    *position = next;
    Ok(end)
}

/// Scans by blocks, up to the next block, and otherwise as [`unordered_piece`].
pub(super) async fn piece_by_blocks(
    scan: &Scan,
    blocks: &mut Blocks,
    context: &ExecutionContext<'_>,
    wanted: usize,
    out: &mut impl Output,
) -> Result<End> {
    let Some(unordered) = context.reads.unordered() else {
        return Ok(End::Range);
    };
    let mut looking = Looking::new(scan, context, wanted, out)?;
    if blocks.wanted.is_empty() {
        let tested = scan.tests.iter().map(|test| test.attribute);
        let filtered = scan.key_filters.iter().map(|(attribute, _)| *attribute);
        let tested = tested.chain(filtered);
        blocks.wanted = scan.columns.iter().copied().chain(tested).collect();
        blocks.wanted.sort_unstable();
        blocks.wanted.dedup();
    }
    let limits = looking.reader.limits.clone();
    let wanted_of_blocks = Wanted {
        columns: &blocks.wanted,
        may_have: &|directory| may_have(directory, scan, &limits),
        ahead_max: context.read_ahead,
        at_first_visit: blocks.is_by_columns,
    };
    let fields = StoredRows(&scan.rows);
    let visit = |record: &[u8]| looking.visit(&[], record);
    let met = unordered.scan_blocks::<Interleaved>(
        scan.table.storage(),
        &mut blocks.scan,
        &fields,
        &wanted_of_blocks,
        visit,
    );
    match met.await.map_err(|error| of_engine(error, &scan.table))? {
        Met::Break => looking.end(),
        Met::Block(block, marks) => {
            blocks.rows = BlockRows::new(block, &marks[..], scan, &looking.reader.limits)?;
            looking.end()
        }
        Met::End => {
            looking.end()?;
            Ok(End::Range)
        }
    }
}
