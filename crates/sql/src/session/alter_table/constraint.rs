//! Constraints: added to a table with rows, dropped, validated.
//!
//! # The primary key
//! A table that is created with a primary key has its rows under it. One that gets it later has
//! its rows copied under it, too: then a lookup is one descent and not two, and nothing besides
//! the rows is to be maintained. That costs writing all rows once, and memory for both copies
//! until the transaction has ended; an index would cost something with each later access. Dropping
//! such a key, or a column of it, copies the rows under hidden numbers again.

use std::sync::Arc;

use engine::TableLockMode;
use types::{Result, SqlError, SqlState};

use super::{
    super::{
        Session,
        define::duplicate_relation,
        foreign_key::Written,
        new_table::{free_name, live_columns, multiple_primary_keys, no_key_column},
        stored_text::{check_name, name_columns, stored},
    },
    column::contains_nulls,
    rewrite::violated_by_some,
};
use catalog::{
    Behavior, Check, Constraint, IndexColumn, IndexKey, NameClass, NewCheck, NewIndex, NewTable,
    ObjectId, PrimaryKey, RowKey, StoredExpression, Table, Target, Unique,
};
use logical::bind::{Binder, Parameters};
use syntax::{
    Expression,
    name::{self, Name},
    phase,
    statement::{ConstraintKind, TableConstraint},
};

impl Session {
    pub(super) async fn add_constraint(
        &self,
        id: ObjectId,
        constraint: &TableConstraint,
        is_valid: bool,
    ) -> Result<()> {
        let table = self.table_now(id)?;
        let name = constraint
            .name
            .as_ref()
            .map(|name| name.as_str().to_owned());
        match &constraint.kind {
            ConstraintKind::PrimaryKey(columns) => {
                let columns = positions(&table, columns)?;
                self.add_primary_key(id, name, columns).await
            }
            ConstraintKind::Unique {
                columns,
                nulls_not_distinct,
            } => {
                let columns = positions(&table, columns)?;
                self.add_unique(id, name, columns, *nulls_not_distinct)
                    .await
            }
            ConstraintKind::Check(condition) => {
                let (name, expression) = phase::run(|| {
                    let name = name.unwrap_or_else(|| self.check_name(&table, condition));
                    let names = self.transaction.catalog();
                    let mut expression = stored(&self.names(&names), condition);
                    name_columns(&mut expression, &table.columns, id);
                    Ok((name, expression))
                })
                .await?;
                self.add_check(id, name, expression, is_valid).await
            }
            ConstraintKind::ForeignKey { columns, key } => {
                let written = Written::of_table(constraint, columns, key);
                self.add_foreign_key(id, &written, is_valid).await
            }
            ConstraintKind::Refused(error) => Err(error.clone()),
        }
    }

    /// The constraints that a new column was defined with.
    pub(super) async fn add_constraints_of(&self, id: ObjectId, draft: NewTable) -> Result<()> {
        if let Some((name, columns)) = draft.primary_key {
            self.add_primary_key(id, Some(name), columns).await?;
        }
        for unique in draft.uniques {
            let (name, columns) = (Some(unique.name), unique.columns);
            self.add_unique(id, name, columns, unique.nulls_not_distinct)
                .await?;
        }
        for check in draft.checks {
            self.add_check(id, check.name, check.expression, true)
                .await?;
        }
        Ok(())
    }

    async fn add_primary_key(
        &self,
        id: ObjectId,
        name: Option<String>,
        columns: Vec<u16>,
    ) -> Result<()> {
        let table = self.table_now(id)?;
        if table.primary_key.is_some() {
            return Err(multiple_primary_keys(&table.name));
        }
        let ddl = self.transaction.ddl()?;
        let name = match name {
            Some(name) => self.free_relation(&table, name)?,
            None => ddl.choose_name(table.schema, &table.name, None, "pkey", |_| false),
        };
        is_free(&table, &name)?;
        let number = ddl.new_id().await?;
        let edit = |table: &mut Table| {
            let mut all = table.columns.to_vec();
            all.iter_mut().for_each(|column| column.missing = None);
            table.columns = all.into();
            let columns: Arc<[u16]> = columns.into();
            table.row_key = RowKey::Columns(columns.clone());
            table.set_primary_key(PrimaryKey {
                name: name.into(),
                id: number,
                columns,
                index: None,
            });
        };
        self.rewrite(id, edit, &[]).await.map(drop)
    }

