//! Keys: values as bytes whose order, byte by byte, is the order of the values.
//!
//! A key is its columns one after the other. Each column knows its end, so the keys that begin
//! with the same columns are neighbours: a prefix of columns finds them, and [`successor`] of the
//! prefix ends them. For all types with a b-tree operator class:
//!
//! invariant `order`: `key(a) < key(b)` byte by byte iff `a < b`, and `key(a) = key(b)` iff `a`
//! and `b` are equal by [`compare`](crate::compare).
//!
//! | type | bytes |
//! | --- | --- |
//! | integers, dates, times | big-endian, the sign's bit inverted |
//! | floats | the bits, all inverted if negative, else the first; one zero, one NaN |
//! | `numeric` | see `key/numeric.rs` |
//! | text | the bytes, a zero; `char(n)` without the blanks at its end |
//! | `bytea` | `00` as `00 ff`; in the end `00 01` |
//! | `interval` | its length in microseconds, 128 bits |
//! | arrays | `01` before each element, `02` for NULL; `00`; the dimensions |
//! | `jsonb` | see `key/jsonb.rs` |
//!
//! A column that may be NULL has a byte before: `01` for a value, `00` or `02` for NULL. In a
//! descending column the bytes of the value are inverted.
//!
//! Equal values may differ, as `1.0` and `1.00` do. Therefore only keys of some types can be
//! [read] back.

mod jsonb;
mod numeric;
mod reader;

use crate::{
    Array, Result, Scalar, Sink, SqlError, SqlState, Type, Value,
    compare::{interval_key, time_tz_key, without_blanks},
};
pub use reader::{is_readable, read};

/// Place of NULLs in a column of a key, if it may be NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// No value is NULL, which saves a byte.
    Never,
    /// NULLs come before all values.
    First,
    /// NULLs come after all values.
    Last,
}

/// A column of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyColumn {
    /// Type of the values.
    pub ty: Type,
    /// Whether the greatest value is first.
    pub descending: bool,
    /// Place of NULLs, which `descending` does not reverse.
    pub nulls: Nulls,
}

const VALUE: u8 = 1;
const END: u8 = 0;
const NULL_FIRST: u8 = 0;
const NULL_LAST: u8 = 2;

/// Bits of the NaN that stands for all, which is positive and so after infinity.
const NAN_BITS: u32 = 0x7fc0_0000;
const NAN_BITS_LONG: u64 = 0x7ff8_0000_0000_0000;

/// Returns whether values of a type have keys.
pub fn has_order(ty: Type) -> bool {
    matches!(ty, Type::Scalar(scalar) | Type::Array(scalar) if scalar != Scalar::Json)
}

/// Appends the key of a value.
///
/// # Errors
/// `23502` if the value is NULL and must not be, `XX000` if it is not of the column's type,
/// `42704` if the type has no order.
#[inline]
pub fn write(column: KeyColumn, value: Value<'_>, out: &mut impl Sink) -> Result<()> {
    if value.is_null() {
        out.put_byte(match column.nulls {
            Nulls::First => NULL_FIRST,
            Nulls::Last => NULL_LAST,
            Nulls::Never => {
                return Err(SqlError::new(
                    SqlState::NOT_NULL_VIOLATION,
                    "null value in a key that must have none",
                ));
            }
        });
        return Ok(());
    }
    if column.nulls != Nulls::Never {
        out.put_byte(VALUE);
    }
    let start = out.written().len();
    match column.ty {
        Type::Array(element) => write_array(element, value, out)?,
        Type::Scalar(scalar) => write_scalar(scalar, value, out)?,
        _ => return Err(no_order(column.ty)),
    }
    if column.descending {
        for byte in &mut out.written()[start..] {
            *byte = !*byte;
        }
    }
    Ok(())
}

/// Appends the key of several values, as many as there are columns or fewer: a prefix.
///
/// # Errors
/// Fails as [`write()`] does.
pub fn write_all(columns: &[KeyColumn], values: &[Value<'_>], out: &mut impl Sink) -> Result<()> {
    for (column, value) in columns.iter().zip(values) {
        write(*column, *value, out)?;
    }
    Ok(())
}

/// Changes a prefix to the least key that is greater than all keys which begin with it.
///
/// Returns `false`, and leaves nothing, if there is none: the prefix is empty or of `ff` only.
pub fn successor(prefix: &mut Vec<u8>) -> bool {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return true;
        }
    }
    false
}

