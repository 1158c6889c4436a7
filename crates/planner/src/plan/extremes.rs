//! `min` and `max` over an ordered key: its first value, and its last.
//!
//! A query for extremes alone, of values that an index has in order, becomes one query for each:
//! the first row in that order whose value is not NULL. Equalities may give the parts of the key
//! before the value one value each.

use types::{Scalar, Type, Value};

use super::{
    cost::{FETCHED, SEEK},
    lower::Lowering,
    ordering::Ordering,
    predicate_pushdown::filtered,
};
use batch::OwnedValue;
use functions::Extreme;
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Aggregate, AggregateCall, Relation, SortKey, Subquery, SubqueryKind},
};

/// Rows of a table that satisfy conditions, and values over them.
struct Stored {
    scan: Relation,
    conditions: Vec<Expression>,
    values: Vec<Expression>,
}

impl Stored {
    /// Returns the table under a relation, with `values` over the relation's columns as values over the table's; `None`
    /// if the relation is more than some of a table's rows under other names.
    fn of(mut relation: &Relation, mut values: Vec<Expression>) -> Option<Self> {
        let mut conditions = Vec::new();
        loop {
            match relation {
                Relation::Scan(_) => {
                    return Some(Self {
                        scan: relation.clone(),
                        conditions,
                        values,
                    });
                }
                Relation::Filter { input, predicate } => {
                    conditions.extend(predicate.clone().into_conjuncts());
                    relation = &**input;
                }
                Relation::Compute { input, columns } => {
                    for expression in conditions.iter_mut().chain(&mut values) {
                        renamed(expression, columns)?;
                    }
                    relation = &**input;
                }
                _ => return None,
            }
        }
    }
}

/// Replaces columns by those that they are under another name; returns `None` if the expression has a column that is
/// computed otherwise.
fn renamed(expression: &mut Expression, columns: &[(ColumnId, Expression)]) -> Option<()> {
    let mut is_renamed = true;
    expression.replace(&mut |part| {
        let Kind::Column(id) = part.kind else {
            return None;
        };
        let (_, value) = columns.iter().find(|(column, _)| *column == id)?;
        is_renamed &= matches!(value.kind, Kind::Column(_));
        is_renamed.then(|| value.clone())
    });
    is_renamed.then_some(())
}

impl Lowering {
    /// Returns a relation of one row with the columns of these calls, found by indexes, and its cost; `None` if
    /// some are no extremes of ordered values, or if reading all rows costs less.
    pub(super) fn extremes_by_index(&self, aggregate: &Aggregate) -> Option<(Relation, f64)> {
        let is_plain = aggregate.keys.is_empty()
            && aggregate.sets.len() <= 1
            && aggregate.set_number.is_none()
            && !aggregate.calls.is_empty();
        if !is_plain {
            return None;
        }
        let calls = aggregate.calls.iter().map(extreme_of);
        let calls: Vec<(Extreme, &Expression)> = calls.collect::<Option<_>>()?;
        let values = calls.iter().map(|(_, value)| (*value).clone()).collect();
        let stored = Stored::of(&aggregate.input, values)?;
        let mut expressions = stored.conditions.iter().chain(&stored.values);
        if !expressions.all(Expression::is_stable) {
            return None;
        }
        let input = filtered(stored.scan.clone(), stored.conditions.clone());
        let ordering = Ordering::of(&input)?;
        let estimator = &self.estimator;
        let found = estimator.rows(&input);
        let mut cost = 0.0;
        for value in &stored.values {
            let fixed = ordering.fixed_before(value)?;
            let fixed = fixed.into_iter().map(|at| stored.conditions[at].clone());
            let range = filtered(stored.scan.clone(), fixed.collect());
            // Number of rows that are looked at until one satisfies the other conditions.
            cost += SEEK + estimator.rows(&range) / found * FETCHED;
        }
        if cost >= estimator.cost(&input) {
            return None;
        }
        let one_row = Relation::Rows {
            columns: Vec::new(),
            rows: vec![Vec::new()],
        };
        let each = calls.iter().zip(&aggregate.calls).zip(&stored.values);
        let found = each.fold(one_row, |found, (((extreme, _), call), value)| {
            Relation::Apply {
                input: Box::new(found),
                subquery: Box::new(first_in_order(call.column, *extreme, value, &stored)),
            }
        });
        Some((found, cost))
    }
}

/// Returns the extreme that a call computes, and its argument; `None` if the call is another one.
fn extreme_of(call: &AggregateCall) -> Option<(Extreme, &Expression)> {
    let functions::Body::Aggregate(definition) = call.function.0.body else {
        return None;
    };
    match (call.arguments.as_slice(), definition.extreme) {
        ([value], Some(extreme)) if call.filter.is_none() => Some((extreme, value)),
        _ => None,
    }
}

/// Returns the query for the extreme of a value, which becomes the column `column`.
fn first_in_order(
    column: ColumnId,
    extreme: Extreme,
    value: &Expression,
    stored: &Stored,
) -> Subquery {
    let mut conditions = stored.conditions.clone();
    let is_there = Kind::IsNull {
        operand: Box::new(value.clone()),
        negated: true,
    };
    conditions.push(Expression::new(is_there, Type::Scalar(Scalar::Bool)));
    let descending = extreme.is_greatest();
    let key = SortKey {
        expression: value.clone(),
        descending,
        nulls_first: descending,
    };
    let one = Expression::constant(OwnedValue::new(Value::Int8(1)), Type::Scalar(Scalar::Int8));
    let sorted = Relation::Sort {
        input: Box::new(filtered(stored.scan.clone(), conditions)),
        keys: vec![key],
    };
    let first = Relation::Limit {
        input: Box::new(sorted),
        limit: Some(one),
        offset: None,
        with_ties: None,
    };
    Subquery {
        column,
        kind: SubqueryKind::Scalar(column),
        relation: Relation::Compute {
            input: Box::new(first),
            columns: vec![(column, value.clone())],
        },
    }
}
