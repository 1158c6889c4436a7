//! Tables and indexes created, dropped, truncated and renamed in transactions of their own, which
//! block the calling thread. The methods of [`Database`] and [`LocalDatabase`] run the operations
//! of `transaction/ddl.rs`.

use crate::{
    database::Database,
    error::Result,
    index::{Index, IndexSummary},
    key::Key,
    local::LocalDatabase,
    options::TableOptions,
    table::Table,
    transaction::Transaction,
    value::Value,
};

/// Implements equal inherent methods for both types of databases, which run transactions by `$run`.
/// (A trait would have to be imported by every caller.)
macro_rules! ddl {
    ($database:ty, $run:ident) => {
        impl $database {
            /// Creates a table in a transaction of its own, blocking the calling thread until that
            /// is durable. Within a transaction, use [`Transaction::create_table`].
            ///
            /// # Errors
            /// [`crate::Error::TableExists`], [`crate::Error::NameTooLong`],
            /// [`crate::Error::MemoryExhausted`], [`crate::Error::Closed`];
            /// [`crate::Error::WouldBlockWorker`] on a worker's thread, that is, inside a
            /// transaction; errors of a commit.
            pub fn create_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
                let name = name.to_owned();
                self.$run(async move |txn: &Transaction| txn.create_table(&name).await)
            }

            /// Creates a table as [`Self::create_table`] does, with options.
            ///
            /// # Errors
            /// Fails as [`Self::create_table`] does.
            pub fn create_table_with<K: Key, V: Value>(
                &self,
                name: &str,
                options: TableOptions,
            ) -> Result<Table<K, V>> {
                let name = name.to_owned();
                self.$run(async move |txn: &Transaction| {
                    txn.create_table_with(&name, options).await
                })
            }

            /// Drops a table in a transaction of its own, as [`Self::create_table`] creates one.
            /// See [`Transaction::drop_table`].
            ///
            /// # Errors
            /// [`crate::Error::NoSuchTable`]; also fails as [`Self::create_table`] does.
            pub fn drop_table(&self, name: &str) -> Result<()> {
                let name = name.to_owned();
                self.$run(async move |txn: &Transaction| txn.drop_table(&name).await)
            }

            /// Empties a table in a transaction of its own, as [`Self::create_table`] creates one.
            /// See [`Transaction::truncate_table`].
            ///
            /// # Errors
            /// [`crate::Error::NoSuchTable`]; also fails as [`Self::create_table`] does.
            pub fn truncate_table(&self, name: &str) -> Result<()> {
                let name = name.to_owned();
                self.$run(async move |txn: &Transaction| txn.truncate_table(&name).await)
            }

            /// Renames a table in a transaction of its own, as [`Self::create_table`] creates one.
            /// See [`Transaction::rename_table`].
            ///
            /// # Errors
            /// [`crate::Error::NoSuchTable`]; also fails as [`Self::create_table`] does.
            pub fn rename_table(&self, from: &str, to: &str) -> Result<()> {
                let (from, to) = (from.to_owned(), to.to_owned());
                self.$run(async move |txn: &Transaction| txn.rename_table(&from, &to).await)
            }

            /// Drops an index in a transaction of its own, as [`Self::drop_table`] drops a table.
            /// See [`Transaction::drop_index`].
            ///
            /// # Errors
            /// [`crate::Error::ForeignTable`]; also fails as [`Self::create_table`] does.
            pub fn drop_index<I, K, V, C>(&self, index: &Index<I, K, V, C>) -> Result<bool>
            where
                I: 'static,
                K: 'static,
                V: 'static,
                C: 'static,
            {
                let index = index.clone();
                self.$run(async move |txn: &Transaction| txn.drop_index(&index).await)
            }

            /// Drops an index by its name in a transaction of its own, as [`Self::drop_table`]
            /// drops a table. See [`Transaction::drop_index_named`].
            ///
            /// # Errors
            /// [`crate::Error::NoSuchIndex`]; also fails as [`Self::create_table`] does.
            pub fn drop_index_named(&self, name: &str) -> Result<()> {
                let name = name.to_owned();
                self.$run(async move |txn: &Transaction| txn.drop_index_named(&name).await)
            }

            /// Renames an index in a transaction of its own, as [`Self::rename_table`] renames a
            /// table. See [`Transaction::rename_index`].
            ///
            /// # Errors
            /// [`crate::Error::NoSuchIndex`]; also fails as [`Self::create_table`] does.
            pub fn rename_index(&self, from: &str, to: &str) -> Result<()> {
                let (from, to) = (from.to_owned(), to.to_owned());
                self.$run(async move |txn: &Transaction| txn.rename_index(&from, &to).await)
            }

            /// Returns the indexes of a table, by its name. See [`Transaction::indexes`].
            ///
            /// # Errors
            /// [`crate::Error::NoSuchTable`]; errors of a transaction.
            pub fn indexes(&self, table: &str) -> Result<Vec<IndexSummary>> {
                let table = table.to_owned();
                self.$run(async move |txn: &Transaction| txn.indexes(&table).await)
            }
        }
    };
}

ddl!(Database, run_blocking);
ddl!(LocalDatabase, run);
