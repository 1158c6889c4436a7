//! The order of joins.
//!
//! Joins that may change places are taken apart into *leaves* and conditions, and put together
//! again in the cheapest order. Leaves of inner joins may come in any order. A leaf that is
//! outer-joined, or that only says which rows have a match, comes as the right side of its own
//! join, at some time after all leaves that its conditions refer to. The answer stays the same: a
//! join of this kind gives, for each row of its left, rows that do not depend on that row's other
//! columns. A lateral leaf comes in the same way. Full joins stay in place, and so do all joins
//! whose conditions are not the same each time they are computed.
//!
//! Up to [`LEAVES_MAX`] leaves all orders are compared, by subsets (Selinger et al. 1979, with
//! bushy trees); of more, the cheapest pair is joined again and again. A product is used only if no
//! other join is possible.

mod equality;

use std::collections::{BTreeSet, HashMap, hash_map::Entry};

use functions::Comparison;

use self::equality::{Equal, implied_equalities};
use super::{
    cost::JoinPath,
    estimate::{Estimator, Side},
    predicate_pushdown::filtered,
};
use crate::program::comparison;
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Join, JoinKind, Relation},
};
use syntax::phase;

/// Number of leaves up to which all orders are compared.
const LEAVES_MAX: usize = 9;
/// Number of leaves up to which joins are taken apart: a set of leaves is a word.
const BLOCK_MAX: usize = 60;

/// Number of leaves from which on an order of joins is worth a plan for the literals of a statement.
const SEVERAL: usize = 3;

/// Number of equated columns up to which implied equalities are added: their number grows with its square.
const EQUATED_MAX: usize = 32;

/// A set of leaves, by their positions.
type Set = u64;

struct Leaf {
    relation: Relation,
    columns: BTreeSet<ColumnId>,
    /// Kind of the join with the leaves before it; inner if the leaf may come first.
    kind: JoinKind,
    lateral: bool,
    /// Conditions of the leaf's own join, unless that is an inner one.
    on: Vec<Expression>,
    /// Leaves that have to come before this one.
    after: Set,
    cost: f64,
}

impl Leaf {
    /// Returns the columns, in layers, that a leaf of a single row adds to the leaves before it, if
    /// its join does nothing else.
    fn as_columns(&self) -> Option<Vec<Vec<(ColumnId, Expression)>>> {
        fn layers(relation: &Relation) -> Option<Vec<Vec<(ColumnId, Expression)>>> {
            match relation {
                Relation::Rows { columns, rows } => match rows.as_slice() {
                    [row] => {
                        let columns = columns.iter().copied().zip(row.iter().cloned());
                        Some(vec![columns.collect()])
                    }
                    _ => None,
                },
                Relation::Compute { input, columns } => {
                    let mut all = layers(input)?;
                    all.push(columns.clone());
                    Some(all)
                }
                _ => None,
            }
        }
        let finds_it = matches!(self.kind, JoinKind::Inner | JoinKind::Left)
            && self.on.iter().all(|on| *on == Expression::bool(true));
        layers(&self.relation).filter(|_| finds_it)
    }
}

/// Joins that may change places.
#[derive(Default)]
struct Block {
    leaves: Vec<Leaf>,
    /// Conditions of the inner joins.
    conditions: Vec<Condition>,
    /// Columns that are equal to others by the conditions, as expressions.
    equated: Vec<Expression>,
}

/// A condition of an inner join.
struct Condition {
    expression: Expression,
    /// Leaves that the condition refers to.
    set: Set,
    /// Places of the two columns among the equated ones, if the condition is an equality of
    /// columns.
    equates: Option<(usize, usize)>,
}

/// Some leaves, joined.
struct Joined<'b> {
    side: Side<'b>,
    cost: f64,
    /// Sets that were joined; `None` for a leaf.
    parts: Option<(Set, Set)>,
    equal: Equal,
}

/// Returns the relation with its joins in the cheapest order.
pub(super) fn ordered(mut relation: Relation, estimator: &Estimator) -> Relation {
    if let Relation::Join(join) = relation {
        let mut block = Block::default();
        if is_movable(&join) {
            block.take(Relation::Join(join), estimator);
            return block.put_together(estimator);
        }
        relation = Relation::Join(join);
    }
    relation.for_each_input_mut(&mut |input| order_in_place(input, estimator));
    relation
}

fn order_in_place(relation: &mut Relation, estimator: &Estimator) {
    let nothing = Relation::Rows {
        columns: Vec::new(),
        rows: Vec::new(),
    };
    let taken = std::mem::replace(relation, nothing);
    *relation = ordered(taken, estimator);
}

