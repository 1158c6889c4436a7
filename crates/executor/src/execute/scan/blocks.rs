//! Rows of blocks of columns: a table's records split into fields, and batches taken out of the engine's blocks.
//!
//! | step | item |
//! | --- | --- |
//! | a record as fields, when a block is built | [`StoredRows`] |
//! | the rows of a block that pass the scan's tests | [`BlockRows::new`] |
//! | a batch of them, column by column | [`BlockRows::take`] |
//!
//! A column is in a block as its fields are (`types::row::Field`). Texts of a batch lie in the block, which the batch
//! owns with the engine; all other values are decoded.

use std::sync::Arc;

use batch::{Columns, IntegerKind, Vector};
use engine::{Charged, FrozenBlock, RecordFields, Unsplit};
use planner::{plan::Scan, program::agrees};
use segment::{Builder, Bytes, CellError, Column, Integers, Values};
use types::{
    Numeric, Result, Scalar, SqlError, SqlState, Type, Value,
    row::{Field, Row, RowLayout, integer_of, value_of_bytes},
};

/// Positions whose marks are in a word.
const WORD: usize = u64::BITS as usize;

/// Records of a table as rows of fields.
pub(super) struct StoredRows<'p>(pub(super) &'p RowLayout);

impl RecordFields for StoredRows<'_> {
    fn count(&self, record: &[u8]) -> Option<usize> {
        let row = Row::new(self.0, record).ok()?;
        Some(row.columns())
    }

    fn split(
        &self,
        record: &[u8],
        plain: &[bool],
        block: &mut Builder,
    ) -> std::result::Result<(), Unsplit> {
        let refused = |_| Unsplit::Refused;
        let row = Row::new(self.0, record).map_err(refused)?;
        for (at, is_plain) in plain.iter().enumerate() {
            let cells = block.cells(at);
            let field = match is_plain {
                true => match row.stored(at).map_err(refused)? {
                    Some(stored) => stored.map_or(Field::Null, Field::Bytes),
                    None => return Err(Unsplit::Refused),
                },
                false => match row.field(at).map_err(refused)? {
                    Some(field) => field,
                    None => return Err(Unsplit::Refused),
                },
            };
            let taken = match field {
                Field::Null => cells.absent(),
                Field::Integer(integer) => cells.integer(integer),
                Field::Decimal(mantissa, scale) => cells.decimal(mantissa, scale),
                Field::Bytes(bytes) => cells.bytes(bytes),
            };
            match taken {
                Ok(()) => {}
                Err(CellError::Mixed) => return Err(Unsplit::Mixed(at)),
                Err(_) => return Err(Unsplit::Refused),
            }
        }
        Ok(())
    }
}

/// Rows of a block that pass a scan's tests, to be taken out in batches.
pub(super) struct BlockRows {
    block: Arc<Charged<FrozenBlock>>,
    /// A bit for each position that was not taken yet.
    left: Box<[u64]>,
    /// First word with a bit.
    word: usize,
}

impl BlockRows {
    /// Finds the rows for which the tests hold, with these limits, among the positions of a block without a mark. `None`
    /// if there are none.
    ///
    /// # Errors
    /// XX001 for a block that is damaged.
    pub(super) fn new(
        block: Arc<Charged<FrozenBlock>>,
        marks: &[u64],
        scan: &Scan,
        limits: &[Option<i64>],
    ) -> Result<Option<Self>> {
        let columns = block.columns();
        let mut left: Box<[u64]> = marks.iter().map(|marks| !marks).collect();
        for (test, limit) in scan.tests.iter().zip(limits) {
            let Some(limit) = *limit else {
                return Ok(None);
            };
            let passes = |value: i64| agrees(test.comparison, value.cmp(&limit));
            if test.attribute >= columns.columns() {
                let missing = scan.table.columns[test.attribute].missing_value()?;
                match integer_of(missing) {
                    Some(value) if passes(value) => continue,
                    _ => return Ok(None),
                }
            }
            let column = columns.column(test.attribute);
            let integers = match column.values() {
                Values::Integers(integers) => integers,
                Values::Absent => return Ok(None),
                _ => return Err(damaged()),
            };
            if let Some(absent) = column.absent() {
                left.iter_mut()
                    .zip(absent)
                    .for_each(|(left, absent)| *left &= !absent);
            }
            narrow(&mut left, integers, passes);
        }
        let word = left.iter().position(|word| *word != 0);
        Ok(word.map(|word| Self { block, left, word }))
    }

