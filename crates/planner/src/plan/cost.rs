//! Costs of relations, and the choice of a method for joining two of them.
//!
//! The unit is the time in which a scan gives one record, decoded and filtered: 15 ns where the
//! others were measured, on tables of a million records in memory, by one client with the machine
//! to itself. Costs are ratios between ways to compute the same result, meant to tell ways apart
//! that differ much.

use std::collections::BTreeSet;

use super::{
    errors::raises_nothing,
    estimate::{Asked, ELEMENTS, Estimator, Side},
    join::is_key,
};
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Join, JoinKind, Relation, SharedBody},
};

/// Cost of a record of a scan.
pub(super) const SCANNED: f64 = 1.0;
/// Records of a table up to which a scan of all takes [`SCANNED`] for each.
const SCANNED_SINGLY: f64 = 4096.0;
/// Cost of each further record: large tables are read by blocks of columns.
const SCANNED_BY_BLOCKS: f64 = 0.4;
/// Cost of a record that an entry of an index leads to; entries are gathered, and fetched together.
pub(super) const FETCHED: f64 = 6.0;
/// Cost of a record that is looked up by its key together with others, so that their cache misses
/// overlap.
pub(super) const POINT: f64 = 11.0;
/// Cost of the beginning of a range, which waits by itself.
pub(super) const SEEK: f64 = 30.0;
/// Cost of a row that is put into a hash table.
pub(super) const BUILT: f64 = 4.0;
/// Rows that a nested loop keeps without a cost worth counting.
const KEPT_MIN: f64 = 10_000.0;
/// Cost of a row that a nested loop keeps.
const KEPT: f64 = 1.0;
/// Cost of a row whose matches are looked up in a hash table.
pub(super) const PROBED: f64 = 1.5;
/// Rows of the right side for each of the left from which on the left is put into a hash table where the join keeps its
/// rows or tests them: with fewer it saves little, and the join is not divided between workers.
const TURNED_MIN: f64 = 2.0;
/// Cost of a row that finds no match in a hash table: a scan leaves most of them out where the key is an integer.
const MISSED: f64 = 0.4;
/// Cost of a row that is made of two.
const PAIRED: f64 = 0.5;
/// Cost of a pair of rows that is compared.
const COMPARED: f64 = 0.2;
/// Cost of a row that is sorted, for each doubling of the number of rows.
const SORTED: f64 = 0.8;
/// Cost of a row that is put into its group.
pub(super) const GROUPED: f64 = 2.0;
/// Cost of a row that an operator hands on.
pub(super) const HANDED: f64 = 0.2;
/// Cost of beginning a query for a row of another.
pub(super) const ASKED: f64 = 5.0;

/// Cost, some milliseconds, from which on a statement is worth a plan for its literals, which knows what they leave and
/// which of them are equal: finding that plan takes a small part of its time.
pub(super) const WORTH_LITERALS: f64 = 500_000.0;

/// Returns the cost of a scan of a whole table of so many records.
pub(super) fn scanned(records: f64) -> f64 {
    let singly = records.min(SCANNED_SINGLY);
    singly * SCANNED + (records - singly) * SCANNED_BY_BLOCKS
}

/// Returns the cost of a condition for a row, in halves of a comparison or call; each element of a list is a half.
fn tested(condition: &Expression) -> usize {
    let mut cost = 0;
    condition.walk(&mut |part| {
        cost += match &part.kind {
            Kind::Quantified { array, .. } => match &array.kind {
                Kind::Array(items) => 2 + items.len(),
                _ => 2 + ELEMENTS as usize,
            },
            Kind::Call { .. } | Kind::Case { .. } => 2,
            _ => 0,
        }
    });
    cost
}

/// Returns conditions with those first that cost least, in their order among others that cost as much; as they are if
/// one of them may raise an error, from which the ones before it may guard it.
pub(super) fn cheapest_first(mut conditions: Vec<Expression>) -> Vec<Expression> {
    if conditions.len() > 1 && conditions.iter().all(raises_nothing) {
        conditions.sort_by_cached_key(tested);
    }
    conditions
}

/// The methods for joining two relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// The matches of each row of the left are looked up in the right, by a key.
    Lookup,
    /// The rows of the right are put into a hash table.
    Hash,
    /// The rows of the left are put into a hash table, and marked when they match.
    HashLeft,
    /// All pairs of rows are compared.
    Loop,
}

/// A join path: a method for one order of the two sides, with its cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct JoinPath {
    pub(super) method: Method,
    /// Whether the sides change places.
    pub(super) is_swapped: bool,
    /// Cost of the join and of all below it.
    pub(super) cost: f64,
    /// Rows of the join.
    pub(super) rows: f64,
}

impl Estimator {
    /// Returns the cost of a relation.
    pub(super) fn cost(&self, relation: &Relation) -> f64 {
        self.remembered(relation, Asked::Cost, || self.cost_anew(relation))
    }

