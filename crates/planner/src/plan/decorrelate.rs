//! Decorrelation of subqueries: their conditions on the outer row become those of a join.

use std::collections::BTreeSet;

use logical::{
    expression::{ColumnId, Expression},
    relation::{Join, JoinKind, Relation},
};

/// The rows of a subquery that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Any one row: rows may come twice.
    Any,
    /// Each row, in any order.
    Each,
}

/// Returns a subquery, and the conditions in it that refer to rows of `outer`, pulled out of it as
/// far as that changes no answer: through filters, computed columns, and joins, but not from the
/// side of a join whose rows do not all come out, and not from below groups or limits. If any one
/// row will do, a semijoin with conditions of this kind becomes an inner join.
pub(super) fn pulled(
    subquery: Relation,
    outer: &Relation,
    counts: Counts,
) -> (Relation, Vec<Expression>) {
    let mut pulling = Pulling {
        outer: outer.columns().into_iter().collect(),
        counts,
        pulled: Vec::new(),
    };
    let relation = pulling.pull(subquery);
    (relation, pulling.pulled)
}

struct Pulling {
    outer: BTreeSet<ColumnId>,
    counts: Counts,
    pulled: Vec<Expression>,
}

impl Pulling {
    fn pull(&mut self, relation: Relation) -> Relation {
        match relation {
            Relation::Filter { input, predicate } => {
                let stay = self.without_outer(predicate.into_conjuncts());
                super::predicate_pushdown::filtered(self.pull(*input), stay)
            }
            Relation::Compute { input, columns } => Relation::Compute {
                input: Box::new(self.pull(*input)),
                columns,
            },
            Relation::Sort { input, .. } if self.counts == Counts::Any => self.pull(*input),
            Relation::Join(join) => self.pull_from_join(join),
            other => other,
        }
    }

    fn pull_from_join(&mut self, mut join: Join) -> Relation {
        if join.lateral {
            return Relation::Join(join);
        }
        let refers = |join: &Join| {
            let mut on = join.on.iter().flat_map(Expression::columns);
            let right = join.right.outer_columns();
            on.any(|id| self.outer.contains(&id)) || !right.is_disjoint(&self.outer)
        };
        if join.kind == JoinKind::Semi && self.counts == Counts::Any && refers(&join) {
            join.kind = JoinKind::Inner;
        }
        match join.kind {
            JoinKind::Inner => {
                join.on = self.without_outer(join.on);
                join.left = Box::new(self.pull(*join.left));
                join.right = Box::new(self.pull(*join.right));
            }
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => {
                join.left = Box::new(self.pull(*join.left));
            }
            JoinKind::Right | JoinKind::Full => {}
        }
        Relation::Join(join)
    }

    /// Returns the conditions that stay in place; the others are pulled out.
    fn without_outer(&mut self, conditions: Vec<Expression>) -> Vec<Expression> {
        let refers = |condition: &Expression| {
            let columns = condition.columns();
            columns.iter().any(|id| self.outer.contains(id)) && condition.is_stable()
        };
        let (out, stay): (Vec<_>, Vec<_>) = conditions.into_iter().partition(refers);
        self.pulled.extend(out);
        stay
    }
}
