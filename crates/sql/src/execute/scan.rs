//! Records of a table, filtered where they lie.
//!
//! A scan is done in pieces: each begins behind the key at which the one before ended, so that
//! nothing of the engine is held while the rows are used. Rows are decoded as far as the statement
//! needs them, and copied only if the filter holds.

use std::ops::{Bound, ControlFlow};

use engine::Direction;
use interleave::Interleaved;
use types::{
    Result, Scratch, SqlError, SqlState, Value,
    row::{Row, RowLayout},
};

use super::{BATCH_ROWS, Operator, Run, Step, errors::of_engine, key::Keys};
use crate::{
    catalog::Table,
    plan::{Access, Scan},
    program::Program,
    rows::Rows,
};

/// Rows of the first piece: many scans are ended early.
const FIRST_ROWS: usize = 32;

/// How a record's bytes become values.
#[derive(Clone, Copy)]
pub(super) struct Reader<'p> {
    pub(super) table: &'p Table,
    pub(super) rows: &'p RowLayout,
    /// Positions in the table.
    pub(super) columns: &'p [usize],
    pub(super) with_key: bool,
    pub(super) filter: Option<&'p Program>,
}

impl<'p> Reader<'p> {
    pub(super) fn of(scan: &'p Scan) -> Self {
        Reader {
            table: &scan.table,
            rows: &scan.rows,
            columns: &scan.columns,
            with_key: scan.with_key,
            filter: scan.filter.as_ref(),
        }
    }

    /// Decodes a record into `values`, which it clears; whether the filter holds.
    pub(super) fn read<'a>(
        &self,
        run: &'a Run<'_>,
        scratch: &'a Scratch,
        key: &'a [u8],
        record: &'a [u8],
        values: &mut Vec<Value<'a>>,
    ) -> Result<bool>
    where
        'p: 'a,
    {
        values.clear();
        let row = Row::new(self.rows, record)?;
        for &at in self.columns {
            values.push(column(self.table, &row, at)?);
        }
        if self.with_key {
            values.push(Value::Bytea(key));
        }
        match self.filter {
            Some(filter) => filter.holds(&mut run.machine(scratch), values),
            None => Ok(true),
        }
    }
}

/// The value of a column; a row that is older than the column has what the catalog says.
pub(crate) fn column<'a>(table: &'a Table, row: &Row<'_, 'a>, at: usize) -> Result<Value<'a>> {
    match row.value(at)? {
        Some(value) => Ok(value),
        None => missing(table, at),
    }
}

fn missing(table: &Table, at: usize) -> Result<Value<'_>> {
    let column = &table.columns[at];
    let Some(bytes) = &column.missing else {
        return Ok(Value::Null);
    };
    let layout = RowLayout::new(&[column.ty])?;
    Ok(Row::new(&layout, bytes)?.value(0)?.unwrap_or(Value::Null))
}

/// A scan that runs.
pub(super) struct Scanning<'p> {
    scan: &'p Scan,
    progress: Progress,
    scratch: Scratch,
}

enum Progress {
    Begin,
    /// Records from here on have not been looked at.
    At(Keys),
    End,
}

