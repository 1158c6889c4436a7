//! Tables: created, and altered.

use std::sync::{Arc, OnceLock};

use engine::TableLockMode;
use interleave::Interleaved;
use types::{Result, SqlError, SqlState};

use super::{Constraint, Ddl, NewIndex, gone};
use crate::{
    Check, Column, Comments, Dependency, ForeignKey, Generation, IndexColumn, IndexKey, NameClass,
    Object, ObjectId, PrimaryKey, RowKey, StoredExpression, Table, TableKind, failure::from_engine,
    record,
};

/// Most columns of a table, dropped ones included.
const COLUMNS_MAX: usize = 1600;

/// The definition of a new table.
#[derive(Debug, Clone, Default)]
pub struct NewTable {
    /// Schema of the table.
    pub schema: ObjectId,
    /// Name of the table.
    pub name: String,
    /// Columns. Those of the primary key are made `not_null`. Dependencies of expressions on the
    /// table itself have number 0.
    pub columns: Vec<Column>,
    /// Primary key: name of the constraint, and columns, by position.
    pub primary_key: Option<(String, Vec<u16>)>,
    /// Unique constraints.
    pub uniques: Vec<NewUnique>,
    /// `CHECK` constraints.
    pub checks: Vec<NewCheck>,
    /// References to other tables, and to the table itself (number 0). Their own numbers are given
    /// on creation.
    pub foreign_keys: Vec<ForeignKey>,
}

/// A unique constraint to be made.
#[derive(Debug, Clone)]
pub struct NewUnique {
    /// Name of the constraint.
    pub name: String,
    /// Columns, by position.
    pub columns: Vec<u16>,
    /// Whether NULLs are equal to each other.
    pub nulls_not_distinct: bool,
}

/// A `CHECK` constraint to be made.
#[derive(Debug, Clone)]
pub struct NewCheck {
    /// Name of the constraint.
    pub name: String,
    /// Condition.
    pub expression: StoredExpression,
    /// Whether all rows have been, or will be, checked.
    pub is_valid: bool,
}

