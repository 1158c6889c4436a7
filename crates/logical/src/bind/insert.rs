//! `INSERT INTO ... [ON CONFLICT ...] [RETURNING ...]`

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{
    Binder,
    clause::Clause,
    query::listed,
    scalar::place,
    scope::{Reach, Scope, Source},
    select::applied,
    write::NewRow,
};
use crate::{
    expression::Expression,
    relation::{ConflictUpdate, Insert, OnConflict, Output, Relation},
};
use catalog::{Generation, RowKey, Table};
use syntax::{
    change::{self, ConflictTarget, Overriding},
    expression::Expr,
    name::DottedName,
    query::{Query, QueryBody},
};

impl Binder<'_> {
    /// Binds an INSERT; its outputs are those of RETURNING.
    pub(super) fn insert(&mut self, insert: &change::Insert) -> Result<(Relation, Vec<Output>)> {
        let table = self.target(&insert.target.name)?;
        let alias = insert.target.alias.as_ref();
        let alias = alias.map(|alias| alias.as_str().to_owned());
        let alias = alias.unwrap_or_else(|| table.name.to_string());
        let targets = self.insert_columns(&table, &insert.columns)?;
        let outer = std::mem::replace(&mut self.overriding, insert.overriding);
        let (input, given) = match &insert.source {
            None => (super::from::no_columns(), Vec::new()),
            Some(query) => {
                self.insert_source(&table, query, &targets, insert.columns.is_empty())?
            }
        };
        self.overriding = outer;
        let mut clause = Clause::plain("DEFAULT");
        let values = self.filled(&table, given, &mut clause)?;
        let input = applied(input, clause.subqueries);
        let NewRow {
            columns: new,
            checks,
            generated,
        } = self.new_row(&table)?;
        let on_conflict = insert.on_conflict.as_ref();
        let on_conflict = on_conflict.map(|written| self.on_conflict(&table, &alias, written));
        let on_conflict = on_conflict.transpose()?;
        let mut scope = Scope::default();
        let mut shown = self.source_of(&table, &alias, &new);
        if insert.target.alias.is_none() {
            shown.schema = Some(self.catalog.schema_name(table.schema).to_owned());
        }
        scope.add(shown)?;
        let relation = Relation::Insert(Box::new(Insert {
            table,
            input,
            values,
            on_conflict,
            new,
            checks,
            generated,
        }));
        self.returning(relation, insert.returning.as_deref(), &scope)
    }

    /// The columns that an INSERT names, by position; all of them if it names none.
    pub(super) fn insert_columns(
        &mut self,
        table: &Table,
        names: &[DottedName],
    ) -> Result<Vec<usize>> {
        if names.is_empty() {
            let live = table
                .columns
                .iter()
                .enumerate()
                .filter(|(_, column)| !column.dropped);
            return Ok(live.map(|(at, _)| at).collect());
        }
        let mut targets = Vec::with_capacity(names.len());
        for name in names {
            let [column] = name.parts() else {
                return Err(SqlError::unsupported(format_args!("column name {name}")));
            };
            let at = self.column_of(table, column)?;
            if targets.contains(&at) {
                let message = format!(
                    "column \"{}\" specified more than once",
                    table.columns[at].name
                );
                let error = SqlError::new(SqlState::DUPLICATE_COLUMN, message);
                return Err(place(error, self.at(column.span())));
            }
            targets.push(at);
        }
        Ok(targets)
    }

    /// The rows to be put in, and for the columns that they give, the value.
    fn insert_source(
        &mut self,
        table: &Arc<Table>,
        query: &Query,
        targets: &[usize],
        all: bool,
    ) -> Result<(Relation, Vec<(usize, Expression)>)> {
        if let QueryBody::Values(rows) = &query.body
            && query.is_bare()
        {
            return self.insert_values(table, rows, targets, all);
        }
        // Literals without a type are of the columns that they go into.
        if let QueryBody::Select(select) = &query.body
            && select.distinct.is_none()
        {
            self.wanted = targets.iter().map(|at| table.columns[*at].ty).collect();
        }
        let (relation, outputs) = self.query(query, &Scope::default())?;
        let targets = self.matching(targets, outputs.len(), all)?;
        let mut given = Vec::with_capacity(outputs.len());
        for (&at, output) in targets.iter().zip(&outputs) {
            let column = &table.columns[at];
            if self.overriding == Some(Overriding::User)
                && matches!(column.generation, Some(Generation::Identity { .. }))
            {
                continue;
            }
            self.writable_column(column, "INSERT", None)?;
            let value = Expression::column(output.column, output.ty, output.modifier);
            given.push((at, self.assigned(value, &table.columns[at], None)?));
        }
        Ok((relation, given))
    }

    fn insert_values(
        &mut self,
        table: &Arc<Table>,
        written: &[Vec<Expr>],
        targets: &[usize],
        all: bool,
    ) -> Result<(Relation, Vec<(usize, Expression)>)> {
        let width = written.first().map_or(0, Vec::len);
        let targets = self.matching(targets, width, all)?.to_vec();
        let scope = Scope::default();
        let mut clause = Clause::plain("VALUES");
        let mut rows = Vec::with_capacity(written.len());
        for row in written {
            if row.len() != width {
                let message = "VALUES lists must all be the same length";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
            let mut bound = Vec::with_capacity(width);
            for (&at, value) in targets.iter().zip(row) {
                bound.push(self.new_value(table, at, value, &scope, &mut clause)?);
            }
            rows.push(bound);
        }
        // A single row needs no relation: its values are computed where they are used.
        if let [_] = rows.as_slice() {
            let input = applied(super::from::no_columns(), clause.subqueries);
            let row = rows.pop().unwrap_or_default();
            return Ok((input, targets.into_iter().zip(row).collect()));
        }
        let columns: Vec<_> = targets.iter().map(|_| self.new_column()).collect();
        let given = targets.iter().zip(&columns).map(|(&at, &id)| {
            let column = &table.columns[at];
            (at, Expression::column(id, column.ty, column.modifier))
        });
        let given = given.collect();
        Ok((listed(columns, rows, clause.subqueries), given))
    }

    fn matching<'t>(&self, targets: &'t [usize], given: usize, all: bool) -> Result<&'t [usize]> {
        if given > targets.len() {
            let message = "INSERT has more expressions than target columns";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        if given < targets.len() && !all {
            let message = "INSERT has more target columns than expressions";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        Ok(&targets[..given])
    }

    /// A value for each column of a table, by position: given, or its default.
    pub(super) fn filled(
        &mut self,
        table: &Arc<Table>,
        given: Vec<(usize, Expression)>,
        clause: &mut Clause<'_>,
    ) -> Result<Vec<Expression>> {
        let mut given: Vec<Option<Expression>> = {
            let mut slots = vec![None; table.columns.len()];
            for (at, value) in given {
                slots[at] = Some(value);
            }
            slots
        };
        let columns = table.columns.iter().zip(&mut given);
        let values = columns.map(|(column, given)| match given.take() {
            Some(value) => Ok(value),
            None if column.dropped || matches!(column.generation, Some(Generation::Stored(_))) => {
                Ok(Expression::null(column.ty))
            }
            None => self.default_of(column, clause),
        });
        values.collect()
    }

    /// A source with given columns for a table's row.
    pub(super) fn source_of(
        &self,
        table: &Arc<Table>,
        name: &str,
        ids: &[crate::expression::ColumnId],
    ) -> Source {
        let live = table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.dropped);
        let columns = live.map(|(at, column)| super::scope::SourceColumn {
            attribute: Some(at),
            ..super::scope::SourceColumn::new(
                column.name.to_string(),
                ids[at],
                column.ty,
                column.modifier,
            )
        });
        Source {
            name: Some(name.to_owned()),
            schema: None,
            columns: columns.collect(),
            table: Some(table.clone()),
            below_join: false,
        }
    }

    fn on_conflict(
        &mut self,
        table: &Arc<Table>,
        alias: &str,
        on_conflict: &change::OnConflict,
    ) -> Result<OnConflict> {
        let arbiters = match &on_conflict.target {
            None => Vec::new(),
            Some(ConflictTarget::Columns(columns)) => {
                let columns = columns.iter().map(|name| self.column_of(table, name));
                unique_over(table, &columns.collect::<Result<Vec<_>>>()?)
            }
            Some(ConflictTarget::Constraint(name)) => {
                let name = name.qualified(self.database())?.name;
                let constraint = unique_named(table, &name);
                constraint.map(|found| vec![found]).ok_or_else(|| {
                    let message = format!(
                        "constraint \"{name}\" for table \"{}\" does not exist",
                        table.name
                    );
                    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
                })?
            }
        };
        if arbiters.is_empty() && on_conflict.target.is_some() {
            return Err(SqlError::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            ));
        }
        let update = match &on_conflict.update {
            None => None,
            Some(update) => {
                if on_conflict.target.is_none() {
                    return Err(SqlError::new(
                        SqlState::SYNTAX_ERROR,
                        "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                    )
                    .hint("For example, ON CONFLICT (column_name)."));
                }
                Some(self.conflict_update(table, alias, update)?)
            }
        };
        Ok(OnConflict { arbiters, update })
    }

    fn conflict_update(
        &mut self,
        table: &Arc<Table>,
        alias: &str,
        update: &change::ConflictUpdate,
    ) -> Result<ConflictUpdate> {
        let (old, source) = self.row_of(table, alias);
        let (excluded, excluded_source) = self.row_of(table, "excluded");
        let mut scope = Scope::default();
        scope.add(source)?;
        scope.add(excluded_source)?;
        // A column's bare name is the row's that is there.
        let mut clause = Clause::plain("UPDATE");
        let own = Preferred::over(&scope);
        let assignments = self.assignments(table, &update.assignments, &own.0, &mut clause)?;
        let predicate = match &update.condition {
            Some(condition) => {
                clause.name = "WHERE";
                Some(self.condition(condition, &own.0, &mut clause)?)
            }
            None => None,
        };
        if !clause.subqueries.is_empty() {
            return Err(SqlError::unsupported("a subquery in ON CONFLICT DO UPDATE"));
        }
        Ok(ConflictUpdate {
            old,
            excluded,
            assignments,
            predicate,
        })
    }
}

