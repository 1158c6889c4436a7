//! Insert, update, upsert, delete.

use interleave::Policy;

use super::Transaction;
use crate::{
    error::Result,
    index::explain,
    key::{AsKey, Key},
    table::Table,
    value::{AsValue, Value},
};

impl<P: Policy> Transaction<P> {
    /// Adds a record.
    ///
    /// # Errors
    /// [`crate::Error::DuplicateKey`] if there is one with this key,
    /// [`crate::Error::DuplicateIndexKey`] if one has the same key in a unique index;
    /// [`crate::Error::Abort`] if another transaction wrote it first;
    /// [`crate::Error::KeyTooLong`], [`crate::Error::ValueTooLong`],
    /// [`crate::Error::IndexKeyTooLong`],
    /// [`crate::Error::MemoryExhausted`], [`crate::Error::ForeignTable`], after
    /// which the transaction can go on; [`crate::Error::Ended`].
    ///
    /// # Suspension
    /// Waits for memory. Dropping the future leaves the record written or not;
    /// the transaction's commit or rollback covers it either way.
    #[inline]
    pub async fn insert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        let engine_table = self.checked(table)?;
        let (key, value) = (key.encode_key(), value.encode_value());
        let insert = self
            .inner
            .insert::<P>(&engine_table, key.as_ref(), value.as_ref());
        insert.await.map_err(|error| explain(&engine_table, error))
    }

    /// Replaces a record's value; false if there is no such record.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], without duplicates in the table.
    ///
    /// # Suspension
    /// As for [`Transaction::insert`].
    #[inline]
    pub async fn update<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        let engine_table = self.checked(table)?;
        let (key, value) = (key.encode_key(), value.encode_value());
        let update = self
            .inner
            .update::<P>(&engine_table, key.as_ref(), value.as_ref());
        update.await.map_err(|error| explain(&engine_table, error))
    }

    /// Adds a record or replaces its value.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], without duplicates in the table.
    ///
    /// # Suspension
    /// As for [`Transaction::insert`].
    #[inline]
    pub async fn upsert<K, V, Q, W>(&self, table: &Table<K, V>, key: &Q, value: &W) -> Result<()>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
        W: AsValue<V> + ?Sized,
    {
        let engine_table = self.checked(table)?;
        let (key, value) = (key.encode_key(), value.encode_value());
        let upsert = self
            .inner
            .upsert::<P>(&engine_table, key.as_ref(), value.as_ref());
        upsert.await.map_err(|error| explain(&engine_table, error))
    }

    /// Removes a record; false if there is no such record.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], without duplicates in the table.
    ///
    /// # Suspension
    /// As for [`Transaction::insert`].
    #[inline]
    pub async fn delete<K, V, Q>(&self, table: &Table<K, V>, key: &Q) -> Result<bool>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        let engine_table = self.checked(table)?;
        let key = key.encode_key();
        let delete = self.inner.delete::<P>(&engine_table, key.as_ref());
        delete.await.map_err(|error| explain(&engine_table, error))
    }
}
