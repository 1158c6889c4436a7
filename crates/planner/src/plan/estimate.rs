//! Estimates of how many rows relations have.
//!
//! An [`Estimator`] is made for a statement: it knows the origin of each column, whatever operators
//! the column has passed through, and the present statistics of the origin's table. Conditions are
//! thought to be independent of each other, as in System R (Selinger et al. 1979) and PostgreSQL;
//! an equality with each column of a unique key leaves one row, and equalities of columns that a statistics object
//! (`CREATE STATISTICS`) is over are counted together. Values of parameters are not known, those of expressions over
//! constants are.
//!
//! | part | file |
//! | --- | --- |
//! | origins of columns, and their statistics | `knowledge.rs` |
//! | part of the rows that conditions leave | `selectivity.rs` |
//! | places of values in histograms | `histogram.rs` |
//! | equality of two columns, by their common values | `common.rs` |
//! | columns that depend on each other | `column_groups.rs` |
//! | values that are known when the plan is made | `known.rs` |
//! | rows of joins | `join.rs` |

mod column_groups;
mod common;
mod histogram;
mod join;
mod knowledge;
mod known;
mod pattern;
mod selectivity;

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
};

use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Relation, SetKind, SharedBody, SharedId},
};
use syntax::phase;

pub(super) use self::{join::Side, knowledge::Estimator};

/// Rows of a function that returns a set, and of a relation that reads itself.
const SET_ROWS: f64 = 1_000.0;
/// Rows that a function in the output makes of one.
const EXPANDED: f64 = 10.0;
/// Part of the rows that a limit of unknown size leaves.
const LIMITED: f64 = 0.1;
/// Elements of an array that is not written out.
pub(super) const ELEMENTS: f64 = 10.0;

/// The questions about a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Rows,
    Cost,
}

/// Answers about relations, by the relations' addresses.
type Answers = RefCell<HashMap<(*const Relation, Asked), f64>>;

/// Rows of shared relations, by their numbers.
type CommonTableRows = RefCell<HashMap<SharedId, f64>>;

impl Estimator {
    /// Returns the rows of a relation, at least one.
    pub(super) fn rows(&self, relation: &Relation) -> f64 {
        self.remembered(relation, Asked::Rows, || self.rows_anew(relation))
    }

    /// Returns an answer about a relation, computed once while a question about a relation around
    /// it is being answered. Without this, each of the joins around a relation would ask about it
    /// twice.
    pub(super) fn remembered(
        &self,
        relation: &Relation,
        asked: Asked,
        compute: impl FnOnce() -> f64,
    ) -> f64 {
        phase::pause();
        let key = (std::ptr::from_ref(relation), asked);
        if let Some(known) = self.answers.borrow().get(&key) {
            return *known;
        }
        self.asked.set(self.asked.get() + 1);
        let found = compute();
        self.asked.set(self.asked.get() - 1);
        // Relations keep their addresses only until the outermost question is answered.
        match self.asked.get() {
            0 => self.answers.borrow_mut().clear(),
            _ => drop(self.answers.borrow_mut().insert(key, found)),
        }
        found
    }

    fn rows_anew(&self, relation: &Relation) -> f64 {
        let rows = match relation {
            Relation::Rows { rows, .. } => rows.len() as f64,
            Relation::Scan(scan) => self.table_rows(&scan.table),
            Relation::Functions { .. } | Relation::CopySource { .. } | Relation::System(_) => {
                SET_ROWS
            }
            Relation::Shared { number, .. } => self
                .shared
                .borrow()
                .get(number)
                .copied()
                .unwrap_or(SET_ROWS),
            Relation::Filter { input, predicate } => {
                let own: BTreeSet<ColumnId> = input.columns().into_iter().collect();
                let conditions = predicate.clone().into_conjuncts();
                match &**input {
                    Relation::Scan(scan) if self.is_one(scan, &conditions, &own) => 1.0,
                    input => self.rows(input) * self.selectivity(&conditions, &own),
                }
            }
            Relation::Compute { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Window { input, .. }
            | Relation::Lock { input, .. }
            | Relation::Calls { input, .. }
            | Relation::Apply { input, .. } => self.rows(input),
            Relation::Expand { input, .. } => self.rows(input) * EXPANDED,
            Relation::Join(join) => self.join_rows(
                join.kind,
                &self.side(&join.left),
                &self.side(&join.right),
                &join.on,
            ),
            Relation::Aggregate(aggregate) => {
                let input = self.rows(&aggregate.input);
                let sets = aggregate.sets.iter();
                sets.map(|set| {
                    let keys = set.iter().filter_map(|at| aggregate.keys.get(*at));
                    self.groups(keys.map(|(_, key)| key), input)
                })
                .sum()
            }
            Relation::Distinct { input, on } => self.groups(on, self.rows(input)),
            Relation::Limit {
                input,
                limit,
                offset,
                ..
            } => {
                let skipped = offset.as_ref().and_then(constant).unwrap_or(0.0);
                let input = self.rows(input) - skipped.max(0.0);
                match limit.as_ref().map(constant) {
                    None => input,
                    Some(Some(limit)) => input.min(limit),
                    Some(None) => input * LIMITED,
                }
            }
            Relation::Set(set) => {
                let (left, right) = (self.rows(&set.left), self.rows(&set.right));
                match set.kind {
                    SetKind::Union => left + right,
                    SetKind::Intersect => left.min(right),
                    SetKind::Except => left,
                }
            }
            Relation::With { definitions, body } => {
                for shared in definitions {
                    let rows = match &shared.body {
                        SharedBody::Query(query) => self.rows(query),
                        SharedBody::Recursive { initial, .. } => self.rows(initial) * EXPANDED,
                    };
                    self.shared.borrow_mut().insert(shared.number, rows);
                }
                self.rows(body)
            }
            Relation::Insert(insert) => self.rows(&insert.input),
            Relation::Change(change) => self.rows(&change.input),
            Relation::Merge(merge) => self.rows(&merge.input),
        };
        rows.max(1.0)
    }

    /// Returns the number of groups of rows that are equal in all keys.
    pub(super) fn groups<'e>(
        &self,
        keys: impl IntoIterator<Item = &'e Expression>,
        rows: f64,
    ) -> f64 {
        let columns: BTreeSet<ColumnId> = keys.into_iter().flat_map(Expression::columns).collect();
        let (of_groups, left) = self.distinct_together(columns);
        let alone = left.iter().map(|id| self.distinct(*id).unwrap_or(rows));
        (of_groups * alone.product::<f64>()).min(rows)
    }
}

/// Returns the number that a literal stands for, if the expression is one.
pub(super) fn constant(expression: &Expression) -> Option<f64> {
    match &expression.kind {
        Kind::Constant(value) => match value.value() {
            types::Value::Int4(value) => Some(f64::from(value)),
            types::Value::Int8(value) => Some(value as f64),
            _ => None,
        },
        // A literal number is an `integer`, and converted.
        Kind::Convert { operand, .. } => constant(operand),
        _ => None,
    }
}
