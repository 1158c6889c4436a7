//! Schemas: where other objects lie.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Comments, ObjectId};

/// A schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Its number.
    pub id: ObjectId,
    /// Its name.
    pub name: Arc<str>,
    /// What is said of it and its parts.
    #[serde(default)]
    pub comments: Comments,
}
