//! Moving conditions down to where their columns come from.

use std::collections::BTreeSet;

use super::{
    decorrelate::{Counts, pulled},
    disjunction::{CONDITIONS_MAX, factored, implied_by},
    outer_joins::{antijoin, reduce, reduce_join},
};
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Join, JoinKind, Relation, SetKind, SetOperation, SubqueryKind},
};

/// Returns the relation, of which the columns `outputs` are wanted, with its conditions where they
/// cost least.
pub(super) fn pushed(relation: Relation, outputs: &[ColumnId]) -> Relation {
    let relation = super::inlined::inlined(relation);
    super::column_pruning::pruned(push(relation, Vec::new()), outputs)
}

/// Returns the relation with only the rows for which all conditions are true.
fn push(relation: Relation, mut conditions: Vec<Expression>) -> Relation {
    match relation {
        Relation::Filter { input, predicate } => {
            conditions.extend(predicate.into_conjuncts().into_iter().flat_map(factored));
            push(*input, conditions)
        }
        Relation::Compute { input, columns } => {
            let (below, above) = split(conditions, |condition| {
                condition.is_stable() && !uses_any(condition, columns.iter().map(|(id, _)| *id))
            });
            // A condition on a computed column is one on the column's expression.
            let (inlined, above) = split(above, |condition| {
                let used = columns
                    .iter()
                    .filter(|(id, _)| condition.columns().contains(id));
                used.clone().count() > 0 && used.clone().all(|(_, value)| is_cheap(value))
            });
            let mut below = below;
            below.extend(inlined.into_iter().map(|mut condition| {
                take_values(&mut condition, &columns);
                condition
            }));
            filtered(
                Relation::Compute {
                    input: Box::new(push(*input, below)),
                    columns,
                },
                above,
            )
        }
        Relation::Join(join) => push_join(join, conditions),
        Relation::Apply {
            input,
            mut subquery,
        } => {
            let (below, above) = split(conditions, |condition| {
                condition.is_stable() && !condition.columns().contains(&subquery.column)
            });
            // A condition that a subquery has a row makes a semijoin.
            let mut above = above;
            let column = subquery.column;
            let used_once = |above: &[Expression]| {
                above
                    .iter()
                    .filter(|condition| condition.columns().contains(&column))
                    .count()
                    == 1
            };
            let wanted = above
                .iter()
                .position(|condition| is_column(condition, column));
            let unwanted = above.iter().position(
                |condition| matches!(&condition.kind, Kind::Not(inner) if is_column(inner, column)),
            );
            if let SubqueryKind::Array { .. } = subquery.kind
                && used_once(&above)
                && let Some(tests) = any_of_array(&mut above, &subquery)
            {
                // The condition asks for a row for which the comparison is true, not for the array.
                let subquery = Box::new(logical::relation::Subquery {
                    kind: SubqueryKind::Any(vec![tests]),
                    ..*subquery
                });
                above.extend(below);
                return push(Relation::Apply { input, subquery }, above);
            }
            let found = match (wanted, unwanted, &subquery.kind) {
                (Some(at), _, SubqueryKind::Exists | SubqueryKind::Any(_)) => {
                    Some((at, JoinKind::Semi))
                }
                // `NOT IN` makes no antijoin: NULLs make it neither true nor false.
                (None, Some(at), SubqueryKind::Exists) => Some((at, JoinKind::Anti)),
                _ => None,
            };
            if let Some((at, kind)) = found
                && used_once(&above)
            {
                above.remove(at);
                let tests = match &mut subquery.kind {
                    SubqueryKind::Any(tests) => std::mem::take(tests),
                    _ => Vec::new(),
                };
                let asked = match subquery.kind {
                    SubqueryKind::Exists => without_outputs(subquery.relation),
                    _ => subquery.relation,
                };
                let asked = push(asked, Vec::new());
                let (right, on) = pulled(asked.clone(), &input, Counts::Any);
                let lateral = !right
                    .outer_columns()
                    .is_disjoint(&input.columns().into_iter().collect());
                // A subquery that has to be run for each row all the same keeps its conditions.
                let (right, mut on) = match lateral {
                    true => (asked, Vec::new()),
                    false => (right, on),
                };
                on.extend(tests);
                let join = Join {
                    kind,
                    left: input,
                    right: Box::new(right),
                    on,
                    lateral,
                };
                below
                    .into_iter()
                    .for_each(|condition| above.push(condition));
                // For a row that the join leaves, the subquery's answer is known: the column may be
                // one of a derived table, which other expressions use as well.
                let found = Expression::bool(kind == JoinKind::Semi);
                return Relation::Compute {
                    input: Box::new(push_join(join, above)),
                    columns: vec![(column, found)],
                };
            }
            push_in_place(&mut subquery.relation);
            filtered(
                Relation::Apply {
                    input: Box::new(push(*input, below)),
                    subquery,
                },
                above,
            )
        }
        Relation::Sort { input, keys } => Relation::Sort {
            input: Box::new(push(*input, conditions)),
            keys,
        },
        Relation::Aggregate(mut aggregate) => {
            let keys: Vec<_> = aggregate.keys.iter().map(|(id, _)| *id).collect();
            let single = aggregate.sets.len() == 1 && !keys.is_empty();
            let (below, above) = split(conditions, |condition| {
                single
                    && condition.is_stable()
                    && condition.columns().iter().all(|id| keys.contains(id))
            });
            let below = below.into_iter().map(|condition| {
                condition.replaced(&mut |part| {
                    let Kind::Column(id) = part.kind else {
                        return None;
                    };
                    aggregate
                        .keys
                        .iter()
                        .find(|(key, _)| *key == id)
                        .map(|(_, value)| value.clone())
                })
            });
            let below = below.collect();
            let input = std::mem::replace(&mut *aggregate.input, nothing());
            *aggregate.input = push(input, below);
            filtered(Relation::Aggregate(aggregate), above)
        }
        Relation::Set(set) => push_set(set, conditions),
        Relation::With {
            mut definitions,
            body,
        } => {
            for shared in &mut definitions {
                match &mut shared.body {
                    logical::relation::SharedBody::Query(query) => push_in_place(query),
                    logical::relation::SharedBody::Recursive { initial, step, .. } => {
                        push_in_place(initial);
                        push_in_place(step);
                    }
                }
            }
            Relation::With {
                definitions,
                body: Box::new(push(*body, conditions)),
            }
        }
        mut other => {
            other.for_each_input_mut(&mut push_in_place);
            filtered(other, distinct(conditions))
        }
    }
}

