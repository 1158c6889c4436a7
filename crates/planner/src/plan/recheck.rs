//! Finding rows again: the statement's conditions and subqueries, for a row that has changed since
//! it was found.
//!
//! PostgreSQL runs the query once more, with the tables that it joins held at the rows that it has
//! found, and the changed one at its newest row (`EvalPlanQual`). Weft does the same: it runs the
//! statement's relation, in which each part that is no subquery is replaced by a single row, given
//! by parameters. This is needed where conditions alone do not tell: for subqueries, and for the
//! semijoins and antijoins that were made of them. Matches in outer joins stay as they were found.

use std::collections::BTreeSet;

use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier};

use super::{
    RecheckQuery,
    lower::{Lowering, arranged},
};
use crate::program::Layout;
use logical::{
    expression::{ColumnId, Expression, Kind},
    relation::{Join, JoinKind, Relation},
};

/// Returns whether rows of a relation have to be found again by running it.
pub(super) fn is_needed(relation: &Relation) -> bool {
    let mut needed = false;
    is_possible(relation, &mut needed) && needed
}

/// Returns whether a relation has no outer joins; sets `needed` if it has subqueries.
fn is_possible(relation: &Relation, needed: &mut bool) -> bool {
    match relation {
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Calls { input, .. }
        | Relation::Sort { input, .. } => is_possible(input, needed),
        Relation::Apply { input, .. } => {
            *needed = true;
            is_possible(input, needed)
        }
        Relation::Join(join) => match join.kind {
            JoinKind::Inner => {
                !join.lateral && is_possible(&join.left, needed) && is_possible(&join.right, needed)
            }
            JoinKind::Semi | JoinKind::Anti => {
                *needed = true;
                is_possible(&join.left, needed)
            }
            _ => false,
        },
        _ => true,
    }
}

/// Returns the columns that a row needs for being found again.
pub(super) fn wanted(relation: &Relation) -> BTreeSet<ColumnId> {
    let mut used = BTreeSet::new();
    relation.clone().for_each_expression_mut(&mut |expression| {
        expression.walk(&mut |part| {
            if let Kind::Column(id) = part.kind {
                used.insert(id);
            }
        });
    });
    relation.clone().walk(&mut |part| {
        if let Relation::Apply { subquery, .. } = part {
            used.extend(subquery.relation.outer_columns());
        }
    });
    let mut given = Vec::new();
    held(relation.clone(), &|id| used.contains(&id), &mut given);
    given.into_iter().collect()
}

impl Lowering {
    /// Returns the query that finds rows of `relation` again. The rows are lowered to `layout`, and
    /// have to have the columns `wanted`.
    pub(super) fn recheck_query(
        &mut self,
        relation: &Relation,
        wanted: &BTreeSet<ColumnId>,
        layout: &Layout,
    ) -> Result<RecheckQuery> {
        let mut columns = Vec::new();
        let has = |id| layout.position(id).is_some();
        let relation = held(relation.clone(), &has, &mut columns);
        let given = columns.iter().filter_map(|id| layout.position(*id));
        let given = given.collect();
        let needed = layout.columns().map(|(id, _)| id).collect();
        let node = self.lower_within(relation, &columns, &needed)?;
        // Any column may stand in place of one that is not needed.
        let mut positions = vec![Some(0); layout.width()];
        for (id, at) in layout.columns() {
            match node.layout.position(id) {
                None if wanted.contains(&id) => positions[at] = None,
                None => {}
                found => positions[at] = found,
            }
        }
        let missing = || SqlError::new(SqlState::INTERNAL_ERROR, "a column is not found again");
        let positions = positions.into_iter().collect::<Option<Vec<usize>>>();
        let positions = positions.ok_or_else(missing)?;
        Ok(RecheckQuery {
            plan: arranged(node, &positions),
            given,
        })
    }
}

/// Returns the relation with its parts held at a row of parameters. The row has the columns for
/// which `has` is true; they are added to `given`.
fn held(relation: Relation, has: &dyn Fn(ColumnId) -> bool, given: &mut Vec<ColumnId>) -> Relation {
    let mut held_box = |relation: Box<Relation>| Box::new(held(*relation, has, given));
    match relation {
        Relation::Filter { input, predicate } => Relation::Filter {
            input: held_box(input),
            predicate,
        },
        Relation::Compute { input, columns } => Relation::Compute {
            input: held_box(input),
            columns,
        },
        Relation::Apply { input, subquery } => Relation::Apply {
            input: held_box(input),
            subquery,
        },
        Relation::Sort { input, .. } => held(*input, has, given),
        Relation::Join(join) => {
            let filters = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
            let left = held_box(join.left);
            let right = match filters {
                true => join.right,
                false => held_box(join.right),
            };
            Relation::Join(Join {
                left,
                right,
                ..join
            })
        }
        // Functions that wait are not called again.
        part => {
            let mut columns = part.columns();
            columns.retain(|id| has(*id));
            given.extend(&columns);
            row(columns)
        }
    }
}

/// Returns a row of columns whose values are parameters, under the same names.
fn row(columns: Vec<ColumnId>) -> Relation {
    // A value that is handed on as it is has no need of its type.
    let (ty, modifier) = (Type::Scalar(Scalar::Bytea), TypeModifier::NONE);
    let values = columns
        .iter()
        .map(|id| Expression::column(*id, ty, modifier));
    Relation::Rows {
        rows: vec![values.collect()],
        columns,
    }
}