    /// Takes the primary key from a table whose rows lie under it, because the key or one of its
    /// columns goes.
    pub(super) async fn unkey(&self, id: ObjectId, goes: Target, behavior: Behavior) -> Result<()> {
        let ddl = self.transaction.ddl()?;
        ddl.drop_dependents(goes, behavior).await?;
        let edit = |table: &mut Table| {
            let mut all = table.columns.to_vec();
            all.iter_mut().for_each(|column| column.missing = None);
            table.columns = all.into();
            (table.row_key, table.primary_key) = (RowKey::Hidden, None);
        };
        self.rewrite(id, edit, &[]).await.map(drop)
    }

    async fn add_unique(
        &self,
        id: ObjectId,
        name: Option<String>,
        columns: Vec<u16>,
        nulls_not_distinct: bool,
    ) -> Result<()> {
        let table = self.table_now(id)?;
        let ddl = self.transaction.ddl()?;
        let column = |position: &u16| &table.columns[usize::from(*position)];
        let name = match name {
            Some(name) => self.free_relation(&table, name)?,
            None => {
                let names: Vec<_> = columns.iter().map(|at| &*column(at).name).collect();
                let joined = names.join("_");
                ddl.choose_name(table.schema, &table.name, Some(&joined), "key", |_| false)
            }
        };
        let keys = columns.iter().map(|position| IndexColumn {
            key: IndexKey::Column(*position),
            ty: column(position).ty,
            descending: false,
            nulls_first: false,
        });
        let index = NewIndex {
            name,
            unique: true,
            nulls_not_distinct,
            columns: keys.collect(),
            constraint: Some(Constraint::Unique),
            ..NewIndex::default()
        };
        ddl.create_index(id, index).await.map(drop)
    }

    async fn add_check(
        &self,
        id: ObjectId,
        name: String,
        mut expression: StoredExpression,
        is_valid: bool,
    ) -> Result<()> {
        let table = self.table_now(id)?;
        is_free(&table, &name)?;
        phase::run(|| {
            let catalog = self.transaction.catalog();
            let bind_context = self.bind_context(&catalog);
            let mut parameters = Parameters::default();
            let mut binder = Binder::for_definitions(&bind_context, &mut parameters);
            let live = live_columns(&table.columns);
            let uses = binder.check_condition(&table.name, &live, &expression)?;
            expression.refers_to(uses);
            Ok(())
        })
        .await?;
        if is_valid {
            self.all_satisfy(&table, &name, &expression).await?;
        }
        let check = NewCheck {
            name,
            expression,
            is_valid,
        };
        self.transaction.ddl()?.add_check(id, check).await.map(drop)
    }

    /// # Errors
    /// 23514, if a row does not satisfy a check.
    async fn all_satisfy(
        &self,
        table: &Table,
        name: &str,
        expression: &StoredExpression,
    ) -> Result<()> {
        let condition = format!("not ({})", expression.text);
        match self.has_row(table, &condition).await? {
            true => Err(violated_by_some(table, name)),
            false => Ok(()),
        }
    }

    /// A check's name if none was given.
    fn check_name(&self, table: &Table, expression: &Expression) -> String {
        let prefix = check_name(&table.name, &table.columns, &expression.to_string());
        free_name(&prefix, |name| is_free(table, name).is_ok())
    }

