//! Joins: by lookup in a key, by hash, or by nesting.

use std::collections::BTreeSet;

use types::{Result, Type};

use super::{
    AccessPath, HashJoin, IndexJoin, JoinProjection, NestedLoopJoin, Plan, Scan,
    cost::{Method, cheapest_first},
    lower::{Lowering, Node, row_layout, with},
};
use crate::program::{Layout, comparison};
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{self, Join, JoinKind, Relation},
};

/// Most rows of one key of a left side that is built into a hash table.
const ALIKE_MAX: f64 = 10_000.0;

/// Most rows, on average, of one key of a left side that is built into a hash table and tested.
const ALIKE_TESTED: f64 = 4.0;

impl Lowering {
    pub(super) fn join(&mut self, join: Join, needed: &BTreeSet<ColumnId>) -> Result<Node> {
        if join.lateral {
            return self.nested_loop_join(join, needed);
        }
        let mut join = match join.kind {
            JoinKind::Right => Join {
                kind: JoinKind::Left,
                left: join.right,
                right: join.left,
                ..join
            },
            _ => join,
        };
        let path = self.estimator.join_path(&join);
        self.weigh_literals(path.cost);
        if path.is_swapped {
            std::mem::swap(&mut join.left, &mut join.right);
        }
        let left_columns: BTreeSet<ColumnId> = join.left.columns().into_iter().collect();
        let right_columns: BTreeSet<ColumnId> = join.right.columns().into_iter().collect();
        let (keys, residual): (Vec<_>, Vec<_>) = join
            .on
            .into_iter()
            .map(|condition| key(condition, &left_columns, &right_columns))
            .fold((Vec::new(), Vec::new()), |(mut keys, mut rest), found| {
                match found {
                    Ok(pair) => keys.push(pair),
                    Err(condition) => rest.push(condition),
                }
                (keys, rest)
            });
        if keys.is_empty() {
            return self.nested_loop_join(
                Join {
                    on: residual,
                    ..join_of(join.kind, join.left, join.right)
                },
                needed,
            );
        }
        if path.method == Method::Lookup
            && let Some(node) =
                self.index_join(join.kind, &join.left, &join.right, &keys, &residual, needed)?
        {
            return Ok(node);
        }
        if let Some(node) = self.lookup_of_each(
            (join.kind, &join.left, &join.right),
            path.cost,
            &keys,
            &residual,
            needed,
        )? {
            return Ok(node);
        }
        let conditions = keys
            .iter()
            .flat_map(|key| [&key.left, &key.right])
            .chain(&residual);
        let wanted = with(needed, conditions);
        let is_turned = path.method == Method::HashLeft
            && self.can_be_turned(join.kind, (&join.left, &join.right), &keys);
        let (probe, build) = match is_turned {
            true => (join.right, join.left),
            false => (join.left, join.right),
        };
        let (probe_keys, build_keys): (Vec<_>, Vec<_>) = { keys.iter() }
            .map(|key| match is_turned {
                true => (&key.right, &key.left),
                false => (&key.left, &key.right),
            })
            .unzip();
        let key_types = probe_keys.iter().map(|key| key.ty).collect();
        let probe = self.lower(*probe, &wanted)?;
        let own: BTreeSet<ColumnId> = build.columns().into_iter().collect();
        let has_fixed_key =
            |key: &&Expression| key.is_stable() && key.columns().iter().all(|id| own.contains(id));
        let is_fixed = self.is_fixed(&build) && build_keys.iter().all(has_fixed_key);
        let build = self.lower(*build, &wanted)?;
        let probe_keys = self.programs(probe_keys, &probe.layout)?;
        let build_keys = self.programs(build_keys, &build.layout)?;
        let both = probe.layout.followed_by(&build.layout);
        let residual = self.conjunction(residual, &both)?;
        let (projection, layout) = match is_turned && is_filter(join.kind) {
            true => {
                let (right, layout) = build.layout.picked(needed);
                let left = Vec::new();
                (JoinProjection { left, right }, layout)
            }
            false => join_projection(join.kind, &probe.layout, &build.layout, needed),
        };
        let plan = Plan::HashJoin(HashJoin {
            kind: join.kind,
            is_turned,
            projection,
            build_width: build.layout.width(),
            probe: Box::new(probe.plan),
            build: Box::new(build.plan),
            probe_keys,
            build_keys,
            key_types,
            residual,
            is_fixed,
            filters: Vec::new(),
        });
        Ok(Node { plan, layout })
    }

