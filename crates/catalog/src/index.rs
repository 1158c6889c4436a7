//! Indexes, as parts of their tables.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::Type;

use super::{ObjectId, StoredExpression, record, type_name};

/// An index of a table. Its name is one of the schema's, as those of tables are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Index {
    /// Its number.
    pub id: ObjectId,
    /// Its name.
    pub name: Arc<str>,
    /// No two rows have the same key, of those that the predicate takes in.
    pub unique: bool,
    /// NULLs are equal to each other (`NULLS NOT DISTINCT`); they are not otherwise.
    #[serde(default)]
    pub nulls_not_distinct: bool,
    /// What it is ordered by.
    pub columns: Arc<[IndexColumn]>,
    /// Further columns that it covers, by position.
    #[serde(default)]
    pub included: Arc<[u16]>,
    /// Only rows for which this is true are in it.
    #[serde(default)]
    pub predicate: Option<StoredExpression>,
    /// It can be read. False: its building (`CONCURRENTLY`) is under way, or has failed.
    pub is_valid: bool,
    /// The engine's name for it, if it is not the one that follows from the number: it was built
    /// anew.
    #[serde(default)]
    pub storage_name: Option<Arc<str>>,
    /// The engine's index. `None` while it is not there: see [`Index::is_valid`].
    #[serde(skip)]
    pub handle: Option<engine::Index>,
}

/// One of the things an index is ordered by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexColumn {
    /// What it is.
    pub key: IndexKey,
    /// Its type.
    #[serde(with = "type_name")]
    pub ty: Type,
    /// Larger ones come first.
    pub descending: bool,
    /// NULLs come before all others.
    pub nulls_first: bool,
}

/// What an index looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexKey {
    /// A column, by position.
    Column(u16),
    /// Something computed from a row.
    Expression(StoredExpression),
}

impl Index {
    /// The engine's name for it.
    pub(super) fn engine_name(&self) -> String {
        match &self.storage_name {
            Some(name) => name.to_string(),
            None => record::index_name(self.id),
        }
    }

    /// Whether entries are more than columns of a row: it has an expression or a predicate.
    pub fn is_computed(&self) -> bool {
        let is_expression = |column: &IndexColumn| matches!(column.key, IndexKey::Expression(_));
        self.predicate.is_some() || self.columns.iter().any(is_expression)
    }

    /// The columns that it is ordered by, by position, if it is by columns alone.
    pub fn key_columns(&self) -> Option<Vec<u16>> {
        let columns = self.columns.iter().map(|column| match column.key {
            IndexKey::Column(position) => Some(position),
            IndexKey::Expression(_) => None,
        });
        columns.collect()
    }

    /// Whether a column is looked at, by its position.
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
