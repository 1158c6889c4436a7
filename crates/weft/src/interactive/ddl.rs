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
    /// As for [`Transaction::create_table`], and for the type.
    pub async fn create_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.create_table(&name).await)
            .await
    }

    /// As [`InteractiveTransaction::create_table`], with options.
    ///
    /// # Errors
    /// As for [`Transaction::create_table`], and for the type.
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
    /// As for [`Transaction::open_table`], and for the type.
    pub async fn open_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.open_table(&name).await)
            .await
    }

    /// Drops a table.
    ///
    /// # Errors
    /// As for [`Transaction::drop_table`], and for the type.
    pub async fn drop_table(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.drop_table(&name).await)
            .await
    }

    /// Removes all records of a table.
    ///
    /// # Errors
    /// As for [`Transaction::truncate_table`], and for the type.
    pub async fn truncate_table(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.call(async move |txn: &Transaction| txn.truncate_table(&name).await)
            .await
    }

    /// Renames a table.
    ///
    /// # Errors
    /// As for [`Transaction::rename_table`], and for the type.
    pub async fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.call(async move |txn: &Transaction| txn.rename_table(&from, &to).await)
            .await
    }
}
