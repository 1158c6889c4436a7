//! Copies of values that borrow from another arena.
//!
//! Builds with debug assertions count the bytes that are copied ([`copied_bytes`]): tests state how often a value is
//! copied on its way from a record to a client.

#[cfg(debug_assertions)]
use std::cell::Cell;

use crate::{Scratch, Value};

#[cfg(debug_assertions)]
thread_local! {
    static COPIED_BYTES: Cell<u64> = const { Cell::new(0) };
}

/// Returns the bytes of texts, documents, arrays, `bytea` and numbers that this thread has copied between arenas.
#[cfg(debug_assertions)]
pub fn copied_bytes() -> u64 {
    COPIED_BYTES.get()
}

impl Value<'_> {
    /// Returns whether the value borrows memory.
    #[inline]
    pub fn borrows(&self) -> bool {
        match self {
            Self::Numeric(number) => number.borrows(),
            Self::Text(_)
            | Self::Bytea(_)
            | Self::Uuid(_)
            | Self::Json(_)
            | Self::Jsonb(_)
            | Self::Array(_)
            | Self::Record(_) => true,
            _ => false,
        }
    }

    /// Returns the bytes of a text, document, array, `bytea` or number that the value borrows; 0 for a record or
    /// an identifier.
    pub fn borrowed_bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Json(text) => text.len(),
            Self::Bytea(bytes) => bytes.len(),
            Self::Jsonb(document) => document.as_stored().len(),
            Self::Array(array) => array.as_stored().len(),
            Self::Numeric(number) => number.bytes(),
            _ => 0,
        }
    }

    /// Copies the value into `scratch`.
    pub fn copied<'s>(self, scratch: &'s Scratch) -> Value<'s> {
        #[cfg(debug_assertions)]
        COPIED_BYTES.set(COPIED_BYTES.get() + self.borrowed_bytes() as u64);
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int2(value) => Value::Int2(value),
            Self::Int4(value) => Value::Int4(value),
            Self::Int8(value) => Value::Int8(value),
            Self::Float4(value) => Value::Float4(value),
            Self::Float8(value) => Value::Float8(value),
            Self::Numeric(value) => Value::Numeric(value.copied(scratch)),
            Self::Text(value) => Value::Text(scratch.alloc_str(value)),
            Self::Char(value) => Value::Char(value),
            Self::Bytea(value) => Value::Bytea(scratch.alloc_slice_copy(value)),
            Self::Uuid(value) => Value::Uuid(scratch.alloc(*value)),
            Self::Json(value) => Value::Json(scratch.alloc_str(value)),
            Self::Jsonb(value) => Value::Jsonb(value.copied(scratch)),
            Self::Date(value) => Value::Date(value),
            Self::Time(value) => Value::Time(value),
            Self::TimeTz(time, zone) => Value::TimeTz(time, zone),
            Self::Timestamp(value) => Value::Timestamp(value),
            Self::TimestampTz(value) => Value::TimestampTz(value),
            Self::Interval(value) => Value::Interval(value),
            Self::Oid(value) => Value::Oid(value),
            Self::Enum(id, label) => Value::Enum(id, label),
            Self::Array(value) => Value::Array(value.copied(scratch)),
            Self::Record(record) => Value::Record(scratch.alloc(record.copied(scratch))),
        }
    }
}

impl Value<'_> {
    /// Returns whether the two values are indistinguishable: of one variant, with the same bits. `1.0` and
    /// `1.00` are not the same, and NaN is the same as itself; [`compare`](crate::compare) decides otherwise.
    pub fn is_same(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(left), Value::Bool(right)) => left == right,
            (Self::Int2(left), Value::Int2(right)) => left == right,
            (Self::Int4(left), Value::Int4(right)) => left == right,
            (Self::Int8(left), Value::Int8(right)) => left == right,
            (Self::Float4(left), Value::Float4(right)) => left.to_bits() == right.to_bits(),
            (Self::Float8(left), Value::Float8(right)) => left.to_bits() == right.to_bits(),
            (Self::Numeric(left), Value::Numeric(right)) => {
                let stored = |value: crate::Numeric<'_>| {
                    let mut bytes = Vec::new();
                    value.write_stored(&mut bytes);
                    bytes
                };
                stored(*left) == stored(*right)
            }
            (Self::Text(left), Value::Text(right)) => left == right,
            (Self::Char(left), Value::Char(right)) => left == right,
            (Self::Bytea(left), Value::Bytea(right)) => left == right,
            (Self::Uuid(left), Value::Uuid(right)) => left == right,
            (Self::Json(left), Value::Json(right)) => left == right,
            (Self::Jsonb(left), Value::Jsonb(right)) => left.as_stored() == right.as_stored(),
            (Self::Date(left), Value::Date(right)) => left == right,
            (Self::Time(left), Value::Time(right)) => left == right,
            (Self::TimeTz(left, zone), Value::TimeTz(right, other)) => {
                (left, zone) == (right, other)
            }
            (Self::Timestamp(left), Value::Timestamp(right)) => left == right,
            (Self::TimestampTz(left), Value::TimestampTz(right)) => left == right,
            (Self::Interval(left), Value::Interval(right)) => left == right,
            (Self::Oid(left), Value::Oid(right)) => left == right,
            (Self::Enum(left, label), Value::Enum(right, other)) => (left, label) == (right, other),
            (Self::Array(left), Value::Array(right)) => left.as_stored() == right.as_stored(),
            (Self::Record(left), Value::Record(right)) => {
                left.fields == right.fields
                    && left.values.len() == right.values.len()
                    && left
                        .values
                        .iter()
                        .zip(right.values)
                        .all(|(left, right)| left.is_same(right))
            }
            _ => false,
        }
    }
}
