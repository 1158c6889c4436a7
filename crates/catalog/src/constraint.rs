//! Constraints of tables. NOT NULL is a property of the column instead.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ObjectId, StoredExpression};

/// The primary key of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimaryKey {
    /// Name of the constraint, and of its index.
    pub name: Arc<str>,
    /// Number of the constraint.
    pub id: ObjectId,
    /// Columns, by position, in the order of the key.
    pub columns: Arc<[u16]>,
    /// Index that enforces the key; `None` if rows lie under it
    /// ([`RowKey::Columns`](super::RowKey)).
    pub index: Option<ObjectId>,
}

/// A unique constraint, which an index enforces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unique {
    /// Name of the constraint, and of its index.
    pub name: Arc<str>,
    /// Number of the constraint.
    pub id: ObjectId,
    /// Columns, by position.
    pub columns: Arc<[u16]>,
    /// Index that enforces the constraint, among those of the table.
    pub index: ObjectId,
}

/// A condition on each row of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Name of the constraint.
    pub name: Arc<str>,
    /// Number of the constraint.
    pub id: ObjectId,
    /// Condition. False is a violation, NULL is none.
    pub expression: StoredExpression,
    /// Whether all rows were checked; false for `NOT VALID`.
    pub is_valid: bool,
}

/// The action on referring rows when the row that they refer to is deleted, or its key changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// The change is refused, at the end of the statement or transaction.
    #[default]
    NoAction,
    /// The change is refused at once.
    Restrict,
    /// The referring rows are deleted or changed as well.
    Cascade,
    /// The referring columns become NULL; these, by position, or all of the key if there are none.
    SetNull,
    /// The referring columns get their defaults.
    SetDefault,
}

/// The meanings of NULLs in a foreign key of several columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MatchKind {
    /// With any NULL, the key refers to no row.
    #[default]
    Simple,
    /// Either all columns are NULL or none.
    Full,
}

/// A reference of one table's rows to another's. It is kept with the referring table; the other has
/// [`Table::referenced_by`](super::Table::referenced_by).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Name of the constraint.
    pub name: Arc<str>,
    /// Number of the constraint.
    pub id: ObjectId,
    /// Referring columns, by position.
    pub columns: Arc<[u16]>,
    /// Table that is referred to.
    pub referenced: ObjectId,
    /// Referenced columns, by position, as many as the referring ones.
    pub referenced_columns: Arc<[u16]>,
    /// Unique index of the referenced table that finds the columns; `None` for the key that its
    /// rows lie under.
    pub referenced_index: Option<ObjectId>,
    /// Action when the referenced row is deleted.
    pub on_delete: ReferentialAction,
    /// Referring columns that `SET NULL` and `SET DEFAULT` change; empty for all.
    #[serde(default)]
    pub on_delete_columns: Arc<[u16]>,
    /// Action when the referenced key is changed.
    pub on_update: ReferentialAction,
    /// Meaning of NULLs.
    pub match_kind: MatchKind,
    /// Whether `SET CONSTRAINTS` may defer it.
    pub is_deferrable: bool,
    /// Whether it is deferred to the commit unless `SET CONSTRAINTS` says otherwise.
    pub is_deferred: bool,
    /// Whether all rows were checked; false for `NOT VALID`.
    pub is_valid: bool,
}
