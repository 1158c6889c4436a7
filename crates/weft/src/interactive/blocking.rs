//! Interactive transactions for threads that block.

use super::InteractiveTransaction;
use crate::{
    error::Result,
    key::{AsKey, Key, KeyRange},
    options::Isolation,
    table::Table,
    thread::block_on,
    transaction::Transaction,
    value::{AsValue, Value},
};

/// An [`InteractiveTransaction`] whose operations block the calling thread. Made
/// by [`crate::Database::begin_blocking`]. Dropping it rolls it back.
///
/// # Errors
/// Everything here fails as its asynchronous twin, and with
/// [`crate::Error::WouldBlockWorker`] on a worker's thread, that is, inside a
/// transaction's closure.
#[derive(Debug)]
pub struct BlockingTransaction {
    inner: InteractiveTransaction,
}

impl BlockingTransaction {
    pub(super) fn new(inner: InteractiveTransaction) -> BlockingTransaction {
        BlockingTransaction { inner }
    }

    /// The same transaction, to be awaited.
    pub fn into_async(self) -> InteractiveTransaction {
        self.inner
    }

    /// What this transaction sees of others.
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
    /// See [`InteractiveTransaction::call`].
    pub fn call<T, F>(&self, operation: F) -> Result<T>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&Transaction) -> Result<T> + Send + 'static,
    {
        block_on(self.inner.call(operation))
    }

    /// See [`InteractiveTransaction::get`].
    pub fn get<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<Option<V>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        block_on(self.inner.get(table, key))
    }

    /// See [`InteractiveTransaction::multi_get`].
    pub fn multi_get<K, V, Q>(&self, table: &Table<K, V>, keys: &[Q]) -> Result<Vec<Option<V>>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K>,
    {
        block_on(self.inner.multi_get(table, keys))
    }

    /// See [`InteractiveTransaction::scan`].
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

    /// See [`InteractiveTransaction::insert`].
    pub fn insert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        block_on(self.inner.insert(table, key, value))
    }

    /// See [`InteractiveTransaction::update`].
    pub fn update<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        block_on(self.inner.update(table, key, value))
    }

    /// See [`InteractiveTransaction::upsert`].
    pub fn upsert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        block_on(self.inner.upsert(table, key, value))
    }

    /// See [`InteractiveTransaction::delete`].
    pub fn delete<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        block_on(self.inner.delete(table, key))
    }

    /// See [`InteractiveTransaction::commit`].
    pub fn commit(self) -> Result<()> {
        block_on(self.inner.commit())
    }

    /// See [`InteractiveTransaction::rollback`].
    pub fn rollback(self) -> Result<()> {
        block_on(self.inner.rollback())
    }
}
