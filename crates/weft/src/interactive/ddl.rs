//! Tables created, opened, dropped, truncated and renamed by interactive transactions.

use super::InteractiveTransaction;
use crate::{
    error::Result, key::Key, options::TableOptions, table::Table, transaction::Transaction,
    value::Value,
};

impl InteractiveTransaction {
    /// Creates a table.
    ///
    /// # Errors
    /// Fails as [`Transaction::create_table`] does, and as the type describes.
    pub async fn create_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.create_table(&name).await)
            .await
    }

    /// Creates a table as [`InteractiveTransaction::create_table`] does, with options.
    ///
    /// # Errors
    /// Fails as [`Transaction::create_table`] does, and as the type describes.
    pub async fn create_table_with<K: Key, V: Value>(
        &self,
        name: &str,
        options: TableOptions,
    ) -> Result<Table<K, V>> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.create_table_with(&name, options).await)
            .await
    }

    /// Opens a table that exists for this transaction.
    ///
    /// # Errors
    /// Fails as [`Transaction::open_table`] does, and as the type describes.
    pub async fn open_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.open_table(&name).await)
            .await
    }

    /// Drops a table.
    ///
    /// # Errors
    /// Fails as [`Transaction::drop_table`] does, and as the type describes.
    pub async fn drop_table(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.drop_table(&name).await)
            .await
    }

    /// Removes all records of a table.
    ///
    /// # Errors
    /// Fails as [`Transaction::truncate_table`] does, and as the type describes.
    pub async fn truncate_table(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.truncate_table(&name).await)
            .await
    }

    /// Renames a table.
    ///
    /// # Errors
    /// Fails as [`Transaction::rename_table`] does, and as the type describes.
    pub async fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.call(async move |txn: &Transaction| txn.rename_table(&from, &to).await)
            .await
    }
}
