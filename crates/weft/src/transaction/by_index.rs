//! Reads by index.

use std::{
    borrow::Cow,
    marker::PhantomData,
    ops::{Bound, ControlFlow},
};

use engine::Direction;
use interleave::Policy;

use super::{Transaction, scan::is_empty};
use crate::{
    error::{DecodeError, Error, Result},
    index::{Index, Types},
    key::{AsKey, Key, KeyBuffer, KeyRange},
    value::Value,
};

/// A scan over a range of index keys, made by [`Transaction::scan_by`] or
/// [`Transaction::scan_covered`]. It does nothing until one of its consuming methods is awaited.
/// `T` is the type read with each key: the value of the record, or the covered value.
#[must_use = "a scan visits nothing until for_each, collect or count is awaited"]
pub struct IndexScan<'t, P: Policy, I, K, T> {
    transaction: &'t Transaction<P>,
    index: Result<Cow<'t, engine::Index>>,
    covered: bool,
    bounds: (Bound<KeyBuffer>, Bound<KeyBuffer>),
    direction: Direction,
    _types: Types<(I, K, T)>,
}

impl<P: Policy> Transaction<P> {
    /// Returns the record that has `key` in a unique index: its key and its value.
    ///
    /// ```
    /// # use weft::{Database, IndexDefinition, Options, Table, Transaction};
    /// # let db = Database::open(Options { workers: 1, ..Options::default() })?;
    /// let users: Table<u64, String> = db.create_table("users")?;
    /// let by_name = IndexDefinition::unique("by name", |_id, name: String| Some(name));
    /// let by_name = db.create_index_blocking(&users, by_name)?;
    /// db.run_blocking(async move |txn: &Transaction| {
    ///     txn.insert(&users, &7, "penelope").await?;
    ///     let found = txn.get_by(&by_name, "penelope").await?;
    ///     assert_eq!(found, Some((7, "penelope".to_owned())));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), weft::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::IndexNotReady`] if the index was dropped, [`crate::Error::IndexNotUnique`];
    /// [`crate::Error::Abort`] if the transaction began before the index was ready; also fails as
    /// [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Suspends as [`Transaction::get`] does.
    pub async fn get_by<I, K, V, C, Q>(
        &self,
        index: &Index<I, K, V, C>,
        key: &Q,
    ) -> Result<Option<(K, V)>>
    where
        I: Key,
        K: Key,
        V: Value,
        Q: AsKey<I> + ?Sized,
    {
        let index = self.checked_index(index)?;
        let key = key.encode_key();
        let decode = super::scan::decode::<K, V>;
        let found = self.inner.get_by::<P, _>(&index, key.as_ref(), decode);
        Ok(found.await?.transpose()?)
    }

