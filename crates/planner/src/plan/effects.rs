//! Effects of statements: the tables that a statement uses, writes or locks.

use catalog::ObjectId;
use logical::relation::{self, ChangeKind, JoinKind, Relation, SharedBody};

/// Returns the tables that a statement uses, and whether it writes them.
pub fn tables(relation: &Relation) -> Vec<(ObjectId, bool)> {
    let mut tables = Vec::new();
    collect_tables(&mut relation.clone(), &mut tables);
    tables.sort_unstable();
    // A table that is written is locked for that alone.
    tables.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 |= same && next.1;
        same
    });
    tables
}

/// Returns whether the body of a shared relation changes rows.
pub(super) fn writes(body: &SharedBody) -> bool {
    match body {
        SharedBody::Query(query) => tables(query).iter().any(|(_, writes)| *writes),
        SharedBody::Recursive { .. } => false,
    }
}

/// Returns whether parts of a statement may meet rows that it has written itself, or has changed
/// before.
pub(super) fn is_command(relation: &Relation) -> bool {
    let mut found = false;
    relation.clone().walk(&mut |part| {
        found |= match part {
            Relation::With { definitions, .. } => {
                definitions.iter().any(|shared| writes(&shared.body))
            }
            Relation::Merge(_) => true,
            Relation::Change(change) => {
                matches!(change.kind, ChangeKind::Update { .. }) && joins(&change.input)
            }
            Relation::Insert(insert) => match &insert.on_conflict {
                Some(relation::OnConflict {
                    update: Some(_), ..
                }) => !is_one_row(&insert.input),
                _ => false,
            },
            _ => false,
        };
    });
    found
}

/// Returns whether a row of a scan may come out of a relation more than once.
fn joins(relation: &Relation) -> bool {
    match relation {
        Relation::Scan(_) => false,
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Apply { input, .. }
        | Relation::Calls { input, .. } => joins(input),
        Relation::Join(join) => {
            !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) || joins(&join.left)
        }
        _ => true,
    }
}

/// Returns whether a relation has a single row.
fn is_one_row(relation: &Relation) -> bool {
    match relation {
        Relation::Rows { rows, .. } => rows.len() == 1,
        Relation::Filter { input, .. }
        | Relation::Compute { input, .. }
        | Relation::Apply { input, .. }
        | Relation::Calls { input, .. } => is_one_row(input),
        _ => false,
    }
}

/// Returns whether a statement locks rows that it does not change.
pub fn locks_rows(relation: &Relation) -> bool {
    let mut found = false;
    find_lock(&mut relation.clone(), &mut found);
    found
}

fn find_lock(relation: &mut Relation, found: &mut bool) {
    *found |= matches!(relation, Relation::Lock { .. });
    relation.for_each_input_mut(&mut |input| find_lock(input, found));
}

fn collect_tables(relation: &mut Relation, tables: &mut Vec<(ObjectId, bool)>) {
    match relation {
        Relation::Scan(scan) => tables.push((scan.table.id, false)),
        Relation::Insert(insert) => tables.push((insert.table.id, true)),
        Relation::Change(change) => tables.push((change.table.id, true)),
        Relation::Merge(merge) => tables.push((merge.table.id, true)),
        _ => {}
    }
    relation.for_each_input_mut(&mut |input| collect_tables(input, tables));
}