impl Ddl<'_> {
    /// Creates a table with its indexes and constraints.
    ///
    /// # Errors
    /// 42P07 if a name is taken, 42701 for a column that is there twice, 54011 for too many
    /// columns, 42830 for a reference to no unique key, 42710 for a constraint that is there twice;
    /// errors of the engine.
    pub async fn create_table(&self, new: NewTable) -> Result<Arc<Table>> {
        self.keep(&[Dependency::on(new.schema)]).await?;
        let catalog = self.changes.catalog();
        if catalog
            .named(NameClass::Relation, new.schema, &new.name)
            .is_some()
        {
            let message = format!("relation \"{}\" already exists", new.name);
            return Err(SqlError::new(SqlState::DUPLICATE_TABLE, message));
        }
        let id = self.new_id().await?;
        let mut columns = new.columns;
        check_columns(&columns)?;
        let names = columns.iter().map(|column| &column.name);
        names
            .into_iter()
            .try_for_each(|name| is_no_system_column(name))?;
        for column in &mut columns {
            name_own_table(column, id);
            self.keep_column(column, id).await?;
        }
        let (mut primary_key, mut row_key) = (None, RowKey::Hidden);
        if let Some((name, key)) = new.primary_key {
            for position in &key {
                columns[usize::from(*position)].not_null = true;
            }
            let key: Arc<[u16]> = key.into();
            row_key = RowKey::Columns(key.clone());
            primary_key = Some(PrimaryKey {
                name: Arc::from(name),
                id: self.new_id().await?,
                columns: key,
                index: None,
            });
        }
        let storage_name = record::storage_name(id);
        let storage = self
            .transaction
            .create_table::<Interleaved>(&storage_name, &[])
            .await;
        let table = Table {
            id,
            schema: new.schema,
            name: Arc::from(new.name),
            kind: TableKind::Ordinary,
            version: self.changes.catalogs().next_table_version(),
            columns: columns.into(),
            row_key,
            primary_key,
            indexes: Arc::default(),
            uniques: Arc::default(),
            checks: Arc::default(),
            foreign_keys: Arc::default(),
            referenced_by: Arc::default(),
            statistics_objects: Arc::default(),
            comments: Comments::default(),
            storage_name: Arc::from(storage_name),
            storage: OnceLock::from(storage.map_err(from_engine)?),
            statistics: Arc::default(),
        };
        let mut table = Arc::new(table);
        self.put(Object::Table(table.clone())).await?;
        for unique in new.uniques {
            let columns = unique.columns.iter().map(|position| IndexColumn {
                key: IndexKey::Column(*position),
                ty: table.columns[usize::from(*position)].ty,
                descending: false,
                nulls_first: false,
            });
            let index = NewIndex {
                name: unique.name,
                unique: true,
                nulls_not_distinct: unique.nulls_not_distinct,
                columns: columns.collect(),
                constraint: Some(Constraint::Unique),
                ..NewIndex::default()
            };
            table = self.create_index(id, index).await?;
        }
        for mut check in new.checks {
            check.expression = with_own_table(&check.expression, id);
            table = self.add_check(id, check).await?;
        }
        for mut key in new.foreign_keys {
            if key.referenced == ObjectId::default() {
                key.referenced = id;
            }
            table = self.add_foreign_key(id, key).await?;
        }
        Ok(table)
    }

    /// Changes a table's definition, under a lock of the given mode: one that excludes the
    /// transactions that the change concerns.
    ///
    /// # Errors
    /// 42P01 if the table is gone; errors of `edit`; 42P07 if a name is taken; errors of the
    /// engine.
    pub async fn alter_table(
        &self,
        id: ObjectId,
        mode: TableLockMode,
        edit: impl FnOnce(&mut Table) -> Result<()>,
    ) -> Result<Arc<Table>> {
        self.lock(id, mode).await?;
        // Not every lock mode excludes itself.
        let Object::Table(table) = self.changes.hold(self.transaction, id).await? else {
            return Err(gone("relation", id));
        };
        let mut table = (*table).clone();
        edit(&mut table)?;
        table.version = self.changes.catalogs().next_table_version();
        let table = Arc::new(table);
        self.put(Object::Table(table.clone())).await?;
        Ok(table)
    }

    /// Adds a column. Existing rows have its `missing` value.
    ///
    /// # Errors
    /// 42701 if the name is taken, 54011 for too many columns; errors of [`Ddl::alter_table`].
    pub async fn add_column(&self, id: ObjectId, mut column: Column) -> Result<Arc<Table>> {
        name_own_table(&mut column, id);
        self.keep_column(&column, id).await?;
        let add = |table: &mut Table| {
            no_such_column(table, &column.name)?;
            let columns = table.columns.iter().cloned().chain([column]);
            table.columns = columns.collect();
            check_columns(&table.columns)
        };
        self.alter_table(id, TableLockMode::AccessExclusive, add)
            .await
    }

    /// Renames a column. The caller rewrites expressions that are kept as text, and views.
    ///
    /// # Errors
    /// 42701 if the name is taken; errors of [`Ddl::alter_table`].
    pub async fn rename_column(
        &self,
        id: ObjectId,
        position: u16,
        name: &str,
    ) -> Result<Arc<Table>> {
        let rename = |table: &mut Table| {
            no_such_column(table, name)?;
            edit_column(table, position, |column| column.name = Arc::from(name));
            Ok(())
        };
        self.alter_table(id, TableLockMode::AccessExclusive, rename)
            .await
    }

    /// Changes another property of a column: its default, whether it is not null, how it is
    /// generated. The caller checks that the rows agree, under the lock that this leaves.
    ///
    /// # Errors
    /// 42704 if an object that the column refers to is gone; errors of [`Ddl::alter_table`].
    pub async fn alter_column(
        &self,
        id: ObjectId,
        position: u16,
        edit: impl FnOnce(&mut Column),
    ) -> Result<Arc<Table>> {
        let altered = self.alter_table(id, TableLockMode::AccessExclusive, |table| {
            edit_column(table, position, edit);
            Ok(())
        });
        let table = altered.await?;
        if let Some(column) = table.columns.get(usize::from(position)) {
            self.keep_column(column, id).await?;
        }
        Ok(table)
    }

    /// Adds a check. The caller checks that the rows agree, under the lock that this leaves, unless
    /// the check is not valid.
    ///
    /// # Errors
    /// 42710 if the name is taken; errors of [`Ddl::alter_table`].
    pub async fn add_check(&self, id: ObjectId, check: NewCheck) -> Result<Arc<Table>> {
        self.keep_expression(&check.expression, id).await?;
        let number = self.new_id().await?;
        let add = |table: &mut Table| {
            no_such_constraint(table, &check.name)?;
            let check = Check {
                name: Arc::from(check.name),
                id: number,
                expression: check.expression,
                is_valid: check.is_valid,
            };
            let mut checks: Vec<_> = table.checks.iter().cloned().chain([check]).collect();
            checks.sort_by(|one, other| one.name.cmp(&other.name));
            table.checks = checks.into();
            Ok(())
        };
        self.alter_table(id, TableLockMode::AccessExclusive, add)
            .await
    }

    async fn keep_column(&self, column: &Column, own: ObjectId) -> Result<()> {
        self.keep_type(column.ty).await?;
        if let Some(default) = &column.default {
            self.keep_expression(default, own).await?;
        }
        match &column.generation {
            Some(Generation::Identity { sequence, .. }) => {
                self.keep(&[Dependency::on(*sequence)]).await
            }
            Some(Generation::Stored(expression)) => self.keep_expression(expression, own).await,
            None => Ok(()),
        }
    }
}

