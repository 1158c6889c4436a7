//! Point reads.

use interleave::Policy;

use super::Transaction;
use crate::{
    error::Result,
    key::{AsKey, Key},
    options::WallTime,
    table::Table,
    value::{BorrowValue, Value},
};

impl<P: Policy> Transaction<P> {
    /// Returns the value under `key`, if there is a record.
    ///
    /// # Errors
    /// [`crate::Error::KeyTooLong`], [`crate::Error::Decode`],
    /// [`crate::Error::ForeignTable`]; [`crate::Error::Abort`] and
    /// [`crate::Error::Ended`] if the transaction is over.
    ///
    /// # Suspension
    /// Waits for memory. Dropping the future is harmless.
    #[inline]
    pub async fn get<K: Key, V: Value, Q: AsKey<K> + ?Sized>(
        &self,
        table: &Table<K, V>,
        key: &Q,
    ) -> Result<Option<V>> {
        let engine_table = self.checked(table)?;
        let key = key.encode_key();
        let decoded = self
            .inner
            .get::<P, _>(&engine_table, key.as_ref(), V::decode);
        Ok(decoded.await?.transpose()?)
    }

    /// Returns the result of `read` on the value under `key`, which is shown in place, without
    /// copying: as `str` for `String`, as `[u8]` for `Vec<u8>`.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does; never while `read` runs.
    // The function is no `async fn`: that would copy the arguments when it is first polled.
    #[inline]
    #[allow(clippy::manual_async_fn, reason = "see above")]
    pub fn get_with<K: Key, V: BorrowValue, Q: AsKey<K> + ?Sized, R>(
        &self,
        table: &Table<K, V>,
        key: &Q,
        read: impl FnOnce(&V::Borrowed) -> R,
    ) -> impl Future<Output = Result<Option<R>>> {
        async move {
            let engine_table = self.checked(table)?;
            let key = key.encode_key();
            let read = |bytes: &[u8]| V::borrow(bytes).map(read);
            let decoded = self.inner.get::<P, _>(&engine_table, key.as_ref(), read);
            Ok(decoded.await?.transpose()?)
        }
    }

    /// Returns the time when the record under `key` expires: a [`Table::ttl`] after it was last
    /// written. Returns `None` if there is no record, or it lives for ever.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does.
    pub async fn expires_at<K: Key, V: Value, Q: AsKey<K> + ?Sized>(
        &self,
        table: &Table<K, V>,
        key: &Q,
    ) -> Result<Option<WallTime>> {
        let engine_table = self.checked(table)?;
        let key = key.encode_key();
        let read = |_: &[u8], expires| expires;
        let found = self
            .inner
            .get_until::<P, _>(&engine_table, key.as_ref(), read);
        Ok(found.await?.flatten())
    }

    /// Returns whether there is a record under `key`.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does.
    #[inline]
    pub async fn contains<K: Key, V: Value, Q: AsKey<K> + ?Sized>(
        &self,
        table: &Table<K, V>,
        key: &Q,
    ) -> Result<bool> {
        let engine_table = self.checked(table)?;
        let key = key.encode_key();
        let found = self.inner.get::<P, _>(&engine_table, key.as_ref(), |_| ());
        Ok(found.await?.is_some())
    }
}
