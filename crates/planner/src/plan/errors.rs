//! Expressions that raise no error, whatever values their columns have.
//!
//! The planner may compute such an expression for rows for which the statement, as it is written, would not: a group
//! that no row asks for, or a part of a disjunction whose other parts guard it. The list is short on purpose, and an
//! expression that is not on it counts as one that raises. Without columns an expression is computed once for all rows,
//! and PostgreSQL computes it before the first row, so its error depends on no row.

use logical::expression::{Expression, Kind};
use syntax::phase;
use types::{Scalar, Type};

use super::digits::{KnownDigits, digits};
use crate::program::comparison;

/// Digits on one side of the decimal point up to which sums of numbers surely fit: `numeric` has room for 16,383 behind
/// the point and 131,072 before it, of which a sum over many rows takes some.
const DIGITS_MAX: u64 = 8_000;

/// Returns whether an expression raises no error that depends on its columns. Memory is not looked at.
pub(super) fn raises_nothing(expression: &Expression) -> bool {
    phase::pause();
    let all = |parts: &[Expression]| parts.iter().all(raises_nothing);
    match &expression.kind {
        Kind::Constant(_) | Kind::Parameter(_) | Kind::Column(_) => true,
        Kind::And(parts) | Kind::Or(parts) | Kind::Coalesce(parts) | Kind::Array(parts) => {
            all(parts)
        }
        Kind::Not(operand) | Kind::IsNull { operand, .. } | Kind::Is { operand, .. } => {
            raises_nothing(operand)
        }
        Kind::Distinct { left, right, .. } => can_compare(left, right),
        Kind::Quantified {
            left,
            operator,
            array,
            ..
        } => {
            operator.0.comparison.is_some()
                && is_scalar(left)
                && matches!(array.ty, Type::Array(_))
                && raises_nothing(left)
                && raises_nothing(array)
        }
        Kind::Convert {
            operand,
            conversion,
        } if widens(operand.ty, conversion.0.to()) => raises_nothing(operand),
        Kind::Case {
            branches,
            otherwise,
        } => {
            let mut parts = branches.iter();
            parts.all(|(condition, result)| raises_nothing(condition) && raises_nothing(result))
                && raises_nothing(otherwise)
        }
        Kind::Call { .. } => {
            comparison(expression).is_some_and(|(_, left, right)| can_compare(left, right))
                || numbers_fit(expression, &KnownDigits::default())
                || is_of_no_row(expression)
        }
        _ => is_of_no_row(expression),
    }
}

/// Returns whether sums of an expression's values fit in the type of the sum: integers, and `numeric` of known digits.
pub(super) fn sums_fit(expression: &Expression, known: &KnownDigits) -> bool {
    match expression.ty {
        Type::Scalar(Scalar::Int2 | Scalar::Int4 | Scalar::Int8) => raises_nothing(expression),
        _ => numbers_fit(expression, known),
    }
}

fn numbers_fit(expression: &Expression, known: &KnownDigits) -> bool {
    digits(expression, known).is_some_and(|digits| digits <= DIGITS_MAX)
}

/// Returns whether an expression has one value, and one error, for all rows.
fn is_of_no_row(expression: &Expression) -> bool {
    expression.is_stable() && expression.columns().is_empty()
}

fn can_compare(left: &Expression, right: &Expression) -> bool {
    is_scalar(left) && is_scalar(right) && raises_nothing(left) && raises_nothing(right)
}

/// Returns whether values can be compared, whichever they are: those of rows and arrays may have no order.
fn is_scalar(expression: &Expression) -> bool {
    matches!(expression.ty, Type::Scalar(_))
}

/// Returns whether each value of a type is one of another type.
fn widens(from: Type, to: Type) -> bool {
    use Scalar::{Bpchar, Float4, Float8, Int2, Int4, Int8, Name, Numeric, Text, Varchar};
    let (Type::Scalar(from), Type::Scalar(to)) = (from, to) else {
        return from == to;
    };
    from == to
        || match from {
            Int2 => matches!(to, Int4 | Int8 | Numeric | Float4 | Float8),
            Int4 => matches!(to, Int8 | Numeric | Float4 | Float8),
            Int8 => matches!(to, Numeric | Float4 | Float8),
            Float4 => to == Float8,
            Text | Varchar | Bpchar | Name => matches!(to, Text | Varchar | Bpchar),
            _ => false,
        }
}

#[cfg(test)]
mod tests;
