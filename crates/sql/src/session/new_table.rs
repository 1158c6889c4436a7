//! CREATE TABLE: columns and constraints from syntax.

use sqlparser::ast::{self, ColumnOption, CreateTable, GeneratedAs, TableConstraint};
use types::{Result, SqlError, SqlState};

use super::{
    Notice, Session, Sink,
    column_options::refuse_contradictions,
    foreign_key::{Written, refuse_deferrable},
    stored_text::{check_name, name_columns, stored, stored_default},
};
use catalog::{Catalog, Column, Generation, NameClass, NewCheck, NewTable, NewUnique, ObjectId};
use logical::{
    bind::{Binder, Parameters},
    collation, data_type,
};
use syntax::{name, phase, table_like::TableLike};

impl Session {
    /// `likes`: relations whose columns it has too.
    pub(super) async fn create_table(
        &self,
        create: &CreateTable,
        likes: &[TableLike],
        sink: &mut impl Sink,
    ) -> Result<()> {
        refuse_foreign(create)?;
        let catalog = self.changes.catalog();
        let (schema, name) = self.place(&catalog, &create.name)?;
        if create.if_not_exists && catalog.named(NameClass::Relation, schema, &name).is_some() {
            self.tell(sink, &Notice::exists_already("relation", &name));
            return Ok(());
        }
        let mut new = NewTable {
            schema,
            name,
            ..NewTable::default()
        };
        let mut sequences = Vec::new();
        let mut copied = Vec::with_capacity(likes.len());
        for written in 0..=create.columns.len() {
            for like in likes.iter().filter(|like| like.before == written) {
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
        phase::run(|| self.check_expressions(&self.changes.catalog(), &mut new)).await?;
        let table = self.ddl()?.create_table(new).await?;
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
        definition: &ast::ColumnDef,
        new: &mut NewTable,
    ) -> Result<()> {
        let (ty, modifier) =
            data_type::resolve(&definition.data_type, catalog, &self.inputs.search_path)?;
        refuse_contradictions(definition, &new.name)?;
        let name = name::fold(&definition.name);
        let at = u16::try_from(new.columns.len()).unwrap_or(u16::MAX);
        let mut column = Column {
            name: name.as_str().into(),
            ty,
            modifier,
            not_null: false,
            default: None,
            generation: None,
            dropped: false,
            missing: None,
        };
        for option in &definition.options {
            let constraint = option.name.as_ref().map(name::fold);
            match &option.option {
                ColumnOption::Null => {}
                ColumnOption::NotNull => column.not_null = true,
                ColumnOption::Default(value) => {
                    column.default = Some(stored_default(&self.names(catalog), value)?);
                }
                ColumnOption::PrimaryKey(key) => {
                    refuse_deferrable(key.characteristics.as_ref())?;
                    let constraint = constraint.unwrap_or_else(|| format!("{}_pkey", new.name));
                    set_primary_key(new, constraint, vec![at])?;
                }
                ColumnOption::Unique(unique) => {
                    refuse_deferrable(unique.characteristics.as_ref())?;
                    let constraint =
                        constraint.unwrap_or_else(|| format!("{}_{name}_key", new.name));
                    new.uniques.push(NewUnique {
                        name: constraint,
                        columns: vec![at],
                        nulls_not_distinct: false,
                    });
                }
                ColumnOption::Check(check) => {
                    let constraint = constraint
                        .unwrap_or_else(|| free_name(new, &format!("{}_{name}_check", new.name)));
                    new.checks.push(NewCheck {
                        name: constraint,
                        expression: stored(&self.names(catalog), &check.expr),
                        is_valid: true,
                    });
                }
                ColumnOption::Generated {
                    generated_as: GeneratedAs::ExpStored,
                    generation_expr: Some(value),
                    ..
                } => {
                    column.generation =
                        Some(Generation::Stored(stored(&self.names(catalog), value)));
                }
                // The column's sequence: `sequence_of`.
                ColumnOption::Generated {
                    generation_expr: None,
                    ..
                } => column.not_null = true,
                // Foreign keys are added when the table is there.
                ColumnOption::ForeignKey(_) => {}
                ColumnOption::Collation(collation) => collation::check(collation, ty, catalog)?,
                other => return Err(SqlError::unsupported(format_args!("column option {other}"))),
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
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                refuse_deferrable(key.characteristics.as_ref())?;
                let columns = positions(new, &key.columns)?;
                let name = key
                    .name
                    .as_ref()
                    .map_or_else(|| format!("{}_pkey", new.name), name::fold);
                set_primary_key(new, name, columns)
            }
            TableConstraint::Unique(unique) => {
                refuse_deferrable(unique.characteristics.as_ref())?;
                let columns = positions(new, &unique.columns)?;
                let name = unique
                    .name
                    .as_ref()
                    .map_or_else(|| unique_name(new, &columns), name::fold);
                let nulls_not_distinct =
                    unique.nulls_distinct == ast::NullsDistinctOption::NotDistinct;
                new.uniques.push(NewUnique {
                    name,
                    columns,
                    nulls_not_distinct,
                });
                Ok(())
            }
            TableConstraint::Check(check) => {
                let catalog = self.changes.catalog();
                let expression = stored(&self.names(&catalog), &check.expr);
                let unnamed =
                    || free_name(new, &check_name(&new.name, &new.columns, &expression.text));
                let name = check.name.as_ref().map_or_else(unnamed, name::fold);
                new.checks.push(NewCheck {
                    name,
                    expression,
                    is_valid: true,
                });
                Ok(())
            }
            // As those of columns.
            TableConstraint::ForeignKey(_) => Ok(()),
            other => Err(SqlError::unsupported(format_args!("constraint {other}"))),
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

/// What a unique constraint over these columns is called that has been given no name.
pub(super) fn unique_name(new: &NewTable, columns: &[u16]) -> String {
    let names = columns
        .iter()
        .map(|at| &*new.columns[usize::from(*at)].name);
    let names: Vec<&str> = names.collect();
    format!("{}_{}_key", new.name, names.join("_"))
}

pub(super) fn set_primary_key(new: &mut NewTable, name: String, columns: Vec<u16>) -> Result<()> {
    if new.primary_key.is_some() {
        let message = format!(
            "multiple primary keys for table \"{}\" are not allowed",
            new.name
        );
        return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    new.primary_key = Some((name, columns));
    Ok(())
}

fn free_name(new: &NewTable, wanted: &str) -> String {
    let taken = |name: &str| new.checks.iter().any(|check| check.name == name);
    if !taken(wanted) {
        return wanted.to_owned();
    }
    let mut numbered = (1..).map(|number| format!("{wanted}{number}"));
    numbered.find(|name| !taken(name)).unwrap_or_default()
}

fn positions(new: &NewTable, columns: &[ast::IndexColumn]) -> Result<Vec<u16>> {
    let mut found = Vec::with_capacity(columns.len());
    for column in columns {
        let ast::Expr::Identifier(ident) = &column.column.expr else {
            return Err(SqlError::unsupported("a key over an expression"));
        };
        let folded = name::fold(ident);
        let Some(at) = new
            .columns
            .iter()
            .position(|column| *column.name == *folded)
        else {
            let message = format!("column \"{folded}\" named in key does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
        };
        found.push(u16::try_from(at).unwrap_or(u16::MAX));
    }
    Ok(found)
}

fn refuse_foreign(create: &CreateTable) -> Result<()> {
    let foreign = [
        (create.inherits.is_some(), "INHERITS"),
        (
            create.partition_by.is_some() || create.partition_of.is_some(),
            "partitioning",
        ),
        (create.temporary, "a temporary table"),
        (create.or_replace, "OR REPLACE"),
        (create.external, "an external table"),
    ];
    match foreign.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(SqlError::unsupported(what)),
        None => Ok(()),
    }
}
