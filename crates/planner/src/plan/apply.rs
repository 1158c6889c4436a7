//! Subqueries whose answer is a column: run once, run for each row, or answered by hash.
//!
//! `EXISTS` and comparisons with `ANY` are answered by hash if the conditions on the row around the
//! query, or the comparisons, are equalities: the query's rows are read once, and each row looks
//! its matches up. `NOT IN`, `<> ALL`, and `IN` or `EXISTS` below OR or in a select list are
//! carried out in this way.

use std::collections::BTreeSet;

use functions::Comparison;
use types::Result;

use super::{
    Apply, ApplyKind, HashedKeys, HashedSubplan, Plan,
    cost::{ASKED, BUILT, PROBED},
    decorrelate::{Counts, pulled},
    grouped::{GROUPED_MAX, GroupedSubquery},
    join::is_hashable,
    lower::{Lowering, Node, arranged, with},
};
use crate::program::{Layout, comparison};
use logical::{
    expression::{ColumnId, Expression},
    relation::{FunctionCall, Relation, Subquery, SubqueryKind},
};

/// A subquery that is answered by hash: conditions over rows of its input and rows of its query.
struct ByHash {
    query: Relation,
    /// Equalities that make a row of the query count for a row of the input.
    filters: Equalities,
    residual: Vec<Expression>,
    /// Equalities that the rows that count are tested with.
    tests: Equalities,
    others: Vec<Expression>,
    is_exists: bool,
}

/// Values of the input that have to be equal to values of the query.
#[derive(Default)]
struct Equalities {
    input: Vec<Expression>,
    query: Vec<Expression>,
}

impl Equalities {
    fn is_empty(&self) -> bool {
        self.input.is_empty()
    }
}

impl ByHash {
    /// Returns the subquery in this form; `None` if it has to be run once, or for each row.
    fn of(input: &Relation, subquery: &Subquery) -> Option<Self> {
        let tests = match &subquery.kind {
            SubqueryKind::Exists => &[][..],
            SubqueryKind::Any(tests) => tests.as_slice(),
            SubqueryKind::Scalar(_) | SubqueryKind::Array { .. } => return None,
        };
        let asked = subquery.relation.clone();
        let is_exists = subquery.kind == SubqueryKind::Exists;
        let asked = match is_exists {
            true => super::predicate_pushdown::without_outputs(asked),
            false => asked,
        };
        let (query, conditions) = pulled(asked, input, Counts::Any);
        let around: BTreeSet<ColumnId> = input.columns().into_iter().collect();
        if !query.outer_columns().is_disjoint(&around) {
            return None;
        }
        let own: BTreeSet<ColumnId> = query.columns().into_iter().collect();
        let (filters, residual) = split(&conditions, &own);
        let (tests, others) = split(tests, &own);
        // If there are no conditions, any row of the query will do.
        let has_keys = !filters.is_empty() || !tests.is_empty();
        let is_repeatable = conditions.is_empty() || is_repeatable(&query);
        (has_keys && is_repeatable).then_some(ByHash {
            query,
            filters,
            residual,
            tests,
            others,
            is_exists,
        })
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let keys = self.filters.input.iter().chain(&self.filters.query);
        let tests = self.tests.input.iter().chain(&self.tests.query);
        keys.chain(tests).chain(&self.residual).chain(&self.others)
    }
}

/// Returns the equalities among `conditions` by which rows of a query with the columns `own` can be
/// found, and the other conditions.
fn split(conditions: &[Expression], own: &BTreeSet<ColumnId>) -> (Equalities, Vec<Expression>) {
    let mut equalities = Equalities::default();
    let mut others = Vec::new();
    let is_own = |expression: &Expression| {
        let columns = expression.columns();
        (!columns.is_empty() && columns.iter().all(|id| own.contains(id))) && expression.is_stable()
    };
    let is_free = |expression: &Expression| {
        !expression.columns().iter().any(|id| own.contains(id)) && expression.is_stable()
    };
    for condition in conditions {
        let sides = match comparison(condition) {
            Some((Comparison::Equal, one, two)) if is_hashable(one.ty, two.ty) => {
                match (is_own(one), is_own(two)) {
                    (false, true) if is_free(one) => Some((one, two)),
                    (true, false) if is_free(two) => Some((two, one)),
                    _ => None,
                }
            }
            _ => None,
        };
        match sides {
            Some((input, query)) => {
                equalities.input.push(input.clone());
                equalities.query.push(query.clone());
            }
            None => others.push(condition.clone()),
        }
    }
    (equalities, others)
}

