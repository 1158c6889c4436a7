//! Values that are known when the plan is made: constants, and those that are computed from constants alone, as in
//! `date '1994-01-01' + interval '1 year'`.

use std::sync::Arc;

use types::{Scalar, Type, Value, datetime::MICROSECONDS_PER_DAY};

use crate::program::folded;
use batch::OwnedValue;
use logical::expression::{Expression, Kind};

/// Returns the value of an expression, if it is known when the plan is made.
pub(super) fn known(expression: &Expression) -> Option<Arc<OwnedValue>> {
    match &expression.kind {
        Kind::Constant(value) => Some(value.clone()),
        // Numbers of all types are compared with each other as they are.
        Kind::Convert { operand, .. } => known(operand).filter(|value| {
            matches!(
                value.value(),
                Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Numeric(_)
            )
        }),
        Kind::Call { .. } | Kind::Fit { .. } => folded(expression).map(Arc::new),
        _ => None,
    }
}

/// Returns a value that [`known`] has found, as it is compared.
pub(super) fn value_of(known: &Option<Arc<OwnedValue>>) -> Option<Value<'_>> {
    known.as_deref().map(OwnedValue::value)
}

/// Returns a value as those of a column are: dates and times of different types are compared with each other, which is
/// done here as if all clocks had one time zone.
pub(super) fn as_of_column(ty: Type, value: Value<'_>) -> Value<'_> {
    let microseconds = match value {
        Value::Date(days) => i64::from(days).saturating_mul(MICROSECONDS_PER_DAY),
        Value::Timestamp(at) | Value::TimestampTz(at) => at,
        _ => return value,
    };
    match ty {
        Type::Scalar(Scalar::Date) => {
            let days = i32::try_from(microseconds.div_euclid(MICROSECONDS_PER_DAY));
            days.map_or(value, Value::Date)
        }
        Type::Scalar(Scalar::Timestamp) => Value::Timestamp(microseconds),
        Type::Scalar(Scalar::TimestampTz) => Value::TimestampTz(microseconds),
        _ => value,
    }
}
