//! Order and equality of values, by PostgreSQL's default b-tree operator classes, and hashes
//! that are the same for equal values.
//!
//! Text is in the order of its bytes: the collation is `C`. NaN is equal to itself and greater
//! than all numbers. Values of different types of one family are compared too, as the operators
//! between them do: integers of all widths, `real` with `double precision`, numbers with
//! `numeric`. Callers state that they compare `char(n)`, because blanks at the end do not count
//! there.
//!
//! NULL is after everything and equal to itself, as in sorting and grouping; expressions see to
//! it that `NULL = NULL` is unknown.

mod hash;

use std::cmp::Ordering;

use crate::{Array, Interval, Record, Scalar, Type, Value};
pub use hash::{feed_hasher, hash_values};

/// Compares two values of one type, other than `char(n)`, in PostgreSQL's order; NULL last.
///
/// Values that cannot be compared, which the binder refuses, are in the order of their kinds.
pub fn compare(one: Value<'_>, two: Value<'_>) -> Ordering {
    use Value as V;
    match (one, two) {
        (V::Null, V::Null) => Ordering::Equal,
        (V::Null, _) => Ordering::Greater,
        (_, V::Null) => Ordering::Less,
        (V::Bool(one), V::Bool(two)) => one.cmp(&two),
        (V::Text(one), V::Text(two)) | (V::Json(one), V::Json(two)) => one.cmp(two),
        (V::Char(one), V::Char(two)) => one.cmp(&two),
        (V::Bytea(one), V::Bytea(two)) => one.cmp(two),
        (V::Uuid(one), V::Uuid(two)) => one.cmp(two),
        (V::Jsonb(one), V::Jsonb(two)) => one.compare(two),
        (V::Date(one), V::Date(two)) => one.cmp(&two),
        (V::Time(one), V::Time(two))
        | (V::Timestamp(one), V::Timestamp(two))
        | (V::TimestampTz(one), V::TimestampTz(two)) => one.cmp(&two),
        (V::TimeTz(one, one_zone), V::TimeTz(two, two_zone)) => {
            time_tz_key(one, one_zone).cmp(&time_tz_key(two, two_zone))
        }
        (V::Interval(one), V::Interval(two)) => interval_key(one).cmp(&interval_key(two)),
        (V::Oid(one), V::Oid(two)) => one.cmp(&two),
        (V::Enum(_, one), V::Enum(_, two)) => one.cmp(&two),
        (V::Array(one), V::Array(two)) => compare_arrays(one, two),
        (V::Record(one), V::Record(two)) => compare_records(one, two),
        (one, two) => compare_numbers(one, two),
    }
}

/// Returns whether two values of a type, which may be `char(n)`, are equal; NULLs are.
#[inline]
pub fn equals(ty: Type, one: Value<'_>, two: Value<'_>) -> bool {
    match (one, two) {
        (Value::Int4(one), Value::Int4(two)) => one == two,
        (Value::Int8(one), Value::Int8(two)) => one == two,
        _ => compare_as(ty, one, two).is_eq(),
    }
}

/// Compares two values of a type, which may be `char(n)` or an array of it.
pub fn compare_as(ty: Type, one: Value<'_>, two: Value<'_>) -> Ordering {
    match (ty, one, two) {
        (Type::Scalar(Scalar::Bpchar), Value::Text(one), Value::Text(two)) => {
            without_blanks(one).cmp(without_blanks(two))
        }
        _ => compare(one, two),
    }
}

/// Returns text of `char(n)` without the blanks at its end, which do not count in comparisons.
pub fn without_blanks(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// Compares rows, the first column first. A row that is a prefix of the other is less.
pub fn compare_rows(one: &[Value<'_>], two: &[Value<'_>]) -> Ordering {
    one.iter()
        .zip(two)
        .map(|(one, two)| compare(*one, *two))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| one.len().cmp(&two.len()))
}

/// Compares rows as values, by the types of the first one's fields.
fn compare_records(one: &Record<'_>, two: &Record<'_>) -> Ordering {
    let pairs = one.values.iter().zip(two.values).enumerate();
    pairs
        .map(|(position, (left, right))| compare_as(one.ty(position), *left, *right))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| one.values.len().cmp(&two.values.len()))
}

