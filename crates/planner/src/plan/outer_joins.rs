//! Outer joins that conditions make simpler ones.
//!
//! | statement | becomes |
//! | --- | --- |
//! | `a left join b on .. where b.x = 1` | an inner join: a row without a match has NULL for `b.x` |
//! | `(a left join b on ..) join c on c.x = b.x` | likewise, by the condition of the join above |
//! | `a left join b on a.x = b.x where b.x is null` | an antijoin: `b.x` is NULL for rows without a match alone |
//!
//! Such joins may change places with others (`join_order.rs`), and conditions come to both of their sides.

use std::collections::BTreeSet;

use batch::OwnedValue;
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Join, JoinKind, Relation},
};
use types::{Type, Value};

use super::nulls;

/// Joins upon each other below a join that its conditions are applied to: each is asked for its columns.
const DEPTH_MAX: usize = 16;

/// Makes outer joins within a relation inner ones where rows without a match do not make one of the conditions true.
/// Only rows for which all conditions are true are of use.
pub(super) fn reduce(relation: &mut Relation, conditions: &[Expression]) {
    if !conditions.is_empty() {
        reduce_within(relation, conditions, DEPTH_MAX);
    }
}

fn reduce_within(relation: &mut Relation, conditions: &[Expression], depth: usize) {
    match relation {
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Apply { input, .. } => reduce_within(input, conditions, depth),
        Relation::Join(join) if depth > 0 => {
            reduce_join(join, conditions);
            if matches!(join.kind, JoinKind::Inner | JoinKind::Right) && !join.lateral {
                reduce_within(&mut join.right, conditions, depth - 1);
            }
            if !matches!(join.kind, JoinKind::Right | JoinKind::Full) {
                reduce_within(&mut join.left, conditions, depth - 1);
            }
        }
        _ => {}
    }
}

/// Makes an outer join a simpler one if rows without a match do not make one of the conditions true.
pub(super) fn reduce_join(join: &mut Join, conditions: &[Expression]) {
    let fills_left = matches!(join.kind, JoinKind::Right | JoinKind::Full);
    let fills_right = matches!(join.kind, JoinKind::Left | JoinKind::Full);
    let useless = |fills: bool, side: &Relation| {
        fills && {
            let columns = side.columns().into_iter().collect();
            conditions
                .iter()
                .any(|condition| rejects_nulls(condition, &columns))
        }
    };
    let (left, right) = (
        useless(fills_left, &join.left),
        useless(fills_right, &join.right),
    );
    join.kind = match (join.kind, left, right) {
        (JoinKind::Left, _, true) | (JoinKind::Right, true, _) | (JoinKind::Full, true, true) => {
            JoinKind::Inner
        }
        // Rows of the right without a match are those whose left columns are NULL.
        (JoinKind::Full, true, false) => JoinKind::Left,
        (JoinKind::Full, false, true) => JoinKind::Right,
        (kind, ..) => kind,
    };
}

/// Makes a left join an antijoin if a condition leaves only the rows without a match: a column is to be NULL that is
/// not NULL where the join finds a match. Takes this condition out, and returns the right side's columns, which are
/// NULL.
pub(super) fn antijoin(
    join: &mut Join,
    conditions: &mut Vec<Expression>,
) -> Option<Vec<(ColumnId, Expression)>> {
    if join.kind != JoinKind::Left || join.lateral {
        return None;
    }
    let right = join.right.columns();
    let is_unmatched = |condition: &Expression| {
        let Kind::IsNull {
            operand,
            negated: false,
        } = &condition.kind
        else {
            return false;
        };
        let Kind::Column(id) = operand.kind else {
            return false;
        };
        // A record of NULLs counts as NULL, and equals another one.
        if operand.ty == Type::Record {
            return false;
        }
        let only = BTreeSet::from([id]);
        right.contains(&id) && join.on.iter().any(|on| rejects_nulls(on, &only))
    };
    let at = conditions.iter().position(is_unmatched)?;
    conditions.remove(at);
    join.kind = JoinKind::Anti;
    let null = || Expression::constant(OwnedValue::new(Value::Null), Type::Unknown);
    Some(right.into_iter().map(|id| (id, null())).collect())
}

/// Returns whether a condition is not true where all of these columns are NULL.
fn rejects_nulls(condition: &Expression, columns: &BTreeSet<ColumnId>) -> bool {
    let is_known = |expression: &Expression| matches!(&expression.kind, Kind::Column(id) if columns.contains(id));
    nulls::rejects_nulls(condition, &is_known)
}
