//! Expressions that the catalog keeps: as text, with what they refer to.
//!
//! The catalog does not understand them. The caller that writes one down says what it depends on,
//! and a drop finds it by that.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ObjectId;

/// An expression as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredExpression {
    /// Text as it was written, except that sequences are named by number.
    pub text: Arc<str>,
    /// Schemas in which its names are looked up, in order: those of the search path under which it
    /// was defined.
    #[serde(default = "super::view::public")]
    pub search_path: Arc<[ObjectId]>,
    /// Objects that the expression refers to: columns of the table that it belongs to, each with
    /// that table, enum types, and the objects of constants of `regclass` and similar types.
    #[serde(default)]
    pub dependencies: Arc<[Dependency]>,
}

/// An object that is referred to, and cannot be dropped alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Dependency {
    /// Object that is referred to.
    pub object: ObjectId,
    /// Column of the object, by its position from 0; `None` for the object as a whole.
    #[serde(default)]
    pub column: Option<u16>,
}

impl StoredExpression {
    /// Adds `others` to the dependencies.
    pub fn refers_to(&mut self, others: impl IntoIterator<Item = Dependency>) {
        let mut all = self.dependencies.to_vec();
        all.extend(others);
        all.sort_unstable();
        all.dedup();
        self.dependencies = all.into();
    }
}

impl Dependency {
    /// Returns a dependency on the object as a whole.
    pub fn on(object: ObjectId) -> Self {
        Self {
            object,
            column: None,
        }
    }

    /// Returns a dependency on a column of an object, by its position from 0.
    pub fn on_column(object: ObjectId, column: u16) -> Self {
        Self {
            object,
            column: Some(column),
        }
    }
}