/// Returns whether a join, and all joins that would be taken apart with it, may be taken apart.
fn is_movable(join: &Join) -> bool {
    let inner = |relation: &Relation| match relation {
        Relation::Join(join) if join.kind != JoinKind::Full => is_movable(join),
        _ => true,
    };
    join.kind != JoinKind::Full
        && join.on.iter().all(Expression::is_stable)
        && inner(&join.left)
        && inner(&join.right)
        && count(join) <= BLOCK_MAX
}

fn count(join: &Join) -> usize {
    let of = |relation: &Relation| match relation {
        Relation::Join(join) => count(join),
        _ => 1,
    };
    of(&join.left) + of(&join.right)
}

impl Block {
    /// Takes a relation apart.
    fn take(&mut self, relation: Relation, estimator: &Estimator) {
        let join = match relation {
            Relation::Join(join) if join.kind != JoinKind::Full => join,
            leaf => {
                // An inner leaf that refers to others comes after these.
                let outer: Vec<ColumnId> = leaf.outer_columns().into_iter().collect();
                let after = self.referred(&outer);
                self.add(leaf, JoinKind::Inner, Vec::new(), after, estimator);
                return;
            }
        };
        // The left side comes first: leaves that refer to it then find it.
        let Join {
            kind,
            left,
            right,
            on,
            lateral: _,
        } = join;
        let (kind, left, right) = match kind {
            JoinKind::Right => (JoinKind::Left, right, left),
            kind => (kind, left, right),
        };
        let before = self.leaves.len();
        self.take(*left, estimator);
        if kind == JoinKind::Inner {
            self.take(*right, estimator);
            for expression in on {
                let set = self.referred(&expression.columns());
                let equates = self.equates(&expression);
                self.conditions.push(Condition {
                    expression,
                    set,
                    equates,
                });
            }
            return;
        }
        let of_left = all(self.leaves.len()) & !all(before);
        let outer: Vec<ColumnId> = right.outer_columns().into_iter().collect();
        let outer = self.referred(&outer);
        let columns: Vec<ColumnId> = on.iter().flat_map(Expression::columns).collect();
        let after = match (self.referred(&columns) | outer) & of_left {
            0 => of_left,
            after => after,
        };
        self.add(*right, kind, on, after | outer, estimator);
    }

    fn add(
        &mut self,
        relation: Relation,
        kind: JoinKind,
        on: Vec<Expression>,
        after: Set,
        estimator: &Estimator,
    ) {
        let relation = ordered(relation, estimator);
        let outer: Vec<ColumnId> = relation.outer_columns().into_iter().collect();
        let lateral = self.referred(&outer) != 0;
        self.leaves.push(Leaf {
            columns: relation.columns().into_iter().collect(),
            cost: estimator.cost(&relation),
            relation,
            kind,
            lateral,
            on,
            after,
        });
    }

    /// Returns the places of the two columns of one type that a condition says are equal.
    fn equates(&mut self, condition: &Expression) -> Option<(usize, usize)> {
        let (Comparison::Equal, one, two) = comparison(condition)? else {
            return None;
        };
        let are_columns = matches!((&one.kind, &two.kind), (Kind::Column(_), Kind::Column(_)));
        (are_columns && one.ty == two.ty).then(|| (self.place(one), self.place(two)))
    }

    fn place(&mut self, column: &Expression) -> usize {
        let known = self
            .equated
            .iter()
            .position(|known| known.kind == column.kind);
        known.unwrap_or_else(|| {
            self.equated.push(column.clone());
            self.equated.len() - 1
        })
    }

    /// Returns the leaves that these columns come from.
    fn referred(&self, columns: &[ColumnId]) -> Set {
        let leaves = self.leaves.iter().enumerate();
        let leaves = leaves.filter(|(_, leaf)| columns.iter().any(|id| leaf.columns.contains(id)));
        leaves.fold(0, |set, (at, _)| set | 1 << at)
    }

    /// Adds the equalities that others imply.
    fn close(&mut self) {
        if self.equated.len() > EQUATED_MAX {
            return;
        }
        let given = self.conditions.iter();
        let given = given.filter_map(|given| Some((given.equates?, &given.expression)));
        for (equates, expression) in implied_equalities(&self.equated, given.collect()) {
            let set = self.referred(&expression.columns());
            if set.count_ones() == 2 && self.are_inner(set) {
                self.conditions.push(Condition {
                    expression,
                    set,
                    equates: Some(equates),
                });
            }
        }
    }

    /// Returns whether all leaves of a set may come first.
    fn are_inner(&self, set: Set) -> bool {
        let mut leaves = self.leaves.iter().enumerate();
        leaves.all(|(at, leaf)| set & (1 << at) == 0 || leaf.after == 0)
    }

