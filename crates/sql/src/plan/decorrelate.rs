//! Subqueries that ask whether there is a row, without going into each row anew: their conditions
//! on the outer row become those of a join.

use std::collections::BTreeSet;

use crate::{
    expression::{ColumnId, Expression},
    relation::Relation,
};

/// A subquery and the conditions in it that refer to rows of `outer`, pulled out as far as that
/// changes nothing: through filters, computed columns, and inner joins; not below groups or limits.
pub(super) fn pulled(subquery: Relation, outer: &Relation) -> (Relation, Vec<Expression>) {
    let outer: BTreeSet<ColumnId> = outer.columns().into_iter().collect();
    let mut conditions = Vec::new();
    let relation = pull(subquery, &outer, &mut conditions);
    (relation, conditions)
}

fn pull(relation: Relation, outer: &BTreeSet<ColumnId>, pulled: &mut Vec<Expression>) -> Relation {
    match relation {
        Relation::Filter { input, predicate } => {
            let refers =
                |condition: &Expression| condition.columns().iter().any(|id| outer.contains(id));
            let (out, stay): (Vec<_>, Vec<_>) = predicate
                .into_conjuncts()
                .into_iter()
                .partition(|condition| refers(condition) && condition.is_stable());
            let input = pull(*input, outer, pulled);
            pulled.extend(out);
            super::push::filtered(input, stay)
        }
        Relation::Compute { input, columns } => Relation::Compute {
            input: Box::new(pull(*input, outer, pulled)),
            columns,
        },
        Relation::Sort { input, .. } => pull(*input, outer, pulled),
        other => other,
    }
}
