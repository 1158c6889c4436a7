//! Views: created, and replaced.

use std::sync::Arc;

use types::{Result, SqlError, SqlState};

use super::{Ddl, gone};
use crate::{Dependency, Object, ObjectId, View};

impl Ddl<'_> {
    /// Creates a view, and gives it its number.
    ///
    /// # Errors
    /// 42P07 if the name is taken; 42704 if an object that the view refers to is gone; errors of
    /// the engine.
    pub async fn create_view(&self, mut view: View) -> Result<ObjectId> {
        view.id = self.new_id().await?;
        let (dependencies, keys) = (view.dependencies.clone(), view.grouped_by.clone());
        let id = self
            .create(Object::View(Arc::new(view)), &dependencies)
            .await?;
        self.expect_keys(&keys, &dependencies)?;
        Ok(id)
    }

    /// Checks that the primary keys with the numbers `keys` are still those of `tables`, which are
    /// held.
    ///
    /// # Errors
    /// 42704 if one of the keys is gone.
    fn expect_keys(&self, keys: &[ObjectId], tables: &[Dependency]) -> Result<()> {
        let catalog = self.changes.catalog();
        let tables = tables.iter().filter_map(|on| catalog.table(on.object));
        let there: Vec<ObjectId> = tables
            .filter_map(|table| Some(table.primary_key.as_ref()?.id))
            .collect();
        match keys.iter().find(|key| !there.contains(key)) {
            Some(key) => Err(gone("constraint", *key)),
            None => Ok(()),
        }
    }

    /// Replaces a view by one with the same number, whose first columns are those of the old one.
    /// Comments on it stay.
    ///
    /// # Errors
    /// 42P16 if the columns are others; errors of [`Ddl::create_view`].
    pub async fn replace_view(&self, mut view: View) -> Result<()> {
        let Object::View(before) = self.changes.hold(self.transaction, view.id).await? else {
            return Err(gone("view", view.id));
        };
        let invalid = |message: String| SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message);
        if view.columns.len() < before.columns.len() {
            return Err(invalid("cannot drop columns from view".to_owned()));
        }
        for (old, new) in before.columns.iter().zip(view.columns.iter()) {
            let name = &old.name;
            if *name != new.name {
                let message = format!(
                    "cannot change name of view column \"{name}\" to \"{}\"",
                    new.name
                );
                return Err(invalid(message).hint(
                    "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
                ));
            }
            if (old.ty, old.modifier) != (new.ty, new.modifier) {
                let catalog = self.changes.catalog();
                let message = format!(
                    "cannot change data type of view column \"{name}\" from {} to {}",
                    old.ty.format(old.modifier, &*catalog),
                    new.ty.format(new.modifier, &*catalog)
                );
                return Err(invalid(message));
            }
        }
        view.comments = before.comments.clone();
        let dependencies = view.dependencies.clone();
        self.keep(&dependencies).await?;
        self.expect_keys(&view.grouped_by, &dependencies)?;
        self.put(Object::View(Arc::new(view))).await
    }
}
