//! Rows of joins.

use std::collections::BTreeSet;

use functions::Comparison;

use super::{
    common::matched_rows,
    knowledge::{Column, Estimator, unique_keys},
};
use crate::program::comparison;
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{JoinKind, Relation, Scan},
};

/// Part of the rows that have a match, by conditions that are no equalities.
const MATCHED: f64 = 0.5;

/// One side of a join.
#[derive(Clone)]
pub(in crate::plan) struct Side<'r> {
    pub(in crate::plan) rows: f64,
    pub(in crate::plan) columns: BTreeSet<ColumnId>,
    /// Table of the side, if it is one, and its conditions.
    pub(in crate::plan) scan: Option<(&'r Scan, Vec<Expression>)>,
}

impl Estimator {
    pub(in crate::plan) fn side<'r>(&self, relation: &'r Relation) -> Side<'r> {
        let scan = match relation {
            Relation::Scan(scan) => Some((scan, Vec::new())),
            Relation::Filter { input, predicate } => match &**input {
                Relation::Scan(scan) => Some((scan, predicate.clone().into_conjuncts())),
                _ => None,
            },
            _ => None,
        };
        Side {
            rows: self.rows(relation),
            columns: relation.columns().into_iter().collect(),
            scan,
        }
    }

    /// Returns the rows of a join of two sides, at least one.
    pub(in crate::plan) fn join_rows(
        &self,
        kind: JoinKind,
        left: &Side<'_>,
        right: &Side<'_>,
        on: &[Expression],
    ) -> f64 {
        let pairs = left.rows * right.rows * self.pairs(left, right, on);
        let rows = match kind {
            JoinKind::Inner => pairs,
            JoinKind::Left => pairs.max(left.rows),
            JoinKind::Right => pairs.max(right.rows),
            JoinKind::Full => pairs.max(left.rows).max(right.rows),
            JoinKind::Semi => left.rows * self.matched(left, right, on),
            JoinKind::Anti => left.rows * (1.0 - self.matched(left, right, on)),
        };
        rows.max(1.0)
    }

    /// Returns the part of the pairs for which all conditions are true.
    fn pairs(&self, left: &Side<'_>, right: &Side<'_>, on: &[Expression]) -> f64 {
        let both: BTreeSet<ColumnId> = left.columns.union(&right.columns).copied().collect();
        // Each row has one match at most among rows with a unique key: several columns of a key
        // together say as much as a single one would.
        for (side, other) in [(right, left), (left, right)] {
            let Some((scan, _)) = &side.scan else {
                continue;
            };
            let given: Vec<Option<usize>> = on
                .iter()
                .map(|condition| equated(condition, scan, &other.columns))
                .collect();
            let key = unique_keys(&scan.table)
                .find(|key| key.iter().all(|at| given.contains(&Some(*at))));
            if let Some(key) = key {
                let rest: Vec<Expression> = on
                    .iter()
                    .zip(&given)
                    .filter(|(_, given)| given.is_none_or(|at| !key.contains(&at)))
                    .map(|(condition, _)| condition.clone())
                    .collect();
                let rows = self.table_rows(&scan.table);
                return self.selectivity(&rest, &both) / rows;
            }
        }
        self.selectivity(on, &both)
    }

    /// Returns the part of the left rows that have a match.
    fn matched(&self, left: &Side<'_>, right: &Side<'_>, on: &[Expression]) -> f64 {
        let mut part = 1.0_f64;
        for condition in on {
            let equal = match comparison(condition) {
                Some((Comparison::Equal, one, two)) => {
                    let columns = self.column_of(one, left).zip(self.column_of(two, right));
                    columns.or_else(|| self.column_of(two, left).zip(self.column_of(one, right)))
                }
                _ => None,
            };
            part *= match equal {
                Some((of_left, of_right)) => matched_rows(of_left, of_right, right.rows),
                None => MATCHED,
            };
        }
        part
    }

    /// Returns the part of the rows that have the most common value of an expression, as far as it is known to be
    /// common.
    pub(in crate::plan) fn most_common(&self, expression: &Expression) -> f64 {
        let column = match expression.kind {
            Kind::Column(id) => self.column(id),
            _ => None,
        };
        let statistics = column.and_then(|column| column.statistics);
        let first = statistics.and_then(|statistics| statistics.common.first());
        first.map_or(0.0, |first| first.fraction)
    }

    fn column_of(&self, expression: &Expression, side: &Side<'_>) -> Option<Column<'_>> {
        match expression.kind {
            Kind::Column(id) if side.columns.contains(&id) => self.column(id),
            _ => None,
        }
    }
}

/// Returns the column of a table that a condition makes equal to an expression over the other side.
fn equated(condition: &Expression, scan: &Scan, other: &BTreeSet<ColumnId>) -> Option<usize> {
    let (Comparison::Equal, left, right) = comparison(condition)? else {
        return None;
    };
    [(left, right), (right, left)]
        .into_iter()
        .find_map(|(column, value)| {
            let Kind::Column(id) = column.kind else {
                return None;
            };
            let found = scan.columns.iter().find(|(own, _)| *own == id);
            let columns = value.columns();
            let is_others = !columns.is_empty() && columns.iter().all(|id| other.contains(id));
            found.filter(|_| is_others).map(|(_, attribute)| *attribute)
        })
}
