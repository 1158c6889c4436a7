//! Interactive transactions for threads that block.

use std::time::Duration;

use engine::{IfLocked, Savepoint, Strength};

use super::InteractiveTransaction;
use crate::{
    error::Result,
    index::Index,
    key::{AsKey, Key, KeyRange},
    options::{Isolation, OnConflict, TableOptions, WallTime},
    table::Table,
    thread::block_on,
    transaction::Transaction,
    value::{AsValue, Value},
};

/// An [`InteractiveTransaction`] whose operations block the calling thread. Made
/// by [`crate::Database::begin_blocking`]. Dropping it rolls it back.
///
/// # Errors
/// Each method fails as its asynchronous twin does, and with [`crate::Error::WouldBlockWorker`] on
/// a worker's thread, that is, inside a transaction's closure.
#[derive(Debug)]
pub struct BlockingTransaction {
    inner: InteractiveTransaction,
}

impl BlockingTransaction {
    pub(super) fn new(inner: InteractiveTransaction) -> BlockingTransaction {
        BlockingTransaction { inner }
    }

    /// Returns the transaction in a form to be awaited.
    pub fn into_async(self) -> InteractiveTransaction {
        self.inner
    }

    /// Returns the isolation level of the transaction.
    pub fn isolation(&self) -> Isolation {
        self.inner.isolation()
    }
}

impl From<InteractiveTransaction> for BlockingTransaction {
    fn from(inner: InteractiveTransaction) -> BlockingTransaction {
        BlockingTransaction { inner }
    }
}

/// # Errors
/// See the type, and the methods of [`InteractiveTransaction`] with the same
/// names.
impl BlockingTransaction {
    /// Runs several operations; see [`InteractiveTransaction::call`].
    pub fn call<T, F>(&self, operation: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&Transaction) -> Result<T> + Send + 'static,
    {
        block_on(self.inner.call(operation))
    }

