//! Enum types: created, given further labels, and other names for labels.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{Ddl, gone};
use crate::{Comments, EnumType, Object, ObjectId};

/// Bytes of the longest label.
const LABEL_BYTES_MAX: usize = 63;

/// The place of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelPlace<'l> {
    /// Behind all other labels.
    Last,
    /// Right before another label.
    Before(&'l str),
    /// Right behind another label.
    After(&'l str),
}

impl Ddl<'_> {
    /// Creates an enum type.
    ///
    /// # Errors
    /// 42710 if the name is taken; 42602 for a label that is too long; 23505 for one that is there
    /// twice; errors of the engine.
    pub async fn create_enum(
        &self,
        schema: ObjectId,
        name: &str,
        labels: &[&str],
    ) -> Result<ObjectId> {
        let mut sorted = labels.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let message =
                "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
            let detail = format!("The label \"{}\" is there twice.", twice[0]);
            return Err(SqlError::new(SqlState::UNIQUE_VIOLATION, message).detail(detail));
        }
        labels.iter().try_for_each(|label| check_label(label))?;
        let ranks = EnumType::new_ranks(labels.len()).ok_or_else(no_room)?;
        // The type of its arrays has the next number.
        let mut id = self.new_id().await?;
        loop {
            let next = self.new_id().await?;
            if next.0 == id.0 + 1 {
                break;
            }
            id = next;
        }
        let ty = EnumType {
            id,
            schema,
            name: Arc::from(name),
            labels: labels.iter().map(|label| Arc::from(*label)).collect(),
            ranks,
            comments: Comments::default(),
        };
        self.create(Object::Enum(Arc::new(ty)), &[]).await
    }

    /// Adds a label to an enum type. Stored values do not change. Returns whether the label was
    /// added: it is not if it exists and `if_not_exists` allows that.
    ///
    /// # Errors
    /// 42710 if the label exists; 22023 if the label beside which it comes does not; 0A000 if there
    /// is no room left between two labels; 42704 if the type is gone; errors of the engine.
    pub async fn add_label(
        &self,
        id: ObjectId,
        label: &str,
        place: LabelPlace<'_>,
        if_not_exists: bool,
    ) -> Result<bool> {
        check_label(label)?;
        let mut ty = self.hold_enum(id).await?;
        if ty.position(label).is_some() {
            return if if_not_exists {
                Ok(false)
            } else {
                Err(label_exists(label))
            };
        }
        let position = |other: &str| {
            let found = ty.position(other);
            found.ok_or_else(|| no_label(other))
        };
        let at = match place {
            LabelPlace::Last => ty.labels.len(),
            LabelPlace::Before(other) => position(other)?,
            LabelPlace::After(other) => position(other)? + 1,
        };
        let rank = ty.rank_between(at).ok_or_else(no_room)?;
        let (mut labels, mut ranks) = (ty.labels.to_vec(), ty.ranks.to_vec());
        labels.insert(at, Arc::from(label));
        ranks.insert(at, rank);
        (ty.labels, ty.ranks) = (labels.into(), ranks.into());
        self.put(Object::Enum(Arc::new(ty))).await?;
        Ok(true)
    }

    /// Gives a label of an enum type another name.
    ///
    /// # Errors
    /// 42710 if the new label exists; 22023 if the old one does not; 42704 if the type is gone;
    /// errors of the engine.
    pub async fn rename_label(&self, id: ObjectId, from: &str, to: &str) -> Result<()> {
        check_label(to)?;
        let mut ty = self.hold_enum(id).await?;
        let at = ty.position(from).ok_or_else(|| no_label(from))?;
        if ty.position(to).is_some() {
            return Err(label_exists(to));
        }
        let mut labels = ty.labels.to_vec();
        labels[at] = Arc::from(to);
        ty.labels = labels.into();
        self.put(Object::Enum(Arc::new(ty))).await
    }

    async fn hold_enum(&self, id: ObjectId) -> Result<EnumType> {
        match self.changes.hold(self.transaction, id).await? {
            Object::Enum(ty) => Ok((*ty).clone()),
            _ => Err(gone("type", id)),
        }
    }
}

fn check_label(label: &str) -> Result<()> {
    if label.len() <= LABEL_BYTES_MAX {
        return Ok(());
    }
    let message = format!("invalid enum label \"{label}\"");
    let detail = format!("Labels must be {LABEL_BYTES_MAX} bytes or less.");
    Err(SqlError::new(SqlState::INVALID_NAME, message).detail(detail))
}

fn label_exists(label: &str) -> SqlError {
    let message = format!("enum label \"{label}\" already exists");
    SqlError::new(SqlState::DUPLICATE_OBJECT, message)
}

fn no_label(label: &str) -> SqlError {
    let message = format!("\"{label}\" is not an existing enum label");
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn no_room() -> SqlError {
    SqlError::unsupported("a further enum label at this place").hint(
        "Values are stored as numbers, and none is left between these labels. Create another type.",
    )
}