    /// Takes the next rows into the columns of an empty batch: `wanted`, or a few more; `positions` is memory. Returns
    /// whether rows are left.
    ///
    /// # Errors
    /// XX001 for a block that is damaged.
    pub(super) fn take(
        &mut self,
        scan: &Scan,
        columns: &mut Columns,
        positions: &mut Vec<u32>,
        wanted: usize,
    ) -> Result<bool> {
        positions.clear();
        while self.word < self.left.len() && positions.len() < wanted {
            let (first, mut word) = ((self.word * WORD) as u32, self.left[self.word]);
            while word != 0 {
                positions.push(first + word.trailing_zeros());
                word &= word - 1;
            }
            self.word += 1;
        }
        let positions = &positions[..];
        columns.adopt(&self.block, positions.len(), |block, at, vector| {
            let (attribute, block) = (scan.columns[at], block.columns());
            let ty = scan.rows.column_type(attribute).ok_or_else(damaged)?;
            match attribute < block.columns() {
                true => fill(block.column(attribute), positions, ty, vector),
                false => {
                    *vector = Vector::nulls(positions.len());
                    Ok(())
                }
            }
        })?;
        // Columns that were added after the records were written.
        for (at, attribute) in scan.columns.iter().enumerate() {
            if *attribute >= self.block.columns().columns() {
                columns.set_column(at, scan.table.columns[*attribute].missing_value()?);
            }
        }
        let rest = &self.left[self.word..];
        self.word += rest
            .iter()
            .position(|word| *word != 0)
            .unwrap_or(rest.len());
        Ok(self.word < self.left.len())
    }
}

/// Takes the bits of those integers away that do not pass. The least and the greatest decide first.
fn narrow(left: &mut [u64], integers: Integers<'_>, passes: impl Fn(i64) -> bool) {
    let (least, greatest) = (passes(integers.least()), passes(integers.greatest()));
    if integers.constant().is_some() && least && greatest {
        return;
    }
    let mut values = Vec::with_capacity(WORD);
    for (number, left) in left.iter_mut().enumerate().filter(|(_, left)| **left != 0) {
        values.clear();
        integers.read(number * WORD..(number + 1) * WORD, &mut values);
        let found = values.iter().enumerate().fold(0, |found, (at, value)| {
            found | u64::from(passes(*value)) << at
        });
        *left &= found;
    }
}

/// Fills a vector with the values of a column of this type at some positions.
fn fill<'b>(
    column: Column<'b>,
    positions: &[u32],
    ty: Type,
    vector: &mut Vector<'b>,
) -> Result<()> {
    let mut integers = Vec::new();
    match column.values() {
        Values::Absent => *vector = Vector::nulls(positions.len()),
        Values::Integers(values) => match (IntegerKind::of_type(ty), ty) {
            (Some(kind), _) => vector.fill_integers(kind, |list| values.gather(positions, list)),
            (None, Type::Scalar(Scalar::Bool)) => {
                values.gather(positions, &mut integers);
                vector.fill_bools(|list| list.extend(integers.iter().map(|value| *value != 0)));
            }
            (None, Type::Scalar(Scalar::Float8)) => {
                values.gather(positions, &mut integers);
                let floats = integers
                    .iter()
                    .map(|bits| f64::from_bits(bits.cast_unsigned()));
                vector.fill_floats(|list| list.extend(floats));
            }
            _ => return Err(damaged()),
        },
        Values::Decimals { numbers, scales } => match scales.constant() {
            Some(scale) => {
                let scale = scale_of(scale)?;
                vector.fill_decimals(scale, |list| numbers.gather(positions, list));
            }
            None => {
                let mut of_each = Vec::new();
                numbers.gather(positions, &mut integers);
                scales.gather(positions, &mut of_each);
                let mut failure = Ok(());
                vector.fill_values(|list| {
                    let numbers = integers.iter().zip(&of_each).map(|(mantissa, scale)| {
                        let scale = scale_of(*scale).unwrap_or_else(|error| {
                            failure = Err(error);
                            0
                        });
                        Value::Numeric(Numeric::small(*mantissa, scale))
                    });
                    list.extend(numbers);
                });
                failure?;
            }
        },
        Values::Bytes(bytes) => fill_from_bytes(bytes, column, positions, ty, vector)?,
    }
    if column.absent().is_some() {
        let nulls = positions.iter().map(|at| column.is_absent(*at as usize));
        vector.mark_nulls(nulls.collect());
    }
    Ok(())
}

/// Fills a vector with values that are kept as bytes.
fn fill_from_bytes<'b>(
    bytes: Bytes<'b>,
    column: Column<'b>,
    positions: &[u32],
    ty: Type,
    vector: &mut Vector<'b>,
) -> Result<()> {
    let value = |at: usize| match column.is_absent(at) {
        true => Ok(Value::Null),
        false => value_of_bytes(bytes.get(at), ty),
    };
    let is_text = matches!(
        ty,
        Type::Scalar(Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name)
    );
    let mut failure = Ok(());
    let mut note = |error| failure = Err(error);
    match is_text {
        true => vector.fill_texts(|list| {
            list.extend(positions.iter().map(|at| {
                let text = std::str::from_utf8(bytes.get(*at as usize));
                text.unwrap_or_else(|_| {
                    note(damaged());
                    ""
                })
            }));
        }),
        false => vector.fill_values(|list| {
            list.extend(positions.iter().map(|at| {
                value(*at as usize).unwrap_or_else(|error| {
                    note(error);
                    Value::Null
                })
            }));
        }),
    }
    failure
}

fn scale_of(scale: i64) -> Result<u16> {
    let scale = u16::try_from(scale).ok();
    scale
        .filter(|scale| *scale <= u8::MAX.into())
        .ok_or_else(damaged)
}

#[cold]
fn damaged() -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, "block of columns is damaged")
}