/// A scope in which bare names are those of the first source.
struct Preferred<'p>(Scope<'p>);

impl<'p> Preferred<'p> {
    fn over(scope: &Scope<'p>) -> Self {
        let mut sources = scope.sources.clone();
        for source in sources.iter_mut().skip(1) {
            source
                .columns
                .iter_mut()
                .for_each(|column| column.reach = Reach::Relation);
        }
        Self(Scope {
            parent: scope.parent,
            sources,
            ..Scope::default()
        })
    }
}

/// The unique keys over just these columns: indexes by position, `None` for the rows' own.
fn unique_over(table: &Table, columns: &[usize]) -> Vec<Option<usize>> {
    let same = |key: &[u16]| {
        key.len() == columns.len()
            && columns
                .iter()
                .all(|at| key.iter().any(|other| usize::from(*other) == *at))
    };
    let own = match &table.row_key {
        RowKey::Columns(key) if same(key) => Some(None),
        _ => None,
    };
    let indexes = table.indexes.iter().enumerate().filter(|(_, index)| {
        index.unique
            && index.is_valid
            && index.predicate.is_none()
            && index.key_columns().is_some_and(|key| same(&key))
    });
    own.into_iter()
        .chain(indexes.map(|(at, _)| Some(at)))
        .collect()
}

/// Returns the unique key that a constraint of this name is. An index that is no constraint is none,
/// and may be partial or over expressions.
fn unique_named(table: &Table, name: &str) -> Option<Option<usize>> {
    let key = table.primary_key.iter().map(|key| (&key.name, key.index));
    let uniques = table.uniques.iter();
    let uniques = uniques.map(|unique| (&unique.name, Some(unique.index)));
    let mut constraints = key.chain(uniques);
    let (_, index) = constraints.find(|(other, _)| ***other == *name)?;
    let Some(id) = index else {
        return Some(None);
    };
    table
        .indexes
        .iter()
        .position(|index| index.id == id)
        .map(Some)
}
