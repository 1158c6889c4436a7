//! Scalar subqueries of aggregates that are answered by groups.
//!
//! `(select avg(x) from t where t.k = outer.k)` has one answer for each `k`. Instead of reading `t` for each row around
//! the query, the groups of `t` by `k` are computed once, and each row is joined with its group: unnesting after
//! Neumann and Kemper ("Unnesting Arbitrary Queries", BTW 2015, section 3) where the query's conditions on the row
//! around it are equalities. A row without a group has the answer over no rows: NULL, and 0 where rows are counted.
//!
//! # Errors
//! Groups that no row asks for are computed as well, and so are rows of no group that a row asks for. Whatever is
//! computed for them is therefore on the list of `errors.rs`, or an aggregate of [`ADMITTED`].

use std::collections::BTreeSet;

use functions::{Body, Comparison};
use types::{Scalar, Type, TypeModifier, Value};

use super::{
    cost::{ASKED, BUILT, GROUPED, PROBED},
    decorrelate::{Counts, pulled},
    digits::KnownDigits,
    errors::{raises_nothing, sums_fit},
    join::is_hashable,
    lower::Lowering,
};
use crate::program::comparison;
use batch::OwnedValue;
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Aggregate, AggregateCall, Join, JoinKind, Relation, Subquery, SubqueryKind},
};

/// The aggregate that has an answer over no rows.
const COUNT: &str = "count";
const INT8: Type = Type::Scalar(Scalar::Int8);

/// Aggregates that groups compute. None of them raises an error for arguments of which `can_be_grouped` approves, and
/// none collects the values of a group, unless they are to be distinct. Their answer over no rows is NULL, that of
/// `count` 0.
const ADMITTED: [&str; 8] = [
    COUNT, "sum", "avg", "min", "max", "bool_and", "bool_or", "every",
];

/// Subqueries of a statement that groups answer at most. Each of them adds two operators to those that are upon each
/// other, whose number is bounded by `PLAN_DEPTH_MAX` with room for these.
pub(super) const GROUPED_MAX: usize = 32;

/// A subquery that groups can answer.
pub(super) struct GroupedSubquery {
    /// Rows that are aggregated, whichever row around the query they belong to.
    rows: Relation,
    /// Equalities with the row around the query, each with its side that is of `rows`.
    equalities: Vec<(Expression, Expression)>,
    calls: Vec<AggregateCall>,
    /// Columns that are computed from the aggregates and the row around the query, in layers from below.
    layers: Layers,
    /// Column of these, or of the calls, with the answer.
    answer: ColumnId,
    /// Column under which the answer is known around the subquery.
    column: ColumnId,
}

/// Computed columns, each layer over the columns of those before it.
type Layers = Vec<Vec<(ColumnId, Expression)>>;

impl GroupedSubquery {
    /// Returns a subquery over rows of `input` in this form; `None` if it has to be run for each of them.
    pub(super) fn of(input: &Relation, subquery: &Subquery, known: &KnownDigits) -> Option<Self> {
        let SubqueryKind::Scalar(answer) = subquery.kind else {
            return None;
        };
        let (aggregate, layers) = aggregate_of(&subquery.relation)?;
        let around: BTreeSet<ColumnId> = input.columns().into_iter().collect();
        if !aggregate
            .calls
            .iter()
            .all(|call| can_be_grouped(call, &around, known))
        {
            return None;
        }
        let (mut rows, conditions) = pulled((*aggregate.input).clone(), input, Counts::Each);
        if conditions.is_empty()
            || !rows.outer_columns().is_disjoint(&around)
            || !can_be_read_whole(&mut rows)
        {
            return None;
        }
        let own: BTreeSet<ColumnId> = rows.columns().into_iter().collect();
        let equalities = conditions.into_iter().map(|condition| {
            let key = key_of(&condition, &own)?.clone();
            Some((condition, key))
        });
        let mut computed = layers.iter().flatten().map(|(id, _)| *id);
        let mut called = aggregate.calls.iter().map(|call| call.column);
        (computed.any(|id| id == answer) || called.any(|id| id == answer)).then_some(())?;
        Some(Self {
            equalities: equalities.collect::<Option<_>>()?,
            rows,
            calls: aggregate.calls.clone(),
            layers,
            answer,
            column: subquery.column,
        })
    }

    /// Returns whether computing all groups costs less than running the query for each row of `input`.
    pub(super) fn is_better(
        &self,
        input: &Relation,
        subquery: &Subquery,
        lowering: &Lowering,
    ) -> bool {
        let estimator = &lowering.estimator;
        let asking = estimator.rows(input);
        let rows = estimator.rows(&self.rows);
        let groups = estimator.groups(self.equalities.iter().map(|(_, key)| key), rows);
        let once = estimator.cost(&self.rows) + rows * GROUPED + groups * BUILT + asking * PROBED;
        let by_index = aggregate_of(&subquery.relation)
            .and_then(|(aggregate, _)| lowering.extremes_by_index(aggregate));
        let asked = match by_index {
            Some((_, cost)) => cost,
            None => estimator.cost(&subquery.relation),
        };
        once < asking * (ASKED + asked)
    }