    fn put_together(mut self, estimator: &Estimator) -> Relation {
        self.close();
        let leaves = self.leaves.len();
        let mut order = Order {
            block: &self,
            estimator,
            joined: HashMap::new(),
        };
        for (at, leaf) in self.leaves.iter().enumerate() {
            let joined = Joined {
                side: estimator.side(&leaf.relation),
                cost: leaf.cost,
                parts: None,
                equal: Equal::none(self.equated.len()),
            };
            order.joined.insert(1 << at, joined);
        }
        if leaves <= LEAVES_MAX {
            order.compare_all(leaves);
        } else {
            order.join_the_cheapest(leaves);
        }
        if leaves >= SEVERAL {
            estimator.note_order();
        }
        let (built, _) = order.build(all(leaves));
        // Conditions that link no leaves, such as those on a query around this one.
        let free = self
            .conditions
            .iter()
            .filter(|condition| condition.set.count_ones() < 2);
        let free = free.map(|condition| condition.expression.clone());
        filtered(built, free.collect())
    }
}

/// The search for an order.
struct Order<'b> {
    block: &'b Block,
    estimator: &'b Estimator,
    joined: HashMap<Set, Joined<'b>>,
}

impl<'b> Order<'b> {
    /// Returns the conditions that can be computed only once two sets are joined, and the
    /// equalities that hold then. A condition that others imply is left out: of `a = b`, `b = c`
    /// and `a = c` one says nothing new, and would be thought to leave fewer rows.
    fn linking(
        &self,
        (left, one): (Set, &Equal),
        (right, two): (Set, &Equal),
    ) -> (Vec<Expression>, Equal) {
        let mut equal = one.with(two);
        let conditions = self.block.conditions.iter().filter(|condition| {
            let set = condition.set;
            set & !(left | right) == 0 && set & !left != 0 && set & !right != 0
        });
        let mut linking = Vec::new();
        for condition in conditions {
            if condition.equates.is_none_or(|pair| equal.insert(pair)) {
                linking.push(condition.expression.clone());
            }
        }
        (linking, equal)
    }

    /// Returns whether a condition links two sets.
    fn is_linked(&self, left: Set, right: Set) -> bool {
        self.block.conditions.iter().any(|Condition { set, .. }| {
            *set & !(left | right) == 0 && *set & !left != 0 && *set & !right != 0
        })
    }

