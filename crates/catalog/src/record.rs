//! The catalog's own tables in the engine, and the bytes in them.
//!
//! ```text
//! sql.objects    object u32, big-endian                        → the object, as JSON
//! sql.names      class u8 | schema u32, big-endian | name      → object u32, big-endian
//! sql.counters   counter u32, big-endian                       → counter.rs
//! sql.statistics table u32, big-endian                         → statistics.rs, as JSON
//! ```
//! Names are a table of their own: two transactions that take the same name meet there. The format
//! is JSON, because definitions grow fields, and should be legible in a dump; no access to a row
//! reads it.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{NameClass, Object, ObjectId};

/// The catalog's own tables.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    pub(super) objects: Arc<engine::Table>,
    pub(super) names: Arc<engine::Table>,
    pub(super) counters: Arc<engine::Table>,
    pub(super) statistics: Arc<engine::Table>,
}

pub(super) const OBJECTS: &str = "sql.objects";
pub(super) const NAMES: &str = "sql.names";
pub(super) const COUNTERS: &str = "sql.counters";
pub(super) const STATISTICS: &str = "sql.statistics";

pub(super) fn key_of(id: ObjectId) -> [u8; 4] {
    id.0.to_be_bytes()
}

/// Returns the key of a name in `sql.names`.
pub(super) fn name_key(class: NameClass, schema: ObjectId, name: &str) -> Vec<u8> {
    let class = match class {
        NameClass::Schema => 0,
        NameClass::Role => 1,
        NameClass::Relation => 2,
        NameClass::Type => 3,
        NameClass::Statistics => 4,
    };
    let mut key = vec![class];
    key.extend_from_slice(&schema.0.to_be_bytes());
    key.extend_from_slice(name.as_bytes());
    key
}

pub(super) fn encode(object: &Object) -> Result<Vec<u8>> {
    serde_json::to_vec(object).map_err(|error| {
        let message = format!("an object of the catalog cannot be written: {error}");
        SqlError::new(SqlState::INTERNAL_ERROR, message)
    })
}

/// Decodes an object.
///
/// # Errors
/// XX001 for bytes that are no object.
pub(super) fn decode(bytes: &[u8]) -> Result<Object> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("an object of the catalog cannot be read: {error}");
        SqlError::new(SqlState::DATA_CORRUPTED, message)
    })
}

/// Returns the engine's name of a table's storage.
pub(super) fn storage_name(id: ObjectId) -> String {
    format!("sql.table.{id}")
}

/// Returns the engine's name of an index. It contains the number, so that renaming concerns the
/// catalog alone.
pub(super) fn index_name(id: ObjectId) -> String {
    format!("sql.index.{id}")
}