fn push_in_place(relation: &mut Relation) {
    let taken = std::mem::replace(relation, nothing());
    *relation = push(taken, Vec::new());
}

/// Returns a relation that stands in while another one is taken out of its place.
pub(super) fn nothing() -> Relation {
    Relation::Rows {
        columns: Vec::new(),
        rows: Vec::new(),
    }
}

/// Replaces a condition that compares a value with any element of an array of a subquery's values.
/// Returns the comparison with these values.
fn any_of_array(
    conditions: &mut [Expression],
    subquery: &logical::relation::Subquery,
) -> Option<Expression> {
    let SubqueryKind::Array { column, element } = subquery.kind else {
        return None;
    };
    let is_any = |condition: &Expression| {
        matches!(&condition.kind, Kind::Quantified { left, array, all: false, .. }
            if is_column(array, subquery.column) && !left.columns().contains(&subquery.column))
    };
    let at = conditions.iter().position(is_any)?;
    let Kind::Quantified { left, operator, .. } = conditions[at].kind.clone() else {
        return None;
    };
    let ty = types::Type::Scalar(element);
    let value = Expression::column(column, ty, types::TypeModifier::NONE);
    let test = Kind::Call {
        function: operator,
        arguments: vec![*left, value],
    };
    let found = Expression::new(Kind::Column(subquery.column), conditions[at].ty);
    let test = Expression::new(test, conditions[at].ty);
    conditions[at] = found;
    Some(test)
}

