//! UPDATE and DELETE.

use sqlparser::ast;
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
use syntax::name;

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
    /// Binds an UPDATE; its outputs are those of RETURNING.
    pub(super) fn update(&mut self, update: &ast::Update) -> Result<(Relation, Vec<Output>)> {
        if !update.order_by.is_empty() || update.limit.is_some() || update.or.is_some() {
            return Err(SqlError::unsupported("UPDATE with ORDER BY or LIMIT"));
        }
        if !update.table.joins.is_empty() {
            return Err(SqlError::unsupported("UPDATE of a join").hint("Use UPDATE ... FROM."));
        }
        let from = match &update.from {
            None => [].as_slice(),
            Some(
                ast::UpdateTableFromKind::AfterSet(from)
                | ast::UpdateTableFromKind::BeforeSet(from),
            ) => from,
        };
        let mut scope = Scope::default();
        let (target, mut input) = self.changed(&update.table.relation, from, &mut scope)?;
        let mut clause = Clause::plain("UPDATE");
        let table = target.table.clone();
        let assignments = self.assignments(&table, &update.assignments, &scope, &mut clause)?;
        let subqueries = std::mem::take(&mut clause.subqueries);
        input = self.restricted(input, update.selection.as_ref(), &scope)?;
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

    /// Binds a DELETE; its outputs are those of RETURNING.
    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<(Relation, Vec<Output>)> {
        if !delete.order_by.is_empty() || delete.limit.is_some() || !delete.tables.is_empty() {
            return Err(SqlError::unsupported(
                "DELETE with ORDER BY, LIMIT or several tables",
            ));
        }
        let ast::FromTable::WithFromKeyword(from) = &delete.from else {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "DELETE needs FROM"));
        };
        let [item] = from.as_slice() else {
            return Err(
                SqlError::unsupported("DELETE from several tables").hint("Use DELETE ... USING.")
            );
        };
        if !item.joins.is_empty() {
            return Err(SqlError::unsupported("DELETE from a join").hint("Use DELETE ... USING."));
        }
        let mut scope = Scope::default();
        let using = delete.using.as_deref().unwrap_or_default();
        let (target, mut input) = self.changed(&item.relation, using, &mut scope)?;
        input = self.restricted(input, delete.selection.as_ref(), &scope)?;
        let relation = change(target, input, ChangeKind::Delete);
        self.returning(relation, delete.returning.as_deref(), &scope)
    }

    /// The scan of the table that is changed, joined with what the statement adds.
    fn changed(
        &mut self,
        factor: &ast::TableFactor,
        others: &[ast::TableWithJoins],
        scope: &mut Scope<'_>,
    ) -> Result<(Target, Relation)> {
        let ast::TableFactor::Table { name, alias, .. } = factor else {
            return Err(SqlError::new(
                SqlState::WRONG_OBJECT_TYPE,
                "only a table can be changed",
            ));
        };
        let table = self.target(name)?;
        let (scan, mut source) = self.scan(&table);
        if let Some(alias) = alias {
            source.name = Some(name::fold(&alias.name));
            source.schema = None;
        }
        let target = self.target_of(&scan, source.name.clone().unwrap_or_default());
        scope.add(source)?;
        let mut relation = Relation::Scan(scan.clone());
        if !others.is_empty() {
            let right = self.from(others, scope)?;
            // The target is no part of FROM: LATERAL cannot refer to it.
            let own = Relation::Scan(scan.clone()).columns();
            if own.iter().any(|id| right.outer_columns().contains(id)) {
                let name = &target.name;
                let message =
                    format!("invalid reference to FROM-clause entry for table \"{name}\"");
                let error = SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message);
                return Err(error.hint(format!("There is an entry for table \"{name}\", but it cannot be referenced from this part of the query.")));
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
        selection: Option<&ast::Expr>,
        scope: &Scope<'_>,
    ) -> Result<Relation> {
        let Some(selection) = selection else {
            return Ok(input);
        };
        let mut clause = Clause::plain("WHERE");
        scope.part.set(Part::Where);
        let predicate = self.condition(selection, scope, &mut clause)?;
        Ok(filter(applied(input, clause.subqueries), predicate))
    }

    /// After the update, the target's name stands for the new row.
    fn shows_new_row(&self, scope: &mut Scope<'_>, target: &Target, new: &[ColumnId]) {
        let shown = self.source_of(&target.table, &target.name, new);
        if let Some(source) = scope.sources.first_mut() {
            source.columns = shown.columns;
        }
    }

    /// Binds a MERGE.
    pub(super) fn merge(&mut self, merge: &ast::Merge) -> Result<(Relation, Vec<Output>)> {
        if merge.output.is_some() {
            return Err(SqlError::unsupported("MERGE ... RETURNING"));
        }
        let mut scope = Scope::default();
        let (target, scan) = self.changed(&merge.table, &[], &mut scope)?;
        let source = ast::TableWithJoins {
            relation: merge.source.clone(),
            joins: Vec::new(),
        };
        let mut own = Scope::default();
        let left = self.from(std::slice::from_ref(&source), &mut own)?;
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
            let matched = match when.clause_kind {
                ast::MergeClauseKind::Matched => true,
                ast::MergeClauseKind::NotMatched | ast::MergeClauseKind::NotMatchedByTarget => {
                    false
                }
                ast::MergeClauseKind::NotMatchedBySource => {
                    return Err(SqlError::unsupported("WHEN NOT MATCHED BY SOURCE"));
                }
            };
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
            actions.push(self.merge_action(&target.table, when, matched, &visible, &mut clause)?);
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
        when: &ast::MergeClause,
        matched: bool,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<crate::relation::MergeAction> {
        use crate::relation::{MergeAction, MergeKind};
        let predicate = when
            .predicate
            .as_ref()
            .map(|predicate| self.condition(predicate, scope, clause))
            .transpose()?;
        let kind = match &when.action {
            ast::MergeAction::Delete { .. } => MergeKind::Delete,
            ast::MergeAction::Update(update) => {
                MergeKind::Update(self.assignments(table, &update.assignments, scope, clause)?)
            }
            ast::MergeAction::Insert(insert) => {
                let targets = self.insert_columns(table, &insert.columns)?;
                let ast::MergeInsertKind::Values(values) = &insert.kind else {
                    return Err(SqlError::unsupported("INSERT ROW"));
                };
                let [row] = values.rows.as_slice() else {
                    return Err(SqlError::new(
                        SqlState::SYNTAX_ERROR,
                        "MERGE inserts a single row",
                    ));
                };
                if row.content.len() > targets.len() {
                    let message = "INSERT has more expressions than target columns";
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
                }
                let mut given = Vec::with_capacity(row.content.len());
                for (&at, value) in targets.iter().zip(&row.content) {
                    given.push((at, self.new_value(table, at, value, scope, clause)?));
                }
                MergeKind::Insert(self.filled(table, given, clause)?)
            }
        };
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

    /// A statement with RETURNING within WITH.
    pub(super) fn returning_statement(
        &mut self,
        statement: &ast::Statement,
    ) -> Result<(Relation, Vec<Output>)> {
        match statement {
            ast::Statement::Insert(insert) => self.insert(insert),
            ast::Statement::Update(update) => self.update(update),
            ast::Statement::Delete(delete) => self.delete(delete),
            ast::Statement::Merge(merge) => self.merge(merge),
            _ => Err(SqlError::unsupported("this statement within a query")),
        }
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
