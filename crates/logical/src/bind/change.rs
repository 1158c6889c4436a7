//! UPDATE and DELETE.

use types::{Result, SqlError, SqlState};

use super::{
    Binder,
    clause::Clause,
    scalar::place,
    scope::{Part, Scope},
    select::{applied, filter},
    sequence::only_where,
    write::NewRow,
};
use crate::{
    expression::ColumnId,
    relation::{Applied, Change, ChangeKind, Join, JoinKind, Output, Relation, Scan},
};
use syntax::{
    change::{self, MergeValues},
    expression::{Expr, Refused},
    query::FromItem,
};

/// The rows that a statement changes, before it does.
struct Target {
    table: std::sync::Arc<catalog::Table>,
    scan: crate::relation::ScanId,
    key: ColumnId,
    /// By position in the table; columns that were dropped have one that nothing gives.
    old: Vec<ColumnId>,
    name: String,
}

impl Binder<'_> {
    /// Binds a statement that changes rows; its outputs are those of RETURNING.
    pub(super) fn change(&mut self, change: &change::Change) -> Result<(Relation, Vec<Output>)> {
        change.supported()?;
        match change {
            change::Change::Insert(insert) => self.insert(insert),
            change::Change::Update(update) => self.update(update),
            change::Change::Delete(delete) => self.delete(delete),
            change::Change::Merge(merge) => self.merge(merge),
        }
    }

    fn update(&mut self, update: &change::Update) -> Result<(Relation, Vec<Output>)> {
        let mut scope = Scope::default();
        let (target, mut input) = self.changed(&update.target, &update.from, &mut scope)?;
        let mut clause = Clause::plain("UPDATE");
        let table = target.table.clone();
        let assignments = self.assignments(&table, &update.assignments, &scope, &mut clause)?;
        let subqueries = std::mem::take(&mut clause.subqueries);
        input = self.restricted(input, update.condition.as_ref(), &scope)?;
        input = applied(input, subqueries);
        let NewRow {
            columns: new,
            checks,
            generated,
        } = self.new_row(&table)?;
        self.shows_new_row(&mut scope, &target, &new);
        let kind = ChangeKind::Update {
            assignments,
            new,
            checks,
            generated,
        };
        let relation = change(target, input, kind);
        self.returning(relation, update.returning.as_deref(), &scope)
    }

    fn delete(&mut self, delete: &change::Delete) -> Result<(Relation, Vec<Output>)> {
        let mut scope = Scope::default();
        let (target, mut input) = self.changed(&delete.target, &delete.using, &mut scope)?;
        input = self.restricted(input, delete.condition.as_ref(), &scope)?;
        let relation = change(target, input, ChangeKind::Delete);
        self.returning(relation, delete.returning.as_deref(), &scope)
    }

    /// The scan of the table that is changed, joined with what the statement adds.
    fn changed(
        &mut self,
        target: &change::Target,
        others: &[FromItem],
        scope: &mut Scope<'_>,
    ) -> Result<(Target, Relation)> {
        let table = self.target(&target.name)?;
        let (scan, mut source) = self.scan(&table);
        if let Some(alias) = &target.alias {
            source.name = Some(alias.as_str().to_owned());
            source.schema = None;
        }
        let target = self.target_of(&scan, source.name.clone().unwrap_or_default());
        scope.add(source)?;
        let mut relation = Relation::Scan(scan.clone());
        if !others.is_empty() {
            let right = self.from(others, scope)?;
            // The target is no part of FROM: LATERAL cannot refer to it.
            let outer = right.outer_columns();
            let mut own = scan.columns.iter().map(|(id, _)| *id).chain([scan.key]);
            if own.any(|id| outer.contains(&id)) {
                let name = &target.name;
                let message =
                    format!("invalid reference to FROM-clause entry for table \"{name}\"");
                let error = SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message);
                let hint = format!(
                    "There is an entry for table \"{name}\", but it cannot be referenced from this part of the \
                    query."
                );
                return Err(error.hint(hint));
            }
            let (left, right) = (Box::new(relation), Box::new(right));
            relation = Relation::Join(Join {
                kind: JoinKind::Inner,
                left,
                right,
                on: Vec::new(),
                lateral: false,
            });
        }
        Ok((target, relation))
    }

    fn target_of(&mut self, scan: &Scan, name: String) -> Target {
        let old = (0..scan.table.columns.len()).map(|at| {
            let found = scan.columns.iter().find(|(_, attribute)| *attribute == at);
            found.map_or_else(|| self.new_column(), |(id, _)| *id)
        });
        let old = old.collect();
        Target {
            table: scan.table.clone(),
            scan: scan.id,
            key: scan.key,
            old,
            name,
        }
    }

    fn restricted(
        &mut self,
        input: Relation,
        condition: Option<&Expr>,
        scope: &Scope<'_>,
    ) -> Result<Relation> {
        let Some(condition) = condition else {
            return Ok(input);
        };
        let mut clause = Clause::plain("WHERE");
        scope.part.set(Part::Where);
        let predicate = self.condition(condition, scope, &mut clause)?;
        Ok(filter(applied(input, clause.subqueries), predicate))
    }

    /// After the update, the target's name stands for the new row.
    fn shows_new_row(&self, scope: &mut Scope<'_>, target: &Target, new: &[ColumnId]) {
        let shown = self.source_of(&target.table, &target.name, new);
        if let Some(source) = scope.sources.first_mut() {
            source.columns = shown.columns;
        }
    }

    fn merge(&mut self, merge: &change::Merge) -> Result<(Relation, Vec<Output>)> {
        let mut scope = Scope::default();
        let (target, scan) = self.changed(&merge.target, &[], &mut scope)?;
        let mut own = Scope::default();
        let left = self.from(std::slice::from_ref(&merge.source), &mut own)?;
        let source_only = own.sources.clone();
        own.sources
            .into_iter()
            .try_for_each(|source| scope.add(source))?;
        let mut clause = Clause::plain("MERGE/ON");
        let on = self.condition(&merge.on, &scope, &mut clause)?;
        let input = Relation::Join(Join {
            kind: JoinKind::Left,
            left: Box::new(left),
            right: Box::new(scan),
            on: on.into_conjuncts(),
            lateral: false,
        });
        let mut actions = Vec::with_capacity(merge.clauses.len());
        for when in &merge.clauses {
            when.supported()?;
            let matched = when.matched;
            let visible = if matched {
                scope.sources.clone()
            } else {
                source_only.clone()
            };
            let visible = Scope {
                sources: visible,
                ..Scope::default()
            };
            let before = clause.subqueries.len();
            actions.push(self.merge_action(&target.table, when, &visible, &mut clause)?);
            let own = clause.subqueries.get_mut(before..).unwrap_or_default();
            only_where(own, target.key, !matched);
        }
        let is_query = |applied: &Applied| matches!(applied, Applied::Query(_));
        if clause.subqueries.iter().any(is_query) {
            return Err(SqlError::unsupported("a subquery in MERGE")
                .hint("Put it into the source of the MERGE."));
        }
        let input = applied(input, clause.subqueries);
        let table = target.table.clone();
        let NewRow {
            columns: new,
            checks,
            generated,
        } = self.new_row(&table)?;
        let merge = crate::relation::Merge {
            table,
            input,
            target: target.scan,
            key: target.key,
            old: target.old,
            actions,
            new,
            checks,
            generated,
        };
        Ok((Relation::Merge(Box::new(merge)), Vec::new()))
    }

    fn merge_action(
        &mut self,
        table: &std::sync::Arc<catalog::Table>,
        when: &change::MergeClause,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<crate::relation::MergeAction> {
        use crate::relation::{MergeAction, MergeKind};
        let predicate = when
            .condition
            .as_ref()
            .map(|predicate| self.condition(predicate, scope, clause))
            .transpose()?;
        let kind = match &when.action {
            change::MergeAction::Delete => MergeKind::Delete,
            change::MergeAction::Update(assignments) => {
                MergeKind::Update(self.assignments(table, assignments, scope, clause)?)
            }
            change::MergeAction::Insert { columns, values } => {
                let targets = self.insert_columns(table, columns)?;
                let row = match values {
                    MergeValues::Row(row) => row,
                    MergeValues::Refused(Refused(error)) => return Err(error.clone()),
                };
                if row.len() > targets.len() {
                    let message = "INSERT has more expressions than target columns";
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                }
                let mut given = Vec::with_capacity(row.len());
                for (&at, value) in targets.iter().zip(row) {
                    given.push((at, self.new_value(table, at, value, scope, clause)?));
                }
                MergeKind::Insert(self.filled(table, given, clause)?)
            }
        };
        let matched = when.matched;
        if matched == matches!(kind, MergeKind::Insert(_)) {
            return Err(place(
                SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    "this action does not go with this WHEN",
                ),
                None,
            ));
        }
        Ok(MergeAction {
            matched,
            predicate,
            kind,
        })
    }
}

fn change(target: Target, input: Relation, kind: ChangeKind) -> Relation {
    Relation::Change(Box::new(Change {
        table: target.table,
        input,
        target: target.scan,
        key: target.key,
        old: target.old,
        kind,
    }))
}