    pub(super) async fn add_index_constraint(
        &self,
        id: ObjectId,
        written: Option<&Name>,
        is_primary: bool,
        index: &Name,
    ) -> Result<()> {
        let table = self.table_now(id)?;
        let index_name = index.as_str();
        let Some(index) = table.index_named(index_name) else {
            let message = format!("index \"{index_name}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
        };
        let wrong = |why: &str| {
            let message = format!("\"{index_name}\" {why}");
            let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
            Err(error
                .detail("Cannot create a primary key or unique constraint using such an index."))
        };
        let key = index.key_columns();
        let Some(columns) = key.filter(|_| index.predicate.is_none()) else {
            return match index.predicate {
                Some(_) => wrong("is a partial index"),
                None => wrong("contains expressions"),
            };
        };
        if !index.unique {
            return wrong("is not a unique index");
        }
        if !index.is_valid {
            let message = format!("index \"{index_name}\" is not valid");
            return Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                message,
            ));
        }
        let is_used = table.uniques.iter().any(|unique| unique.index == index.id)
            || (table.primary_key.iter()).any(|key| key.index == Some(index.id));
        if is_used {
            let message = format!("index \"{index_name}\" is already associated with a constraint");
            return Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                message,
            ));
        }
        if is_primary {
            if table.primary_key.is_some() {
                return Err(multiple_primary_keys(&table.name));
            }
            for position in &columns {
                let column = &table.columns[usize::from(*position)];
                let condition = format!("{} is null", name::quoted(&column.name));
                if !column.not_null && self.has_row(&table, &condition).await? {
                    return Err(contains_nulls(&table, &column.name));
                }
            }
        }
        let ddl = self.transaction.ddl()?;
        let name = written.map_or(index_name, Name::as_str);
        is_free(&table, name)?;
        if name != index_name {
            ddl.rename(index.id, name).await?;
        }
        let (number, index) = (ddl.new_id().await?, index.id);
        let enter = |table: &mut Table| {
            let (name, columns): (Arc<str>, Arc<[u16]>) = (name.into(), columns.into());
            if is_primary {
                table.set_primary_key(PrimaryKey {
                    name,
                    id: number,
                    columns,
                    index: Some(index),
                });
            } else {
                table.add_unique(Unique {
                    name,
                    id: number,
                    columns,
                    index,
                });
            }
            Ok(())
        };
        self.edit_table(id, enter).await
    }

    pub(super) async fn drop_constraint(
        &self,
        id: ObjectId,
        name: &Name,
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let table = self.table_now(id)?;
        let name = name.as_str();
        let key = table.primary_key.iter().find(|key| *key.name == *name);
        let behavior = Behavior::of(cascade);
        if let Some(key) = key.filter(|key| key.index.is_none()) {
            return self
                .unkey(id, Target::Constraint(id, key.id), behavior)
                .await;
        }
        let Some(constraint) = table.constraint(name) else {
            return match if_exists {
                true => Ok(()),
                false => Err(no_such_constraint(&table, name)),
            };
        };
        let mut keys = table.foreign_keys.iter();
        if let Some(key) = keys.find(|key| key.id == constraint) {
            let ddl = self.transaction.ddl()?;
            ddl.not_pending("ALTER TABLE", key.referenced)?;
        }
        let target = Target::Constraint(id, constraint);
        let ddl = self.transaction.ddl()?;
        ddl.drop(&[target], behavior).await.map(drop)
    }

    pub(super) async fn validate_constraint(&self, id: ObjectId, name: &Name) -> Result<()> {
        let table = self.table_now(id)?;
        let name = name.as_str();
        if let Some(key) = table.foreign_keys.iter().find(|key| *key.name == *name) {
            return match key.is_valid {
                true => Ok(()),
                false => self.validate_foreign_key(id, name).await,
            };
        }
        let Some(check) = table.checks.iter().find(|check| *check.name == *name) else {
            let message = format!(
                "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                table.name
            );
            return Err(match is_free(&table, name) {
                Ok(()) => no_such_constraint(&table, name),
                Err(_) => SqlError::new(SqlState::WRONG_OBJECT_TYPE, message),
            });
        };
        if check.is_valid {
            return Ok(());
        }
        self.all_satisfy(&table, name, &check.expression).await?;
        let number = check.id;
        let validate = |table: &mut Table| {
            let mut checks: Vec<Check> = table.checks.to_vec();
            let found = checks.iter_mut().filter(|check| check.id == number);
            found.for_each(|check| check.is_valid = true);
            table.checks = checks.into();
            Ok(())
        };
        let mode = TableLockMode::ShareUpdateExclusive;
        let ddl = self.transaction.ddl()?;
        ddl.alter_table(id, mode, validate).await.map(drop)
    }

    /// A name for the index of a constraint, if no relation has it.
    fn free_relation(&self, table: &Table, name: String) -> Result<String> {
        let catalog = self.transaction.catalog();
        match catalog.named(NameClass::Relation, table.schema, &name) {
            None => Ok(name),
            Some(_) => Err(duplicate_relation(&name)),
        }
    }
}

/// # Errors
/// 42710, if the table has a constraint of this name.
pub(super) fn is_free(table: &Table, name: &str) -> Result<()> {
    if table.constraint(name).is_some() {
        let message = format!(
            "constraint \"{name}\" for relation \"{}\" already exists",
            table.name
        );
        return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
    }
    Ok(())
}

fn no_such_constraint(table: &Table, name: &str) -> SqlError {
    let message = format!(
        "constraint \"{name}\" of relation \"{}\" does not exist",
        table.name
    );
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}

fn positions(table: &Table, columns: &[Name]) -> Result<Vec<u16>> {
    let mut found = Vec::with_capacity(columns.len());
    for column in columns {
        let folded = column.as_str();
        let (at, _) = table.column(folded).ok_or_else(|| no_key_column(folded))?;
        let at = u16::try_from(at).unwrap_or(u16::MAX);
        if found.contains(&at) {
            let message = format!("column \"{folded}\" appears twice in primary key constraint");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        found.push(at);
    }
    Ok(found)
}
