//! Operators and functions of `real` and `double precision`.
//!
//! Results that overflow or vanish, where the operands had not, are errors, as in PostgreSQL.

mod functions;
mod operators;
mod trigonometry;

pub(crate) use functions::FUNCTIONS;
pub(crate) use operators::OPERATORS;
pub(crate) use trigonometry::FUNCTIONS as TRIGONOMETRY;

use types::{Result, SqlError, SqlState, Value};

use crate::argument::Argument;

/// A float of either width, widened.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(crate) struct Double(pub(crate) f64);

impl<'a> Argument<'a> for Double {
    #[inline]
    fn of(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Float8(value) => Some(Self(value)),
            Value::Float4(value) => Some(Self(value.into())),
            _ => None,
        }
    }
}

#[cold]
pub(crate) fn overflow() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "value out of range: overflow",
    )
}

#[cold]
pub(crate) fn underflow() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "value out of range: underflow",
    )
}

/// Returns 22003, `input is out of range`.
#[cold]
pub(crate) fn input_out_of_range() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "input is out of range",
    )
}

/// Returns the result, unless it is infinite although no operand was.
#[inline]
pub(crate) fn not_overflowed(result: f64, operands: &[f64]) -> Result<f64> {
    if result.is_infinite() && !operands.iter().any(|operand| operand.is_infinite()) {
        return Err(overflow());
    }
    Ok(result)
}
