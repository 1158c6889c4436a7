//! Indexes, as parts of their tables.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::Type;

use super::{ObjectId, StoredExpression, record, type_name};

/// An index of a table. Its name is unique among those of the schema's relations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Index {
    /// Number of the index.
    pub id: ObjectId,
    /// Name of the index.
    pub name: Arc<str>,
    /// Whether no two rows that satisfy the predicate have the same key.
    pub unique: bool,
    /// Whether NULLs are equal to each other (`NULLS NOT DISTINCT`).
    #[serde(default)]
    pub nulls_not_distinct: bool,
    /// Parts of the key, the most significant first.
    pub columns: Arc<[IndexColumn]>,
    /// Further columns that the index covers, by position.
    #[serde(default)]
    pub included: Arc<[u16]>,
    /// Condition of the rows that are in the index; `None` for all rows.
    #[serde(default)]
    pub predicate: Option<StoredExpression>,
    /// Whether the index can be read. It cannot while it is being built (`CONCURRENTLY`), or after
    /// that has failed.
    pub is_valid: bool,
    /// The engine's name of the index, if it is not the one that follows from the number: the index
    /// was built anew.
    #[serde(default)]
    pub storage_name: Option<Arc<str>>,
    /// The engine's index; `None` while it is not there: see [`Index::is_valid`].
    #[serde(skip)]
    pub handle: Option<engine::Index>,
}

/// A part of an index's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexColumn {
    /// Column or expression.
    pub key: IndexKey,
    /// Type of the values.
    #[serde(with = "type_name")]
    pub ty: Type,
    /// `DESC`: larger values come first.
    pub descending: bool,
    /// `NULLS FIRST`: NULLs come before all values.
    pub nulls_first: bool,
}

/// The source of a part of an index's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexKey {
    /// A column, by position.
    Column(u16),
    /// An expression over a row.
    Expression(StoredExpression),
}

impl Index {
    /// Returns the engine's name of the index.
    pub(super) fn engine_name(&self) -> String {
        match &self.storage_name {
            Some(name) => name.to_string(),
            None => record::index_name(self.id),
        }
    }

    /// Returns whether entries are more than columns of a row: the index has an expression or a
    /// predicate.
    pub fn is_computed(&self) -> bool {
        let is_expression = |column: &IndexColumn| matches!(column.key, IndexKey::Expression(_));
        self.predicate.is_some() || self.columns.iter().any(is_expression)
    }

    /// Returns the positions of the key's columns, if the key has no expression.
    pub fn key_columns(&self) -> Option<Vec<u16>> {
        let columns = self.columns.iter().map(|column| match column.key {
            IndexKey::Column(position) => Some(position),
            IndexKey::Expression(_) => None,
        });
        columns.collect()
    }

    /// Returns whether the index uses a column, by its position.
    pub(crate) fn uses_column(&self, table: ObjectId, position: u16) -> bool {
        let uses = |expression: &StoredExpression| {
            let mut dependencies = expression.dependencies.iter();
            dependencies.any(|on| on.object == table && on.column == Some(position))
        };
        let is_key = |column: &IndexColumn| match &column.key {
            IndexKey::Column(at) => *at == position,
            IndexKey::Expression(expression) => uses(expression),
        };
        self.columns.iter().any(is_key)
            || self.included.contains(&position)
            || self.predicate.as_ref().is_some_and(uses)
    }
}
