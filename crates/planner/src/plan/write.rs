//! Plans of statements that change or lock rows.

use std::{collections::BTreeSet, sync::Arc};

use types::Result;

use super::{
    Assignments, Check, ConflictUpdate, Delete, Insert, Merge, MergeAction, MergeKind, NewRow,
    OnConflict, Plan, RowLock, Target, Update,
    lower::{Lowering, Node, row_layout, with},
    recheck,
};
use crate::program::{Layout, Program};
use catalog::{ObjectId, RowKey, Table};
use logical::{
    expression::{ColumnId, Expression},
    relation::{self, ChangeKind, JoinKind, Relation},
};

impl Lowering {
    pub(super) fn insert(&mut self, insert: relation::Insert) -> Result<Node> {
        let reads_target = reads(&insert.input, insert.table.id);
        let needed = with(&BTreeSet::new(), &insert.values);
        let input = self.lower(insert.input, &needed)?;
        let values = self.programs(&insert.values, &input.layout)?;
        let new = self.new_row(
            &insert.table,
            &insert.new,
            &insert.checks,
            &insert.generated,
        )?;
        let on_conflict = insert
            .on_conflict
            .map(|conflict| self.on_conflict(conflict, &insert.table, &insert.generated))
            .transpose()?;
        let layout = input.layout.followed_by(&Layout::new(insert.new));
        let plan = Insert {
            input: input.plan,
            reads_target,
            values,
            new,
            on_conflict,
        };
        Ok(Node {
            plan: Plan::Insert(Box::new(plan)),
            layout,
        })
    }

    fn on_conflict(
        &self,
        conflict: relation::OnConflict,
        table: &Table,
        generated: &[(usize, Expression)],
    ) -> Result<OnConflict> {
        let update = match conflict.update {
            None => None,
            Some(update) => {
                let both = Layout::new(update.old).followed_by(&Layout::new(update.excluded));
                let written = update.assignments.iter().chain(generated);
                Some(ConflictUpdate {
                    keys: table.keys_among(written.map(|(at, _)| *at)),
                    assignments: self.assignments(&update.assignments, &both)?,
                    predicate: update
                        .predicate
                        .as_ref()
                        .map(|predicate| self.program(predicate, &both))
                        .transpose()?,
                })
            }
        };
        Ok(OnConflict {
            arbiters: conflict.arbiters,
            update,
        })
    }

    fn new_row(
        &self,
        table: &Arc<Table>,
        columns: &[ColumnId],
        checks: &[relation::Check],
        generated: &[(usize, Expression)],
    ) -> Result<NewRow> {
        let layout = Layout::new(columns.iter().copied());
        let checks = checks.iter().map(|check| {
            Ok(Check {
                name: check.name.clone(),
                predicate: self.program(&check.predicate, &layout)?,
            })
        });
        Ok(NewRow {
            table: table.clone(),
            rows: row_layout(table)?,
            generated: self.assignments(generated, &layout)?,
            checks: checks.collect::<Result<_>>()?,
        })
    }

    fn assignments(
        &self,
        assignments: &[(usize, Expression)],
        layout: &Layout,
    ) -> Result<Vec<(usize, Program)>> {
        assignments
            .iter()
            .map(|(at, value)| Ok((*at, self.program(value, layout)?)))
            .collect()
    }

    /// Returns the assignments of an UPDATE of a table, over rows of `layout`.
    fn row_assignments(
        &self,
        table: &Table,
        assignments: &[(usize, Expression)],
        generated: &[(usize, Expression)],
        layout: &Layout,
    ) -> Result<Assignments> {
        let written = assignments.iter().chain(generated);
        let mut written = written.map(|(at, _)| *at);
        let may_move = match &table.row_key {
            RowKey::Hidden => false,
            RowKey::Columns(key) => written.any(|at| key.iter().any(|of| usize::from(*of) == at)),
        };
        Ok(Assignments {
            values: self.assignments(assignments, layout)?,
            may_move,
            keys: table.keys_among(assignments.iter().chain(generated).map(|(at, _)| *at)),
        })
    }

