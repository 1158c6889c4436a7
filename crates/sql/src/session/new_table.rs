//! CREATE TABLE: its columns and constraints.

use types::{Result, SqlError, SqlState};

use super::{
    Session, Sink,
    column_options::refuse_contradictions,
    foreign_key::Written,
    stored_text::{check_name, name_columns, stored, stored_default},
};
use catalog::{Catalog, Column, Generation, NewCheck, NewTable, NewUnique, ObjectId};
use logical::{
    bind::{Binder, Parameters},
    collation, data_type,
};
use syntax::{
    name::Name,
    phase,
    statement::{ColumnDefinition, ColumnOptionKind, ConstraintKind, CreateTable, TableConstraint},
};

impl Session {
    pub(super) async fn create_table(
        &self,
        create: &CreateTable,
        sink: &mut impl Sink,
    ) -> Result<()> {
        // No table of another schema is in the way of a temporary one: IF NOT EXISTS is looked at later.
        if create.temporary {
            return Err(SqlError::unsupported("a temporary table"));
        }
        let catalog = self.transaction.catalog();
        let (schema, name) = self.place(&catalog, &create.name)?;
        if create.if_not_exists && self.is_taken(&catalog, schema, &name, sink) {
            return Ok(());
        }
        create.supported.clone()?;
        let mut new = NewTable {
            schema,
            name,
            ..NewTable::default()
        };
        let mut sequences = Vec::new();
        let mut copied = Vec::with_capacity(create.likes.len());
        for written in 0..=create.columns.len() {
            for like in create.likes.iter().filter(|like| like.before == written) {
                copied.push(self.copy_columns(&catalog, like, &mut new, &mut sequences)?);
            }
            if let Some(column) = create.columns.get(written) {
                let at = new.columns.len();
                let sequence = phase::run(|| {
                    self.column(&catalog, column, &mut new)?;
                    self.sequence_of(&new.name, at, &new.columns[at], column)
                });
                sequences.extend(sequence.await?);
            }
        }
        phase::run(|| {
            for constraint in &create.constraints {
                self.constraint(constraint, &mut new)?;
            }
            name_own_columns(&mut new, ObjectId::default());
            Ok(())
        })
        .await?;
        let sequences = self.create_column_sequences(&mut new, &sequences).await?;
        phase::run(|| self.check_expressions(&self.transaction.catalog(), &mut new)).await?;
        let table = self.transaction.ddl()?.create_table(new).await?;
        self.own_sequences(&table, &sequences).await?;
        for copied in &copied {
            self.copy_indexes(&table, copied).await?;
        }
        for written in Written::all(create) {
            self.add_foreign_key(table.id, &written, true).await?;
        }
        Ok(())
    }

    pub(super) fn column(
        &self,
        catalog: &Catalog,
        definition: &ColumnDefinition,
        new: &mut NewTable,
    ) -> Result<()> {
        let (ty, modifier) =
            data_type::resolve(&definition.data_type, catalog, self.settings.search_path())?;
        refuse_contradictions(definition, &new.name)?;
        let name = definition.name.as_str();
        let at = u16::try_from(new.columns.len()).unwrap_or(u16::MAX);
        let mut column = Column::new(name, ty, modifier);
        for option in &definition.options {
            let constraint = option.name.as_ref().map(|name| name.as_str().to_owned());
            match &option.kind {
                ColumnOptionKind::Null => {}
                ColumnOptionKind::NotNull => column.not_null = true,
                ColumnOptionKind::Default(value) => {
                    column.default = Some(stored_default(&self.names(catalog), value)?);
                }
                ColumnOptionKind::PrimaryKey => {
                    let constraint = constraint.unwrap_or_else(|| format!("{}_pkey", new.name));
                    set_primary_key(new, constraint, vec![at])?;
                }
                ColumnOptionKind::Unique => {
                    let constraint =
                        constraint.unwrap_or_else(|| format!("{}_{name}_key", new.name));
                    new.uniques.push(NewUnique {
                        name: constraint,
                        columns: vec![at],
                        nulls_not_distinct: false,
                    });
                }
                ColumnOptionKind::Check(condition) => {
                    let constraint = constraint.unwrap_or_else(|| {
                        free_check_name(new, &format!("{}_{name}_check", new.name))
                    });
                    new.checks.push(NewCheck {
                        name: constraint,
                        expression: stored(&self.names(catalog), condition),
                        is_valid: true,
                    });
                }
                ColumnOptionKind::Generated(value) => {
                    column.generation =
                        Some(Generation::Stored(stored(&self.names(catalog), value)));
                }
                // The column's sequence: `sequence_of`.
                ColumnOptionKind::Identity { .. } => column.not_null = true,
                // Foreign keys are added when the table is there.
                ColumnOptionKind::References(_) => {}
                ColumnOptionKind::Collation(collation) => collation::check(collation, ty, catalog)?,
                ColumnOptionKind::Refused(error) => return Err(error.clone()),
            }
        }
        new.columns.push(column);
        Ok(())
    }

