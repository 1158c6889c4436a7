//! Constraints of tables. That a column is not null is the column's own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ObjectId, StoredExpression};

/// The primary key of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimaryKey {
    /// The constraint's name, which is its index's as well.
    pub name: Arc<str>,
    /// The constraint's number.
    pub id: ObjectId,
    /// Its columns, by position, in the order of the key.
    pub columns: Arc<[u16]>,
    /// The index that enforces it. `None`: rows lie under it ([`RowKey::Columns`](super::RowKey)).
    pub index: Option<ObjectId>,
}

/// A unique constraint, which an index enforces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unique {
    /// Its name, which is its index's as well.
    pub name: Arc<str>,
    /// Its number.
    pub id: ObjectId,
    /// Its columns, by position.
    pub columns: Arc<[u16]>,
    /// The index, among those of the table.
    pub index: ObjectId,
}

/// A condition on each row of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub id: ObjectId,
    /// False is a violation, NULL is none.
    pub expression: StoredExpression,
    /// All rows were looked at (`NOT VALID` otherwise).
    pub is_valid: bool,
}

/// What happens to referring rows when the row that they refer to is deleted, or its key changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// Refused, at the end of the statement or transaction.
    #[default]
    NoAction,
    /// Refused at once.
    Restrict,
    /// They follow it.
    Cascade,
    /// Their columns become NULL; these, by position, or all of the key if there are none.
    SetNull,
    /// Their columns get their defaults.
    SetDefault,
}

/// What NULLs in a foreign key of several columns mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MatchKind {
    /// With any NULL, it refers to nothing.
    #[default]
    Simple,
    /// Either all are NULL or none.
    Full,
}

/// A reference of one table's rows to another's. It is kept with the referring table; the other
/// has [`Table::referenced_by`](super::Table::referenced_by).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub id: ObjectId,
    /// The referring columns, by position.
    pub columns: Arc<[u16]>,
    /// The table that is referred to.
    pub referenced: ObjectId,
    /// The columns there, by position, as many.
    pub referenced_columns: Arc<[u16]>,
    /// The unique index there that finds them. `None`: the key that its rows lie under.
    pub referenced_index: Option<ObjectId>,
    /// When what is referred to is deleted.
    pub on_delete: ReferentialAction,
    /// For `SET NULL` and `SET DEFAULT`: only these of the referring columns; none: all.
    #[serde(default)]
    pub on_delete_columns: Arc<[u16]>,
    /// When its key is changed.
    pub on_update: ReferentialAction,
    /// What NULLs mean.
    pub match_kind: MatchKind,
    /// Whether `SET CONSTRAINTS` may put it off.
    pub is_deferrable: bool,
    /// It is put off to the commit from the beginning.
    pub is_deferred: bool,
    /// All rows were looked at (`NOT VALID` otherwise).
    pub is_valid: bool,
}
