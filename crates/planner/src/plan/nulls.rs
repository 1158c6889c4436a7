//! Effects of NULL: expressions that are NULL where others are, and conditions that are not true there.

use logical::expression::{Expression, Kind};

/// Returns whether a condition is not true where all expressions that `is_known` names are NULL: it is NULL there,
/// tells that a value that is NULL there is none, or has parts of this kind.
pub(super) fn rejects_nulls(
    condition: &Expression,
    is_known: &dyn Fn(&Expression) -> bool,
) -> bool {
    let rejects = |part: &Expression| rejects_nulls(part, is_known);
    match &condition.kind {
        Kind::And(parts) => parts.iter().any(rejects),
        Kind::Or(parts) => parts.iter().all(rejects),
        // `is true` and `is false` are false of NULL.
        Kind::IsNull {
            operand,
            negated: true,
        }
        | Kind::Is {
            operand,
            negated: false,
            ..
        } => is_null(operand, is_known),
        // No element of an empty array satisfies a comparison.
        Kind::Quantified {
            left, all: false, ..
        } => is_null(left, is_known),
        _ => is_null(condition, is_known),
    }
}

/// Returns whether an expression is NULL where all expressions that `is_known` names are. A condition that only tells
/// whether a value is NULL is never NULL itself.
fn is_null(expression: &Expression, is_known: &dyn Fn(&Expression) -> bool) -> bool {
    let is = |part: &Expression| is_null(part, is_known);
    if is_known(expression) {
        return true;
    }
    match &expression.kind {
        Kind::Call {
            function,
            arguments,
        } => function.0.strict && arguments.iter().any(is),
        Kind::Convert { operand, .. } | Kind::Fit { operand, .. } | Kind::Not(operand) => {
            is(operand)
        }
        // A part may decide by itself: false for AND, true for OR.
        Kind::And(parts) | Kind::Or(parts) => parts.iter().all(is),
        // An empty array decides by itself.
        Kind::Quantified { left, array, .. } => {
            let has_elements = matches!(&array.kind, Kind::Array(items) if !items.is_empty());
            has_elements && is(left)
        }
        _ => false,
    }
}
