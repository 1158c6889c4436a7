//! How many rows a relation has, roughly.

use functions::Comparison;

use crate::{
    catalog::RowKey,
    expression::{Expression, Kind},
    program::comparison,
    relation::{JoinKind, Relation},
};

/// What part of the rows a condition leaves, by its kind.
const EQUAL: f64 = 0.005;
const RANGE: f64 = 0.33;
const OTHER: f64 = 0.5;

/// Rows, at least one.
pub(super) fn rows(relation: &Relation) -> f64 {
    let rows = match relation {
        Relation::Rows { rows, .. } => rows.len() as f64,
        Relation::Scan(scan) => scan.table.storage().records_estimate() as f64,
        Relation::System(_) | Relation::Received { .. } | Relation::Functions { .. } => 1_000.0,
        Relation::Shared { .. } => 1_000.0,
        Relation::Filter { input, predicate } => match &**input {
            Relation::Scan(scan) if is_unique(scan, predicate) => 1.0,
            _ => rows(input) * selectivity(predicate),
        },
        Relation::Compute { input, .. }
        | Relation::Sort { input, .. }
        | Relation::Window { input, .. }
        | Relation::Lock { input, .. }
        | Relation::Sequences { input, .. }
        | Relation::Apply { input, .. } => rows(input),
        Relation::Expand { input, .. } => rows(input) * 10.0,
        Relation::Join(join) => {
            let (left, right) = (rows(&join.left), rows(&join.right));
            let equal = join.on.iter().any(is_equality);
            match join.kind {
                JoinKind::Semi => left * OTHER,
                JoinKind::Anti => left * OTHER,
                _ if equal => left.max(right),
                _ => left * right * join.on.iter().map(selectivity).product::<f64>(),
            }
        }
        Relation::Aggregate(aggregate) if aggregate.keys.is_empty() => 1.0,
        Relation::Aggregate(aggregate) => rows(&aggregate.input) * 0.1,
        Relation::Distinct { input, .. } => rows(input) * OTHER,
        Relation::Limit { input, limit, .. } => match limit.as_ref().and_then(constant) {
            Some(limit) => rows(input).min(limit),
            None => rows(input),
        },
        Relation::Set(set) => rows(&set.left) + rows(&set.right),
        Relation::With { body, .. } => rows(body),
        Relation::Insert(insert) => rows(&insert.input),
        Relation::Change(change) => rows(&change.input),
        Relation::Merge(merge) => rows(&merge.input),
    };
    rows.max(1.0)
}

fn constant(expression: &Expression) -> Option<f64> {
    match &expression.kind {
        Kind::Constant(value) => match value.value() {
            types::Value::Int8(value) => Some(value as f64),
            _ => None,
        },
        _ => None,
    }
}

fn is_equality(condition: &Expression) -> bool {
    matches!(comparison(condition), Some((Comparison::Equal, _, _)))
}

/// The part of the rows for which a condition is true.
fn selectivity(condition: &Expression) -> f64 {
    match &condition.kind {
        Kind::And(parts) => parts.iter().map(selectivity).product(),
        Kind::Or(parts) => parts.iter().map(selectivity).sum::<f64>().min(1.0),
        _ => match comparison(condition) {
            Some((Comparison::Equal, _, _)) => EQUAL,
            Some((Comparison::NotEqual, _, _)) => 1.0,
            Some(_) => RANGE,
            None => OTHER,
        },
    }
}

/// Whether conditions give each column of the key of a table's rows a value.
fn is_unique(scan: &crate::relation::Scan, predicate: &Expression) -> bool {
    let RowKey::Columns(key) = &scan.table.row_key else {
        return false;
    };
    let conjuncts = predicate.clone().into_conjuncts();
    key.iter().all(|attribute| {
        let id = scan
            .columns
            .iter()
            .find(|(_, at)| *at == usize::from(*attribute))
            .map(|(id, _)| *id);
        conjuncts
            .iter()
            .any(|condition| match comparison(condition) {
                Some((Comparison::Equal, left, right)) => [left, right]
                    .iter()
                    .any(|side| id.is_some_and(|id| side.kind == Kind::Column(id))),
                _ => false,
            })
    })
}
