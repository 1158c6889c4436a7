//! Schemas: where other objects lie.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ObjectId;

/// A schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Its number.
    pub id: ObjectId,
    /// Its name.
    pub name: Arc<str>,
}
