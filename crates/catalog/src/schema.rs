//! Schemas, in which other objects lie.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Comments, ObjectId};

/// A schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Number of the schema.
    pub id: ObjectId,
    /// Name of the schema.
    pub name: Arc<str>,
    /// Comments on the schema.
    #[serde(default)]
    pub comments: Comments,
}