fn write_scalar(scalar: Scalar, value: Value<'_>, out: &mut impl Sink) -> Result<()> {
    match (scalar, value) {
        (Scalar::Bool, Value::Bool(value)) => out.put_byte(value.into()),
        (Scalar::Char, Value::Char(value)) => out.put_byte(value),
        (Scalar::Int2, Value::Int2(value)) => {
            out.put(&((value as u16) ^ 1 << 15).to_be_bytes());
        }
        (Scalar::Int4, Value::Int4(value)) | (Scalar::Date, Value::Date(value)) => {
            out.put(&turned(value).to_be_bytes());
        }
        (Scalar::Int8, Value::Int8(value))
        | (Scalar::Time, Value::Time(value))
        | (Scalar::Timestamp, Value::Timestamp(value))
        | (Scalar::TimestampTz, Value::TimestampTz(value)) => {
            out.put(&turned_long(value).to_be_bytes());
        }
        (Scalar::Float4, Value::Float4(value)) => {
            let bits = if value.is_nan() {
                NAN_BITS
            } else {
                // -0.0 + 0.0 is 0.0.
                (value + 0.0).to_bits()
            };
            let mask = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
            out.put(&(bits ^ mask).to_be_bytes());
        }
        (Scalar::Float8, Value::Float8(value)) => {
            let bits = if value.is_nan() {
                NAN_BITS_LONG
            } else {
                (value + 0.0).to_bits()
            };
            let mask = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
            out.put(&(bits ^ mask).to_be_bytes());
        }
        (Scalar::Numeric, Value::Numeric(value)) => numeric::write(value, out),
        (Scalar::Bpchar, Value::Text(value)) => write_text(without_blanks(value), out)?,
        (Scalar::Text | Scalar::Varchar | Scalar::Name, Value::Text(value)) => {
            write_text(value, out)?;
        }
        (Scalar::Bytea, Value::Bytea(value)) => write_bytes(value, out),
        (Scalar::Uuid, Value::Uuid(value)) => out.put(value),
        (Scalar::Jsonb, Value::Jsonb(value)) => jsonb::write(value, out)?,
        (Scalar::TimeTz, Value::TimeTz(time, zone)) => {
            let (moment, zone) = time_tz_key(time, zone);
            out.put(&turned_long(moment).to_be_bytes());
            out.put(&turned(zone).to_be_bytes());
        }
        (Scalar::Interval, Value::Interval(value)) => {
            let bits = interval_key(value) as u128 ^ 1 << 127;
            out.put(&bits.to_be_bytes());
        }
        (
            Scalar::Oid
            | Scalar::Regclass
            | Scalar::Regtype
            | Scalar::Regproc
            | Scalar::Regnamespace
            | Scalar::Regrole,
            Value::Oid(value),
        ) => {
            out.put(&value.to_be_bytes());
        }
        (Scalar::Enum(id), Value::Enum(of, position)) if id == of => {
            out.put(&position.to_be_bytes());
        }
        (Scalar::Json, _) => return Err(no_order(scalar.into())),
        (scalar, value) => {
            return Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                format!("{value:?} is not of the key's type {scalar:?}"),
            ));
        }
    }
    Ok(())
}

fn turned(value: i32) -> u32 {
    value as u32 ^ 1 << 31
}

fn turned_long(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

/// Appends text, which has no zeros, and a zero.
fn write_text(text: &str, out: &mut impl Sink) -> Result<()> {
    if text.as_bytes().contains(&0) {
        return Err(crate::text::zero_byte());
    }
    out.put(text.as_bytes());
    out.put_byte(END);
    Ok(())
}

const ZERO_ESCAPE: u8 = 0xff;
const BYTES_END: u8 = 1;

fn write_bytes(bytes: &[u8], out: &mut impl Sink) {
    for (index, piece) in bytes.split(|byte| *byte == 0).enumerate() {
        if index > 0 {
            out.put(&[0, ZERO_ESCAPE]);
        }
        out.put(piece);
    }
    out.put(&[0, BYTES_END]);
}

fn write_array(element: Scalar, value: Value<'_>, out: &mut impl Sink) -> Result<()> {
    let Value::Array(array) = value else {
        return Err(SqlError::new(
            SqlState::INTERNAL_ERROR,
            format!("{value:?} is not of the key's type, an array of {element:?}"),
        ));
    };
    for value in array.iter() {
        match value? {
            Value::Null => out.put_byte(NULL_LAST),
            value => {
                out.put_byte(VALUE);
                write_scalar(element, value, out)?;
            }
        }
    }
    out.put_byte(END);
    write_shape(array, out);
    Ok(())
}

fn write_shape(array: Array<'_>, out: &mut impl Sink) {
    out.put_byte(array.dimensions().len() as u8);
    for dimension in array.dimensions() {
        out.put(&dimension.length.to_be_bytes());
    }
    for dimension in array.dimensions() {
        out.put(&turned(dimension.lower).to_be_bytes());
    }
}

#[cold]
fn no_order(ty: Type) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_OBJECT,
        format!(
            "data type {} has no default operator class for access method \"btree\"",
            ty.name(&crate::NoNames)
        ),
    )
}

#[cfg(test)]
mod tests;
