//! INSERT, UPDATE, DELETE and MERGE.

use sqlparser::{
    ast::{
        self, AssignmentTarget, FromTable, MergeClauseKind, MergeInsertKind, OnConflictAction,
        OnInsert, TableFactor, TableObject, UpdateTableFromKind,
    },
    keywords::Keyword,
};
use types::{SqlError, SqlState};

use super::{Conversion, refuse_first, unsupported};
use crate::{
    change::{
        AssignedRow, Assignment, Change, ConflictTarget, ConflictUpdate, Delete, Insert, Merge,
        MergeAction, MergeClause, MergeValues, OnConflict, Target, Update,
    },
    expression::{Expr, ExprKind, Refused},
    query::{FromItem, SelectItem},
    refusal::Misplaced,
};

impl Conversion {
    /// Converts a statement that changes rows.
    pub(super) fn change(&mut self, tree: ast::Statement) -> Change {
        match tree {
            ast::Statement::Insert(insert) => Change::Insert(Box::new(self.insert(insert))),
            ast::Statement::Update(update) => Change::Update(Box::new(self.update(update))),
            ast::Statement::Delete(delete) => Change::Delete(Box::new(self.delete(delete))),
            ast::Statement::Merge(merge) => Change::Merge(Box::new(self.merge(merge))),
            // The parser has no other statements within queries.
            _ => Change::Delete(Box::new(refused_delete(unsupported(
                "this statement within a query",
            )))),
        }
    }

    fn insert(&mut self, insert: ast::Insert) -> Insert {
        let mut refused = refuse_foreign(&insert);
        self.misplace_output(insert.output.is_some());
        let alias = insert.table_alias.map(|alias| self.name(alias.alias));
        let name = match insert.table {
            TableObject::TableName(name) => self.dotted_name(name),
            _ => {
                refused.get_or_insert(unsupported("INSERT into this"));
                Default::default()
            }
        };
        let on_conflict = match insert.on {
            None => None,
            Some(OnInsert::OnConflict(on_conflict)) => Some(self.on_conflict(on_conflict)),
            Some(_) => {
                let error = SqlError::unsupported("ON DUPLICATE KEY UPDATE");
                refused.get_or_insert(Refused(error.hint("Use ON CONFLICT.")));
                None
            }
        };
        Insert {
            target: Target { name, alias },
            columns: self.dotted_names(insert.columns),
            overriding: None,
            source: insert.source.map(|source| self.query(*source)),
            on_conflict,
            returning: self.returning(insert.returning),
            refused,
        }
    }

    fn on_conflict(&mut self, on_conflict: ast::OnConflict) -> OnConflict {
        let target = on_conflict.conflict_target.map(|target| match target {
            ast::ConflictTarget::Columns(columns) => ConflictTarget::Columns(self.names(columns)),
            ast::ConflictTarget::OnConstraint(name) => {
                ConflictTarget::Constraint(self.dotted_name(name))
            }
        });
        let update = match on_conflict.action {
            OnConflictAction::DoNothing => None,
            OnConflictAction::DoUpdate(update) => Some(ConflictUpdate {
                assignments: self.assignments(update.assignments),
                condition: self.optional(update.selection),
            }),
        };
        OnConflict { target, update }
    }

    fn update(&mut self, update: ast::Update) -> Update {
        let has_limit =
            !update.order_by.is_empty() || update.limit.is_some() || update.or.is_some();
        let mut refused = refuse_first(&[(has_limit, "UPDATE with ORDER BY or LIMIT")]);
        if !update.table.joins.is_empty() {
            let error = SqlError::unsupported("UPDATE of a join").hint("Use UPDATE ... FROM.");
            refused.get_or_insert(Refused(error));
        }
        self.misplace_output(update.output.is_some());
        let from = match update.from {
            None => Vec::new(),
            Some(UpdateTableFromKind::AfterSet(from)) => from,
            Some(UpdateTableFromKind::BeforeSet(from)) => {
                self.misplace(Misplaced::Keyword(Keyword::FROM));
                from
            }
        };
        Update {
            target: self.target(update.table.relation, &mut refused),
            assignments: self.assignments(update.assignments),
            from: self.from(from),
            condition: self.optional(update.selection),
            returning: self.returning(update.returning),
            refused,
        }
    }

    /// Notes `OUTPUT`, which other systems have in the place of RETURNING.
    fn misplace_output(&mut self, is_there: bool) {
        if is_there {
            self.misplace(Misplaced::Keyword(Keyword::OUTPUT));
        }
    }

    fn delete(&mut self, delete: ast::Delete) -> Delete {
        self.misplace_output(delete.output.is_some());
        if !delete.order_by.is_empty() || delete.limit.is_some() || !delete.tables.is_empty() {
            return refused_delete(unsupported("DELETE with ORDER BY, LIMIT or several tables"));
        }
        let FromTable::WithFromKeyword(mut from) = delete.from else {
            self.misplace_with("DELETE needs FROM");
            return Delete::default();
        };
        let (Some(item), true) = (from.pop(), from.is_empty()) else {
            let error = SqlError::unsupported("DELETE from several tables");
            return refused_delete(Refused(error.hint("Use DELETE ... USING.")));
        };
        if !item.joins.is_empty() {
            let error = SqlError::unsupported("DELETE from a join");
            return refused_delete(Refused(error.hint("Use DELETE ... USING.")));
        }
        let mut refused = None;
        Delete {
            target: self.target(item.relation, &mut refused),
            using: self.from(delete.using.unwrap_or_default()),
            condition: self.optional(delete.selection),
            returning: self.returning(delete.returning),
            refused,
        }
    }