    pub(super) fn change(
        &mut self,
        change: relation::Change,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let values: Vec<&Expression> = match &change.kind {
            ChangeKind::Update { assignments, .. } => {
                assignments.iter().map(|(_, value)| value).collect()
            }
            ChangeKind::Delete => Vec::new(),
        };
        let needs_recheck = recheck::is_needed(&change.input);
        let recheck_conditions = match needs_recheck {
            true => Vec::new(),
            false => conditions_on(&change.input, &change.old),
        };
        let mut wanted = with(needed, values.into_iter().chain(&recheck_conditions));
        wanted.insert(change.key);
        if needs_recheck {
            wanted.extend(recheck::wanted(&change.input));
        }
        // An updated row is written whole; foreign keys may ask for any column of a deleted one.
        if matches!(change.kind, ChangeKind::Update { .. })
            || !change.table.referenced_by.is_empty()
        {
            wanted.extend(
                change
                    .input
                    .columns()
                    .iter()
                    .filter(|id| change.old.contains(id)),
            );
        }
        let reads_others = count_reads(&change.input, change.table.id) > 1;
        let relation = needs_recheck.then(|| change.input.clone());
        let input = self.lower(change.input, &wanted)?;
        let mut target = self.target(
            &change.table,
            change.key,
            &change.old,
            recheck_conditions,
            &input,
            reads_others,
        )?;
        if let Some(relation) = relation {
            target.recheck_query = Some(Box::new(self.recheck_query(
                &relation,
                &wanted,
                &input.layout,
            )?));
        }
        match change.kind {
            ChangeKind::Delete => {
                let plan = Delete {
                    input: input.plan,
                    target,
                };
                Ok(Node {
                    plan: Plan::Delete(Box::new(plan)),
                    layout: input.layout,
                })
            }
            ChangeKind::Update {
                assignments,
                new,
                checks,
                generated,
            } => {
                let assignments =
                    self.row_assignments(&change.table, &assignments, &generated, &input.layout)?;
                let layout = input.layout.followed_by(&Layout::new(new.iter().copied()));
                let new = self.new_row(&change.table, &new, &checks, &generated)?;
                let plan = Update {
                    input: input.plan,
                    target,
                    assignments,
                    new,
                };
                Ok(Node {
                    plan: Plan::Update(Box::new(plan)),
                    layout,
                })
            }
        }
    }

    fn target(
        &self,
        table: &Arc<Table>,
        key: ColumnId,
        old: &[ColumnId],
        recheck_conditions: Vec<Expression>,
        input: &Node,
        reads_others: bool,
    ) -> Result<Target> {
        let columns = old
            .iter()
            .enumerate()
            .filter_map(|(attribute, id)| Some((input.layout.position(*id)?, attribute)));
        Ok(Target {
            table: table.clone(),
            rows: row_layout(table)?,
            key: input.at(key)?,
            columns: columns.collect(),
            recheck_condition: self.conjunction(recheck_conditions, &input.layout)?,
            recheck_query: None,
            // A scan must not meet rows that the statement has written.
            read_first: reads_others || !is_point(&input.plan),
        })
    }

