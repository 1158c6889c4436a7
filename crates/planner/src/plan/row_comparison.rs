//! Comparisons of rows, which the binder leaves as conditions on single values: `(a, b) > (x, y)` is
//! `a >= x AND (a > x OR (a = x AND b > y))`.
//!
//! A condition of this form bounds the first columns of a key together. The bound is where the rows that
//! satisfy the condition lie, but some between them may not satisfy it, such as those with a NULL in a
//! later column: the condition is still checked.

use functions::Comparison;

use super::implied::is_same;
use logical::expression::{Expression, Kind};

/// An expression over a table, and the value that it is compared with.
pub(super) type Pair<'e> = (&'e Expression, &'e Expression);

/// Returns the comparison of rows that holds wherever a condition of the form `a > x OR (a = x AND (b > y OR ..))`
/// does, with the rows' parts as pairs; `sides` gives the sides of a comparison with a value from elsewhere. Parts that
/// are of another form end the rows.
pub(super) fn row_comparison<'e>(
    condition: &'e Expression,
    sides: impl Fn(&'e Expression) -> Option<(&'e Expression, &'e Expression, Comparison)>,
) -> Option<(Comparison, Vec<Pair<'e>>)> {
    let mut pairs: Vec<Pair<'e>> = Vec::new();
    let mut strict = None;
    let mut rest = condition;
    // Each turn goes a level down into the condition.
    loop {
        let next = row_part(rest, &sides);
        let (target, value, comparison, below) = match next {
            Some(next) if strict.is_none_or(|strict| inclusive(strict) == inclusive(next.2)) => {
                next
            }
            _ => return Some((inclusive(strict?), pairs)),
        };
        pairs.push((target, value));
        match below {
            Below::Part(part) => rest = part,
            Below::Other => return Some((inclusive(comparison), pairs)),
            Below::Nothing => return Some((comparison, pairs)),
        }
        strict = Some(comparison);
    }
}

/// The conditions on rows that are equal in a part of a comparison of rows.
enum Below<'e> {
    Part(&'e Expression),
    Other,
    Nothing,
}

/// Returns the first part of a comparison of rows: its sides, its comparison, and what is below it.
fn row_part<'e>(
    condition: &'e Expression,
    sides: &impl Fn(&'e Expression) -> Option<(&'e Expression, &'e Expression, Comparison)>,
) -> Option<(&'e Expression, &'e Expression, Comparison, Below<'e>)> {
    let Kind::Or(parts) = &condition.kind else {
        let (target, value, comparison) = sides(condition)?;
        let is_order = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        return is_order.then_some((target, value, comparison, Below::Nothing));
    };
    let [
        before,
        Expression {
            kind: Kind::And(equal),
            ..
        },
    ] = parts.as_slice()
    else {
        return None;
    };
    let (target, value, comparison) = sides(before)?;
    if !matches!(comparison, Comparison::Less | Comparison::Greater) {
        return None;
    }
    let is_equality = |part: &&'e Expression| {
        sides(part).is_some_and(|(other, same, comparison)| {
            comparison == Comparison::Equal && is_same(other, target) && same == value
        })
    };
    equal.iter().find(is_equality)?;
    let below = match equal.as_slice() {
        [_, part] => Below::Part(part),
        _ => Below::Other,
    };
    Some((target, value, comparison, below))
}

/// Returns the comparison that equal values satisfy too.
pub(super) fn inclusive(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Greater => Comparison::GreaterOrEqual,
        Comparison::Less => Comparison::LessOrEqual,
        other => other,
    }
}