/// Returns the expression with the table's number in the place of 0.
fn with_own_table(expression: &StoredExpression, own: ObjectId) -> StoredExpression {
    let mut expression = expression.clone();
    let named = expression.dependencies.iter().map(|on| match on.object {
        ObjectId(0) => Dependency { object: own, ..*on },
        _ => *on,
    });
    expression.dependencies = named.collect();
    expression
}

fn name_own_table(column: &mut Column, own: ObjectId) {
    if let Some(default) = &mut column.default {
        *default = with_own_table(default, own);
    }
    if let Some(Generation::Stored(expression)) = &mut column.generation {
        *expression = with_own_table(expression, own);
    }
}

fn edit_column(table: &mut Table, position: u16, edit: impl FnOnce(&mut Column)) {
    let mut columns = table.columns.to_vec();
    if let Some(column) = columns.get_mut(usize::from(position)) {
        edit(column);
    }
    table.columns = columns.into();
}

fn check_columns(columns: &[Column]) -> Result<()> {
    if columns.len() > COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns");
        return Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, message));
    }
    let live = |column: &&Column| !column.dropped;
    for (at, column) in columns
        .iter()
        .enumerate()
        .filter(|(_, column)| !column.dropped)
    {
        if columns[..at]
            .iter()
            .filter(live)
            .any(|other| other.name == column.name)
        {
            let message = format!("column \"{}\" specified more than once", column.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
    }
    Ok(())
}

/// Checks that a name is none of PostgreSQL's system columns.
///
/// # Errors
/// 42701 for the name of a system column.
fn is_no_system_column(name: &str) -> Result<()> {
    match name {
        "ctid" | "xmin" | "cmin" | "xmax" | "cmax" | "tableoid" => {
            let message = format!("column name \"{name}\" conflicts with a system column name");
            Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message))
        }
        _ => Ok(()),
    }
}

/// Checks that a table can have another column of this name.
///
/// # Errors
/// 42701 if it cannot.
fn no_such_column(table: &Table, name: &str) -> Result<()> {
    is_no_system_column(name)?;
    match table.column(name) {
        None => Ok(()),
        Some(_) => {
            let table = &table.name;
            let message = format!("column \"{name}\" of relation \"{table}\" already exists");
            Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message))
        }
    }
}

/// Checks that a table has no constraint of this name.
///
/// # Errors
/// 42710 if it has one.
pub(super) fn no_such_constraint(table: &Table, name: &str) -> Result<()> {
    if table.constraint(name).is_some() {
        let table = &table.name;
        let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
        return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
    }
    Ok(())
}
