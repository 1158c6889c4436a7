//! Conversions between values and Rust's types, so that functions are written over the latter.
//!
//! The binder has cast each argument to its parameter's type before a function sees it; a value
//! that does not fit is a fault of ours, and gives an internal error, not a panic.

use types::{Array, Interval, Jsonb, Numeric, Result, SqlError, SqlState, Value};

/// A type that a parameter of a function can have.
pub(crate) trait Argument<'a>: Sized {
    /// Returns the value as this type.
    fn of(value: Value<'a>) -> Option<Self>;
}

/// A type that a function can return.
pub(crate) trait Outcome<'a> {
    /// Converts the result to a value.
    fn outcome(self) -> Result<Value<'a>>;
}

/// Returns the argument at a position, as the type that the function wants.
pub(crate) fn take<'a, T: Argument<'a>>(arguments: &[Value<'a>], position: usize) -> Result<T> {
    arguments
        .get(position)
        .and_then(|value| T::of(*value))
        .ok_or_else(|| unexpected(position))
}

#[cold]
fn unexpected(position: usize) -> SqlError {
    SqlError::new(
        SqlState::INTERNAL_ERROR,
        format!("argument {} has an unexpected form", position + 1),
    )
}

/// `date`: days since 2000-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date(pub(crate) i32);

/// `time`: microseconds since midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) i64);

/// `timetz`: microseconds since midnight, seconds west of Greenwich.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeTz(pub(crate) i64, pub(crate) i32);

/// `timestamp`: microseconds since 2000-01-01 00:00:00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timestamp(pub(crate) i64);

/// `timestamptz`: microseconds since 2000-01-01 00:00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimestampTz(pub(crate) i64);

/// `json`: the text as it was given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Json<'a>(pub(crate) &'a str);

/// `oid` and its aliases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Oid(pub(crate) u32);

/// `"char"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Char(pub(crate) u8);

macro_rules! forms {
    ($($rust:ty: $pattern:pat => $from:expr, $this:ident => $into:expr;)*) => {$(
        impl<'a> Argument<'a> for $rust {
            #[inline]
            fn of(value: Value<'a>) -> Option<Self> {
                match value {
                    $pattern => Some($from),
                    _ => None,
                }
            }
        }

        impl<'a> Outcome<'a> for $rust {
            #[inline]
            fn outcome(self) -> Result<Value<'a>> {
                let $this = self;
                Ok($into)
            }
        }
    )*};
}

forms! {
    bool: Value::Bool(value) => value, this => Value::Bool(this);
    i16: Value::Int2(value) => value, this => Value::Int2(this);
    i32: Value::Int4(value) => value, this => Value::Int4(this);
    i64: Value::Int8(value) => value, this => Value::Int8(this);
    f32: Value::Float4(value) => value, this => Value::Float4(this);
    f64: Value::Float8(value) => value, this => Value::Float8(this);
    Numeric<'a>: Value::Numeric(value) => value, this => Value::Numeric(this);
    &'a str: Value::Text(value) => value, this => Value::Text(this);
    &'a [u8]: Value::Bytea(value) => value, this => Value::Bytea(this);
    &'a [u8; 16]: Value::Uuid(value) => value, this => Value::Uuid(this);
    Json<'a>: Value::Json(value) => Json(value), this => Value::Json(this.0);
    Jsonb<'a>: Value::Jsonb(value) => value, this => Value::Jsonb(this);
    Array<'a>: Value::Array(value) => value, this => Value::Array(this);
    Date: Value::Date(value) => Date(value), this => Value::Date(this.0);
    Time: Value::Time(value) => Time(value), this => Value::Time(this.0);
    TimeTz: Value::TimeTz(time, zone) => TimeTz(time, zone), this => Value::TimeTz(this.0, this.1);
    Timestamp: Value::Timestamp(value) => Timestamp(value), this => Value::Timestamp(this.0);
    TimestampTz: Value::TimestampTz(value) => TimestampTz(value), this => Value::TimestampTz(this.0);
    Interval: Value::Interval(value) => value, this => Value::Interval(this);
    Oid: Value::Oid(value) => Oid(value), this => Value::Oid(this.0);
    Char: Value::Char(value) => Char(value), this => Value::Char(this.0);
}

impl<'a> Argument<'a> for Value<'a> {
    fn of(value: Value<'a>) -> Option<Self> {
        Some(value)
    }
}

impl<'a> Outcome<'a> for Value<'a> {
    fn outcome(self) -> Result<Value<'a>> {
        Ok(self)
    }
}

impl<'a, T: Argument<'a>> Argument<'a> for Option<T> {
    fn of(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::of(value).map(Some),
        }
    }
}

impl<'a, T: Outcome<'a>> Outcome<'a> for Option<T> {
    fn outcome(self) -> Result<Value<'a>> {
        self.map_or(Ok(Value::Null), Outcome::outcome)
    }
}

impl<'a, T: Outcome<'a>> Outcome<'a> for Result<T> {
    #[inline]
    fn outcome(self) -> Result<Value<'a>> {
        self?.outcome()
    }
}
