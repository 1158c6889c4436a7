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
    /// The value under `key`, if there is a record.
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

    /// What `read` makes of the value under `key`, which it is shown in place,
    /// without copying: as `str` for `String`, as `[u8]` for `Vec<u8>`.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    ///
    /// # Suspension
    /// As for [`Transaction::get`]; never while `read` runs.
    // Not an `async fn`: that would copy the arguments when it is first polled.
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

    /// When the record under `key` expires: a [`Table::ttl`] after it was last written.
    /// `None` if there is no record, or it lives for ever.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    ///
    /// # Suspension
    /// As for [`Transaction::get`].
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

    /// Whether there is a record under `key`.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    ///
    /// # Suspension
    /// As for [`Transaction::get`].
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
