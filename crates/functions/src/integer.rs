//! Operators and functions of `smallint`, `integer` and `bigint`.
//!
//! PostgreSQL has each for several pairs of widths. Here one body widens its arguments to 64
//! bits and narrows its result, which the compiler optimises away.

mod functions;
mod operators;

pub(crate) use functions::FUNCTIONS;
pub(crate) use operators::OPERATORS;

use types::{Result, SqlError, SqlState, Value};

use crate::argument::{Argument, Outcome};

/// One of the integer types.
pub(crate) trait Integer: Copy + Into<i64> + TryFrom<i64> {
    /// Name of the type in messages.
    const NAME: &'static str;
    /// Width in bits.
    const BITS: u32;

    /// Returns the integer of this type, or an error if it does not fit.
    #[inline]
    fn narrow(wide: i64) -> Result<Self> {
        Self::try_from(wide).map_err(|_| out_of_range(Self::NAME))
    }
}

impl Integer for i16 {
    const NAME: &'static str = "smallint";
    const BITS: u32 = 16;
}

impl Integer for i32 {
    const NAME: &'static str = "integer";
    const BITS: u32 = 32;
}

impl Integer for i64 {
    const NAME: &'static str = "bigint";
    const BITS: u32 = 64;
}

/// Returns 22003, `integer out of range`.
#[cold]
pub(crate) fn out_of_range(name: &str) -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{name} out of range"),
    )
}

/// Returns 22012.
#[cold]
pub(crate) fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// An integer of any width, widened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wide(pub(crate) i64);

impl<'a> Argument<'a> for Wide {
    #[inline]
    fn of(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Int4(value) => Some(Self(value.into())),
            Value::Int8(value) => Some(Self(value)),
            Value::Int2(value) => Some(Self(value.into())),
            _ => None,
        }
    }
}

impl<'a> Outcome<'a> for Wide {
    #[inline]
    fn outcome(self) -> Result<Value<'a>> {
        Ok(Value::Int8(self.0))
    }
}
