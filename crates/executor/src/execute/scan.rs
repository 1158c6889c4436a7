//! Records of a table, filtered where they lie.
//!
//! A scan is done in pieces: each begins behind the record at which the one before ended, so that
//! nothing of the engine is held while the rows are used. A piece ends with a batch, or with the
//! task's turn, wherever that is: also among records with one key of an index. Rows are decoded as
//! far as the statement needs them, and copied only if the filter holds. Large tables are read by
//! blocks of columns, and by columns if the reader of the rows takes them (`scan/columnar.rs`).

mod blocks;
mod columnar;
mod pieces;

use std::{ops::Bound, sync::Arc};

use engine::ScanPosition;
use interleave::Interleaved;
use types::{
    Result, Scratch, SqlError, SqlState, Value,
    row::{Row, Taking, integer_of},
};

use self::{
    columnar::Blocks,
    pieces::{End, piece, unordered_piece},
};
use super::{
    BATCH_ROWS, ExecutionContext,
    errors::of_engine,
    key::{self, Keys},
};
use batch::{Columns, KeyFilter, Rows};
use catalog::Table;
use planner::{
    plan::{AccessPath, Scan},
    program::agrees,
};

/// Number of rows of the first piece: many scans are ended early.
const FIRST_ROWS: usize = 32;

/// Values and filters that the integers of a record are compared with before it is decoded.
#[derive(Clone)]
pub(super) struct Limits {
    /// Values of the scan's tests; a comparison with NULL never holds.
    values: Vec<Option<i64>>,
    /// Filters of joins, each with its column.
    filters: Vec<(usize, Arc<KeyFilter>)>,
}

/// A converter of records to rows, with the scan's conditions.
pub(super) struct Reader<'p> {
    scan: &'p Scan,
    limits: Limits,
    /// Memory for one record's values and for registers; empty in between.
    values: Vec<Value<'static>>,
    registers: Vec<Value<'static>>,
}

impl<'p> Reader<'p> {
    /// Makes a reader for `scan`.
    ///
    /// # Errors
    /// Errors of the expressions that records are compared with.
    pub(super) fn new(
        scan: &'p Scan,
        context: &ExecutionContext<'_>,
        scratch: &Scratch,
    ) -> Result<Self> {
        let mut evaluator = context.evaluator(scratch);
        let values = scan.tests.iter().map(|test| {
            let value = test.value.run(&mut evaluator, &[])?;
            Ok(test.limit(value))
        });
        let values = values.collect::<Result<_>>()?;
        let useful = scan.key_filters.iter().filter_map(|(attribute, number)| {
            Some((*attribute, context.shared.join_filters.useful(*number)?))
        });
        let filters = useful.collect();
        Ok(Reader {
            scan,
            limits: Limits { values, filters },
            values: Vec::new(),
            registers: Vec::new(),
        })
    }

    /// Adds a record's row to `out` if the scan's conditions hold for it; returns whether they do.
    ///
    /// # Errors
    /// Errors of the conditions; XX001 for a record that is damaged.
    #[inline]
    pub(super) fn take(
        &mut self,
        context: &ExecutionContext<'_>,
        scratch: &Scratch,
        key: &[u8],
        record: &[u8],
        out: &mut Rows,
    ) -> Result<bool> {
        let scan = self.scan;
        let row = Row::new(&scan.rows, record)?;
        if !self.passes_tests(&row)? {
            return Ok(false);
        }
        let Some(filter) = &scan.filter else {
            out.push_with(|new| decode(scan, &row, key, new))?;
            return Ok(true);
        };
        let mut values: Vec<Value<'_>> = std::mem::take(&mut self.values);
        decode(scan, &row, key, &mut values)?;
        let registers = std::mem::take(&mut self.registers);
        let mut evaluator = context.evaluator(scratch).with_registers(registers);
        let holds = filter.holds(&mut evaluator, &values)?;
        self.registers = emptied(evaluator.into_registers());
        if holds {
            out.push(values.iter().copied());
        }
        self.values = emptied(values);
        Ok(holds)
    }

