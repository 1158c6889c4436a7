//! Conditions that a disjunction implies, by which rows can be joined or left out before the whole of it is tested.
//!
//! | condition | becomes |
//! | --- | --- |
//! | `(a = b and x) or (a = b and y)` | `a = b`, and `x or y` |
//! | `(t.c = 1 and u.c = 2) or (t.c = 2 and u.c = 1)` | itself, beside `t.c = 1 or t.c = 2` for `t`, and likewise for `u` |
//!
//! The first is exact for all three truth values: a conjunction is distributive over a disjunction. A condition of the
//! second kind is tested twice, once alone and once within the whole; it is made only for columns that come from one
//! side of a join. Estimates count it once ([`implied_by`]).
//!
//! # Errors
//! Conditions that can raise an error stay where they are, for the others of their alternative may guard them
//! (`errors.rs`).

use std::collections::BTreeSet;

use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::JoinKind,
};
use syntax::phase;

use super::errors::raises_nothing;

/// Comparisons of two conditions up to which common factors are looked for: their number grows with the product of the
/// lengths of the first alternative and of all others.
const COMPARISONS_MAX: usize = 1 << 14;

/// Returns a condition as conditions that all have to be true, with the common factors of its alternatives among them.
pub(super) fn factored(condition: Expression) -> Vec<Expression> {
    let Kind::Or(alternatives) = &condition.kind else {
        return vec![condition];
    };
    let factors = common_factors(alternatives);
    if factors.is_empty() {
        return vec![condition];
    }
    let rest = alternatives.iter().map(|alternative| {
        let mut rest = conjuncts(alternative);
        rest.retain(|conjunct| !factors.contains(conjunct));
        (!rest.is_empty()).then(|| Expression::all(rest.into_iter().cloned().collect()))
    });
    // An alternative without other conditions is true wherever the factors are.
    let rest: Option<Vec<_>> = rest.collect();
    let rest = rest.map(|rest| Expression::new(Kind::Or(rest), condition.ty));
    factors.into_iter().chain(rest).collect()
}

/// Returns the conjuncts that all alternatives have, each once.
fn common_factors(alternatives: &[Expression]) -> Vec<Expression> {
    let Some((first, others)) = alternatives.split_first() else {
        return Vec::new();
    };
    let first = conjuncts(first);
    let others: Vec<_> = others.iter().map(conjuncts).collect();
    let length: usize = others.iter().map(Vec::len).sum();
    if first.len().saturating_mul(length + first.len()) > COMPARISONS_MAX {
        return Vec::new();
    }
    let mut factors: Vec<Expression> = Vec::new();
    for conjunct in first {
        let is_common = others.iter().all(|other| other.contains(&conjunct));
        if is_common
            && !factors.contains(conjunct)
            && conjunct.is_stable()
            && raises_nothing(conjunct)
        {
            factors.push(conjunct.clone());
        }
    }
    factors
}

/// Number of conditions of a join up to which it is looked for what they imply: those that come again are found by
/// comparing all pairs.
pub(super) const CONDITIONS_MAX: usize = 64;

/// Returns the disjunctions among the conditions of a join with what each implies for the left and for the right side,
/// where the rows of that side may be left out before the join.
pub(super) fn implied_by<'e>(
    kind: JoinKind,
    on: &'e [Expression],
    left: &BTreeSet<ColumnId>,
    right: &BTreeSet<ColumnId>,
) -> Vec<(&'e Expression, [Option<Expression>; 2])> {
    if on.len() > CONDITIONS_MAX {
        return Vec::new();
    }
    let loses_left = matches!(kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Right);
    let loses_right = !matches!(kind, JoinKind::Right | JoinKind::Full);
    let disjunctions = on.iter().filter(|part| matches!(part.kind, Kind::Or(_)));
    let implied = disjunctions.map(|part| {
        let of_left = loses_left.then(|| implied_for(part, left)).flatten();
        let of_right = loses_right.then(|| implied_for(part, right)).flatten();
        (part, [of_left, of_right])
    });
    implied.collect()
}

/// Returns a condition on one side of a join that holds wherever a disjunction does; `None` if an alternative says
/// nothing about that side alone, or if the whole is about that side alone.
fn implied_for(condition: &Expression, side: &BTreeSet<ColumnId>) -> Option<Expression> {
    let Kind::Or(alternatives) = &condition.kind else {
        return None;
    };
    let is_own = |conjunct: &Expression| {
        let columns = conjunct.columns();
        !columns.is_empty() && columns.iter().all(|id| side.contains(id))
    };
    let mut leaves_nothing_out = true;
    let implied = alternatives.iter().map(|alternative| {
        let mut own = conjuncts(alternative);
        let whole = own.len();
        own.retain(|part| is_own(part) && part.is_stable() && raises_nothing(part));
        leaves_nothing_out &= own.len() == whole;
        (!own.is_empty()).then(|| Expression::all(own.into_iter().cloned().collect()))
    });
    let implied: Vec<_> = implied.collect::<Option<_>>()?;
    (!leaves_nothing_out).then(|| Expression::new(Kind::Or(implied), condition.ty))
}

/// Returns the parts of a condition that all have to be true.
fn conjuncts(condition: &Expression) -> Vec<&Expression> {
    let mut found = Vec::new();
    add_conjuncts(condition, &mut found);
    found
}

/// Adds the parts to `found`. Depth is that of the statement, which its phase bounds.
fn add_conjuncts<'e>(condition: &'e Expression, found: &mut Vec<&'e Expression>) {
    phase::pause();
    match &condition.kind {
        Kind::And(parts) => parts.iter().for_each(|part| add_conjuncts(part, found)),
        _ => found.push(condition),
    }
}

#[cfg(test)]
mod tests;
