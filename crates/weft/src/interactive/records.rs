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
    /// Returns the value under `key`, if there is a record.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does, and as the type describes.
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

    /// Returns the values under `keys`, in their order.
    ///
    /// # Errors
    /// Fails as [`Transaction::multi_get`] does, and as the type describes.
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

    /// Returns the first `rows_max` records with keys in `range`, in the order of their keys. For
    /// more records, call again from behind the last, or use [`InteractiveTransaction::call`] and
    /// work where the data is.
    ///
    /// # Errors
    /// Fails as [`Transaction::scan`] does, and as the type describes.
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

    /// Returns the record that has `key` in a unique index: its key and its value.
    ///
    /// # Errors
    /// Fails as [`Transaction::get_by`] does, and as the type describes.
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

    /// Returns the first `rows_max` records whose index keys lie in `range`, in the order of their
    /// index keys: index key, key and value.
    ///
    /// # Errors
    /// Fails as [`Transaction::scan_by`] does, and as the type describes.
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

    /// Returns records as [`InteractiveTransaction::scan_by`] does, with the covered values instead
    /// of the records' values.
    ///
    /// # Errors
    /// Fails as [`InteractiveTransaction::scan_by`] does.
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

    /// Returns the time when the record under `key` expires.
    ///
    /// # Errors
    /// Fails as [`Transaction::expires_at`] does, and as the type describes.
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
    /// Fails as [`Transaction::insert`] does, and as the type describes.
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

    /// Replaces a record's value; returns `false` if there is no such record.
    ///
    /// # Errors
    /// Fails as [`Transaction::update`] does, and as the type describes.
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
    /// Fails as [`Transaction::upsert`] does, and as the type describes.
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

    /// Removes a record; returns `false` if there is no such record.
    ///
    /// # Errors
    /// Fails as [`Transaction::delete`] does, and as the type describes.
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