impl Lowering {
    pub(super) fn apply(
        &mut self,
        input: Relation,
        subquery: Subquery,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        if let Some(found) = ByHash::of(&input, &subquery)
            && self.is_hash_better(&input, &subquery, &found)
        {
            return self.by_hash(input, subquery.column, found, needed);
        }
        // A limit may want few of the rows that are estimated.
        if self.limits == 0
            && self.grouped < GROUPED_MAX
            && let Some(grouped) = GroupedSubquery::of(&input, &subquery, &self.digits)
            && grouped.is_better(&input, &subquery, self)
        {
            self.grouped += 1;
            let joined = grouped.joined(input, self);
            return self.lower(joined, needed);
        }
        let columns: BTreeSet<ColumnId> = input.columns().into_iter().collect();
        let refers: Vec<ColumnId> = subquery
            .relation
            .outer_columns()
            .intersection(&columns)
            .copied()
            .collect();
        let tests = match &subquery.kind {
            SubqueryKind::Any(tests) => tests.as_slice(),
            _ => &[],
        };
        let mut wanted = with(needed, tests);
        wanted.extend(&refers);
        let outer = self.lower(input, &wanted)?;
        let inner_needed: BTreeSet<ColumnId> = match &subquery.kind {
            SubqueryKind::Scalar(id) | SubqueryKind::Array { column: id, .. } => {
                BTreeSet::from([*id])
            }
            SubqueryKind::Exists => BTreeSet::new(),
            SubqueryKind::Any(tests) => with(&BTreeSet::new(), tests),
        };
        let correlated = refers
            .iter()
            .map(|id| outer.at(*id))
            .collect::<Result<Vec<_>>>()?;
        let is_fixed = self.is_fixed(&subquery.relation);
        let inner = self.lower_within(subquery.relation, &refers, &inner_needed)?;
        let (kind, query) = match subquery.kind {
            SubqueryKind::Exists => (ApplyKind::Exists, inner.plan),
            SubqueryKind::Scalar(id) => (ApplyKind::Scalar, only(inner, id)?),
            SubqueryKind::Array { column, element } => {
                (ApplyKind::Array(element), only(inner, column)?)
            }
            SubqueryKind::Any(tests) => {
                let both = outer.layout.followed_by(&inner.layout);
                (ApplyKind::Any(self.programs(&tests, &both)?), inner.plan)
            }
        };
        let mut layout = outer.layout;
        layout.push(subquery.column);
        let plan = Plan::Apply(Apply {
            input: Box::new(outer.plan),
            query: Box::new(query),
            kind,
            correlated,
            is_fixed,
        });
        Ok(Node { plan, layout })
    }

    /// Returns whether to read all of a query's rows once: always if it does not depend on the rows
    /// around it, and otherwise if running it for each of them costs more.
    fn is_hash_better(&self, input: &Relation, subquery: &Subquery, found: &ByHash) -> bool {
        if found.filters.is_empty() && found.residual.is_empty() {
            return true;
        }
        let estimator = &self.estimator;
        let rows = estimator.rows(input);
        let once =
            estimator.cost(&found.query) + estimator.rows(&found.query) * BUILT + rows * PROBED;
        let each = rows * (ASKED + estimator.cost(&subquery.relation));
        once < each
    }

    fn by_hash(
        &mut self,
        input: Relation,
        column: ColumnId,
        found: ByHash,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let outer = self.lower(input, &with(needed, found.expressions()))?;
        let nothing = BTreeSet::new();
        let inner_needed = with(&nothing, found.expressions());
        let is_fixed = self.is_fixed(&found.query);
        let inner = self.lower(found.query, &inner_needed)?;
        let both = outer.layout.followed_by(&inner.layout);
        let subplan = HashedSubplan {
            is_exists: found.is_exists,
            filters: self.keys(&found.filters, &outer.layout, &inner.layout)?,
            residual: self.conjunction(found.residual, &both)?,
            tests: self.keys(&found.tests, &outer.layout, &inner.layout)?,
            others: self.programs(&found.others, &both)?,
        };
        let mut layout = outer.layout;
        layout.push(column);
        let plan = Plan::Apply(Apply {
            input: Box::new(outer.plan),
            query: Box::new(inner.plan),
            kind: ApplyKind::Hashed(Box::new(subplan)),
            correlated: Vec::new(),
            is_fixed,
        });
        Ok(Node { plan, layout })
    }

    /// Returns whether a relation that may be read several times has the same rows each time.
    pub(super) fn is_fixed(&self, relation: &Relation) -> bool {
        self.rereads > 0 && relation.outer_columns().is_empty() && is_repeatable(relation)
    }

    fn keys(&self, equal: &Equalities, outer: &Layout, inner: &Layout) -> Result<HashedKeys> {
        Ok(HashedKeys {
            input: self.programs(&equal.input, outer)?,
            query: self.programs(&equal.query, inner)?,
            types: equal.input.iter().map(|key| key.ty).collect(),
        })
    }
}

/// Returns whether a relation has the same rows each time that it is read with the same rows around it.
fn is_repeatable(relation: &Relation) -> bool {
    let mut is_repeatable = true;
    relation.clone().walk(&mut |part| {
        if let Relation::Functions { calls, .. } = part {
            is_repeatable &= is_called_once(calls) || calls.iter().all(is_stable);
        }
    });
    is_repeatable && relation.clone().gives_the_same_again()
}

/// Returns whether functions in FROM are called for the first reading alone: their arguments are the same for all rows.
pub(super) fn is_called_once(calls: &[FunctionCall]) -> bool {
    let mut arguments = calls.iter().flat_map(|call| &call.arguments);
    arguments.all(|argument| argument.columns().is_empty())
}

/// Returns whether a function returns the same rows whenever it is called for the same row.
fn is_stable(call: &FunctionCall) -> bool {
    !call.function.is_volatile() && call.arguments.iter().all(Expression::is_stable)
}

fn only(node: Node, id: ColumnId) -> Result<Plan> {
    let at = node.at(id)?;
    Ok(arranged(node, &[at]))
}
