//! Insert, update, upsert, modify, delete.

use std::ops::ControlFlow;

use interleave::Policy;

use super::Transaction;
use crate::{
    error::Result,
    index::explain,
    key::{AsKey, Key},
    table::Table,
    value::{AsValue, Value},
};

/// A change that writes the new value, made from the old one, into the given memory.
type Change<'c> = &'c mut dyn FnMut(&[u8], &mut Vec<u8>) -> ControlFlow<()>;

impl<P: Policy> Transaction<P> {
    /// Adds a record.
    ///
    /// # Errors
    /// [`crate::Error::DuplicateKey`] if there is a record with this key,
    /// [`crate::Error::DuplicateIndexKey`] if a record has the same key in a unique index;
    /// [`crate::Error::Abort`] if another transaction wrote it first; [`crate::Error::KeyTooLong`],
    /// [`crate::Error::ValueTooLong`], [`crate::Error::IndexKeyTooLong`],
    /// [`crate::Error::MemoryExhausted`], [`crate::Error::ForeignTable`], after which the
    /// transaction can go on; [`crate::Error::Ended`].
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

    /// Replaces a record's value; returns `false` if there is no such record.
    ///
    /// # Errors
    /// Fails as [`Transaction::insert`] does, without duplicates in the table.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::insert`] does.
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
    /// Fails as [`Transaction::insert`] does, without duplicates in the table.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::insert`] does.
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

    /// Changes a record's value by `change`; returns the result of that, or `None` if there is no
    /// such record.
    ///
    /// The operation is [`Transaction::get`] and [`Transaction::update`] in one, which finds the
    /// record once, and with no other transaction in between: under read committed no change is
    /// lost, and a change by another transaction since this one began is no conflict, unless this
    /// one has read something that has changed. `change` is called again if another transaction
    /// comes in between all the same; its last call counts.
    ///
    /// ```
    /// # fn main() -> weft::Result<()> {
    /// # let db = weft::Database::open(weft::Options::default())?;
    /// let counters = db.create_table::<u64, u64>("counters")?;
    /// let counted = db.run_blocking(async move |txn: &weft::Transaction| {
    ///     txn.insert(&counters, &1, &41).await?;
    ///     txn.modify(&counters, &1, |count| { *count += 1; *count }).await
    /// })?;
    /// assert_eq!(counted, Some(42));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails as [`Transaction::update`] and [`Transaction::get`] do.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::insert`] does; never while `change` runs.
    // The function is no `async fn`: that would copy the arguments when it is first polled.
    #[inline]
    #[allow(clippy::manual_async_fn, reason = "see above")]
    pub fn modify<K, V, Q, R>(
        &self,
        table: &Table<K, V>,
        key: &Q,
        mut change: impl FnMut(&mut V) -> R,
    ) -> impl Future<Output = Result<Option<R>>>
    where
        K: Key,
        V: Value,
        Q: AsKey<K> + ?Sized,
    {
        async move {
            let engine_table = self.checked(table)?;
            let key = key.encode_key();
            let mut changed = None;
            // The change is a trait object, so one body serves all changes.
            let change: Change<'_> = &mut |old, new| match V::decode(old) {
                Ok(mut value) => {
                    changed = Some(Ok(change(&mut value)));
                    new.extend_from_slice(value.encode().as_ref());
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    changed = Some(Err(error));
                    ControlFlow::Break(())
                }
            };
            let modify = self.inner.modify::<P>(&engine_table, key.as_ref(), change);
            let is_changed = modify
                .await
                .map_err(|error| explain(&engine_table, error))?;
            match changed {
                Some(Err(error)) => Err(error.into()),
                Some(Ok(returned)) if is_changed => Ok(Some(returned)),
                _ => Ok(None),
            }
        }
    }

    /// Removes a record; returns `false` if there is no such record.
    ///
    /// # Errors
    /// Fails as [`Transaction::insert`] does, without duplicates in the table.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::insert`] does.
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