    /// Adds a record's row to `out` if the scan's tests hold for it, whatever its filter says; returns whether they do.
    ///
    /// # Errors
    /// XX001 for a record that is damaged.
    #[inline]
    fn take_into(&self, record: &[u8], out: &mut Columns) -> Result<bool> {
        let row = Row::new(&self.scan.rows, record)?;
        if !self.passes_tests(&row)? {
            return Ok(false);
        }
        let mut new = out.begin();
        decode(self.scan, &row, &[], &mut new)?;
        new.end();
        Ok(true)
    }

    /// Returns whether the conditions hold that are checked before a record is decoded.
    #[inline(always)]
    fn passes_tests(&self, row: &Row<'_, '_>) -> Result<bool> {
        let integer = |attribute| match row.integer(attribute) {
            Some(value) => Ok(value),
            None => Ok(integer_of(self.scan.table.value(row, attribute)?)),
        };
        for (attribute, filter) in &self.limits.filters {
            if !integer(*attribute)?.is_some_and(|value| filter.may_have(value)) {
                return Ok(false);
            }
        }
        for (test, limit) in self.scan.tests.iter().zip(&self.limits.values) {
            let holds = match (integer(test.attribute)?, limit) {
                (Some(value), Some(limit)) => agrees(test.comparison, value.cmp(limit)),
                _ => false,
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Decodes the wanted columns of a record, and its key if it is wanted.
#[inline(always)]
fn decode<'a>(
    scan: &'a Scan,
    row: &Row<'_, 'a>,
    key: &'a [u8],
    to: &mut impl Taking<'a>,
) -> Result<()> {
    for at in &scan.columns {
        if !row.give(*at, to)? {
            to.take(scan.table.columns[*at].missing_value()?);
        }
    }
    if scan.with_key {
        to.take(Value::Bytea(key));
    }
    Ok(())
}

/// Returns the memory of values that are not needed any more.
fn emptied(mut values: Vec<Value<'_>>) -> Vec<Value<'static>> {
    values.clear();
    let nothing = values.into_iter().map(|_| Value::Null);
    nothing.collect()
}

/// A running scan.
pub(super) struct ScanOperator<'p> {
    scan: &'p Scan,
    progress: Progress,
    scratch: Scratch,
}

enum Progress {
    Begin,
    /// Records of these keys have not been looked at, behind a position of an index if there is
    /// one.
    At(Keys, Option<Vec<u8>>),
    /// Records of the whole table, in no order, have not been looked at from this position on.
    Unordered(ScanPosition),
    /// As before, by blocks.
    Blocks(Box<Blocks>),
    End,
}

impl<'p> ScanOperator<'p> {
    pub(super) fn new(scan: &'p Scan) -> Self {
        Self {
            scan,
            progress: Progress::Begin,
            scratch: Scratch::new(),
        }
    }

    /// Adds rows to `out`: see [`Operator::next`](super::Operator::next).
    pub(super) async fn advance(
        &mut self,
        context: &ExecutionContext<'_>,
        out: &mut Rows,
    ) -> Result<bool> {
        self.scratch.reset();
        match (&self.progress, &self.scan.access) {
            (Progress::End, _) => Ok(false),
            (Progress::Begin, AccessPath::Key(range)) if range.is_point => {
                self.point(context, out).await
            }
            (Progress::Begin, AccessPath::Index { range, index }) if range.is_point => {
                self.point_by(context, *index, out).await
            }
            // The future is boxed: a point read should not carry the frame along.
            _ => Box::pin(self.pieces(context, out)).await,
        }
    }

    /// Scans pieces until there are rows.
    async fn pieces(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        let first = matches!(self.progress, Progress::Begin);
        if first {
            self.begin(context)?;
        }
        if let Progress::Blocks(_) = self.progress {
            return self.by_blocks(context, out, first).await;
        }
        let mut wanted = if first { FIRST_ROWS } else { BATCH_ROWS };
        loop {
            let end = match &mut self.progress {
                Progress::At(keys, behind) => {
                    piece(self.scan, keys, behind, context, wanted, out).await?
                }
                Progress::Unordered(position) => {
                    unordered_piece(self.scan, position, context, wanted, out).await?
                }
                Progress::Begin | Progress::Blocks(_) | Progress::End => return Ok(false),
            };
            match end {
                End::Range => self.progress = Progress::End,
                End::Turn => context.end_turn().await,
                End::Batch => {}
            }
            if !out.is_empty() {
                return Ok(true);
            }
            wanted = BATCH_ROWS;
        }
    }

    /// Returns whether all records were looked at.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.progress, Progress::End)
    }

    /// Begins again, perhaps with other parameters.
    pub(super) fn rewind(&mut self) {
        self.progress = Progress::Begin;
    }

    fn begin(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        // A part of a division is by blocks, whatever its worker would estimate by now.
        if context.part.is_some() || is_by_blocks(self.scan, context) {
            let mut blocks = Box::<Blocks>::default();
            if context.part.is_some() {
                blocks.scan.enter(0..0);
            }
            self.progress = Progress::Blocks(blocks);
            return Ok(());
        }
        if is_whole(self.scan) && context.reads.unordered().is_some() {
            self.progress = Progress::Unordered(ScanPosition::default());
            return Ok(());
        }
        let everything = Keys {
            from: Bound::Unbounded,
            to: Bound::Unbounded,
        };
        let keys = match &self.scan.access {
            AccessPath::Full => Some(everything),
            AccessPath::Key(range) | AccessPath::Index { range, .. } => {
                key::keys(range, &mut context.evaluator(&self.scratch), &[])?
            }
        };
        self.progress = keys.map_or(Progress::End, |keys| Progress::At(keys, None));
        Ok(())
    }

    async fn point(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        self.progress = Progress::End;
        let AccessPath::Key(range) = &self.scan.access else {
            return Ok(false);
        };
        let Some(key) = key::point(range, &mut context.evaluator(&self.scratch), &[])? else {
            return Ok(false);
        };
        let scratch = &self.scratch;
        let mut reader = Reader::new(self.scan, context, scratch)?;
        let table = &self.scan.table;
        let take = |record: &[u8]| reader.take(context, scratch, key.as_ref(), record, out);
        let reads = context.reads;
        let found = match self.scan.with_key {
            true => {
                reads
                    .find_row::<Interleaved, _>(table.storage(), key.as_ref(), take)
                    .await
            }
            false => {
                reads
                    .get::<Interleaved, _>(table.storage(), key.as_ref(), take)
                    .await
            }
        };
        found
            .map_err(|error| of_engine(error, table))?
            .unwrap_or(Ok(false))
    }

    async fn point_by(
        &mut self,
        context: &ExecutionContext<'_>,
        index: usize,
        out: &mut Rows,
    ) -> Result<bool> {
        self.progress = Progress::End;
        let AccessPath::Index { range, .. } = &self.scan.access else {
            return Ok(false);
        };
        let Some(key) = key::point(range, &mut context.evaluator(&self.scratch), &[])? else {
            return Ok(false);
        };
        let scratch = &self.scratch;
        let mut reader = Reader::new(self.scan, context, scratch)?;
        let handle = index_of(&self.scan.table, index)?;
        let take =
            |primary: &[u8], record: &[u8]| reader.take(context, scratch, primary, record, out);
        let found = match self.scan.with_key {
            true => {
                context
                    .reads
                    .find_row_by::<Interleaved, _>(handle, key.as_ref(), take)
                    .await
            }
            false => {
                context
                    .reads
                    .get_by::<Interleaved, _>(handle, key.as_ref(), take)
                    .await
            }
        };
        found
            .map_err(|error| of_engine(error, &self.scan.table))?
            .unwrap_or(Ok(false))
    }
}

/// Returns whether a scan reads all records of its table, in any order.
fn is_whole(scan: &Scan) -> bool {
    matches!(scan.access, AccessPath::Full) && !scan.ordered && !scan.with_key
}

/// Returns whether a scan that begins now reads its table by blocks.
pub(super) fn is_by_blocks(scan: &Scan, context: &ExecutionContext<'_>) -> bool {
    is_whole(scan)
        && context.reads.unordered().is_some()
        && scan.table.storage().records_estimate() >= columnar::RECORDS_MIN
}

/// Returns the engine's index of a table.
pub(super) fn index_of(table: &Table, at: usize) -> Result<&engine::Index> {
    table.indexes[at].handle.as_ref().ok_or_else(|| {
        let message = format!("index \"{}\" is not ready", table.indexes[at].name);
        SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
    })
}
