//! The common parts of INSERT, UPDATE, DELETE and MERGE: the new row of a table, its constraints,
//! and RETURNING.

use std::{collections::HashMap, sync::Arc};

use types::{Result, SqlError, SqlState};

use super::{
    Binder,
    clause::Clause,
    index::is_immutable,
    scalar::place,
    scope::{Scope, Source, SourceColumn},
    select::Item,
};
use crate::{
    expression::{ColumnId, Expression, Kind},
    relation::{Check, Output, Relation},
};
use catalog::{Column, Dependency, Generation, IdentityMode, StoredExpression, Table};
use syntax::{
    change::{AssignedRow, Assignment, Overriding},
    expression::{Expr, Refused},
    name::{DottedName, Name},
    query::{Query, SelectItem},
};

/// The columns of a row that is about to be written, as checks and RETURNING name them.
pub(super) struct NewRow {
    /// By position in the table.
    pub(super) columns: Vec<ColumnId>,
    pub(super) checks: Vec<Check>,
    pub(super) generated: Vec<(usize, Expression)>,
}

/// A column that an expression of a definition names.
pub struct WrittenColumn {
    /// As SQL writes it.
    pub name: String,
    /// Type of the column.
    pub ty: types::Type,
    /// In its table.
    pub position: u16,
}

