//! Rows of blocks of columns: a table's records split into fields, and batches taken out of the engine's blocks.
//!
//! | step | item |
//! | --- | --- |
//! | a record as fields, when a block is built | [`StoredRows`] |
//! | the rows of a block that pass the scan's tests | [`BlockRows::new`] |
//! | a batch of them, column by column | [`BlockRows::take`] |
//!
//! A column is in a block as its fields are (`types::row::Field`). Texts of a batch lie in the block, which the batch
//! owns with the engine; all other values are decoded. Columns of few values get classes by the block's codes.

use std::{ops::Range, sync::Arc};

use super::Limits;
use batch::{COLUMN_VALUES, Columns, IntegerKind, Vector};
use engine::{BlockColumns, RecordFields, Unsplit};
use planner::{plan::Scan, program::agrees};
use segment::{Builder, Bytes, CellError, Column, Directory, Integers, PackedSlice, Values};
use types::{
    Numeric, Result, Scalar, SqlError, SqlState, Type, Value,
    row::{Field, Row, RowLayout, integer_of, value_of_bytes},
};

/// Positions whose marks are in a word.
const WORD: usize = u64::BITS as usize;

/// Number of classes that a column may have, and one more for NULLs.
const CLASSES_MAX: usize = 1 << 8;

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
        plain: &mut [bool],
        block: &mut Builder,
    ) -> std::result::Result<(), Unsplit> {
        let refused = |_| Unsplit::Refused;
        let row = Row::new(self.0, record).map_err(refused)?;
        let mut is_mixed = false;
        for (at, is_plain) in plain.iter_mut().enumerate() {
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
                Err(CellError::Mixed) => (*is_plain, is_mixed) = (true, true),
                Err(_) => return Err(Unsplit::Refused),
            }
        }
        match is_mixed {
            true => Err(Unsplit::Mixed),
            false => Ok(()),
        }
    }
}

/// Returns whether a block may have rows for which a scan's tests hold, with these limits, by the bounds of its
/// columns.
pub(super) fn may_have(directory: &Directory, scan: &Scan, limits: &Limits) -> bool {
    let bounds = |attribute| match attribute < directory.columns() {
        true => directory.integer_bounds(attribute),
        false => None,
    };
    let mut filters = limits.filters.iter();
    let may_pass = filters.all(|(attribute, filter)| {
        let may_have = bounds(*attribute)
            .is_none_or(|[least, greatest]| filter.may_have_between(least, greatest));
        if !may_have {
            filter.note(directory.rows(), 0);
        }
        may_have
    });
    may_pass
        && scan.tests.iter().zip(&limits.values).all(|(test, limit)| {
            let Some(limit) = *limit else { return false };
            let passes = |value: i64| agrees(test.comparison, value.cmp(&limit));
            bounds(test.attribute).is_none_or(|[least, greatest]| {
                let has_limit = (least..=greatest).contains(&limit);
                passes(least) || passes(greatest) || has_limit && passes(limit)
            })
        })
}

/// Rows of a block that pass a scan's tests, to be taken out in batches.
pub(super) struct BlockRows {
    block: Arc<BlockColumns>,
    /// A bit for each position that was not taken yet.
    left: Box<[u64]>,
    /// First word with a bit.
    word: usize,
}

impl BlockRows {
    /// Finds the rows for which the tests hold, with these limits, among the positions of a block without a mark.
    /// `None` if there are none.
    ///
    /// # Errors
    /// XX001 for a block that is damaged.
    pub(super) fn new(
        block: Arc<BlockColumns>,
        marks: &[u64],
        scan: &Scan,
        limits: &Limits,
    ) -> Result<Option<Self>> {
        let mut left: Box<[u64]> = marks.iter().map(|marks| !marks).collect();
        for (test, limit) in scan.tests.iter().zip(&limits.values) {
            let Some(limit) = *limit else {
                return Ok(None);
            };
            let passes = |value: i64| agrees(test.comparison, value.cmp(&limit));
            if !narrow_by(&mut left, &block, scan, test.attribute, passes)? {
                return Ok(None);
            }
        }
        for (attribute, filter) in &limits.filters {
            let tested = count(&left);
            let passes = |value| filter.may_have(value);
            let may_pass = narrow_by(&mut left, &block, scan, *attribute, passes)?;
            let passed = if may_pass { count(&left) } else { 0 };
            filter.note(tested, passed);
            if !may_pass {
                return Ok(None);
            }
        }
        let word = left.iter().position(|word| *word != 0);
        Ok(word.map(|word| Self { block, left, word }))
    }