    pub(super) fn constraint(
        &self,
        constraint: &TableConstraint,
        new: &mut NewTable,
    ) -> Result<()> {
        let given = constraint
            .name
            .as_ref()
            .map(|name| name.as_str().to_owned());
        match &constraint.kind {
            ConstraintKind::PrimaryKey(columns) => {
                let columns = positions(new, columns)?;
                let name = given.unwrap_or_else(|| format!("{}_pkey", new.name));
                set_primary_key(new, name, columns)
            }
            ConstraintKind::Unique {
                columns,
                nulls_not_distinct,
            } => {
                let columns = positions(new, columns)?;
                let name = given.unwrap_or_else(|| unique_name(new, &columns));
                new.uniques.push(NewUnique {
                    name,
                    columns,
                    nulls_not_distinct: *nulls_not_distinct,
                });
                Ok(())
            }
            ConstraintKind::Check(condition) => {
                let catalog = self.transaction.catalog();
                let expression = stored(&self.names(&catalog), condition);
                let unnamed =
                    || free_check_name(new, &check_name(&new.name, &new.columns, &expression.text));
                let name = given.unwrap_or_else(unnamed);
                new.checks.push(NewCheck {
                    name,
                    expression,
                    is_valid: true,
                });
                Ok(())
            }
            // Foreign keys are added when the table is there.
            ConstraintKind::ForeignKey { .. } => Ok(()),
            ConstraintKind::Refused(error) => Err(error.clone()),
        }
    }

    /// Defaults, checks and generated values have to be what can be bound; they are told what they
    /// refer to beside columns of the table.
    pub(super) fn check_expressions(&self, catalog: &Catalog, new: &mut NewTable) -> Result<()> {
        let bind_context = self.bind_context(catalog);
        let mut parameters = Parameters::default();
        let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
        for at in 0..new.columns.len() {
            let uses = binder.check_column(&new.name, &new.columns, &new.columns[at])?;
            new.columns[at].refers_to(uses);
        }
        for check in &mut new.checks {
            let uses = binder.check_condition(&new.name, &new.columns, &check.expression)?;
            check.expression.refers_to(uses);
        }
        Ok(())
    }
}

/// Has the expressions of a table say which of its columns they name.
pub(super) fn name_own_columns(new: &mut NewTable, table: ObjectId) {
    let columns = new.columns.clone();
    for column in &mut new.columns {
        if let Some(Generation::Stored(stored)) = &mut column.generation {
            name_columns(stored, &columns, table);
        }
    }
    for check in &mut new.checks {
        name_columns(&mut check.expression, &columns, table);
    }
}

/// Returns the name of a unique constraint over these columns that has been given none.
pub(super) fn unique_name(new: &NewTable, columns: &[u16]) -> String {
    let names = columns
        .iter()
        .map(|at| &*new.columns[usize::from(*at)].name);
    let names: Vec<&str> = names.collect();
    format!("{}_{}_key", new.name, names.join("_"))
}

pub(super) fn multiple_primary_keys(table: &str) -> SqlError {
    let message = format!("multiple primary keys for table \"{table}\" are not allowed");
    SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message)
}

pub(super) fn no_key_column(name: &str) -> SqlError {
    let message = format!("column \"{name}\" named in key does not exist");
    SqlError::new(SqlState::UNDEFINED_COLUMN, message)
}

pub(super) fn set_primary_key(new: &mut NewTable, name: String, columns: Vec<u16>) -> Result<()> {
    if new.primary_key.is_some() {
        return Err(multiple_primary_keys(&new.name));
    }
    new.primary_key = Some((name, columns));
    Ok(())
}

fn free_check_name(new: &NewTable, wanted: &str) -> String {
    free_name(wanted, |name| {
        !new.checks.iter().any(|check| check.name == name)
    })
}

/// Returns the columns that have not been dropped.
pub(super) fn live_columns(columns: &[Column]) -> Vec<Column> {
    let live = columns.iter().filter(|column| !column.dropped);
    live.cloned().collect()
}

/// Returns a wanted name if it is free, or one with a number behind it.
pub(super) fn free_name(wanted: &str, is_free: impl Fn(&str) -> bool) -> String {
    if is_free(wanted) {
        return wanted.to_owned();
    }
    let mut numbered = (1..).map(|number| format!("{wanted}{number}"));
    numbered.find(|name| is_free(name)).unwrap_or_default()
}

fn positions(new: &NewTable, columns: &[Name]) -> Result<Vec<u16>> {
    let mut found = Vec::with_capacity(columns.len());
    for column in columns {
        let folded = column.as_str();
        let mut columns = new.columns.iter();
        let at = columns.position(|column| *column.name == *folded);
        let at = at.ok_or_else(|| no_key_column(folded))?;
        found.push(u16::try_from(at).unwrap_or(u16::MAX));
    }
    Ok(found)
}