impl Binder<'_> {
    /// The table that a statement writes to, and its name there.
    pub(super) fn target(&mut self, name: &DottedName) -> Result<Arc<Table>> {
        let position = self.at(name.span());
        let qualified = name.qualified(self.database());
        let qualified = qualified.map_err(|error| place(error, position))?;
        self.writable(&qualified, position)
    }

    /// Columns for a table's row, by position, and a source that names them.
    pub(super) fn row_of(&mut self, table: &Arc<Table>, name: &str) -> (Vec<ColumnId>, Source) {
        let ids: Vec<ColumnId> = table.columns.iter().map(|_| self.new_column()).collect();
        let live = table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.dropped);
        let columns = live.map(|(at, column)| SourceColumn {
            attribute: Some(at),
            ..SourceColumn::new(column.name.to_string(), ids[at], column.ty, column.modifier)
        });
        let source = Source {
            name: Some(name.to_owned()),
            schema: None,
            columns: columns.collect(),
            table: Some(table.clone()),
            below_join: false,
        };
        (ids, source)
    }

    /// A new row of a table with what is computed from it.
    pub(super) fn new_row(&mut self, table: &Arc<Table>) -> Result<NewRow> {
        let (columns, source) = self.row_of(table, &table.name);
        let mut scope = Scope::default();
        scope.add(source)?;
        let mut checks = Vec::with_capacity(table.checks.len());
        for check in table.checks.iter() {
            let predicate =
                self.stored_expression(&check.expression, &scope, "check constraints")?;
            checks.push(Check {
                name: check.name.clone(),
                predicate,
            });
        }
        checks.extend(self.index_checks(table, &columns)?);
        let mut generated = Vec::new();
        for (at, column) in table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.dropped)
        {
            if let Some(Generation::Stored(stored)) = &column.generation {
                let value =
                    self.stored_expression(stored, &scope, "column generation expressions")?;
                generated.push((at, self.assigned(value, column, None)?));
            }
        }
        Ok(NewRow {
            columns,
            checks,
            generated,
        })
    }

    /// Binds an expression that the catalog keeps as text. A literal without a type stays so.
    pub(super) fn stored_expression(
        &mut self,
        stored: &StoredExpression,
        scope: &Scope<'_>,
        place: &'static str,
    ) -> Result<Expression> {
        let parsed = syntax::parse_expression(&stored.text)?;
        let mut clause = Clause::plain(place);
        let bound = self.stored_text(&stored.search_path, |binder| {
            binder.scalar(parsed.tree(), scope, &mut clause)
        });
        if !clause.subqueries.is_empty() {
            let singular = place.strip_suffix('s').unwrap_or(place);
            let message = format!("cannot use subquery in {singular}");
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        bound
    }

    /// An expression over a table's columns as it was written, for those who show it: a literal that
    /// nothing gives a type has `ty`, and nothing else is converted. With what each column is.
    ///
    /// # Errors
    /// Those of binding.
    pub fn as_written(
        &mut self,
        table: &Table,
        text: &str,
        ty: Option<types::Type>,
    ) -> Result<(Expression, HashMap<ColumnId, WrittenColumn>)> {
        let scope = self.new_columns(&table.name, &table.columns)?;
        let parsed = syntax::parse_expression(text)?;
        let mut clause = Clause::plain("expressions of definitions");
        let mut bound = self.scalar(parsed.tree(), &scope, &mut clause)?;
        if !clause.subqueries.is_empty() {
            return Err(SqlError::unsupported("a subquery in a definition"));
        }
        bound = match ty {
            Some(ty) if bound.ty == types::Type::Unknown => {
                self.coerce(bound, ty, types::TypeModifier::NONE, None)?
            }
            _ => self.known(bound)?,
        };
        let columns = scope.sources.iter().flat_map(|source| &source.columns);
        let columns = columns.zip(0..).filter_map(|(column, position)| {
            let crate::expression::Kind::Column(id) = column.value.kind else {
                return None;
            };
            let written = WrittenColumn {
                name: functions::quoted_identifier(&column.name).into_owned(),
                ty: column.value.ty,
                position,
            };
            Some((id, written))
        });
        Ok((bound, columns.collect()))
    }

    /// Whether a new column's default and generated value can be computed; what they refer to beside
    /// columns of the table.
    ///
    /// # Errors
    /// Those of binding.
    pub fn check_column(
        &mut self,
        table: &str,
        columns: &[Column],
        column: &Column,
    ) -> Result<Vec<Dependency>> {
        self.default_of(column, &mut Clause::plain("DEFAULT"))?;
        if let Some(Generation::Stored(stored)) = &column.generation {
            let scope = self.new_columns(table, columns)?;
            let value = self.stored_expression(stored, &scope, "column generation expressions")?;
            let used = value.columns();
            let sources = scope.all_columns().zip(columns);
            let generated = sources
                .filter(|(_, column)| matches!(column.generation, Some(Generation::Stored(_))));
            for (source, column) in generated {
                if source.value.columns().iter().any(|id| used.contains(id)) {
                    let message = format!(
                        "cannot use generated column \"{}\" in column generation expression",
                        column.name
                    );
                    let error = SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message);
                    let detail = "A generated column cannot reference another generated column.";
                    return Err(error.detail(detail));
                }
            }
            if !is_immutable(&self.assigned(value, column, None)?) {
                let message = "generation expression is not immutable";
                return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
            }
        }
        Ok(self.take_uses())
    }

    /// A column's default if it is the same for all rows of a statement; NULL if it has none.
    ///
    /// # Errors
    /// Those of binding.
    pub fn default_if_fixed(&mut self, column: &Column) -> Result<Option<Expression>> {
        if matches!(column.generation, Some(Generation::Stored(_))) {
            return Ok(None);
        }
        let mut clause = Clause::plain("DEFAULT");
        let value = self.default_of(column, &mut clause)?;
        Ok((clause.subqueries.is_empty() && value.is_stable()).then_some(value))
    }

    /// Whether a check of a new table is a condition over its columns; what it refers to beside these.
    ///
    /// # Errors
    /// Those of binding; 42804 if it is no condition.
    pub fn check_condition(
        &mut self,
        table: &str,
        columns: &[Column],
        stored: &StoredExpression,
    ) -> Result<Vec<Dependency>> {
        let scope = self.new_columns(table, columns)?;
        let value = self.stored_expression(stored, &scope, "check constraints")?;
        if value.ty != super::scalar::BOOL {
            let message = format!(
                "argument of CHECK must be type boolean, not type {}",
                self.type_name(value.ty)
            );
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        Ok(self.take_uses())
    }

    fn new_columns(&mut self, table: &str, columns: &[Column]) -> Result<Scope<'static>> {
        let columns = columns.iter().map(|column| {
            SourceColumn::new(
                column.name.to_string(),
                self.new_column(),
                column.ty,
                column.modifier,
            )
        });
        let columns = columns.collect();
        let mut scope = Scope::default();
        scope.add(Source {
            name: Some(table.to_owned()),
            schema: None,
            columns,
            table: None,
            below_join: false,
        })?;
        Ok(scope)
    }

    /// Binds the value that a column has where a statement gives nothing. It may be computed from columns that
    /// what the clause has is to be applied for.
    pub(super) fn default_of(
        &mut self,
        column: &Column,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let value = match (&column.generation, &column.default) {
            (Some(Generation::Identity { sequence, .. }), _) => {
                self.next_value_of(*sequence, clause)
            }
            (_, Some(stored)) => self.stored_default(stored, clause)?,
            (_, None) => Expression::null(column.ty),
        };
        self.assigned(value, column, None)
    }

    /// A value as it is stored in a column: of its type, cut and rounded as that says.
    pub(super) fn assigned(
        &mut self,
        value: Expression,
        column: &Column,
        position: Option<u32>,
    ) -> Result<Expression> {
        self.assign(value, column.ty, column.modifier, &column.name, position)
    }

    /// A position among a table's columns by name.
    pub(super) fn column_of(&self, table: &Table, name: &Name) -> Result<usize> {
        let folded = name.as_str();
        table.column(folded).map(|(at, _)| at).ok_or_else(|| {
            let message = format!(
                "column \"{folded}\" of relation \"{}\" does not exist",
                table.name
            );
            place(
                SqlError::new(SqlState::UNDEFINED_COLUMN, message),
                self.at(name.span()),
            )
        })
    }

    /// Binds `SET column = value, ...`, as positions and values over the scope.
    pub(super) fn assignments(
        &mut self,
        table: &Arc<Table>,
        assignments: &[Assignment],
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Vec<(usize, Expression)>> {
        let mut bound = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            match assignment {
                Assignment::Column { column, value } => {
                    let at = self.assigned_column(table, column)?;
                    let value = self.new_value(table, at, value, scope, clause)?;
                    bound.push((at, value));
                }
                Assignment::Columns { columns, row } => {
                    let columns = columns.iter().map(|name| self.assigned_column(table, name));
                    let columns: Vec<usize> = columns.collect::<Result<_>>()?;
                    let values = match row {
                        AssignedRow::Query(query) => {
                            let values = self.values_of(query, table, &columns, scope, clause)?;
                            bound.extend(columns.into_iter().zip(values));
                            continue;
                        }
                        AssignedRow::Values(values) => values,
                        AssignedRow::Refused(Refused(error)) => return Err(error.clone()),
                    };
                    refuse_other_number(columns.len(), values.len())?;
                    for (at, value) in columns.into_iter().zip(values) {
                        bound.push((at, self.new_value(table, at, value, scope, clause)?));
                    }
                }
            }
        }
        for (done, (at, _)) in bound.iter().enumerate() {
            if bound[..done].iter().any(|(other, _)| other == at) {
                let message = format!(
                    "multiple assignments to same column \"{}\"",
                    table.columns[*at].name
                );
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
        }
        Ok(bound)
    }

    fn assigned_column(&self, table: &Table, name: &DottedName) -> Result<usize> {
        match name.parts() {
            [column] => self.column_of(table, column),
            _ => {
                let message = format!(
                    "column \"{name}\" of relation \"{}\" does not exist",
                    table.name
                );
                let error = SqlError::new(SqlState::UNDEFINED_COLUMN, message);
                Err(place(error, self.at(name.span())))
            }
        }
    }

    /// `SET (a, b) = (SELECT ...)`: the subquery's row is one value, whose fields the columns get.
    fn values_of(
        &mut self,
        query: &Query,
        table: &Arc<Table>,
        columns: &[usize],
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Vec<Expression>> {
        let types = columns.iter().map(|at| table.columns[*at].ty);
        self.wanted = types.collect();
        let (mut relation, outputs) = self.query(query, &Scope::within(Some(scope)))?;
        refuse_other_number(columns.len(), outputs.len())?;
        self.known_outputs(&outputs)?;
        let fields = outputs.iter().map(|output| {
            let value = Expression::column(output.column, output.ty, output.modifier);
            (output.name.clone(), value)
        });
        let row = self.record(fields.collect());
        let column = self.new_column();
        relation = Relation::Compute {
            input: Box::new(relation),
            columns: vec![(column, row)],
        };
        let row = self.row_subquery(column, relation, clause);
        let mut values = Vec::with_capacity(columns.len());
        for (position, (at, output)) in columns.iter().zip(&outputs).enumerate() {
            let column = &table.columns[*at];
            self.writable_column(column, clause.name, None)?;
            let field = Expression {
                kind: Kind::Field {
                    record: Box::new(row.clone()),
                    position,
                },
                ty: output.ty,
                modifier: output.modifier,
            };
            values.push(self.assigned(field, column, None)?);
        }
        Ok(values)
    }

    /// The value that a statement gives a column; `DEFAULT` is the column's own.
    pub(super) fn new_value(
        &mut self,
        table: &Arc<Table>,
        at: usize,
        value: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let column = &table.columns[at];
        let is_replaced = self.overriding == Some(Overriding::User)
            && matches!(column.generation, Some(Generation::Identity { .. }));
        if value.is_default() || is_replaced {
            return self.default_of(column, clause);
        }
        self.writable_column(column, clause.name, self.position(value))?;
        let bound = self.scalar_for(value, column.ty, false, scope, clause)?;
        self.assigned(bound, column, self.position(value))
    }

    /// Whether a statement may give a column a value of its own.
    pub(super) fn writable_column(
        &self,
        column: &Column,
        clause: &str,
        position: Option<u32>,
    ) -> Result<()> {
        let why = match column.generation {
            Some(Generation::Stored(_)) => {
                format!("Column \"{}\" is a generated column.", column.name)
            }
            Some(Generation::Identity {
                mode: IdentityMode::Always,
                ..
            }) if self.overriding != Some(Overriding::System) => {
                format!(
                    "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                    column.name
                )
            }
            _ => return Ok(()),
        };
        let is_identity = !matches!(column.generation, Some(Generation::Stored(_)));
        let name = &column.name;
        let error = if clause == "UPDATE" {
            let message = format!("column \"{name}\" can only be updated to DEFAULT");
            SqlError::new(SqlState::GENERATED_ALWAYS, message)
        } else {
            let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
            SqlError::new(SqlState::GENERATED_ALWAYS, message)
        };
        let error = error.detail(why);
        let hint = "Use OVERRIDING SYSTEM VALUE to override.";
        Err(place(
            match is_identity && clause != "UPDATE" {
                true => error.hint(hint),
                false => error,
            },
            position,
        ))
    }

    /// Binds RETURNING, over rows that have the scope's columns.
    pub(super) fn returning(
        &mut self,
        relation: Relation,
        returning: Option<&[SelectItem]>,
        scope: &Scope<'_>,
    ) -> Result<(Relation, Vec<Output>)> {
        let Some(returning) = returning else {
            return Ok((relation, Vec::new()));
        };
        let mut clause = Clause::plain("RETURNING");
        let mut items = Vec::new();
        for (place, item) in returning.iter().enumerate() {
            let item_of = |column: &SourceColumn| Item {
                name: column.name.clone(),
                value: column.value.clone(),
                place,
            };
            match item {
                SelectItem::Value { value, alias } => {
                    let bound = self.typed(value, scope, &mut clause)?;
                    items.push(Item {
                        name: self.item_name(value, alias.as_ref()),
                        value: bound,
                        place,
                    });
                }
                SelectItem::Star => items.extend(scope.all_columns().map(item_of)),
                SelectItem::RelationStar(relation) => {
                    items.extend(self.columns_of(relation, scope)?.map(item_of));
                }
                SelectItem::Refused(Refused(error)) => return Err(error.clone()),
            }
        }
        let relation = super::select::applied(relation, clause.subqueries);
        let (columns, outputs) = self.outputs(items, scope);
        Ok((super::query::computed(relation, columns), outputs))
    }
}

fn refuse_other_number(columns: usize, values: usize) -> Result<()> {
    if columns == values {
        return Ok(());
    }
    let message = "number of columns does not match number of values";
    Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
}