    fn cost_anew(&self, relation: &Relation) -> f64 {
        let handed = |input: &Relation| self.cost(input) + self.rows(input) * HANDED;
        match relation {
            Relation::Rows { .. }
            | Relation::Functions { .. }
            | Relation::CopySource { .. }
            | Relation::System(_)
            | Relation::Shared { .. } => self.rows(relation) * HANDED,
            Relation::Scan(scan) => self.choice(scan, &[]).cost,
            Relation::Filter { input, predicate } => match &**input {
                Relation::Scan(scan) => {
                    let conditions = predicate.clone().into_conjuncts();
                    match self.points(scan, &conditions) {
                        Some(points) => points.cost,
                        None => self.choice(scan, &conditions).cost,
                    }
                }
                input => handed(input),
            },
            Relation::Join(join) => self.join_path(join).cost,
            Relation::Sort { input, .. } => {
                let rows = self.rows(input);
                self.cost(input) + rows * rows.max(2.0).log2() * SORTED
            }
            Relation::Aggregate(aggregate) => {
                self.cost(&aggregate.input) + self.rows(&aggregate.input) * GROUPED
            }
            Relation::Distinct { input, .. } | Relation::Window { input, .. } => {
                self.cost(input) + self.rows(input) * GROUPED
            }
            Relation::Apply { input, subquery } => {
                let columns: BTreeSet<ColumnId> = input.columns().into_iter().collect();
                let is_asked_once = subquery.relation.outer_columns().is_disjoint(&columns);
                let times = if is_asked_once { 1.0 } else { self.rows(input) };
                handed(input) + times * (ASKED + self.cost(&subquery.relation))
            }
            Relation::Compute { input, .. }
            | Relation::Expand { input, .. }
            | Relation::Limit { input, .. }
            | Relation::Calls { input, .. }
            | Relation::Lock { input, .. } => handed(input),
            Relation::Set(set) => handed(&set.left) + handed(&set.right),
            Relation::With { definitions, body } => {
                let shared = definitions.iter().map(|shared| match &shared.body {
                    SharedBody::Query(query) => self.cost(query),
                    SharedBody::Recursive { initial, step, .. } => {
                        self.cost(initial) + self.cost(step)
                    }
                });
                self.cost(body) + shared.sum::<f64>()
            }
            Relation::Insert(insert) => handed(&insert.input),
            Relation::Change(change) => handed(&change.input),
            Relation::Merge(merge) => handed(&merge.input),
        }
    }

    /// Returns the cheapest path of a join.
    pub(super) fn join_path(&self, join: &Join) -> JoinPath {
        let (left, right) = (self.side(&join.left), self.side(&join.right));
        let costs = (self.cost(&join.left), self.cost(&join.right));
        if join.lateral {
            return JoinPath {
                method: Method::Loop,
                is_swapped: false,
                cost: costs.0 + left.rows * (ASKED + costs.1),
                rows: self.join_rows(join.kind, &left, &right, &join.on),
            };
        }
        self.join_path_of(join.kind, (&left, costs.0), (&right, costs.1), &join.on)
    }

    /// Returns the cheapest path for joining two sides, given with their costs, where the right
    /// does not refer to the left.
    pub(super) fn join_path_of(
        &self,
        kind: JoinKind,
        left: (&Side<'_>, f64),
        right: (&Side<'_>, f64),
        on: &[Expression],
    ) -> JoinPath {
        let rows = self.join_rows(kind, left.0, right.0, on);
        let mut best = self.path_in_order(kind, left, right, on, rows);
        // In an inner join, either side may be the left.
        if kind == JoinKind::Inner {
            let other = self.path_in_order(kind, right, left, on, rows);
            if other.cost < best.cost {
                best = JoinPath {
                    is_swapped: true,
                    ..other
                };
            }
        }
        best
    }

    fn path_in_order(
        &self,
        kind: JoinKind,
        (left, left_cost): (&Side<'_>, f64),
        (right, right_cost): (&Side<'_>, f64),
        on: &[Expression],
        rows: f64,
    ) -> JoinPath {
        let path = |method, cost| JoinPath {
            method,
            is_swapped: false,
            cost,
            rows,
        };
        let kept = (right.rows - KEPT_MIN).max(0.0) * KEPT;
        let compared = left.rows * right.rows * COMPARED;
        let mut best = path(
            Method::Loop,
            left_cost + right_cost + kept + compared + rows * PAIRED,
        );
        if !on
            .iter()
            .any(|condition| is_key(condition, &left.columns, &right.columns))
        {
            return best;
        }
        // A row without a match makes no other row in these joins.
        let probed = |probe: f64| match kind {
            JoinKind::Inner | JoinKind::Semi => {
                let found = rows.min(probe);
                found * PROBED + (probe - found) * MISSED
            }
            _ => probe * PROBED,
        };
        let hash = left_cost + right_cost + right.rows * BUILT + probed(left.rows) + rows * PAIRED;
        // A hash table is never much worse than comparing all pairs, which may be far worse.
        best = path(Method::Hash, hash);
        let can_be_turned = matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
        if can_be_turned && left.rows * TURNED_MIN < right.rows {
            let built = left.rows * BUILT + right.rows * PROBED;
            best = path(
                Method::HashLeft,
                left_cost + right_cost + built + rows * PAIRED,
            );
        }
        if let Some(lookup) = self.lookup(kind, left, right, on) {
            let cost = left_cost + left.rows * lookup + rows * PAIRED;
            if cost < best.cost {
                best = path(Method::Lookup, cost);
            }
        }
        best
    }

    /// Returns the cost of looking the matches of one row up; `None` if there is no key for that.
    fn lookup(
        &self,
        kind: JoinKind,
        left: &Side<'_>,
        right: &Side<'_>,
        on: &[Expression],
    ) -> Option<f64> {
        let (scan, conditions) = right.scan.as_ref().filter(|_| kind != JoinKind::Full)?;
        let own = conditions.len();
        let mut conditions = conditions.clone();
        let keys = on.iter();
        let keys = keys.filter(|condition| is_key(condition, &left.columns, &right.columns));
        conditions.extend(keys.cloned());
        let choice = self.choice(scan, &conditions);
        let uses_a_key = choice.covered().any(|condition| condition >= own);
        uses_a_key.then_some(choice.cost)
    }
}
