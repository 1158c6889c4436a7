//! `min` and `max` over an ordered key: its first value, and its last.
//!
//! A query for extremes alone, of columns that an index has in order, becomes one query for each:
//! the first row in that order whose value is not NULL.

use types::{Scalar, Type, Value};

use super::{
    cost::{FETCHED, SEEK},
    lower::Lowering,
    ordering::Ordering,
    predicate_pushdown::filtered,
};
use batch::OwnedValue;
use logical::{
    expression::{Expression, Kind},
    relation::{Aggregate, AggregateCall, Relation, SortKey, Subquery, SubqueryKind},
};

impl Lowering {
    /// Returns a relation of one row with the columns of these calls, found by indexes; `None` if
    /// some are no extremes of ordered columns, or if reading all rows costs less.
    pub(super) fn extremes_by_index(&self, aggregate: &Aggregate) -> Option<Relation> {
        let is_plain = aggregate.keys.is_empty()
            && aggregate.sets.len() <= 1
            && aggregate.set_number.is_none()
            && !aggregate.calls.is_empty();
        let ordering = Ordering::of(&aggregate.input).filter(|_| is_plain)?;
        let input = match &*aggregate.input {
            Relation::Scan(_) => (&*aggregate.input, Vec::new()),
            Relation::Filter { input, predicate } if matches!(**input, Relation::Scan(_)) => {
                (&**input, predicate.clone().into_conjuncts())
            }
            _ => return None,
        };
        if !input.1.iter().all(Expression::is_stable) {
            return None;
        }
        // Number of rows that are looked at until one satisfies the conditions.
        let estimator = &self.estimator;
        let looked_at = estimator.rows(input.0) / estimator.rows(&aggregate.input);
        let each = SEEK + looked_at * FETCHED;
        if each * aggregate.calls.len() as f64 >= estimator.cost(&aggregate.input) {
            return None;
        }
        let one_row = Relation::Rows {
            columns: Vec::new(),
            rows: vec![Vec::new()],
        };
        aggregate.calls.iter().try_fold(one_row, |found, call| {
            let subquery = first_in_order(call, input.0, input.1.clone(), &ordering)?;
            Some(Relation::Apply {
                input: Box::new(found),
                subquery: Box::new(subquery),
            })
        })
    }
}

fn first_in_order(
    call: &AggregateCall,
    scan: &Relation,
    mut conditions: Vec<Expression>,
    ordering: &Ordering,
) -> Option<Subquery> {
    let functions::Body::Aggregate(definition) = call.function.0.body else {
        return None;
    };
    let ([value], Some(extreme)) = (call.arguments.as_slice(), definition.extreme) else {
        return None;
    };
    let Kind::Column(column) = value.kind else {
        return None;
    };
    if call.filter.is_some() || !ordering.has_in_order(column) {
        return None;
    }
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
        input: Box::new(filtered(scan.clone(), conditions)),
        keys: vec![key],
    };
    Some(Subquery {
        column: call.column,
        kind: SubqueryKind::Scalar(column),
        relation: Relation::Limit {
            input: Box::new(sorted),
            limit: Some(one),
            offset: None,
            with_ties: None,
        },
    })
}