    /// Takes the next rows into the columns of an empty batch, `wanted` at most; `positions` is memory. Returns whether
    /// rows are left.
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
        let wanted = wanted.min(COLUMN_VALUES / scan.columns.len().max(1)).max(1);
        while self.word < self.left.len() && positions.len() < wanted {
            let (first, word) = ((self.word * WORD) as u32, &mut self.left[self.word]);
            while *word != 0 && positions.len() < wanted {
                positions.push(first + word.trailing_zeros());
                *word &= *word - 1;
            }
            self.word += usize::from(*word == 0);
        }
        let places = Places::new(positions);
        columns.adopt(&self.block, positions.len(), |block, at, vector| {
            let attribute = scan.columns[at];
            let ty = scan.rows.column_type(attribute).ok_or_else(damaged)?;
            match attribute < block.columns() {
                true => {
                    let column = block.column(attribute).ok_or_else(damaged)?;
                    fill(column, &places, ty, vector)
                }
                false => {
                    *vector = Vector::nulls(positions.len());
                    Ok(())
                }
            }
        })?;
        // Columns that were added after the records were written.
        for (at, attribute) in scan.columns.iter().enumerate() {
            if *attribute >= self.block.columns() {
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

/// Takes the bits of those rows away whose integer in a column does not pass, or is NULL. Returns false if it is
/// known without a look at them that none passes.
///
/// # Errors
/// XX001 for a block that is damaged.
fn narrow_by(
    left: &mut [u64],
    block: &BlockColumns,
    scan: &Scan,
    attribute: usize,
    passes: impl Fn(i64) -> bool,
) -> Result<bool> {
    if attribute >= block.columns() {
        let missing = scan.table.columns[attribute].missing_value()?;
        return Ok(integer_of(missing).is_some_and(passes));
    }
    let column = block.column(attribute).ok_or_else(damaged)?;
    let integers = match column.values() {
        Values::Integers(integers) => integers,
        Values::Absent => return Ok(false),
        _ => return Err(damaged()),
    };
    if let Some(absent) = column.absent() {
        left.iter_mut()
            .zip(absent)
            .for_each(|(left, absent)| *left &= !absent);
    }
    narrow(left, integers, passes);
    Ok(true)
}

/// Returns the number of rows that have a bit.
fn count(left: &[u64]) -> usize {
    left.iter().map(|word| word.count_ones() as usize).sum()
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

/// Positions of rows that are taken out together, in ascending order.
struct Places<'p> {
    positions: &'p [u32],
    /// The same as a range, if they are neighbours.
    range: Option<Range<usize>>,
}

impl<'p> Places<'p> {
    fn new(positions: &'p [u32]) -> Self {
        let range = match positions {
            [first, .., last] if (last - first) as usize + 1 == positions.len() => {
                Some(*first as usize..*last as usize + 1)
            }
            _ => None,
        };
        Self { positions, range }
    }

    /// Appends the integers at the positions.
    fn integers(&self, values: Integers<'_>, to: &mut Vec<i64>) {
        to.reserve(self.positions.len());
        match &self.range {
            Some(range) => values.read(range.clone(), to),
            None => values.gather(self.positions, to),
        }
    }

    /// Returns the codes at the positions.
    fn codes(&self, codes: PackedSlice<'_>) -> Vec<u32> {
        match &self.range {
            Some(range) => {
                let mut unpacked = Vec::new();
                codes.unpack(range.clone(), &mut unpacked);
                unpacked
            }
            None => {
                let positions = self.positions.iter();
                positions.map(|at| codes.get(*at as usize)).collect()
            }
        }
    }

    /// Returns, for each position, whether the column has no value there; `None` if it has one everywhere.
    fn nulls(&self, column: Column<'_>) -> Option<Vec<bool>> {
        column.absent()?;
        let nulls = self.positions.iter();
        Some(nulls.map(|at| column.is_absent(*at as usize)).collect())
    }
}

/// Marks the values that a vector was filled with as NULL where the column has none, and gives them classes by their
/// codes, if they have codes below `count` that are few.
fn finish(
    column: Column<'_>,
    places: &Places<'_>,
    codes: Option<(Vec<u32>, usize)>,
    vector: &mut Vector<'_>,
) {
    let nulls = places.nulls(column);
    // NULLs are a class of their own. A damaged block may have codes that stand for nothing.
    let is_sound = |(codes, count): &(Vec<u32>, usize)| {
        *count < CLASSES_MAX && codes.iter().all(|code| (*code as usize) < *count)
    };
    let classes = codes.filter(is_sound).map(|(codes, count)| {
        let class = |(at, code): (usize, u32)| match &nulls {
            Some(nulls) if nulls[at] => count as u16,
            _ => code as u16,
        };
        let classes: Vec<_> = codes.into_iter().enumerate().map(class).collect();
        (classes, count + 1)
    });
    if let Some(nulls) = nulls {
        vector.mark_nulls(nulls);
    }
    if let Some((classes, count)) = classes {
        vector.classify(classes.into_iter(), count);
    }
}

/// Fills a vector with the values of a column of this type at some places.
fn fill<'b>(
    column: Column<'b>,
    places: &Places<'_>,
    ty: Type,
    vector: &mut Vector<'b>,
) -> Result<()> {
    let mut codes = None;
    match column.values() {
        Values::Absent => *vector = Vector::nulls(places.positions.len()),
        Values::Integers(values) => {
            fill_from_integers(values, places, ty, vector)?;
            codes = codes_of(values, places);
        }
        Values::Decimals { numbers, scales } => {
            fill_from_decimals(numbers, scales, places, vector)?;
        }
        Values::Bytes(bytes) => {
            codes = bytes
                .dictionary()
                .map(|dictionary| (places.codes(dictionary.codes()), dictionary.len()));
            fill_from_bytes(bytes, codes.as_ref(), column, places, ty, vector)?;
        }
    }
    finish(column, places, codes, vector);
    Ok(())
}

/// Returns codes of integers that lie near each other, and the number that they are below.
fn codes_of(values: Integers<'_>, places: &Places<'_>) -> Option<(Vec<u32>, usize)> {
    if values.constant().is_some() {
        return Some((vec![0; places.positions.len()], 1));
    }
    let (_, codes) = values.packed()?;
    let count = 1_usize << codes.width();
    (count < CLASSES_MAX).then(|| (places.codes(codes), count))
}

fn fill_from_integers(
    values: Integers<'_>,
    places: &Places<'_>,
    ty: Type,
    vector: &mut Vector<'_>,
) -> Result<()> {
    if let Some(kind) = IntegerKind::of_type(ty) {
        vector.fill_integers(kind, |list| places.integers(values, list));
        return Ok(());
    }
    let mut integers = Vec::new();
    places.integers(values, &mut integers);
    match ty {
        Type::Scalar(Scalar::Bool) => {
            vector.fill_bools(|list| list.extend(integers.iter().map(|value| *value != 0)));
        }
        Type::Scalar(Scalar::Float8) => {
            let floats = integers
                .iter()
                .map(|bits| f64::from_bits(bits.cast_unsigned()));
            vector.fill_floats(|list| list.extend(floats));
        }
        _ => return Err(damaged()),
    }
    Ok(())
}

fn fill_from_decimals(
    numbers: Integers<'_>,
    scales: Integers<'_>,
    places: &Places<'_>,
    vector: &mut Vector<'_>,
) -> Result<()> {
    if let Some(scale) = scales.constant() {
        vector.fill_decimals(scale_of(scale)?, |list| places.integers(numbers, list));
        return Ok(());
    }
    let (mut mantissas, mut of_each) = (Vec::new(), Vec::new());
    places.integers(numbers, &mut mantissas);
    places.integers(scales, &mut of_each);
    let number = |(mantissa, scale): (&i64, &i64)| {
        Ok(Value::Numeric(Numeric::small(*mantissa, scale_of(*scale)?)))
    };
    let values = mantissas.iter().zip(&of_each).map(number);
    let values = values.collect::<Result<Vec<_>>>()?;
    vector.fill_values(|list| list.extend(values));
    Ok(())
}

/// Fills a vector with values that are kept as bytes; `codes` are those of the dictionary, if there is one.
fn fill_from_bytes<'b>(
    bytes: Bytes<'b>,
    codes: Option<&(Vec<u32>, usize)>,
    column: Column<'b>,
    places: &Places<'_>,
    ty: Type,
    vector: &mut Vector<'b>,
) -> Result<()> {
    let is_text = matches!(
        ty,
        Type::Scalar(Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name)
    );
    if !is_text {
        let values = places.positions.iter().map(|at| {
            let at = *at as usize;
            match column.is_absent(at) {
                true => Ok(Value::Null),
                false => value_of_bytes(bytes.get(at), ty),
            }
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        vector.fill_values(|list| list.extend(values));
        return Ok(());
    }
    let texts: Vec<&str> = match (bytes.dictionary(), codes) {
        // An absent value has the code of any other.
        (Some(dictionary), Some((codes, count))) if *count <= codes.len() => {
            let entries = (0..*count as u32).map(|code| text(dictionary.entry(code)));
            let entries = entries.collect::<Result<Vec<_>>>()?;
            let texts = codes.iter().map(|code| entries.get(*code as usize));
            texts
                .map(|text| text.copied().ok_or_else(damaged))
                .collect::<Result<_>>()?
        }
        _ => {
            let texts = places.positions.iter();
            texts
                .map(|at| text(bytes.get(*at as usize)))
                .collect::<Result<_>>()?
        }
    };
    vector.fill_texts(|list| list.extend(texts));
    Ok(())
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| damaged())
}

fn scale_of(scale: i64) -> Result<u16> {
    let scale = u8::try_from(scale).map_err(|_| damaged())?;
    Ok(scale.into())
}

#[cold]
fn damaged() -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, "block of columns is damaged")
}
