//! Foreign keys: added at both ends.

use std::sync::Arc;

use engine::TableLockMode;
use types::{Result, SqlError, SqlState};

use super::{Ddl, table::no_such_constraint};
use crate::{ForeignKey, ObjectId, Table};

impl Ddl<'_> {
    /// Adds a foreign key; gives it its number and finds the index that serves it. The caller
    /// checks that the rows agree, under the locks that this leaves, unless the key is not valid.
    ///
    /// # Errors
    /// 42830 if no constraint makes the referenced columns unique; 42710 if the name is taken;
    /// errors of [`Ddl::alter_table`].
    pub async fn add_foreign_key(&self, id: ObjectId, mut key: ForeignKey) -> Result<Arc<Table>> {
        key.id = self.new_id().await?;
        let referenced = self
            .lock(key.referenced, TableLockMode::ShareRowExclusive)
            .await?;
        (key.referenced_columns, key.referenced_index) =
            unique_of(&referenced, &key.referenced_columns)?;
        if key.columns.len() != key.referenced_columns.len() {
            return Err(SqlError::new(
                SqlState::INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        let target = key.referenced;
        let add = |table: &mut Table| {
            no_such_constraint(table, &key.name)?;
            if target == id {
                refer(table, id);
            }
            let mut keys: Vec<_> = table.foreign_keys.iter().cloned().chain([key]).collect();
            keys.sort_by(|one, other| one.name.cmp(&other.name));
            table.foreign_keys = keys.into();
            Ok(())
        };
        let table = self
            .alter_table(id, TableLockMode::ShareRowExclusive, add)
            .await?;
        if target != id {
            let note = |table: &mut Table| {
                refer(table, id);
                Ok(())
            };
            self.alter_table(target, TableLockMode::ShareRowExclusive, note)
                .await?;
        }
        Ok(table)
    }
}

fn refer(table: &mut Table, by: ObjectId) {
    if !table.referenced_by.contains(&by) {
        table.referenced_by = table.referenced_by.iter().copied().chain([by]).collect();
    }
}

/// Returns the unique key of a table that consists of these columns, in whatever order: its columns
/// (the primary key's, if `columns` is empty) and its index.
fn unique_of(table: &Table, columns: &Arc<[u16]>) -> Result<(Arc<[u16]>, Option<ObjectId>)> {
    let name = &table.name;
    if columns.is_empty() {
        let message = format!("there is no primary key for referenced table \"{name}\"");
        let key = table.primary_key.as_ref();
        let key = key.ok_or_else(|| SqlError::new(SqlState::UNDEFINED_OBJECT, message))?;
        return Ok((key.columns.clone(), key.index));
    }
    let sorted = |columns: &[u16]| {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        columns
    };
    let wanted = sorted(columns);
    if let Some(key) = &table.primary_key
        && sorted(&key.columns) == wanted
    {
        return Ok((columns.clone(), key.index));
    }
    let mut indexes = table.indexes.iter();
    let found = indexes.find(|index| {
        let keys = index.key_columns();
        let is_plain = index.unique && index.is_valid && index.predicate.is_none();
        is_plain && keys.is_some_and(|keys| sorted(&keys) == wanted)
    });
    let message = format!(
        "there is no unique constraint matching given keys for referenced table \"{name}\""
    );
    let found = found.ok_or_else(|| SqlError::new(SqlState::INVALID_FOREIGN_KEY, message))?;
    Ok((columns.clone(), Some(found.id)))
}