/// Returns a lateral join as an ordinary one, if its right side is no longer lateral once its
/// conditions are the join's.
fn without_lateral(mut join: Join) -> Join {
    if !join.lateral || !matches!(join.kind, JoinKind::Inner | JoinKind::Left) {
        return join;
    }
    let (right, on) = pulled((*join.right).clone(), &join.left, Counts::Each);
    let left: BTreeSet<ColumnId> = join.left.columns().into_iter().collect();
    if right.outer_columns().is_disjoint(&left) {
        *join.right = right;
        join.on.extend(on);
        join.lateral = false;
    }
    join
}

fn push_join(join: Join, mut conditions: Vec<Expression>) -> Relation {
    let mut join = without_lateral(join);
    // If NULLs do not satisfy a condition, rows without a match are useless.
    reduce_join(&mut join, &conditions);
    if let Some(nulls) = antijoin(&mut join, &mut conditions) {
        let (above, below) = split(conditions, |condition| {
            uses_any(condition, nulls.iter().map(|(id, _)| *id))
        });
        let joined = Relation::Compute {
            input: Box::new(push_join(join, below)),
            columns: nulls,
        };
        return filtered(joined, above);
    }
    let left: BTreeSet<ColumnId> = join.left.columns().into_iter().collect();
    let right: BTreeSet<ColumnId> = join.right.columns().into_iter().collect();
    let only = |condition: &Expression, side: &BTreeSet<ColumnId>, other: &BTreeSet<ColumnId>| {
        let columns = condition.columns();
        condition.is_stable()
            && columns.iter().any(|id| side.contains(id))
            && !columns.iter().any(|id| other.contains(id))
    };
    let mut above = Vec::new();
    let mut to_left = Vec::new();
    let mut to_right = Vec::new();
    for condition in conditions {
        match join.kind {
            JoinKind::Inner => join.on.push(condition),
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti if only(&condition, &left, &right) => {
                to_left.push(condition)
            }
            JoinKind::Right if only(&condition, &right, &left) => to_right.push(condition),
            _ => above.push(condition),
        }
    }
    let on = std::mem::take(&mut join.on).into_iter().flat_map(factored);
    let on = distinct(on.collect());
    for (_, [of_left, of_right]) in implied_by(join.kind, &on, &left, &right) {
        to_left.extend(of_left);
        to_right.extend(of_right);
    }
    for condition in on {
        match join.kind {
            JoinKind::Inner | JoinKind::Semi if only(&condition, &left, &right) => {
                to_left.push(condition)
            }
            JoinKind::Right if only(&condition, &left, &right) => to_left.push(condition),
            JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti
                if only(&condition, &right, &left) =>
            {
                to_right.push(condition);
            }
            _ => join.on.push(condition),
        }
    }
    // A row of these sides is of use only if it makes the conditions true; one that is filled up with NULLs may not.
    if !matches!(join.kind, JoinKind::Right | JoinKind::Full) {
        reduce(&mut join.right, &join.on);
    }
    if matches!(
        join.kind,
        JoinKind::Inner | JoinKind::Semi | JoinKind::Right
    ) {
        reduce(&mut join.left, &join.on);
    }
    *join.left = push(*join.left, to_left);
    *join.right = push(*join.right, to_right);
    let (join, names) = without_names(join);
    let joined = names
        .into_iter()
        .rfold(Relation::Join(join), |input, columns| Relation::Compute {
            input: Box::new(input),
            columns,
        });
    filtered(joined, above)
}