    pub(super) fn merge(&mut self, merge: relation::Merge) -> Result<Node> {
        let mut used: Vec<&Expression> = Vec::new();
        for action in &merge.actions {
            used.extend(&action.predicate);
            match &action.kind {
                relation::MergeKind::Insert(values) => used.extend(values),
                relation::MergeKind::Update(assignments) => {
                    used.extend(assignments.iter().map(|(_, value)| value))
                }
                relation::MergeKind::Delete => {}
            }
        }
        let recheck_conditions = match_conditions(&merge.input, &merge.old);
        used.extend(&recheck_conditions);
        let mut wanted = with(&BTreeSet::new(), used);
        wanted.insert(merge.key);
        wanted.extend(
            merge
                .input
                .columns()
                .iter()
                .filter(|id| merge.old.contains(id)),
        );
        let inserts_called = matches!(merge.input, Relation::Calls { .. })
            && merge.actions.iter().any(|action| !action.matched);
        let input = self.lower(merge.input, &wanted)?;
        let target = self.target(
            &merge.table,
            merge.key,
            &merge.old,
            recheck_conditions,
            &input,
            true,
        )?;
        let mut actions = Vec::with_capacity(merge.actions.len());
        for action in &merge.actions {
            let predicate = action
                .predicate
                .as_ref()
                .map(|predicate| self.program(predicate, &input.layout))
                .transpose()?;
            let kind = match &action.kind {
                relation::MergeKind::Insert(values) => {
                    MergeKind::Insert(self.programs(values, &input.layout)?)
                }
                relation::MergeKind::Update(assignments) => {
                    MergeKind::Update(self.row_assignments(
                        &merge.table,
                        assignments,
                        &merge.generated,
                        &input.layout,
                    )?)
                }
                relation::MergeKind::Delete => MergeKind::Delete,
            };
            actions.push(MergeAction {
                matched: action.matched,
                predicate,
                kind,
            });
        }
        let new = self.new_row(&merge.table, &merge.new, &merge.checks, &merge.generated)?;
        let plan = Merge {
            input: input.plan,
            target,
            new,
            actions,
            inserts_called,
        };
        Ok(Node {
            plan: Plan::Merge(Box::new(plan)),
            layout: Layout::default(),
        })
    }

    pub(super) fn lock(
        &mut self,
        input: Relation,
        locks: &[relation::RowLock],
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let mut wanted = needed.clone();
        let needs_recheck = recheck::is_needed(&input);
        if needs_recheck {
            wanted.extend(recheck::wanted(&input));
        }
        let mut rechecks = Vec::with_capacity(locks.len());
        for lock in locks {
            wanted.insert(lock.key);
            let own = scan_columns(&input, lock.scan);
            if needs_recheck {
                rechecks.push((own, Vec::new(), Vec::new()));
                continue;
            }
            let ids: Vec<ColumnId> = own.iter().map(|(id, _)| *id).collect();
            let recheck_conditions = conditions_on(&input, &ids);
            wanted = with(&wanted, &recheck_conditions);
            let computed = computed_from(&input, ids);
            wanted.extend(computed.iter().flat_map(|(_, value)| value.columns()));
            rechecks.push((own, recheck_conditions, computed));
        }
        let relation = needs_recheck.then(|| input.clone());
        let node = self.lower(input, &wanted)?;
        let recheck_query = match relation {
            Some(relation) => Some(Box::new(self.recheck_query(
                &relation,
                &wanted,
                &node.layout,
            )?)),
            None => None,
        };
        let mut lowered = Vec::with_capacity(locks.len());
        for (lock, (own, recheck_conditions, computed)) in locks.iter().zip(rechecks) {
            let computed = computed.into_iter().filter_map(|(id, value)| {
                let at = node.layout.position(id)?;
                Some(
                    self.program(&value, &node.layout)
                        .map(|program| (at, program)),
                )
            });
            let computed = computed.collect::<Result<_>>()?;
            let columns = own
                .iter()
                .filter_map(|(id, attribute)| Some((node.layout.position(*id)?, *attribute)));
            lowered.push(RowLock {
                table: lock.table.clone(),
                rows: row_layout(&lock.table)?,
                key: node.at(lock.key)?,
                strength: lock.strength,
                if_locked: lock.if_locked,
                columns: columns.collect(),
                computed,
                recheck_condition: self.conjunction(recheck_conditions, &node.layout)?,
            });
        }
        let plan = Plan::LockRows {
            input: Box::new(node.plan),
            locks: lowered,
            recheck_query,
        };
        Ok(Node {
            plan,
            layout: node.layout,
        })
    }
}

/// Returns the conditions of a relation on these columns, as far as each row that comes out
/// satisfies them.
fn conditions_on(relation: &Relation, columns: &[ColumnId]) -> Vec<Expression> {
    let mut found = Vec::new();
    collect(relation, columns, &mut found);
    found
}

