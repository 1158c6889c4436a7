//! Indexes, built within the transaction that creates them.

use std::sync::Arc;

use engine::{BuildError, TableLockMode};
use interleave::Interleaved;
use types::{Result, SqlError, SqlState};

use super::{Ddl, gone, table::no_such_constraint};
use crate::{
    Index, IndexColumn, IndexKey, Object, ObjectId, PrimaryKey, StoredExpression, Table, Unique,
    failure::from_engine, record,
};

/// The definition of a new index.
#[derive(Debug, Clone, Default)]
pub struct NewIndex {
    /// Name of the index.
    pub name: String,
    /// Value of [`Index::unique`].
    pub unique: bool,
    /// Value of [`Index::nulls_not_distinct`].
    pub nulls_not_distinct: bool,
    /// Value of [`Index::columns`].
    pub columns: Vec<IndexColumn>,
    /// Value of [`Index::included`].
    pub included: Vec<u16>,
    /// Value of [`Index::predicate`].
    pub predicate: Option<StoredExpression>,
    /// Constraint that the index enforces.
    pub constraint: Option<Constraint>,
}

/// The constraint that an index enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// A unique constraint.
    Unique,
    /// The primary key. The caller sees to it that its columns are not null.
    PrimaryKey,
}

impl NewIndex {
    /// Returns whether entries need computing: see [`Index::is_computed`].
    pub fn is_computed(&self) -> bool {
        let is_expression = |column: &IndexColumn| matches!(column.key, IndexKey::Expression(_));
        self.predicate.is_some() || self.columns.iter().any(is_expression)
    }

    pub(super) fn into_index(self, id: ObjectId) -> Index {
        Index {
            id,
            name: Arc::from(self.name),
            unique: self.unique,
            nulls_not_distinct: self.nulls_not_distinct,
            columns: self.columns.into(),
            included: self.included.into(),
            predicate: self.predicate,
            is_valid: false,
            storage_name: None,
            handle: None,
        }
    }
}

impl Ddl<'_> {
    /// Creates an index and builds it, beside readers but not beside writers.
    ///
    /// # Errors
    /// 23505 if rows have the same key; 42P07 if the name is taken; 42P16 for a second primary key;
    /// errors of [`Ddl::alter_table`].
    pub async fn create_index(&self, table: ObjectId, new: NewIndex) -> Result<Arc<Table>> {
        self.keep_index(table, &new).await?;
        let (id, constraint) = (self.new_id().await?, new.constraint);
        let mut index = new.into_index(id);
        let mode = match constraint {
            Some(_) => TableLockMode::AccessExclusive,
            None => TableLockMode::Share,
        };
        self.lock(table, mode).await?;
        let Object::Table(current) = self.changes.hold(self.transaction, table).await? else {
            return Err(gone("relation", table));
        };
        if index.predicate.is_some() || index.key_columns().is_none() {
            self.changes.expect_as_bound(table)?;
        }
        let (catalog, keys) = (self.changes.catalog(), &self.changes.catalogs().keys);
        let (extract, options) = keys.keys(&catalog, &current, &index)?;
        let (storage, name) = (current.storage(), record::index_name(id));
        let built =
            self.transaction
                .create_index::<Interleaved>(storage, &name, &[], options, extract);
        index.handle = Some(
            built
                .await
                .map_err(|error| build_failed(&index.name, error))?,
        );
        index.is_valid = true;
        let number = self.new_id().await?;
        let add = |table: &mut Table| enter(table, index, constraint, number);
        self.alter_table(table, mode, add).await
    }

    /// Keeps the objects that the expressions of an index refer to from being dropped.
    pub(super) async fn keep_index(&self, table: ObjectId, index: &NewIndex) -> Result<()> {
        let expressions = index.columns.iter().filter_map(|column| match &column.key {
            IndexKey::Expression(expression) => Some(expression),
            IndexKey::Column(_) => None,
        });
        for expression in expressions.chain(&index.predicate) {
            self.keep_expression(expression, table).await?;
        }
        Ok(())
    }
}

/// Enters an index among those of its table, with its constraint.
pub(super) fn enter(
    table: &mut Table,
    index: Index,
    constraint: Option<Constraint>,
    number: ObjectId,
) -> Result<()> {
    let columns: Arc<[u16]> = index.key_columns().unwrap_or_default().into();
    let (name, id) = (index.name.clone(), index.id);
    if constraint.is_some() {
        no_such_constraint(table, &name)?;
    }
    match constraint {
        Some(Constraint::Unique) => {
            let unique = Unique {
                name,
                id: number,
                columns,
                index: id,
            };
            table.add_unique(unique);
        }
        Some(Constraint::PrimaryKey) if table.primary_key.is_some() => {
            let table = &table.name;
            let message = format!("multiple primary keys for table \"{table}\" are not allowed");
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        Some(Constraint::PrimaryKey) => {
            table.set_primary_key(PrimaryKey {
                name,
                id: number,
                columns,
                index: Some(id),
            });
        }
        None => {}
    }
    table.indexes = table.indexes.iter().cloned().chain([index]).collect();
    Ok(())
}

/// Converts the error of an index that could not be built.
pub(super) fn build_failed(name: &str, error: BuildError) -> SqlError {
    match error {
        BuildError::Duplicate { .. } => {
            let message = format!("could not create unique index \"{name}\"");
            SqlError::new(SqlState::UNIQUE_VIOLATION, message).constraint(name)
        }
        BuildError::Engine(error) => from_engine(error),
        error => SqlError::new(SqlState::INTERNAL_ERROR, error.to_string()),
    }
}
