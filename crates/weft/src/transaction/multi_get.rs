//! Many point reads at once, typed.

use interleave::Policy;

use super::Transaction;
use crate::{
    error::{DecodeError, Result},
    key::{AsKey, Key},
    table::Table,
    value::{BorrowValue, Value},
};

impl<P: Policy> Transaction<P> {
    /// Returns the values under `keys`, in their order. The reads overlap each other's cache
    /// misses, where [`Transaction::get`] overlaps only with other transactions, at less cost for
    /// each.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does, for the first key that fails.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does.
    pub async fn multi_get<K: Key, V: Value, Q: AsKey<K>>(
        &self,
        table: &Table<K, V>,
        keys: &[Q],
    ) -> Result<Vec<Option<V>>> {
        let mut values: Vec<Option<V>> = Vec::new();
        values.resize_with(keys.len(), || None);
        let decode = |at: usize, bytes: &[u8]| {
            values[at] = Some(V::decode(bytes)?);
            Ok(())
        };
        self.multi_get_bytes(table, keys, decode).await?;
        Ok(values)
    }

    /// Shows the values under `keys` to `read` in place, without copying, each with the position of
    /// its key; in no particular order, and once for each position of a repeated key. Returns the
    /// number of values shown: fewer than there are keys, if some have no record. The reads overlap
    /// as those of [`Transaction::multi_get`] do.
    ///
    /// ```
    /// # let db = weft::Database::open(weft::Options { workers: 1, ..Default::default() })?;
    /// # let names: weft::Table<u64, String> = db.create_table("names")?;
    /// # db.run_blocking(async move |txn: &weft::Transaction| {
    /// # txn.insert(&names, &7, "warp").await?;
    /// # txn.insert(&names, &9, "weft").await?;
    /// let mut lengths = [0; 3];
    /// let found = txn
    ///     .multi_get_with(&names, &[9, 8, 7], |at, name| lengths[at] = name.len())
    ///     .await?;
    /// assert_eq!((found, lengths), (2, [4, 0, 4]));
    /// # Ok(()) })?;
    /// # Ok::<(), weft::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Transaction::multi_get`] does; values may have been shown before.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does; never while `read` runs.
    pub async fn multi_get_with<K: Key, V: BorrowValue, Q: AsKey<K>>(
        &self,
        table: &Table<K, V>,
        keys: &[Q],
        mut read: impl FnMut(usize, &V::Borrowed),
    ) -> Result<usize> {
        let show = |at: usize, bytes: &[u8]| {
            read(at, V::borrow(bytes)?);
            Ok(())
        };
        self.multi_get_bytes(table, keys, show).await
    }

    /// Calls `visit` for each value that is found, in its stored form, with the position of its
    /// key. Returns the number found.
    async fn multi_get_bytes<K: Key, V: Value, Q: AsKey<K>>(
        &self,
        table: &Table<K, V>,
        keys: &[Q],
        mut visit: impl FnMut(usize, &[u8]) -> Result<(), DecodeError>,
    ) -> Result<usize> {
        let engine_table = self.checked(table)?;
        let mut decoded = Ok(());
        let read = |at: usize, bytes: &[u8]| {
            if decoded.is_ok() {
                decoded = visit(at, bytes);
            }
        };
        let keys = keys.iter().map(|key| key.encode_key());
        let found = self
            .inner
            .multi_get::<P, _>(&engine_table, keys, read)
            .await?;
        decoded?;
        Ok(found)
    }
}