    /// Returns a scan of the records whose index keys lie in `range`, in the order of their index
    /// keys, this transaction's own writes included: index key, key and value.
    pub fn scan_by<'t, I: Key, K: Key, V: Value, C>(
        &'t self,
        index: &'t Index<I, K, V, C>,
        range: impl KeyRange<I>,
    ) -> IndexScan<'t, P, I, K, V> {
        self.index_scan(index, range, false)
    }

    /// Returns a scan as [`Transaction::scan_by`] does, of the covered values instead of the
    /// records' values: the table is not read.
    pub fn scan_covered<'t, I: Key, K: Key, V, C: Value>(
        &'t self,
        index: &'t Index<I, K, V, C>,
        range: impl KeyRange<I>,
    ) -> IndexScan<'t, P, I, K, C> {
        self.index_scan(index, range, true)
    }

    /// Returns the index that the handle refers to in this transaction: mostly the one it was made
    /// for, and the index of the same name after its table was truncated.
    fn checked_index<'t, I, K, V, C>(
        &self,
        index: &'t Index<I, K, V, C>,
    ) -> Result<Cow<'t, engine::Index>> {
        let index = index.checked(self.inner.session().database())?;
        if index.table().is_live() {
            return Ok(Cow::Borrowed(index));
        }
        match self.inner.current_index(index) {
            Ok(current) => Ok(Cow::Owned(current)),
            Err(engine::Error::TableDropped) => {
                Err(Error::TableDropped((*index.table().name()).into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn index_scan<'t, I, K, V, C, T>(
        &'t self,
        index: &'t Index<I, K, V, C>,
        range: impl KeyRange<I>,
        covered: bool,
    ) -> IndexScan<'t, P, I, K, T> {
        IndexScan {
            transaction: self,
            index: self.checked_index(index),
            covered,
            bounds: range.encoded_bounds(),
            direction: Direction::Forward,
            _types: PhantomData,
        }
    }
}

impl<P: Policy, I: Key, K: Key, T: Value> IndexScan<'_, P, I, K, T> {
    /// Reverses the scan: from the greatest index key to the least.
    pub fn rev(mut self) -> Self {
        self.direction = match self.direction {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        };
        self
    }

    /// Calls `visit` for every record until it breaks. Returns the number visited.
    ///
    /// # Errors
    /// [`crate::Error::IndexNotReady`] if the index was dropped; [`crate::Error::Abort`] if the
    /// transaction began before the index was ready; also fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Waits for memory, never while `visit` runs. Dropping the future is harmless.
    pub async fn for_each(self, mut visit: impl FnMut(I, K, T) -> ControlFlow<()>) -> Result<u64> {
        let mut failure: Option<DecodeError> = None;
        let visited = self
            .for_each_bytes(
                |index_key, key, content| match decode(index_key, key, content) {
                    Ok((index_key, key, content)) => visit(index_key, key, content),
                    Err(error) => {
                        failure = Some(error);
                        ControlFlow::Break(())
                    }
                },
            )
            .await?;
        failure.map_or(Ok(visited), |error| Err(error.into()))
    }

    /// Visits records as [`IndexScan::for_each`] does, in their stored form and without copying.
    ///
    /// # Errors
    /// Fails as [`IndexScan::for_each`] does, without decoding.
    ///
    /// # Suspension
    /// Suspends as [`IndexScan::for_each`] does.
    pub async fn for_each_bytes(
        self,
        visit: impl FnMut(&[u8], &[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let index = self.index?;
        let (lower, upper) = &self.bounds;
        let range = (
            lower.as_ref().map(AsRef::as_ref),
            upper.as_ref().map(AsRef::as_ref),
        );
        if is_empty(range) {
            return Ok(0);
        }
        let transaction = &self.transaction.inner;
        // The futures are boxed: see `Scan::for_each_bytes`.
        Ok(if self.covered {
            let scan = transaction.scan_covered::<P>(&index, range, self.direction, visit);
            Box::pin(scan).await?
        } else {
            let scan = transaction.scan_by::<P>(&index, range, self.direction, visit);
            Box::pin(scan).await?
        })
    }

    /// Returns all records of the range.
    ///
    /// # Errors
    /// Fails as [`IndexScan::for_each`] does.
    ///
    /// # Suspension
    /// Suspends as [`IndexScan::for_each`] does.
    pub async fn collect(self) -> Result<Vec<(I, K, T)>> {
        self.collect_some(usize::MAX).await
    }

    /// Returns the first `rows_max` records of the range.
    pub(crate) async fn collect_some(self, rows_max: usize) -> Result<Vec<(I, K, T)>> {
        let mut rows = Vec::new();
        if rows_max == 0 {
            return Ok(rows);
        }
        self.for_each(|index_key, key, content| {
            rows.push((index_key, key, content));
            match rows.len() < rows_max {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })
        .await?;
        Ok(rows)
    }

    /// Returns the number of records in the range.
    ///
    /// # Errors
    /// Fails as [`IndexScan::for_each`] does, without decoding.
    ///
    /// # Suspension
    /// Suspends as [`IndexScan::for_each`] does.
    pub async fn count(mut self) -> Result<u64> {
        // The count needs no records: each entry has one.
        self.covered = true;
        self.for_each_bytes(|_, _, _| ControlFlow::Continue(()))
            .await
    }
}

impl<P: Policy, I, K, T> std::fmt::Debug for IndexScan<'_, P, I, K, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexScan")
            .field("index", &self.index)
            .field("bounds", &self.bounds)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

fn decode<I: Key, K: Key, T: Value>(
    index_key: &[u8],
    key: &[u8],
    content: &[u8],
) -> Result<(I, K, T), DecodeError> {
    let (index_key, key) = (I::decode_key(index_key)?, K::decode_key(key)?);
    Ok((index_key, key, T::decode(content)?))
}