/// Compares numbers of different types.
fn compare_numbers(one: Value<'_>, two: Value<'_>) -> Ordering {
    use Value as V;
    if let (Some(one), Some(two)) = (integer(one), integer(two)) {
        return one.cmp(&two);
    }
    match (one, two) {
        (V::Numeric(one), V::Numeric(two)) => one.compare(two),
        (V::Numeric(one), two) if integer(two).is_some() => {
            one.compare(integer(two).unwrap_or(0).into())
        }
        (one, V::Numeric(two)) if integer(one).is_some() => {
            crate::Numeric::from(integer(one).unwrap_or(0)).compare(two)
        }
        (one, two) => match (float(one), float(two)) {
            (Some(one), Some(two)) => compare_floats(one, two),
            _ => kind(one).cmp(&kind(two)),
        },
    }
}

/// Returns the value of an integer of any width.
#[inline]
fn integer(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int2(value) => Some(value.into()),
        Value::Int4(value) => Some(value.into()),
        Value::Int8(value) => Some(value),
        _ => None,
    }
}

/// Converts a number to a float, as the operators between floats and other numbers do.
fn float(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Float4(value) => Some(value.into()),
        Value::Float8(value) => Some(value),
        Value::Numeric(value) => Some(value.to_f64()),
        _ => integer(value).map(|value| value as f64),
    }
}

/// Compares floats. NaN is equal to itself and greater than all others; the zeros are equal.
pub fn compare_floats(one: f64, two: f64) -> Ordering {
    one.partial_cmp(&two)
        .unwrap_or_else(|| one.is_nan().cmp(&two.is_nan()))
}

fn kind(value: Value<'_>) -> u8 {
    match value {
        Value::Null => u8::MAX,
        Value::Bool(_) => 0,
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => 1,
        Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => 1,
        Value::Text(_) => 2,
        Value::Char(_) => 3,
        Value::Bytea(_) => 4,
        Value::Uuid(_) => 5,
        Value::Json(_) => 6,
        Value::Jsonb(_) => 7,
        Value::Date(_) => 8,
        Value::Time(_) => 9,
        Value::TimeTz(..) => 10,
        Value::Timestamp(_) => 11,
        Value::TimestampTz(_) => 12,
        Value::Interval(_) => 13,
        Value::Oid(_) => 14,
        Value::Enum(..) => 15,
        Value::Array(_) => 16,
        Value::Record(_) => 17,
    }
}

/// Returns the key by which intervals are compared: microseconds, with days of 24 hours and
/// months of 30 days.
pub(crate) fn interval_key(interval: Interval) -> i128 {
    let days = i64::from(interval.months) * 30 + i64::from(interval.days);
    i128::from(days) * i128::from(crate::datetime::MICROSECONDS_PER_DAY)
        + i128::from(interval.microseconds)
}

/// Returns the key by which times with zones are compared: the moment, then the zone.
pub(crate) fn time_tz_key(time: i64, zone: i32) -> (i64, i32) {
    let zone_microseconds = i64::from(zone) * crate::datetime::MICROSECONDS_PER_SECOND;
    (time.saturating_add(zone_microseconds), zone)
}

/// Compares element by element, then the numbers of elements and of dimensions, then the
/// dimensions. A damaged element counts as NULL.
fn compare_arrays(one: Array<'_>, two: Array<'_>) -> Ordering {
    let element = Type::Scalar(one.element());
    one.iter()
        .zip(two.iter())
        .map(|(one, two)| {
            let (one, two) = (one.unwrap_or(Value::Null), two.unwrap_or(Value::Null));
            compare_as(element, one, two)
        })
        .find(|order| order.is_ne())
        .unwrap_or_else(|| {
            one.len()
                .cmp(&two.len())
                .then_with(|| one.dimensions().len().cmp(&two.dimensions().len()))
                .then_with(|| lengths(one).cmp(lengths(two)))
                .then_with(|| lower_bounds(one).cmp(lower_bounds(two)))
        })
}

fn lengths(array: Array<'_>) -> impl Iterator<Item = u32> {
    array.dimensions().map(|dimension| dimension.length)
}

fn lower_bounds(array: Array<'_>) -> impl Iterator<Item = i32> {
    array.dimensions().map(|dimension| dimension.lower)
}

#[cfg(test)]
mod tests;
