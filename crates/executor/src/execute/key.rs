//! Ranges of keys as bytes, from what a plan says and values at hand.

use std::ops::Bound;

use types::{
    Result, Scalar, Sink, Type, Value,
    key::{KeyColumn, Nulls, successor, write},
};

use planner::{
    plan::{KeyBound, KeyRange},
    program::Evaluator,
};

/// The keys from one bound to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) from: Bound<Vec<u8>>,
    pub(super) to: Bound<Vec<u8>>,
}

/// Bytes of a key that need no memory beside it: those of a few numbers, or of a short text.
const INLINE_BYTES: usize = 40;

/// The whole key of a record. A short one lies in place, since most keys are short and are needed for one lookup.
#[derive(Default)]
pub(super) struct PointKey {
    inline: InlineKey,
    /// All bytes of a longer key; empty for a short one.
    long: Vec<u8>,
}

/// The bytes of a short key.
struct InlineKey {
    bytes: [u8; INLINE_BYTES],
    length: usize,
}

impl Default for InlineKey {
    fn default() -> Self {
        Self {
            bytes: [0; INLINE_BYTES],
            length: 0,
        }
    }
}

impl Sink for PointKey {
    fn put(&mut self, bytes: &[u8]) {
        let InlineKey {
            bytes: inline,
            length,
        } = &mut self.inline;
        if self.long.is_empty() {
            if let Some(free) = inline[*length..].get_mut(..bytes.len()) {
                free.copy_from_slice(bytes);
                *length += bytes.len();
                return;
            }
            self.long.extend_from_slice(&inline[..*length]);
        }
        self.long.extend_from_slice(bytes);
    }

    fn written(&mut self) -> &mut [u8] {
        match self.long.is_empty() {
            true => &mut self.inline.bytes[..self.inline.length],
            false => &mut self.long,
        }
    }
}

impl AsRef<[u8]> for PointKey {
    fn as_ref(&self) -> &[u8] {
        match self.long.is_empty() {
            true => &self.inline.bytes[..self.inline.length],
            false => &self.long,
        }
    }
}

/// A value's place among the values that a key's column can have.
enum Fit<'a> {
    Value(Value<'a>),
    /// The value is less, or greater, than all values of the column.
    Below,
    Above,
}

/// Returns the whole key, if the range is of one key and its values are there.
pub(super) fn point<'a>(
    range: &'a KeyRange,
    evaluator: &mut Evaluator<'a>,
    row: &[Value<'a>],
) -> Result<Option<PointKey>> {
    let mut key = PointKey::default();
    Ok(equal_into(range, evaluator, row, &mut key)?.then_some(key))
}

/// Appends the whole key, as [`point`] does; returns whether there is one.
pub(super) fn point_into<'a>(
    range: &'a KeyRange,
    evaluator: &mut Evaluator<'a>,
    row: &[Value<'a>],
    keys: &mut Vec<u8>,
) -> Result<bool> {
    let before = keys.len();
    let is_there = equal_into(range, evaluator, row, keys)?;
    if !is_there {
        keys.truncate(before);
    }
    Ok(is_there)
}

