//! Expressions that the catalog keeps: as text, with what they refer to.
//!
//! The catalog does not understand them. Who wrote one down says what it depends on, so that a
//! drop finds it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ObjectId;

/// An expression as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredExpression {
    /// As it was written, but for sequences, which are named by number.
    pub text: Arc<str>,
    /// The schemas in which its names are looked for, in order: those of the search path under
    /// which it was defined.
    #[serde(default = "super::view::public")]
    pub search_path: Arc<[ObjectId]>,
    /// What it refers to: columns of the table that it belongs to, which is named with them, enum
    /// types, and what constants of `regclass` and its like are.
    #[serde(default)]
    pub dependencies: Arc<[Dependency]>,
}

/// Something that is referred to, and cannot be dropped alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Dependency {
    /// The object.
    pub object: ObjectId,
    /// A column of it, by its position from 0; `None`: the object as a whole.
    #[serde(default)]
    pub column: Option<u16>,
}

impl StoredExpression {
    /// Adds to what it refers to.
    pub fn refers_to(&mut self, others: impl IntoIterator<Item = Dependency>) {
        let mut all = self.dependencies.to_vec();
        all.extend(others);
        all.sort_unstable();
        all.dedup();
        self.dependencies = all.into();
    }
}

impl Dependency {
    /// The object as a whole.
    pub fn on(object: ObjectId) -> Self {
        Self {
            object,
            column: None,
        }
    }

    /// A column of it, by its position from 0.
    pub fn on_column(object: ObjectId, column: u16) -> Self {
        Self {
            object,
            column: Some(column),
        }
    }
}