    /// Returns the leaf that a set consists of, unless the leaf may come first.
    fn dependent(&self, set: Set) -> Option<&'b Leaf> {
        let leaf = &self.block.leaves[set.trailing_zeros() as usize];
        (set.is_power_of_two() && leaf.after != 0).then_some(leaf)
    }

    /// Returns whether the leaves of a set can be joined without others.
    fn is_whole(&self, set: Set) -> bool {
        let leaves = self.block.leaves.iter().enumerate();
        let mut own = leaves.filter(|(at, _)| set & (1 << at) != 0);
        own.all(|(_, leaf)| leaf.after & !set == 0)
    }

    /// Returns two sets joined: `None` if they cannot be, or if that is no cheaper than the way that is
    /// known; a product only if `products` allows it.
    fn join(&self, left: Set, right: Set, products: bool) -> Option<Joined<'b>> {
        phase::pause();
        if self.dependent(left).is_some() {
            return None;
        }
        let (one, two) = (self.joined.get(&left)?, self.joined.get(&right)?);
        let dependent = self.dependent(right);
        if dependent.is_none() && !products && !self.is_linked(left, right) {
            return None;
        }
        if dependent.is_none()
            && let Some(known) = self.joined.get(&(left | right))
            && known.cost <= least_cost(one, two)
        {
            return None;
        }
        let (linking, equal) = self.linking((left, &one.equal), (right, &two.equal));
        let parts = Some((left, right));
        let Some(leaf) = dependent else {
            let path = self.estimator.join_path_of(
                JoinKind::Inner,
                (&one.side, one.cost),
                (&two.side, two.cost),
                &linking,
            );
            return Some(Joined {
                side: joined_side(one, two, path.rows, JoinKind::Inner),
                cost: path.cost,
                parts,
                equal,
            });
        };
        if leaf.after & !left != 0 {
            return None;
        }
        let mut rows = self
            .estimator
            .join_rows(leaf.kind, &one.side, &two.side, &leaf.on);
        let cost = if leaf.lateral {
            one.cost + one.side.rows * (1.0 + two.cost)
        } else {
            let sides = ((&one.side, one.cost), (&two.side, two.cost));
            let JoinPath { cost, .. } = self
                .estimator
                .join_path_of(leaf.kind, sides.0, sides.1, &leaf.on);
            cost
        };
        let mut side = joined_side(one, two, rows, leaf.kind);
        if !linking.is_empty() {
            rows *= self.estimator.selectivity(&linking, &side.columns);
            side.rows = rows.max(1.0);
        }
        Some(Joined {
            side,
            cost,
            parts,
            equal,
        })
    }

    fn keep(&mut self, set: Set, joined: Joined<'b>) {
        match self.joined.entry(set) {
            Entry::Occupied(known) if known.get().cost <= joined.cost => {}
            Entry::Occupied(mut known) => drop(known.insert(joined)),
            Entry::Vacant(place) => {
                place.insert(joined);
            }
        }
    }

    /// Finds the cheapest order of each set of leaves from those of smaller ones.
    fn compare_all(&mut self, leaves: usize) {
        for set in 3..=all(leaves) {
            if set.is_power_of_two() || !self.is_whole(set) {
                continue;
            }
            for products in [false, true] {
                let mut left = (set - 1) & set;
                while left != 0 {
                    let right = set & !left;
                    // An inner join of two sets is looked at once, whichever is the left.
                    let is_new = left > right || self.dependent(right).is_some();
                    if is_new && let Some(joined) = self.join(left, right, products) {
                        self.keep(set, joined);
                    }
                    left = (left - 1) & set;
                }
                if self.joined.contains_key(&set) {
                    break;
                }
            }
        }
    }

    /// Joins the cheapest pair, again and again.
    fn join_the_cheapest(&mut self, leaves: usize) {
        let mut parts: Vec<Set> = (0..leaves).map(|at| 1 << at).collect();
        while parts.len() > 1 {
            let mut best: Option<(Set, Set, Joined<'b>)> = None;
            for products in [false, true] {
                for left in &parts {
                    for right in &parts {
                        let is_new = left > right || self.dependent(*right).is_some();
                        if left == right || !is_new {
                            continue;
                        }
                        let Some(joined) = self.join(*left, *right, products) else {
                            continue;
                        };
                        if best
                            .as_ref()
                            .is_none_or(|(_, _, best)| joined.cost < best.cost)
                        {
                            best = Some((*left, *right, joined));
                        }
                    }
                }
                if best.is_some() {
                    break;
                }
            }
            // There always is a pair: the first leaf depends on none, and a product is possible.
            let Some((left, right, joined)) = best else {
                return;
            };
            parts.retain(|part| *part != left && *part != right);
            parts.push(left | right);
            self.keep(left | right, joined);
        }
    }

    /// Returns some leaves as they were joined, and the equalities that hold then.
    fn build(&self, set: Set) -> (Relation, Equal) {
        let parts = self.joined.get(&set).and_then(|joined| joined.parts);
        let Some((left, right)) = parts else {
            let leaf = &self.block.leaves[set.trailing_zeros() as usize];
            let equal = Equal::none(self.block.equated.len());
            return (leaf.relation.clone(), equal);
        };
        let (one, of_left) = self.build(left);
        let (two, of_right) = self.build(right);
        let (linking, equal) = self.linking((left, &of_left), (right, &of_right));
        let dependent = self.dependent(right);
        if let Some(layers) = dependent.and_then(Leaf::as_columns) {
            let computed = layers
                .into_iter()
                .fold(one, |input, columns| Relation::Compute {
                    input: Box::new(input),
                    columns,
                });
            return (filtered(computed, linking), equal);
        }
        let (kind, on, lateral, above) = match dependent {
            None => (JoinKind::Inner, linking, false, Vec::new()),
            Some(leaf) => (leaf.kind, leaf.on.clone(), leaf.lateral, linking),
        };
        let join = Join {
            kind,
            left: Box::new(one),
            right: Box::new(two),
            on,
            lateral,
        };
        (filtered(Relation::Join(join), above), equal)
    }
}

/// Returns a bound of the cost of an inner join of two sets, from below: at least one of them is
/// computed, and the other is too unless it is a table whose rows may be looked up.
fn least_cost(one: &Joined<'_>, two: &Joined<'_>) -> f64 {
    match (&one.side.scan, &two.side.scan) {
        (None, None) => one.cost + two.cost,
        (None, Some(_)) => one.cost,
        (Some(_), None) => two.cost,
        (Some(_), Some(_)) => one.cost.min(two.cost),
    }
}

/// Returns the set of the first `leaves` leaves.
fn all(leaves: usize) -> Set {
    (1 << leaves) - 1
}

fn joined_side<'b>(left: &Joined<'b>, right: &Joined<'b>, rows: f64, kind: JoinKind) -> Side<'b> {
    let mut columns = left.side.columns.clone();
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        columns.extend(&right.side.columns);
    }
    Side {
        rows,
        columns,
        scan: None,
    }
}