    /// Reads a record's value; see [`InteractiveTransaction::get`].
    pub fn get<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<Option<V>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        block_on(self.inner.get(table, key))
    }

    /// Reads several values; see [`InteractiveTransaction::multi_get`].
    pub fn multi_get<K, V, Q>(&self, table: &Table<K, V>, keys: &[Q]) -> Result<Vec<Option<V>>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K>,
    {
        block_on(self.inner.multi_get(table, keys))
    }

    /// Reads records of a range; see [`InteractiveTransaction::scan`].
    pub fn scan<K, V>(
        &self,
        table: &Table<K, V>,
        range: impl KeyRange<K>,
        rows_max: usize,
    ) -> Result<Vec<(K, V)>>
    where
        K: Key,
        V: Value,
    {
        block_on(self.inner.scan(table, range, rows_max))
    }

    /// Reads a record by a unique index; see [`InteractiveTransaction::get_by`].
    pub fn get_by<I, K, V, C, Q>(
        &self,
        index: &Index<I, K, V, C>,
        key: &Q,
    ) -> Result<Option<(K, V)>>
    where
        I: Key,
        K: Key,
        V: Value,
        C: Value,
        Q: AsKey<I> + ?Sized,
    {
        block_on(self.inner.get_by(index, key))
    }

    /// Reads records of a range of index keys; see [`InteractiveTransaction::scan_by`].
    pub fn scan_by<I, K, V, C>(
        &self,
        index: &Index<I, K, V, C>,
        range: impl KeyRange<I>,
        rows_max: usize,
    ) -> Result<Vec<(I, K, V)>>
    where
        I: Key,
        K: Key,
        V: Value,
        C: Value,
    {
        block_on(self.inner.scan_by(index, range, rows_max))
    }

    /// Reads the covered values of a range of index keys; see
    /// [`InteractiveTransaction::scan_covered`].
    pub fn scan_covered<I, K, V, C>(
        &self,
        index: &Index<I, K, V, C>,
        range: impl KeyRange<I>,
        rows_max: usize,
    ) -> Result<Vec<(I, K, C)>>
    where
        I: Key,
        K: Key,
        V: Value,
        C: Value,
    {
        block_on(self.inner.scan_covered(index, range, rows_max))
    }

    /// Adds a record; see [`InteractiveTransaction::insert`].
    pub fn insert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        block_on(self.inner.insert(table, key, value))
    }

    /// Replaces a record's value; see [`InteractiveTransaction::update`].
    pub fn update<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        block_on(self.inner.update(table, key, value))
    }

    /// Adds a record or replaces its value; see [`InteractiveTransaction::upsert`].
    pub fn upsert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        block_on(self.inner.upsert(table, key, value))
    }

    /// Removes a record; see [`InteractiveTransaction::delete`].
    pub fn delete<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        block_on(self.inner.delete(table, key))
    }

    /// Changes the reaction to conflicts; see [`InteractiveTransaction::set_on_conflict`].
    pub fn set_on_conflict(&self, on_conflict: OnConflict) -> Result<()> {
        block_on(self.inner.set_on_conflict(on_conflict))
    }

    /// Changes the longest wait; see [`InteractiveTransaction::set_lock_timeout`].
    pub fn set_lock_timeout(&self, lock_timeout: Option<Duration>) -> Result<()> {
        block_on(self.inner.set_lock_timeout(lock_timeout))
    }

    /// Locks and reads a record; see [`InteractiveTransaction::lock`].
    pub fn lock<K, V, Q>(
        &self,
        table: &Table<K, V>,
        key: &Q,
        strength: Strength,
        if_locked: IfLocked,
    ) -> Result<Option<V>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        block_on(self.inner.lock(table, key, strength, if_locked))
    }

    /// Locks a record exclusively and reads it; see [`InteractiveTransaction::get_for_update`].
    pub fn get_for_update<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<Option<V>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        block_on(self.inner.get_for_update(table, key))
    }

    /// Makes a savepoint; see [`InteractiveTransaction::savepoint`].
    pub fn savepoint(&self) -> Result<Savepoint> {
        block_on(self.inner.savepoint())
    }

    /// Returns to a savepoint; see [`InteractiveTransaction::rollback_to`].
    pub fn rollback_to(&self, savepoint: &Savepoint) -> Result<()> {
        block_on(self.inner.rollback_to(savepoint))
    }

    /// Forgets a savepoint; see [`InteractiveTransaction::release_savepoint`].
    pub fn release_savepoint(&self, savepoint: &Savepoint) -> Result<()> {
        block_on(self.inner.release_savepoint(savepoint))
    }

    /// Creates a table; see [`InteractiveTransaction::create_table`].
    pub fn create_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        block_on(self.inner.create_table(name))
    }

    /// Creates a table with options; see [`InteractiveTransaction::create_table_with`].
    pub fn create_table_with<K: Key, V: Value>(
        &self,
        name: &str,
        options: TableOptions,
    ) -> Result<Table<K, V>> {
        block_on(self.inner.create_table_with(name, options))
    }

    /// Returns when a record expires; see [`InteractiveTransaction::expires_at`].
    pub fn expires_at<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<Option<WallTime>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        block_on(self.inner.expires_at(table, key))
    }

    /// Opens a table; see [`InteractiveTransaction::open_table`].
    pub fn open_table<K: Key, V: Value>(&self, name: &str) -> Result<Table<K, V>> {
        block_on(self.inner.open_table(name))
    }

    /// Drops a table; see [`InteractiveTransaction::drop_table`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        block_on(self.inner.drop_table(name))
    }

    /// Empties a table; see [`InteractiveTransaction::truncate_table`].
    pub fn truncate_table(&self, name: &str) -> Result<()> {
        block_on(self.inner.truncate_table(name))
    }

    /// Renames a table; see [`InteractiveTransaction::rename_table`].
    pub fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        block_on(self.inner.rename_table(from, to))
    }

    /// Commits the transaction; see [`InteractiveTransaction::commit`].
    pub fn commit(self) -> Result<()> {
        block_on(self.inner.commit())
    }

    /// Rolls the transaction back; see [`InteractiveTransaction::rollback`].
    pub fn rollback(self) -> Result<()> {
        block_on(self.inner.rollback())
    }
}
