//! Proofs that conditions imply the predicate of a partial index: then the index has all rows that
//! satisfy them.
//!
//! An implication is found in three cases: a part of the predicate is among the conditions; or it
//! bounds by a constant what a condition bounds closer; or it says that an operand is not NULL, and
//! a condition could not be true otherwise. An implication that is not found costs no more than the
//! use of the index.

use std::cmp::Ordering;

use functions::Comparison;
use types::{Type, Value, compare::compare_as};

use super::nulls::rejects_nulls;
use crate::program::comparison;
use logical::expression::{Expression, Kind};

/// Returns whether all parts of a predicate are true wherever all conditions are.
pub(super) fn is_all_implied(conditions: &[Expression], predicate: &[Expression]) -> bool {
    predicate.iter().all(|part| is_implied(conditions, part))
}

fn is_implied(conditions: &[Expression], predicate: &Expression) -> bool {
    match &predicate.kind {
        Kind::And(parts) => is_all_implied(conditions, parts),
        Kind::Or(parts) if parts.iter().any(|part| is_implied(conditions, part)) => true,
        _ => conditions
            .iter()
            .any(|condition| implies(condition, predicate)),
    }
}

fn implies(condition: &Expression, predicate: &Expression) -> bool {
    let (asked, is_asked) = truth(predicate);
    let (known, is_known) = truth(condition);
    if is_asked == is_known && is_same(known, asked) {
        return true;
    }
    match &condition.kind {
        Kind::And(parts) => return parts.iter().any(|part| implies(part, predicate)),
        Kind::Or(parts) => {
            return parts
                .iter()
                .all(|part| is_implied(std::slice::from_ref(part), predicate));
        }
        _ => {}
    }
    match &predicate.kind {
        Kind::IsNull {
            operand,
            negated: true,
        } => {
            // A record of NULLs counts as NULL, and conditions can be true of it.
            operand.ty != Type::Record
                && rejects_nulls(condition, &|expression| is_same(expression, operand))
        }
        _ => match (against_constant(condition), against_constant(predicate)) {
            (Some(known), Some(asked)) => is_closer(&known, &asked),
            _ => false,
        },
    }
}

/// Returns whether two expressions have the same value. A column may stand under the name of
/// another type.
pub(super) fn is_same(one: &Expression, two: &Expression) -> bool {
    match (&one.kind, &two.kind) {
        (Kind::Column(one), Kind::Column(two)) => one == two,
        _ => one == two,
    }
}

/// Returns the expression that a condition is about, and whether the condition says that it is true
/// or false.
fn truth(condition: &Expression) -> (&Expression, bool) {
    let constant = |expression: &Expression| match &expression.kind {
        Kind::Constant(value) => match value.value() {
            Value::Bool(value) => Some(value),
            _ => None,
        },
        _ => None,
    };
    match &condition.kind {
        Kind::Not(operand) => {
            let (operand, is_true) = truth(operand);
            (operand, !is_true)
        }
        Kind::Is {
            operand,
            value,
            negated: false,
        } => (operand, *value),
        _ => match comparison(condition) {
            Some((Comparison::Equal, left, right)) => match (constant(left), constant(right)) {
                (None, Some(value)) => (left, value),
                (Some(value), None) => (right, value),
                _ => (condition, true),
            },
            _ => (condition, true),
        },
    }
}

/// A comparison with a constant that is not NULL.
struct Constrained<'e> {
    target: &'e Expression,
    comparison: Comparison,
    value: Value<'e>,
    ty: Type,
}

fn against_constant(condition: &Expression) -> Option<Constrained<'_>> {
    let (comparison, left, right) = comparison(condition)?;
    let sides = [
        (left, right, comparison),
        (right, left, comparison.commuted()),
    ];
    sides.into_iter().find_map(|(target, value, comparison)| {
        let Kind::Constant(constant) = &value.kind else {
            return None;
        };
        let constant = constant.value();
        (!constant.is_null()).then_some(Constrained {
            target,
            comparison,
            value: constant,
            ty: value.ty,
        })
    })
}

/// Returns whether every value that satisfies `known` satisfies `asked`.
fn is_closer(known: &Constrained<'_>, asked: &Constrained<'_>) -> bool {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    if !is_same(known.target, asked.target) {
        return false;
    }
    let Some(order) = order(known, asked) else {
        return false;
    };
    match (known.comparison, asked.comparison) {
        (Equal, Equal) => order.is_eq(),
        (Equal, NotEqual) => order.is_ne(),
        (Equal | Greater | GreaterOrEqual, GreaterOrEqual) => order.is_ge(),
        (Equal | Less | LessOrEqual, LessOrEqual) => order.is_le(),
        (Greater, Greater | NotEqual) => order.is_ge(),
        (Less, Less | NotEqual) => order.is_le(),
        (Equal | GreaterOrEqual, Greater) | (GreaterOrEqual, NotEqual) => order.is_gt(),
        (Equal | LessOrEqual, Less) | (LessOrEqual, NotEqual) => order.is_lt(),
        (NotEqual, NotEqual) => order.is_eq(),
        _ => false,
    }
}

/// Returns the order of two constants; `None` if they are of types that are not compared here.
fn order(one: &Constrained<'_>, two: &Constrained<'_>) -> Option<Ordering> {
    if one.ty == two.ty {
        return Some(compare_as(one.ty, one.value, two.value));
    }
    let integer = |value: Value<'_>| match value {
        Value::Int2(value) => Some(i64::from(value)),
        Value::Int4(value) => Some(i64::from(value)),
        Value::Int8(value) => Some(value),
        _ => None,
    };
    Some(integer(one.value)?.cmp(&integer(two.value)?))
}

#[cfg(test)]
mod tests;
