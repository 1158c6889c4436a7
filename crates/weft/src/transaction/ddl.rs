//! Tables created, opened, dropped, truncated and renamed within a transaction.
//!
//! All of it commits or rolls back with the rest of the transaction, and no other transaction sees
//! it before. If two transactions change the same table in this way, or take the same name, one of
//! them aborts.

use interleave::Policy;

use super::Transaction;
use crate::{
    error::{Error, Result},
    index::{Index, IndexSummary},
    key::Key,
    options::TableOptions,
    table::{Table, TypeTag, typed},
    value::Value,
};

impl<P: Policy> Transaction<P> {
    /// Creates a table. Only this transaction can use the handle before it commits.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::NameTooLong`], after which the transaction can
    /// go on; [`Error::Abort`]; [`Error::MemoryExhausted`], after which it is over;
    /// [`Error::Ended`].
    ///
    /// # Suspension
    /// Waits for memory, never for the device. Dropping the future may end the
    /// transaction, without effect.
    pub async fn create_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        self.create_table_with(name, TableOptions::default()).await
    }

    /// Creates a table as [`Transaction::create_table`] does, with options.
    ///
    /// # Errors
    /// Fails as [`Transaction::create_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    pub async fn create_table_with<K: Key, V: Value>(
        &self,
        name: &str,
        options: TableOptions,
    ) -> Result<Table<K, V>> {
        let description = TypeTag::of::<K, V>().encode();
        let made = self
            .inner
            .create_table_with::<P>(name, &description, options);
        let table = made.await.map_err(|error| named(error, name, name))?;
        typed(self.inner.session().database(), table, name)
    }

    /// Opens a table that exists for this transaction.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::WrongType`]; also fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does.
    pub async fn open_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        let found = self.inner.open_table::<P>(name).await;
        let table = found.map_err(|error| named(error, name, name))?;
        typed(self.inner.session().database(), table, name)
    }

    /// Drops a table. Transactions that began before this one commits go on reading
    /// it; if they have written to it, they abort when they commit.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; also fails as [`Transaction::create_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    pub async fn drop_table(&self, name: &str) -> Result<()> {
        let dropped = self.inner.drop_table::<P>(name).await;
        dropped.map_err(|error| named(error, name, name))
    }

    /// Removes all records of a table, at once however many there are. Its handles stay valid.
    /// Transactions that began before this one commits go on reading the old records; if they have
    /// written to the table, they abort when they commit.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; also fails as [`Transaction::create_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    pub async fn truncate_table(&self, name: &str) -> Result<()> {
        let truncated = self.inner.truncate_table::<P>(name).await;
        truncated
            .map(drop)
            .map_err(|error| named(error, name, name))
    }

    /// Renames a table. Its handles stay valid.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; [`Error::TableExists`] if the new name is taken; also fails as
    /// [`Transaction::create_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    pub async fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        let renamed = self.inner.rename_table::<P>(from, to).await;
        renamed.map_err(|error| named(error, from, to))
    }

    /// Returns all tables by name, with their types, as this transaction sees them.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does.
    pub async fn tables(&self) -> Result<Vec<(String, TypeTag)>> {
        let tables = self.inner.list_tables::<P>().await?.into_iter();
        let tables = tables.filter_map(|(name, tag)| Some((name, TypeTag::decode(&tag)?)));
        Ok(tables.collect())
    }

    /// Returns the indexes of a table, in the order of their creation, as this transaction sees
    /// them, including those that were not created again since the database was opened.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; also fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does.
    pub async fn indexes(&self, table: &str) -> Result<Vec<IndexSummary>> {
        let indexes = self.inner.list_indexes::<P>(table).await;
        let indexes = indexes.map_err(|error| named(error, table, table))?;
        Ok(indexes.into_iter().filter_map(IndexSummary::of).collect())
    }

    /// Drops an index: once this transaction has committed, it is maintained no more, and reading
    /// it fails. Returns `false` if it had been dropped before.
    ///
    /// # Errors
    /// [`Error::ForeignTable`]; also fails as [`Transaction::create_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    pub async fn drop_index<I, K, V, C>(&self, index: &Index<I, K, V, C>) -> Result<bool> {
        let index = index.checked(self.inner.session().database())?;
        Ok(self.inner.drop_index::<P>(index).await?)
    }

    /// Drops an index as [`Transaction::drop_index`] does, by its name; it need not have been
    /// created again since the database was opened.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`]; also fails as [`Transaction::create_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    pub async fn drop_index_named(&self, name: &str) -> Result<()> {
        let dropped = self.inner.drop_index_named::<P>(name).await;
        dropped.map_err(|error| index_named(error, name, name))
    }

    /// Renames an index. Its handles stay valid.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`]; [`Error::TableExists`] if a table or index has the new name; also
    /// fails as [`Transaction::create_table`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::create_table`] does.
    pub async fn rename_index(&self, from: &str, to: &str) -> Result<()> {
        let renamed = self.inner.rename_index::<P>(from, to).await;
        renamed.map_err(|error| index_named(error, from, to))
    }
}

fn index_named(error: engine::Error, old: &str, new: &str) -> Error {
    match error {
        engine::Error::NoSuchTable => Error::NoSuchIndex(old.into()),
        error => named(error, old, new),
    }
}

/// Converts an error of the engine, with the name of the table that is missing or in the way.
fn named(error: engine::Error, old: &str, new: &str) -> Error {
    match error {
        engine::Error::NoSuchTable => Error::NoSuchTable(old.into()),
        engine::Error::TableExists => Error::TableExists(new.into()),
        error => error.into(),
    }
}