impl<'p> Scanning<'p> {
    pub(super) fn new(scan: &'p Scan) -> Self {
        Self {
            scan,
            progress: Progress::Begin,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        self.scratch.reset();
        let first = matches!(self.progress, Progress::Begin);
        if first {
            match &self.scan.access {
                Access::Key(range) if range.is_point => return self.point(run, out).await,
                Access::Index { range, index } if range.is_point => {
                    return self.point_by(run, *index, out).await;
                }
                _ => self.begin(run)?,
            }
        }
        let mut wanted = if first { FIRST_ROWS } else { BATCH_ROWS };
        while let Progress::At(keys) = &mut self.progress {
            let ended = piece(self.scan, keys, run, wanted, out).await?;
            if ended {
                self.progress = Progress::End;
            }
            if !out.is_empty() {
                return Ok(true);
            }
            wanted = BATCH_ROWS;
        }
        Ok(false)
    }

    fn begin(&mut self, run: &Run<'_>) -> Result<()> {
        let everything = Keys {
            from: Bound::Unbounded,
            to: Bound::Unbounded,
        };
        let keys = match &self.scan.access {
            Access::Full => Some(everything),
            Access::Key(range) | Access::Index { range, .. } => {
                range.keys(&mut run.machine(&self.scratch), &[])?
            }
        };
        self.progress = keys.map_or(Progress::End, Progress::At);
        Ok(())
    }

    async fn point(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        self.progress = Progress::End;
        let Access::Key(range) = &self.scan.access else {
            return Ok(false);
        };
        let Some(key) = range.point(&mut run.machine(&self.scratch), &[])? else {
            return Ok(false);
        };
        let reader = Reader::of(self.scan);
        let scratch = &self.scratch;
        let found = run
            .reads
            .get::<Interleaved, _>(self.scan.table.storage(), &key, |record| {
                take(reader, run, scratch, &key, record, out)
            });
        match found
            .await
            .map_err(|error| of_engine(error, &self.scan.table))?
        {
            Some(taken) => taken,
            None => Ok(false),
        }
    }

    async fn point_by(&mut self, run: &Run<'_>, index: usize, out: &mut Rows) -> Result<bool> {
        self.progress = Progress::End;
        let Access::Index { range, .. } = &self.scan.access else {
            return Ok(false);
        };
        let Some(key) = range.point(&mut run.machine(&self.scratch), &[])? else {
            return Ok(false);
        };
        let reader = Reader::of(self.scan);
        let scratch = &self.scratch;
        let handle = index_of(&self.scan.table, index)?;
        let found = run
            .reads
            .get_by::<Interleaved, _>(handle, &key, |primary, record| {
                take(reader, run, scratch, primary, record, out)
            });
        match found
            .await
            .map_err(|error| of_engine(error, &self.scan.table))?
        {
            Some(taken) => taken,
            None => Ok(false),
        }
    }
}

/// The engine's index of a table.
pub(super) fn index_of(table: &Table, at: usize) -> Result<&engine::Index> {
    table.indexes[at].handle.as_ref().ok_or_else(|| {
        let message = format!("index \"{}\" is not ready", table.indexes[at].name);
        SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
    })
}

/// Adds a record to `out` if its filter holds; whether it did.
fn take(
    reader: Reader<'_>,
    run: &Run<'_>,
    scratch: &Scratch,
    key: &[u8],
    record: &[u8],
    out: &mut Rows,
) -> Result<bool> {
    let mut values = Vec::with_capacity(reader.columns.len() + 1);
    let holds = reader.read(run, scratch, key, record, &mut values)?;
    if holds {
        out.push(values);
    }
    Ok(holds)
}

/// Scans until there are `wanted` rows, or as many records were looked at as a batch may have a few
/// times over; whether that was the end. `keys` is what is left.
async fn piece(
    scan: &Scan,
    keys: &mut Keys,
    run: &Run<'_>,
    wanted: usize,
    out: &mut Rows,
) -> Result<bool> {
    let reader = Reader::of(scan);
    // Only a scan by an index says which entry it was at: records may share its key.
    let mut last: Option<Vec<u8>> = None;
    let mut failure = None;
    let mut looked_at = 0_usize;
    let mut scratch = Scratch::new();
    let direction = if scan.descending {
        Direction::Backward
    } else {
        Direction::Forward
    };
    let table = scan.table.storage();
    let ended = {
        let mut visit = |position: &[u8], key: &[u8], record: &[u8]| {
            looked_at += 1;
            // A filter may leave much behind.
            if looked_at.is_multiple_of(BATCH_ROWS) {
                scratch.reset();
            }
            match take(reader, run, &scratch, key, record, out) {
                Ok(_) if out.len() < wanted && looked_at < 16 * BATCH_ROWS => {
                    ControlFlow::Continue(())
                }
                Ok(_) => {
                    last = Some(position.to_vec());
                    ControlFlow::Break(())
                }
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let range = (
            keys.from.as_ref().map(Vec::as_slice),
            keys.to.as_ref().map(Vec::as_slice),
        );
        match &scan.access {
            Access::Full | Access::Key(_) => {
                let scanned =
                    run.reads
                        .scan::<Interleaved>(table, range, direction, |key, record| {
                            visit(key, key, record)
                        });
                scanned
                    .await
                    .map_err(|error| of_engine(error, &scan.table))?;
            }
            Access::Index { index, .. } => {
                let handle = index_of(&scan.table, *index)?;
                // Records with one index key come together: the piece ends behind them.
                let mut ending: Option<Vec<u8>> = None;
                let scanned = run.reads.scan_by::<Interleaved>(
                    handle,
                    range,
                    direction,
                    |entry, key, record| {
                        if ending.as_deref().is_some_and(|ending| ending != entry) {
                            return ControlFlow::Break(());
                        }
                        match visit(entry, key, record) {
                            ControlFlow::Continue(()) => ControlFlow::Continue(()),
                            ControlFlow::Break(()) => {
                                ending.get_or_insert_with(|| entry.to_vec());
                                ControlFlow::Continue(())
                            }
                        }
                    },
                );
                scanned
                    .await
                    .map_err(|error| of_engine(error, &scan.table))?;
            }
        }
        last.is_none()
    };
    if let Some(error) = failure {
        return Err(error);
    }
    if let Some(last) = last {
        if scan.descending {
            keys.to = Bound::Excluded(last);
        } else {
            keys.from = Bound::Excluded(last);
        }
    }
    Ok(ended)
}

impl Operator for Scanning<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(run, out))
    }

    fn rewind(&mut self) {
        self.progress = Progress::Begin;
    }
}
