//! Enum types.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::EnumId;

use super::ObjectId;

/// An enum type. The type of arrays of it has the next number, which no object has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnumType {
    /// Its number.
    pub id: ObjectId,
    /// The schema it lies in.
    pub schema: ObjectId,
    /// Its name.
    pub name: Arc<str>,
    /// Its labels in the order of their definition. A value is stored as the position here, so
    /// labels are only ever added at the end or renamed.
    pub labels: Arc<[Arc<str>]>,
    /// The order in which values sort: of each label, its rank. The same as the position unless a
    /// label was added before another.
    pub ranks: Arc<[u32]>,
}

impl EnumType {
    /// The number as types have it.
    pub fn enum_id(&self) -> EnumId {
        EnumId(self.id.0)
    }

    /// The position of a label.
    pub fn position(&self, label: &str) -> Option<u32> {
        let at = self.labels.iter().position(|other| **other == *label)?;
        u32::try_from(at).ok()
    }
}
