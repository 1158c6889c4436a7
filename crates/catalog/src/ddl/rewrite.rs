//! Another storage in the place of a table's, and indexes built anew.
//!
//! The rows themselves are copied by the caller, which understands them, under the exclusive lock
//! that [`Ddl::lock_exclusively`] leaves. A transaction that waits for that lock finds another
//! storage when it gets the lock, and locks that (`Changes::lock_table`).

use std::sync::{Arc, OnceLock};

use engine::TableLockMode;
use interleave::Interleaved;
use types::Result;

use super::{Ddl, index::build_failed};
use crate::{Index, ObjectId, Table, failure::from_engine, record};

impl Ddl<'_> {
    /// Locks a table against all other transactions, and returns its descriptor as it is then.
    ///
    /// # Errors
    /// 42P01 if the table is gone; errors of the engine.
    pub async fn lock_exclusively(&self, id: ObjectId) -> Result<Arc<Table>> {
        self.lock(id, TableLockMode::AccessExclusive).await
    }

    /// Gives a table's descriptor an empty storage of its own, without indexes. The catalog does
    /// not know it before [`Ddl::replace_storage`].
    ///
    /// # Errors
    /// Errors of the engine.
    pub async fn new_storage(&self, table: &mut Table) -> Result<()> {
        let name = record::storage_name(self.new_id().await?);
        let created = self.transaction.create_table::<Interleaved>(&name, &[]);
        let storage = created.await.map_err(from_engine)?;
        table.storage_name = Arc::from(name);
        table.storage = OnceLock::from(storage);
        table.indexes = Arc::default();
        Ok(())
    }

    /// Puts a descriptor with another storage, which has all rows, in the place of the table's; the
    /// old storage is dropped. `indexes` are built over the new one.
    ///
    /// # Errors
    /// 23505 if rows have the same key; errors of [`Ddl::alter_table`].
    pub async fn replace_storage(&self, new: Table, indexes: &[Index]) -> Result<Arc<Table>> {
        let id = new.id;
        let old = self.lock_exclusively(id).await?.storage_name.clone();
        let replace = |table: &mut Table| {
            *table = new;
            Ok(())
        };
        let mode = TableLockMode::AccessExclusive;
        let table = self.alter_table(id, mode, replace).await?;
        let dropped = self.transaction.drop_table::<Interleaved>(&old);
        dropped.await.map_err(from_engine)?;
        match indexes.is_empty() {
            true => Ok(table),
            false => self.build_indexes(&table, indexes).await,
        }
    }

    /// Builds a table's indexes anew, by its definition as it is now: the functions that make their
    /// keys know only the columns that existed when the indexes were built.
    ///
    /// # Errors
    /// Errors of [`Ddl::alter_table`].
    pub async fn rebuild_indexes(&self, id: ObjectId) -> Result<Arc<Table>> {
        let table = self.lock_exclusively(id).await?;
        if table.indexes.is_empty() {
            return Ok(table);
        }
        for index in table.indexes.iter().filter(|index| index.is_valid) {
            let name = index.engine_name();
            let dropped = self.transaction.drop_index_named::<Interleaved>(&name);
            dropped.await.map_err(from_engine)?;
        }
        self.build_indexes(&table, &table.indexes).await
    }

    async fn build_indexes(&self, table: &Table, indexes: &[Index]) -> Result<Arc<Table>> {
        let (catalog, keys) = (self.changes.catalog(), &self.changes.catalogs().keys);
        let mut built = Vec::with_capacity(indexes.len());
        for index in indexes {
            let mut index = index.clone();
            if index.is_valid {
                let (extract, options) = keys.keys(&catalog, table, &index)?;
                // The engine's name of the old index is taken until that has gone.
                let (storage, name) = (table.storage(), record::index_name(self.new_id().await?));
                index.storage_name = Some(Arc::from(name.as_str()));
                let handle = self
                    .transaction
                    .create_index::<Interleaved>(storage, &name, &[], options, extract)
                    .await;
                index.handle = Some(handle.map_err(|error| build_failed(&index.name, error))?);
            }
            built.push(index);
        }
        let enter = |table: &mut Table| {
            table.indexes = built.into();
            Ok(())
        };
        let mode = TableLockMode::AccessExclusive;
        self.alter_table(table.id, mode, enter).await
    }
}