/// Returns the conditions by which rows of a MERGE's source are joined with those of its target, as
/// far as they are on the target's columns.
fn match_conditions(relation: &Relation, columns: &[ColumnId]) -> Vec<Expression> {
    let mut found = Vec::new();
    let mut relation = relation;
    loop {
        match relation {
            Relation::Compute { input, .. }
            | Relation::Apply { input, .. }
            | Relation::Calls { input, .. } => relation = input,
            Relation::Join(join) => {
                let concerns = |condition: &&Expression| {
                    condition.columns().iter().any(|id| columns.contains(id))
                };
                found.extend(join.on.iter().filter(concerns).cloned());
                collect(&join.right, columns, &mut found);
                return found;
            }
            _ => return found,
        }
    }
}

fn collect(relation: &Relation, columns: &[ColumnId], found: &mut Vec<Expression>) {
    let mut add = |conditions: Vec<Expression>| {
        let concerns =
            |condition: &Expression| condition.columns().iter().any(|id| columns.contains(id));
        found.extend(conditions.into_iter().filter(concerns));
    };
    match relation {
        Relation::Filter { input, predicate } => {
            add(predicate.clone().into_conjuncts());
            collect(input, columns, found);
        }
        Relation::Compute { input, .. }
        | Relation::Apply { input, .. }
        | Relation::Calls { input, .. }
        | Relation::Sort { input, .. } => {
            collect(input, columns, found);
        }
        Relation::Join(join) if join.kind == JoinKind::Inner => {
            add(join.on.clone());
            collect(&join.left, columns, found);
            collect(&join.right, columns, found);
        }
        Relation::Join(join) if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) => {
            collect(&join.left, columns, found);
        }
        _ => {}
    }
}

/// Returns the columns that a relation computes from these columns of a scan, each after those that
/// it is computed from.
fn computed_from(relation: &Relation, columns: Vec<ColumnId>) -> Vec<(ColumnId, Expression)> {
    let mut all = Vec::new();
    collect_computed(relation, &mut all);
    let mut from = columns;
    all.retain(|(id, value): &(ColumnId, Expression)| {
        let concerns = value.columns().iter().any(|column| from.contains(column));
        if concerns {
            from.push(*id);
        }
        concerns
    });
    all
}

fn collect_computed(relation: &Relation, found: &mut Vec<(ColumnId, Expression)>) {
    match relation {
        Relation::Filter { input, .. }
        | Relation::Apply { input, .. }
        | Relation::Sort { input, .. } => collect_computed(input, found),
        Relation::Compute { input, columns } => {
            collect_computed(input, found);
            found.extend(columns.iter().cloned());
        }
        Relation::Join(join) => {
            collect_computed(&join.left, found);
            if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
                collect_computed(&join.right, found);
            }
        }
        _ => {}
    }
}

/// Returns the columns of a scan within a relation.
fn scan_columns(relation: &Relation, scan: relation::ScanId) -> Vec<(ColumnId, usize)> {
    let mut found = Vec::new();
    for_each_scan(&mut relation.clone(), &mut |other| {
        if other.id == scan {
            found.clone_from(&other.columns);
        }
    });
    found
}

fn count_reads(relation: &Relation, table: ObjectId) -> usize {
    let mut count = 0;
    for_each_scan(&mut relation.clone(), &mut |scan| {
        count += usize::from(scan.table.id == table)
    });
    count
}

fn reads(relation: &Relation, table: ObjectId) -> bool {
    count_reads(relation, table) > 0
}

fn for_each_scan(relation: &mut Relation, visit: &mut impl FnMut(&relation::Scan)) {
    if let Relation::Scan(scan) = relation {
        visit(scan);
    }
    relation.for_each_input_mut(&mut |input| for_each_scan(input, visit));
}

/// Returns whether a plan gives one row at most, found by its key.
fn is_point(plan: &Plan) -> bool {
    match plan.beneath() {
        Plan::Scan(scan) => scan.access.is_point(),
        Plan::Filter { input, .. } | Plan::Project { input, .. } => is_point(input),
        _ => false,
    }
}
