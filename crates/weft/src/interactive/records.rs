//! Reads, scans and writes of interactive transactions.

use super::{
    InteractiveTransaction,
    encoded::{EncodedKey, EncodedRange, EncodedValue},
};
use crate::{
    error::Result,
    index::Index,
    key::{AsKey, Key, KeyRange},
    options::WallTime,
    table::Table,
    transaction::Transaction,
    value::{AsValue, Value},
};

impl InteractiveTransaction {
    /// The value under `key`, if there is a record.
    ///
    /// # Errors
    /// As for [`Transaction::get`], and for the type.
    pub async fn get<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<Option<V>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        let (table, key) = (table.clone(), EncodedKey::of(key));
        self.call(async move |txn: &Transaction| txn.get(&table, &key).await)
            .await
    }

    /// The values under `keys`, in their order.
    ///
    /// # Errors
    /// As for [`Transaction::multi_get`], and for the type.
    pub async fn multi_get<K, V, Q>(
        &self,
        table: &Table<K, V>,
        keys: &[Q],
    ) -> Result<Vec<Option<V>>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K>,
    {
        let table = table.clone();
        let keys: Vec<_> = keys.iter().map(EncodedKey::of).collect();
        self.call(async move |txn: &Transaction| txn.multi_get(&table, &keys).await)
            .await
    }

    /// The first `rows_max` records with keys in `range`, in the order of their
    /// keys. For more than that, ask again from behind the last, or use
    /// [`InteractiveTransaction::call`] and work where the data is.
    ///
    /// # Errors
    /// As for [`Transaction::scan`], and for the type.
    pub async fn scan<K, V>(
        &self,
        table: &Table<K, V>,
        range: impl KeyRange<K>,
        rows_max: usize,
    ) -> Result<Vec<(K, V)>>
    where
        K: Key,
        V: Value,
    {
        let (table, range) = (table.clone(), EncodedRange::of(&range));
        self.call(async move |txn: &Transaction| {
            let mut found = Vec::new();
            let mut rows = txn.range(&table, range);
            while found.len() < rows_max {
                let Some(row) = rows.next().await? else { break };
                found.push(row);
            }
            Ok(found)
        })
        .await
    }

    /// The record that has `key` in a unique index: its key and its value.
    ///
    /// # Errors
    /// As for [`Transaction::get_by`], and for the type.
    pub async fn get_by<I, K, V, C, Q>(
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
        let (index, key) = (index.clone(), EncodedKey::of(key));
        self.call(async move |txn: &Transaction| txn.get_by(&index, &key).await)
            .await
    }

    /// The first `rows_max` records whose index keys lie in `range`, in the order of
    /// their index keys: index key, key and value.
    ///
    /// # Errors
    /// As for [`Transaction::scan_by`], and for the type.
    pub async fn scan_by<I, K, V, C>(
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
        let (index, range) = (index.clone(), EncodedRange::of(&range));
        self.call(async move |txn: &Transaction| {
            txn.scan_by(&index, range.clone())
                .collect_some(rows_max)
                .await
        })
        .await
    }

    /// As [`InteractiveTransaction::scan_by`], of what the index covers instead of the
    /// records' values.
    ///
    /// # Errors
    /// As for [`InteractiveTransaction::scan_by`].
    pub async fn scan_covered<I, K, V, C>(
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
        let (index, range) = (index.clone(), EncodedRange::of(&range));
        self.call(async move |txn: &Transaction| {
            let scan = txn.scan_covered(&index, range.clone());
            scan.collect_some(rows_max).await
        })
        .await
    }

    /// When the record under `key` expires.
    ///
    /// # Errors
    /// As for [`Transaction::expires_at`], and for the type.
    pub async fn expires_at<K, V, Q>(
        &self,
        table: &Table<K, V>,
        key: &Q,
    ) -> Result<Option<WallTime>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        let (table, key) = (table.clone(), EncodedKey::of(key));
        self.call(async move |txn: &Transaction| txn.expires_at(&table, &key).await)
            .await
    }

    /// Adds a record.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], and for the type.
    pub async fn insert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        let (table, key, value) = (table.clone(), EncodedKey::of(key), EncodedValue::of(value));
        self.call(async move |txn: &Transaction| txn.insert(&table, &key, &value).await)
            .await
    }

    /// Replaces a record's value; false if there is no such record.
    ///
    /// # Errors
    /// As for [`Transaction::update`], and for the type.
    pub async fn update<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        let (table, key, value) = (table.clone(), EncodedKey::of(key), EncodedValue::of(value));
        self.call(async move |txn: &Transaction| txn.update(&table, &key, &value).await)
            .await
    }

    /// Adds a record or replaces its value.
    ///
    /// # Errors
    /// As for [`Transaction::upsert`], and for the type.
    pub async fn upsert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        let (table, key, value) = (table.clone(), EncodedKey::of(key), EncodedValue::of(value));
        self.call(async move |txn: &Transaction| txn.upsert(&table, &key, &value).await)
            .await
    }

    /// Removes a record; false if there is no such record.
    ///
    /// # Errors
    /// As for [`Transaction::delete`], and for the type.
    pub async fn delete<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        let (table, key) = (table.clone(), EncodedKey::of(key));
        self.call(async move |txn: &Transaction| txn.delete(&table, &key).await)
            .await
    }
}