/// Appends the prefix that all keys share; returns false if there are no keys, because a value is
/// NULL or cannot be in the column.
fn equal_into<'a>(
    range: &'a KeyRange,
    evaluator: &mut Evaluator<'a>,
    row: &[Value<'a>],
    key: &mut impl Sink,
) -> Result<bool> {
    for (program, column) in range.equal.iter().zip(&range.columns) {
        let value = program.run(evaluator, row)?;
        if value.is_null() {
            return Ok(false);
        }
        match fit(value, column.ty) {
            Fit::Value(value) => write(*column, value, key)?,
            Fit::Below | Fit::Above => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns the keys of the range; `None` if there are none.
pub(super) fn keys<'a>(
    range: &'a KeyRange,
    evaluator: &mut Evaluator<'a>,
    row: &[Value<'a>],
) -> Result<Option<Keys>> {
    let mut prefix = Vec::new();
    if !equal_into(range, evaluator, row, &mut prefix)? {
        return Ok(None);
    }
    let Some(columns @ [column, ..]) = range.columns.get(range.equal.len()..) else {
        return Ok(Some(begun_with(prefix)));
    };
    if range.lower.is_none() && range.upper.is_none() {
        return Ok(Some(begun_with(prefix)));
    }
    let mut bound = |side: &'a Option<KeyBound>| match side {
        Some(bound) => Ok(Some(BoundValues::of(bound, evaluator, row)?)),
        None => Ok::<_, types::SqlError>(None),
    };
    let (lower, upper) = (bound(&range.lower)?, bound(&range.upper)?);
    if [&lower, &upper]
        .into_iter()
        .flatten()
        .any(BoundValues::is_null)
    {
        return Ok(None);
    }
    // In a descending column the greater values come first.
    let (first, last) = if column.descending {
        (upper, lower)
    } else {
        (lower, upper)
    };
    let from = first_key(&prefix, columns, first.as_ref())?;
    let to = last_key(&prefix, columns, last.as_ref())?;
    Ok(from.zip(to).map(|(from, to)| Keys { from, to }))
}

/// The values of a bound.
struct BoundValues<'a> {
    values: Vec<Value<'a>>,
    is_inclusive: bool,
}

impl<'a> BoundValues<'a> {
    fn of(bound: &'a KeyBound, evaluator: &mut Evaluator<'a>, row: &[Value<'a>]) -> Result<Self> {
        let values = bound.values.iter();
        let values = values.map(|program| program.run(evaluator, row));
        Ok(Self {
            values: values.collect::<Result<_>>()?,
            is_inclusive: bound.is_inclusive,
        })
    }

    fn is_null(&self) -> bool {
        self.values[0].is_null()
    }

    /// Appends the values of the columns behind the first to a key, up to one that the column cannot have. Returns
    /// whether keys that begin with the bound's are within the range.
    fn write_later(&self, columns: &[KeyColumn], key: &mut Vec<u8>) -> Result<bool> {
        for (value, column) in self.values.iter().zip(columns).skip(1) {
            match fit(*value, column.ty) {
                Fit::Value(value) if !value.is_null() => write(*column, value, key)?,
                _ => return Ok(true),
            }
        }
        Ok(self.is_inclusive)
    }
}

fn begun_with(prefix: Vec<u8>) -> Keys {
    let mut end = prefix.clone();
    let to = if successor(&mut end) {
        Bound::Excluded(end)
    } else {
        Bound::Unbounded
    };
    Keys {
        from: Bound::Included(prefix),
        to,
    }
}

/// Returns the bound where values begin within a prefix; `None` if no value is that far.
fn first_key(
    prefix: &[u8],
    columns: &[KeyColumn],
    bound: Option<&BoundValues<'_>>,
) -> Result<Option<Bound<Vec<u8>>>> {
    let column = columns[0];
    let mut key = prefix.to_vec();
    let Some(bound) = bound else {
        // NULLs satisfy no comparison, and may come first.
        if column.nulls == Nulls::First {
            write(column, Value::Null, &mut key)?;
            return Ok(Some(if successor(&mut key) {
                Bound::Included(key)
            } else {
                Bound::Unbounded
            }));
        }
        return Ok(Some(Bound::Included(key)));
    };
    let value = match (fit(bound.values[0], column.ty), column.descending) {
        (Fit::Value(value), _) => value,
        (Fit::Below, false) | (Fit::Above, true) => return first_key(prefix, columns, None),
        (Fit::Above, false) | (Fit::Below, true) => return Ok(None),
    };
    write(column, value, &mut key)?;
    // Other columns may follow: a key beyond a value is beyond all keys that begin with it.
    if bound.write_later(columns, &mut key)? {
        return Ok(Some(Bound::Included(key)));
    }
    Ok(successor(&mut key).then_some(Bound::Included(key)))
}

/// Returns the bound where values end within a prefix.
fn last_key(
    prefix: &[u8],
    columns: &[KeyColumn],
    bound: Option<&BoundValues<'_>>,
) -> Result<Option<Bound<Vec<u8>>>> {
    let column = columns[0];
    let mut key = prefix.to_vec();
    let Some(bound) = bound else {
        if column.nulls == Nulls::Last {
            write(column, Value::Null, &mut key)?;
            return Ok(Some(Bound::Excluded(key)));
        }
        return Ok(Some(if successor(&mut key) {
            Bound::Excluded(key)
        } else {
            Bound::Unbounded
        }));
    };
    let value = match (fit(bound.values[0], column.ty), column.descending) {
        (Fit::Value(value), _) => value,
        (Fit::Above, false) | (Fit::Below, true) => return last_key(prefix, columns, None),
        (Fit::Below, false) | (Fit::Above, true) => return Ok(None),
    };
    write(column, value, &mut key)?;
    if !bound.write_later(columns, &mut key)? {
        return Ok(Some(Bound::Excluded(key)));
    }
    Ok(Some(if successor(&mut key) {
        Bound::Excluded(key)
    } else {
        Bound::Unbounded
    }))
}

/// Converts a value to the type of a column: an integer of another width may be out of its range.
fn fit(value: Value<'_>, ty: Type) -> Fit<'_> {
    let integer = match value {
        Value::Int2(value) => i64::from(value),
        Value::Int4(value) => i64::from(value),
        Value::Int8(value) => value,
        other => return Fit::Value(other),
    };
    let fitted = match ty {
        Type::Scalar(Scalar::Int2) => i16::try_from(integer).map(Value::Int2),
        Type::Scalar(Scalar::Int4) => i32::try_from(integer).map(Value::Int4),
        _ => Ok(Value::Int8(integer)),
    };
    match fitted {
        Ok(value) => Fit::Value(value),
        Err(_) if integer < 0 => Fit::Below,
        Err(_) => Fit::Above,
    }
}
