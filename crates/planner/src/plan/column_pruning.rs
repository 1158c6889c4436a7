//! Removal of computed columns that are never used. A computed column between two joins would keep
//! them from being put in order: only joins right beside each other are.

use std::collections::BTreeSet;

use logical::{
    expression::{ColumnId, Kind},
    relation::{Relation, SharedBody, SubqueryKind},
};

/// Returns the relation, of which the columns `outputs` are wanted, without computed columns that
/// are never used.
pub(super) fn pruned(mut relation: Relation, outputs: &[ColumnId]) -> Relation {
    let used = used(&mut relation, outputs);
    relation.walk(&mut |relation| {
        while let Relation::Compute { input, columns } = relation {
            columns.retain(|(id, _)| used.contains(id));
            if !columns.is_empty() {
                break;
            }
            *relation = std::mem::replace(&mut **input, super::predicate_pushdown::nothing());
        }
    });
    relation
}

/// Returns all columns that are named in the relation.
fn used(relation: &mut Relation, outputs: &[ColumnId]) -> BTreeSet<ColumnId> {
    let mut used: BTreeSet<ColumnId> = outputs.iter().copied().collect();
    relation.walk(&mut |relation| match relation {
        Relation::Set(set) => {
            used.extend(
                set.columns
                    .iter()
                    .flat_map(|(_, left, right)| [left, right]),
            );
        }
        Relation::With { definitions, .. } => {
            for shared in definitions {
                used.extend(&shared.columns);
                if let SharedBody::Recursive {
                    initial_columns,
                    step_columns,
                    ..
                } = &shared.body
                {
                    used.extend(initial_columns.iter().chain(step_columns.iter()));
                }
            }
        }
        Relation::Apply { subquery, .. } => match &subquery.kind {
            SubqueryKind::Scalar(column) | SubqueryKind::Array { column, .. } => {
                used.insert(*column);
            }
            SubqueryKind::Exists | SubqueryKind::Any(_) => {}
        },
        _ => {}
    });
    relation.for_each_expression_mut(&mut |expression| {
        expression.walk(&mut |part| {
            if let Kind::Column(id) = part.kind {
                used.insert(id);
            }
        });
    });
    used
}