    /// Returns whether the left side of a join can be built into the table where the right one is larger. If the join
    /// is begun again, and the right side has the same rows then, it is better kept. Many rows of one key have no place
    /// in a partition, and in a semijoin or antijoin each row of the right would be tried with all of them.
    fn can_be_turned(
        &self,
        kind: JoinKind,
        (left, right): (&Relation, &Relation),
        keys: &[JoinKey],
    ) -> bool {
        let estimator = &self.estimator;
        let rows = estimator.rows(left);
        let groups = estimator.groups(keys.iter().map(|key| &key.left), rows);
        let most_alike = keys
            .iter()
            .map(|key| estimator.most_common(&key.left) * rows);
        let are_few_alike = most_alike.fold(rows, f64::min) <= ALIKE_MAX;
        // Nothing is known of the values of expressions.
        let is_known = |key: &JoinKey| match key.left.kind {
            Kind::Column(id) => estimator.distinct(id).is_some(),
            _ => false,
        };
        let are_tested_apart = keys.iter().all(is_known) && groups * ALIKE_TESTED >= rows;
        let is_test = matches!(kind, JoinKind::Semi | JoinKind::Anti);
        are_few_alike && (!is_test || are_tested_apart) && !self.is_fixed(right)
    }

    /// Lowers a semijoin as a lookup of the right side's different keys in the left side, if they
    /// are few; returns `None` if that costs more than `cost`, or cannot be done.
    fn lookup_of_each(
        &mut self,
        (kind, left, right): (JoinKind, &Relation, &Relation),
        cost: f64,
        keys: &[JoinKey],
        residual: &[Expression],
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Option<Node>> {
        if kind != JoinKind::Semi || !residual.is_empty() {
            return Ok(None);
        }
        let each = Relation::Distinct {
            input: Box::new(right.clone()),
            on: keys.iter().map(|key| key.right.clone()).collect(),
        };
        let turned = Join {
            on: keys.iter().map(|key| key.condition.clone()).collect(),
            ..join_of(JoinKind::Inner, Box::new(each), Box::new(left.clone()))
        };
        let path = self.estimator.join_path(&turned);
        if path.method != Method::Lookup || path.is_swapped || path.cost >= cost {
            return Ok(None);
        }
        self.join_by_lookup(turned, needed)
    }

    /// Lowers an inner join by lookups in its right side; returns `None` if there is no key for
    /// that.
    pub(super) fn join_by_lookup(
        &mut self,
        join: Join,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Option<Node>> {
        let left: BTreeSet<ColumnId> = join.left.columns().into_iter().collect();
        let right: BTreeSet<ColumnId> = join.right.columns().into_iter().collect();
        let keys = join.on.into_iter().map(|on| key(on, &left, &right));
        let Ok(keys) = keys.collect::<std::result::Result<Vec<_>, _>>() else {
            return Ok(None);
        };
        self.index_join(join.kind, &join.left, &join.right, &keys, &[], needed)
    }

    /// Lowers a join by lookups in its right side, if that is a table with a key for it.
    fn index_join(
        &mut self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        keys: &[JoinKey],
        residual: &[Expression],
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Option<Node>> {
        let (scan, mut conditions) = match right {
            Relation::Scan(scan) => (scan.clone(), Vec::new()),
            Relation::Filter { input, predicate } => match &**input {
                Relation::Scan(scan) => (scan.clone(), predicate.clone().into_conjuncts()),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let own = conditions.len();
        conditions.extend(keys.iter().map(|key| key.condition.clone()));
        let wanted = with(needed, conditions.iter().chain(residual));
        let left_columns = left.columns();
        // The access path of the lookup, tried without side effects on the lowered sides.
        let trial = Layout::new(left_columns.iter().copied());
        let found = self.access(&scan, &conditions, &trial)?;
        if !matches!(found.access, AccessPath::Key(_) | AccessPath::Index { .. })
            || !found.covered.iter().any(|at| *at >= own)
        {
            return Ok(None);
        }
        let outer = self.lower(left.clone(), &wanted)?;
        let (scan, inner) = self.restricted(scan, conditions, &wanted, &outer.layout)?;
        let both = outer.layout.followed_by(&inner);
        let mut residual = residual.to_vec();
        residual.extend(scan.1);
        let residual = self.conjunction(residual, &both)?;
        let (projection, layout) = join_projection(kind, &outer.layout, &inner, needed);
        let plan = Plan::IndexJoin(IndexJoin {
            kind,
            projection,
            outer: Box::new(outer.plan),
            scan: scan.0,
            residual,
        });
        Ok(Some(Node { plan, layout }))
    }

    /// Lowers a scan with its access path, whose key may come from rows of another layout;
    /// conditions over both are handed back.
    pub(super) fn restricted(
        &mut self,
        scan: relation::Scan,
        conditions: Vec<Expression>,
        needed: &BTreeSet<ColumnId>,
        values: &Layout,
    ) -> Result<((Scan, Vec<Expression>), Layout)> {
        let found = self.access(&scan, &conditions, values)?;
        if !found.access.is_point() {
            self.dependencies.add(&scan.table);
        }
        let own: BTreeSet<ColumnId> = scan
            .columns
            .iter()
            .map(|(id, _)| *id)
            .chain([scan.key])
            .collect();
        let rest = conditions
            .into_iter()
            .enumerate()
            .filter(|(at, _)| !found.covered.contains(at));
        let (mine, both): (Vec<_>, Vec<_>) =
            rest.map(|(_, condition)| condition).partition(|condition| {
                condition
                    .columns()
                    .iter()
                    .all(|id| own.contains(id) || values.position(*id).is_none())
            });
        let (tests, mine) = self.tests(&scan, mine)?;
        let needed = with(needed, mine.iter().chain(&both));
        let columns: Vec<_> = scan
            .columns
            .iter()
            .filter(|(id, _)| needed.contains(id))
            .copied()
            .collect();
        let with_key = needed.contains(&scan.key);
        let layout = Layout::new(
            columns
                .iter()
                .map(|(id, _)| *id)
                .chain(with_key.then_some(scan.key)),
        );
        let filter = self.conjunction(cheapest_first(mine), &layout)?;
        let scan = Scan {
            rows: row_layout(&scan.table)?,
            table: scan.table,
            access: found.access,
            ordered: false,
            descending: false,
            columns: columns.iter().map(|(_, attribute)| *attribute).collect(),
            with_key,
            tests,
            key_filters: Vec::new(),
            filter,
        };
        Ok(((scan, both), layout))
    }

    pub(super) fn nested_loop_join(
        &mut self,
        join: Join,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let wanted = with(needed, &join.on);
        let refers: Vec<ColumnId> = {
            let left: BTreeSet<ColumnId> = join.left.columns().into_iter().collect();
            join.right
                .outer_columns()
                .intersection(&left)
                .copied()
                .collect()
        };
        let wanted_left: BTreeSet<ColumnId> = wanted.iter().chain(&refers).copied().collect();
        let outer = self.lower(*join.left, &wanted_left)?;
        let correlated = refers
            .iter()
            .map(|id| outer.at(*id))
            .collect::<Result<Vec<_>>>()?;
        let is_fixed = self.is_fixed(&join.right);
        let inner = self.lower_within(*join.right, &refers, &wanted)?;
        let both = outer.layout.followed_by(&inner.layout);
        let on = self.conjunction(join.on, &both)?;
        let layout = if is_filter(join.kind) {
            outer.layout.clone()
        } else {
            both
        };
        let plan = Plan::NestedLoopJoin(NestedLoopJoin {
            kind: join.kind,
            outer_width: outer.layout.width(),
            inner_width: inner.layout.width(),
            outer: Box::new(outer.plan),
            inner: Box::new(inner.plan),
            on,
            correlated,
            is_fixed,
        });
        Ok(Node { plan, layout })
    }
}

/// An equality between the two sides of a join.
struct JoinKey {
    left: Expression,
    right: Expression,
    condition: Expression,
}

/// Returns whether a condition is an equality between the two sides of a join, and can serve as a
/// key of the join.
pub(super) fn is_key(
    condition: &Expression,
    left: &BTreeSet<ColumnId>,
    right: &BTreeSet<ColumnId>,
) -> bool {
    sides(condition, left, right).is_some()
}

/// Returns the expressions over the left and over the right side that a condition says are equal.
fn sides<'e>(
    condition: &'e Expression,
    left: &BTreeSet<ColumnId>,
    right: &BTreeSet<ColumnId>,
) -> Option<(&'e Expression, &'e Expression)> {
    let (functions::Comparison::Equal, one, two) = comparison(condition)? else {
        return None;
    };
    // The values of both sides have to hash alike, each time that they are computed: rows that are put by are looked at
    // again.
    if !is_hashable(one.ty, two.ty) || !one.is_stable() || !two.is_stable() {
        return None;
    }
    let side = |expression: &Expression| {
        let columns = expression.columns();
        let of = |side: &BTreeSet<ColumnId>| columns.iter().any(|id| side.contains(id));
        (of(left), of(right))
    };
    match (side(one), side(two)) {
        ((true, false), (false, true)) => Some((one, two)),
        ((false, true), (true, false)) => Some((two, one)),
        _ => None,
    }
}

fn key(
    condition: Expression,
    left: &BTreeSet<ColumnId>,
    right: &BTreeSet<ColumnId>,
) -> std::result::Result<JoinKey, Expression> {
    match sides(&condition, left, right) {
        Some((one, two)) => Ok(JoinKey {
            left: one.clone(),
            right: two.clone(),
            condition,
        }),
        None => Err(condition),
    }
}

/// Returns whether equal values of the two types have equal hashes.
pub(crate) fn is_hashable(one: Type, two: Type) -> bool {
    use types::Scalar::{Float4, Float8, Int2, Int4, Int8, Name, Text, Varchar};
    let family = |ty| match ty {
        Type::Scalar(Int2 | Int4 | Int8) => 0,
        Type::Scalar(Float4 | Float8) => 1,
        Type::Scalar(Text | Varchar | Name) => 2,
        _ => 3,
    };
    one == two || family(one) != 3 && family(one) == family(two)
}

fn join_of(kind: JoinKind, left: Box<Relation>, right: Box<Relation>) -> Join {
    Join {
        kind,
        left,
        right,
        on: Vec::new(),
        lateral: false,
    }
}

/// Returns the columns that a join hands on if the columns `needed` are, and their layout.
fn join_projection(
    kind: JoinKind,
    left: &Layout,
    right: &Layout,
    needed: &BTreeSet<ColumnId>,
) -> (JoinProjection, Layout) {
    let (left, left_layout) = left.picked(needed);
    if is_filter(kind) {
        let right = Vec::new();
        return (JoinProjection { left, right }, left_layout);
    }
    let (right, right_layout) = right.picked(needed);
    let layout = left_layout.followed_by(&right_layout);
    (JoinProjection { left, right }, layout)
}

/// Returns whether only columns of the left side come out.
fn is_filter(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Semi | JoinKind::Anti)
}