    /// Returns the rows of `input` with the answers.
    pub(super) fn joined(self, input: Relation, lowering: &mut Lowering) -> Relation {
        let mut on = Vec::new();
        let mut keys = Vec::new();
        for (equality, key) in self.equalities {
            let id = lowering.new_column(key.clone());
            on.push(equality.replaced(&mut |part| {
                (*part == key).then(|| Expression::column(id, key.ty, key.modifier))
            }));
            keys.push((id, key));
        }
        let mut calls = self.calls;
        let mut counts = Vec::new();
        for call in calls
            .iter_mut()
            .filter(|call| call.function.0.name == COUNT)
        {
            let counted = lowering.new_column(same(call.column));
            let none = Expression::constant(OwnedValue::new(Value::Int8(0)), INT8);
            let count = Expression::column(counted, INT8, TypeModifier::NONE);
            let count = Kind::Coalesce(vec![count, none]);
            counts.push((call.column, Expression::new(count, INT8)));
            call.column = counted;
        }
        lowering.name(self.column, same(self.answer));
        let groups = Relation::Aggregate(Aggregate {
            input: Box::new(self.rows),
            sets: vec![(0..keys.len()).collect()],
            keys,
            set_number: None,
            calls,
        });
        let joined = Relation::Join(Join {
            kind: JoinKind::Left,
            left: Box::new(input),
            right: Box::new(groups),
            on,
            lateral: false,
        });
        let answer = vec![(self.column, same(self.answer))];
        let layers = std::iter::once(counts).chain(self.layers).chain([answer]);
        layers
            .filter(|columns| !columns.is_empty())
            .fold(joined, |input, columns| Relation::Compute {
                input: Box::new(input),
                columns,
            })
    }
}

/// Returns a column under another number. A value that is handed on as it is has no need of its type.
fn same(column: ColumnId) -> Expression {
    Expression::column(column, Type::Unknown, TypeModifier::NONE)
}

/// Returns the aggregate over all rows that a query consists of, and the columns computed from it; `None` for a query
/// of another form: with groups of its own, HAVING, DISTINCT or LIMIT.
fn aggregate_of(relation: &Relation) -> Option<(&Aggregate, Layers)> {
    let mut layers = Vec::new();
    let mut relation = relation;
    while let Relation::Compute { input, columns } = relation {
        layers.push(columns.clone());
        relation = input;
    }
    layers.reverse();
    let Relation::Aggregate(aggregate) = relation else {
        return None;
    };
    let is_plain =
        aggregate.keys.is_empty() && aggregate.sets.len() <= 1 && aggregate.set_number.is_none();
    is_plain.then_some((aggregate, layers))
}

/// Returns whether all rows of a relation can be read where the statement asks for some of them: they are the same each
/// time, and nothing raises an error. Shared relations are read whole in any case.
fn can_be_read_whole(relation: &mut Relation) -> bool {
    let mut can_be = true;
    relation.walk(&mut |part| {
        can_be &= matches!(
            part,
            Relation::Scan(_)
                | Relation::Shared { .. }
                | Relation::Rows { .. }
                | Relation::Filter { .. }
                | Relation::Compute { .. }
                | Relation::Join(_)
        );
    });
    relation.for_each_expression_mut(&mut |expression| {
        can_be = can_be && expression.is_stable() && raises_nothing(expression);
    });
    can_be
}

/// Returns whether a call has an answer for each group that does not depend on the row around the query, raises no
/// error, and is known over no rows.
fn can_be_grouped(call: &AggregateCall, around: &BTreeSet<ColumnId>, known: &KnownDigits) -> bool {
    let name = call.function.0.name;
    let is_own = |expression: &Expression| {
        expression.is_stable() && expression.columns().iter().all(|id| !around.contains(id))
    };
    let raises_nothing = |argument: &Expression| {
        let is_scalar = matches!(argument.ty, Type::Scalar(_));
        match name {
            "sum" | "avg" => sums_fit(argument, known),
            "min" | "max" => is_scalar && raises_nothing(argument),
            _ => raises_nothing(argument),
        }
    };
    matches!(call.function.0.body, Body::Aggregate(_))
        && ADMITTED.contains(&name)
        && call.order.is_empty()
        && call.filter.is_none()
        && call
            .arguments
            .iter()
            .all(|argument| is_own(argument) && raises_nothing(argument))
}

/// Returns the side of an equality that is of the columns `own`; `None` if the condition is none of a value of these
/// with a value of others, of types by whose equality rows can be grouped.
fn key_of<'e>(condition: &'e Expression, own: &BTreeSet<ColumnId>) -> Option<&'e Expression> {
    let Some((Comparison::Equal, one, two)) = comparison(condition) else {
        return None;
    };
    let is_own = |side: &Expression| {
        let columns = side.columns();
        !columns.is_empty() && columns.iter().all(|id| own.contains(id))
    };
    let is_free = |side: &Expression| side.columns().iter().all(|id| !own.contains(id));
    let key = match (is_own(one), is_own(two)) {
        (true, false) if is_free(two) => one,
        (false, true) if is_free(one) => two,
        _ => return None,
    };
    // Hashable types of one family have one equality, so that no value equals those of two groups.
    (is_hashable(one.ty, two.ty) && raises_nothing(condition)).then_some(key)
}