/// Returns a join whose sides do not give columns other names, and these names, the outermost first: joins right beside
/// each other can be put in order.
fn without_names(mut join: Join) -> (Join, Vec<Vec<(ColumnId, Expression)>>) {
    let mut names = Vec::new();
    if join.lateral {
        return (join, names);
    }
    let has_right = !matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
    for (side, comes_out) in [(&mut join.left, true), (&mut join.right, has_right)] {
        while let Relation::Compute { input, columns } = &mut **side
            && columns
                .iter()
                .all(|(_, value)| matches!(value.kind, Kind::Column(_)))
        {
            join.on
                .iter_mut()
                .for_each(|condition| take_values(condition, columns));
            if comes_out {
                names.push(std::mem::take(columns));
            }
            **side = std::mem::replace(&mut **input, nothing());
        }
    }
    (join, names)
}

/// Makes a condition over computed columns one over the values of these, which are columns, constants or parameters.
/// The condition tells their types.
fn take_values(condition: &mut Expression, columns: &[(ColumnId, Expression)]) {
    condition.replace(&mut |part| {
        let Kind::Column(id) = part.kind else {
            return None;
        };
        let (_, value) = columns.iter().find(|(column, _)| *column == id)?;
        Some(Expression {
            kind: value.kind.clone(),
            ty: part.ty,
            modifier: part.modifier,
        })
    });
}

fn push_set(set: SetOperation, conditions: Vec<Expression>) -> Relation {
    let (below, above) = split(conditions, |condition| {
        condition.is_stable()
            && matches!(
                set.kind,
                SetKind::Union | SetKind::Intersect | SetKind::Except
            )
    });
    let side = |condition: &Expression, left: bool| {
        condition.clone().replaced(&mut |part| {
            let Kind::Column(id) = part.kind else {
                return None;
            };
            let (_, of_left, of_right) = set.columns.iter().find(|(column, _, _)| *column == id)?;
            Some(Expression::column(
                if left { *of_left } else { *of_right },
                part.ty,
                part.modifier,
            ))
        })
    };
    let to_left = below
        .iter()
        .map(|condition| side(condition, true))
        .collect();
    let to_right = below
        .iter()
        .map(|condition| side(condition, false))
        .collect();
    let left = Box::new(push(*set.left, to_left));
    let right = Box::new(push(*set.right, to_right));
    filtered(Relation::Set(SetOperation { left, right, ..set }), above)
}

/// Returns the rows of a query without the columns that it computes for each: they do not matter to
/// whether there are any.
pub(super) fn without_outputs(relation: Relation) -> Relation {
    match relation {
        Relation::Compute { input, .. } => without_outputs(*input),
        other => other,
    }
}

fn is_column(expression: &Expression, column: ColumnId) -> bool {
    expression.kind == Kind::Column(column)
}

fn uses_any(condition: &Expression, mut columns: impl Iterator<Item = ColumnId>) -> bool {
    let used = condition.columns();
    columns.any(|id| used.contains(&id))
}

/// Returns whether the expression may as well be computed twice.
fn is_cheap(value: &Expression) -> bool {
    matches!(
        value.kind,
        Kind::Column(_) | Kind::Constant(_) | Kind::Parameter(_)
    )
}

fn split(
    conditions: Vec<Expression>,
    mut goes_down: impl FnMut(&Expression) -> bool,
) -> (Vec<Expression>, Vec<Expression>) {
    conditions
        .into_iter()
        .partition(|condition| goes_down(condition))
}

/// Returns conditions without those that come twice: what a disjunction implies is found again when a relation is
/// looked at again. More than [`CONDITIONS_MAX`] conditions are left as they are.
fn distinct(conditions: Vec<Expression>) -> Vec<Expression> {
    if conditions.len() > CONDITIONS_MAX {
        return conditions;
    }
    let mut distinct: Vec<Expression> = Vec::with_capacity(conditions.len());
    for condition in conditions {
        if !condition.is_stable() || !distinct.contains(&condition) {
            distinct.push(condition);
        }
    }
    distinct
}

/// Returns the rows for which all conditions are true.
pub(super) fn filtered(relation: Relation, conditions: Vec<Expression>) -> Relation {
    if conditions.is_empty() {
        return relation;
    }
    Relation::Filter {
        input: Box::new(relation),
        predicate: Expression::all(conditions),
    }
}
