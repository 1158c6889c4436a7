//! Ordered scans with a callback.

use std::{
    marker::PhantomData,
    ops::{Bound, ControlFlow},
};

use engine::{Direction, IfLocked, Strength};
use interleave::Policy;

use super::Transaction;
use crate::{
    error::{DecodeError, Result},
    key::{Key, KeyBuffer, KeyRange},
    table::Table,
    value::Value,
};

/// A scan over a range of keys, made by [`Transaction::scan`]. It does nothing
/// until one of its consuming methods is awaited.
#[must_use = "a scan visits nothing until for_each, collect or count is awaited"]
pub struct Scan<'t, P: Policy, K, V> {
    transaction: &'t Transaction<P>,
    table: &'t Table<K, V>,
    bounds: (Bound<KeyBuffer>, Bound<KeyBuffer>),
    direction: Direction,
    locking: Option<(Strength, IfLocked)>,
    _types: PhantomData<fn() -> (K, V)>,
}

impl<P: Policy> Transaction<P> {
    /// Returns a scan of the records with keys in `range`, in the order of their keys, this
    /// transaction's own writes included.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # let db = weft::Database::open(weft::Options { workers: 1, ..Default::default() })?;
    /// # let table: weft::Table<u64, u64> = db.create_table("t")?;
    /// # let sum = db.run_blocking(async move |txn: &weft::Transaction| {
    /// # for key in 1..=5 { txn.insert(&table, &key, &(key * 10)).await?; }
    /// let mut sum = 0;
    /// txn.scan(&table, 2..4)
    ///     .for_each(|_key, value| {
    ///         sum += value;
    ///         ControlFlow::Continue(())
    ///     })
    ///     .await?;
    /// # Ok(sum) })?;
    /// # assert_eq!(sum, 50);
    /// # Ok::<(), weft::Error>(())
    /// ```
    pub fn scan<'t, K: Key, V: Value>(
        &'t self,
        table: &'t Table<K, V>,
        range: impl KeyRange<K>,
    ) -> Scan<'t, P, K, V> {
        Scan {
            transaction: self,
            table,
            bounds: range.encoded_bounds(),
            direction: Direction::Forward,
            locking: None,
            _types: PhantomData,
        }
    }
}

impl<P: Policy, K: Key, V: Value> Scan<'_, P, K, V> {
    /// Reverses the scan: from the greatest key to the least.
    pub fn rev(mut self) -> Self {
        self.direction = match self.direction {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        };
        self
    }

    /// Locks each record before it is visited, as [`Transaction::lock`] does. With
    /// [`IfLocked::Skip`], records that other transactions hold are passed over: several workers
    /// can thereby take different jobs from one table.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use weft::*;
    /// # let db = Database::open(Options { workers: 1, ..Options::default() })?;
    /// # let jobs: Table<u64, String> = db.create_table("jobs")?;
    /// # let done = db.run_blocking(async move |txn: &Transaction| {
    /// # txn.insert(&jobs, &7, "sweep").await?;
    /// let mut job = None;
    /// txn.scan(&jobs, ..)
    ///     .lock(Strength::Update, IfLocked::Skip)
    ///     .for_each(|number, what| {
    ///         job = Some((number, what));
    ///         ControlFlow::Break(())
    ///     })
    ///     .await?;
    /// # Ok(job) })?;
    /// # assert_eq!(done, Some((7, "sweep".to_owned())));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn lock(mut self, strength: Strength, if_locked: IfLocked) -> Self {
        self.locking = Some((strength, if_locked));
        self
    }

    /// Calls `visit` for every record until it breaks. Returns the number of
    /// records visited.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Waits for memory, never while `visit` runs. Dropping the future is
    /// harmless.
    pub async fn for_each(self, mut visit: impl FnMut(K, V) -> ControlFlow<()>) -> Result<u64> {
        let mut failure: Option<DecodeError> = None;
        let visited = self
            .for_each_bytes(|key, value| match decode(key, value) {
                Ok((key, value)) => visit(key, value),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            })
            .await?;
        failure.map_or(Ok(visited), |error| Err(error.into()))
    }

    /// Visits records as [`Scan::for_each`] does, with keys and values in their stored form and
    /// without copying.
    ///
    /// # Errors
    /// Fails as [`Scan::for_each`] does, without decoding.
    ///
    /// # Suspension
    /// Suspends as [`Scan::for_each`] does.
    pub async fn for_each_bytes(
        self,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let table = self.transaction.checked(self.table)?;
        let (lower, upper) = &self.bounds;
        let range = (
            lower.as_ref().map(AsRef::as_ref),
            upper.as_ref().map(AsRef::as_ref),
        );
        if is_empty(range) {
            return Ok(0);
        }
        let (inner, direction) = (&self.transaction.inner, self.direction);
        // The futures are boxed: their frames are large, and every transaction that may scan would
        // carry them along. An allocation is little beside a scan.
        Ok(match self.locking {
            None => Box::pin(inner.scan::<P>(&table, range, direction, visit)).await?,
            Some((strength, if_locked)) => {
                let scan =
                    inner.scan_locked::<P>(&table, range, direction, strength, if_locked, visit);
                Box::pin(scan).await?
            }
        })
    }

    /// Returns all records of the range.
    ///
    /// # Errors
    /// Fails as [`Scan::for_each`] does.
    ///
    /// # Suspension
    /// Suspends as [`Scan::for_each`] does.
    pub async fn collect(self) -> Result<Vec<(K, V)>> {
        let mut rows = Vec::new();
        self.for_each(|key, value| {
            rows.push((key, value));
            ControlFlow::Continue(())
        })
        .await?;
        Ok(rows)
    }

    /// Returns the number of records in the range.
    ///
    /// # Errors
    /// Fails as [`Scan::for_each`] does, without decoding.
    ///
    /// # Suspension
    /// Suspends as [`Scan::for_each`] does.
    pub async fn count(self) -> Result<u64> {
        self.for_each_bytes(|_, _| ControlFlow::Continue(())).await
    }
}

impl<P: Policy, K, V> std::fmt::Debug for Scan<'_, P, K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan")
            .field("table", &self.table.name())
            .field("bounds", &self.bounds)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

pub(super) fn decode<K: Key, V: Value>(key: &[u8], value: &[u8]) -> Result<(K, V), DecodeError> {
    Ok((K::decode_key(key)?, V::decode(value)?))
}

/// Returns whether no key can lie between the bounds.
pub(super) fn is_empty(range: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    use Bound::{Excluded, Included};
    match range {
        (Included(lower), Included(upper)) => lower > upper,
        (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower >= upper,
        _ => false,
    }
}