    fn merge(&mut self, merge: ast::Merge) -> Merge {
        let mut refused = refuse_first(&[(merge.output.is_some(), "MERGE ... RETURNING")]);
        let clauses = merge.clauses.into_iter();
        Merge {
            target: self.target(merge.table, &mut refused),
            source: FromItem {
                first: self.table_reference(merge.source),
                joins: Vec::new(),
            },
            on: self.expr(*merge.on),
            clauses: clauses.map(|clause| self.merge_clause(clause)).collect(),
            refused,
        }
    }

    fn merge_clause(&mut self, clause: ast::MergeClause) -> MergeClause {
        let is_of_target = clause.clause_kind == MergeClauseKind::NotMatchedBySource;
        let has_condition = match &clause.action {
            ast::MergeAction::Update(update) => {
                update.update_predicate.is_some() || update.delete_predicate.is_some()
            }
            ast::MergeAction::Insert(insert) => insert.insert_predicate.is_some(),
            ast::MergeAction::Delete { .. } => false,
        };
        MergeClause {
            matched: clause.clause_kind == MergeClauseKind::Matched,
            condition: self.optional(clause.predicate),
            action: match clause.action {
                ast::MergeAction::Delete { .. } => MergeAction::Delete,
                ast::MergeAction::Update(update) => {
                    MergeAction::Update(self.assignments(update.assignments))
                }
                ast::MergeAction::Insert(insert) => MergeAction::Insert {
                    columns: self.dotted_names(insert.columns),
                    values: self.merge_values(insert.kind),
                },
            },
            refused: refuse_first(&[
                (is_of_target, "WHEN NOT MATCHED BY SOURCE"),
                (has_condition, "WHERE behind an action of MERGE"),
            ]),
        }
    }

    fn merge_values(&mut self, kind: MergeInsertKind) -> MergeValues {
        let MergeInsertKind::Values(values) = kind else {
            return MergeValues::Refused(unsupported("INSERT ROW"));
        };
        let mut rows = self.rows(values);
        match (rows.pop(), rows.is_empty()) {
            (Some(row), true) => MergeValues::Row(row),
            _ => {
                self.misplace_with("MERGE inserts a single row");
                MergeValues::Row(Vec::new())
            }
        }
    }

    /// Converts the table that a statement changes.
    fn target(&mut self, factor: TableFactor, refused: &mut Option<Refused>) -> Target {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                with_ordinality,
                sample,
                // The dialect has none of these.
                version: _,
                partitions: _,
                json_path: _,
                index_hints: _,
            } => {
                let names_columns = alias
                    .as_ref()
                    .is_some_and(|alias| !alias.columns.is_empty());
                let foreign = refuse_first(&[
                    (args.is_some(), "arguments of a table"),
                    (with_ordinality, "WITH ORDINALITY of a table"),
                    (sample.is_some(), "TABLESAMPLE"),
                    (
                        names_columns,
                        "names for the columns of a table that is changed",
                    ),
                ]);
                if let Some(foreign) = foreign {
                    refused.get_or_insert(foreign);
                }
                let name = self.dotted_name(name);
                self.misplace_hints(&name, &with_hints);
                Target {
                    name,
                    alias: alias.map(|alias| self.name(alias.name)),
                }
            }
            _ => {
                let message = "only a table can be changed";
                let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
                refused.get_or_insert(Refused(error));
                Target::default()
            }
        }
    }

    fn assignments(&mut self, assignments: Vec<ast::Assignment>) -> Vec<Assignment> {
        let assignments = assignments
            .into_iter()
            .map(|assignment| match assignment.target {
                AssignmentTarget::ColumnName(column) => Assignment::Column {
                    column: self.dotted_name(column),
                    value: self.expr(assignment.value),
                },
                AssignmentTarget::Tuple(columns) => Assignment::Columns {
                    columns: self.dotted_names(columns),
                    row: self.assigned_row(assignment.value),
                },
            });
        assignments.collect()
    }

    /// Converts the row behind `SET (a, b) =`: a query, `(1, 2)`, `ROW (1, 2)`, or a single value in parentheses.
    fn assigned_row(&mut self, value: ast::Expr) -> AssignedRow {
        if let ast::Expr::Nested(value) = value {
            return AssignedRow::Values(vec![self.expr(*value)]);
        }
        let is_star = |item: &Expr| matches!(item.kind, ExprKind::RelationStar(_));
        match self.expr(value).kind {
            ExprKind::Subquery(query) => AssignedRow::Query(query),
            ExprKind::Row { items, .. } if !items.iter().any(is_star) => AssignedRow::Values(items),
            _ => {
                let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                AssignedRow::Refused(Refused(error))
            }
        }
    }

    fn returning(&mut self, items: Option<Vec<ast::SelectItem>>) -> Option<Vec<SelectItem>> {
        items.map(|items| self.select_items(items, "RETURNING"))
    }
}

fn refused_delete(refused: Refused) -> Delete {
    Delete {
        refused: Some(refused),
        ..Delete::default()
    }
}

/// Refuses clauses of other dialects that the parser knows.
fn refuse_foreign(insert: &ast::Insert) -> Option<Refused> {
    refuse_first(&[
        (insert.or.is_some(), "INSERT OR"),
        (insert.ignore, "INSERT IGNORE"),
        (insert.overwrite, "INSERT OVERWRITE"),
        (insert.partitioned.is_some(), "PARTITION"),
        (insert.replace_into, "REPLACE INTO"),
        (!insert.assignments.is_empty(), "INSERT ... SET"),
        (insert.insert_alias.is_some(), "an alias for the new row"),
    ])
}
