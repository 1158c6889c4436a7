//! Enum types: created, and given further labels.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{Ddl, gone};
use crate::catalog::{EnumType, Object, ObjectId};

impl Ddl<'_> {
    /// Creates an enum type.
    ///
    /// # Errors
    /// 42710; 23505 for a label that is there twice; the engine's.
    pub async fn create_enum(
        &self,
        schema: ObjectId,
        name: &str,
        labels: &[&str],
    ) -> Result<ObjectId> {
        // The type of its arrays has the next number.
        let mut id = self.new_id().await?;
        loop {
            let next = self.new_id().await?;
            if next.0 == id.0 + 1 {
                break;
            }
            id = next;
        }
        for (at, label) in labels.iter().enumerate() {
            if labels[..at].contains(label) {
                return Err(label_exists(label));
            }
        }
        let ty = EnumType {
            id,
            schema,
            name: Arc::from(name),
            labels: labels.iter().map(|label| Arc::from(*label)).collect(),
            ranks: (0..).take(labels.len()).collect(),
        };
        self.create(Object::Enum(Arc::new(ty)), &[]).await
    }

    /// Adds a label to an enum type: behind all, or before the one at a rank. Values that are
    /// stored stay what they are.
    ///
    /// # Errors
    /// 42710 if there is such a label; 42704 if the type is gone; the engine's.
    pub async fn add_label(&self, id: ObjectId, label: &str, rank: Option<u32>) -> Result<()> {
        let Object::Enum(ty) = self.changes.hold(self.transaction, id).await? else {
            return Err(gone("type", id));
        };
        if ty.position(label).is_some() {
            return Err(label_exists(label));
        }
        let mut ty = (*ty).clone();
        let count = u32::try_from(ty.labels.len()).unwrap_or(u32::MAX);
        let rank = rank.unwrap_or(count).min(count);
        let moved = ty
            .ranks
            .iter()
            .map(|other| other + u32::from(*other >= rank));
        ty.ranks = moved.chain([rank]).collect();
        ty.labels = ty
            .labels
            .iter()
            .cloned()
            .chain([Arc::from(label)])
            .collect();
        self.put(Object::Enum(Arc::new(ty))).await
    }
}

fn label_exists(label: &str) -> SqlError {
    let message = format!("enum label \"{label}\" already exists");
    SqlError::new(SqlState::DUPLICATE_OBJECT, message)
}
