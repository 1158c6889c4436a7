//! Ordered scans as a stream of rows.
//!
//! Rows are fetched in chunks by scans that each begin after the last key of the
//! one before, so a row at hand costs no suspension, and nothing is held in the
//! engine between two chunks.

use std::{
    collections::VecDeque,
    ops::{Bound, ControlFlow},
};

use engine::Direction;
use interleave::Policy;

use super::{Transaction, scan};
use crate::{
    error::{DecodeError, Result},
    key::{Key, KeyBuffer, KeyRange},
    table::Table,
    value::Value,
};

/// Numbers of rows fetched by the first scan, and by all later ones. The first is small because
/// many streams are dropped after a few rows.
const FIRST_CHUNK_ROWS: usize = 16;
const CHUNK_ROWS: usize = 64;

/// A stream of rows in the order of their keys, made by [`Transaction::range`].
pub struct Rows<'t, P: Policy, K, V> {
    transaction: &'t Transaction<P>,
    table: &'t Table<K, V>,
    /// Bounds of the rows that have not been fetched yet.
    bounds: (Bound<KeyBuffer>, Bound<KeyBuffer>),
    direction: Direction,
    fetched: VecDeque<(K, V)>,
    chunk_rows: usize,
    exhausted: bool,
}

impl<P: Policy> Transaction<P> {
    /// Returns a stream of the records with keys in `range`, in the order of their keys, this
    /// transaction's own writes included. Records that the transaction inserts ahead of the stream
    /// while it runs may be missed or met.
    ///
    /// ```
    /// # let db = weft::Database::open(weft::Options { workers: 1, ..Default::default() })?;
    /// # let table: weft::Table<u64, u64> = db.create_table("t")?;
    /// # let sum = db.run_blocking(async move |txn: &weft::Transaction| {
    /// # for key in 1..=5 { txn.insert(&table, &key, &(key * 10)).await?; }
    /// let mut sum = 0;
    /// let mut rows = txn.range(&table, 2..=4);
    /// while let Some((_key, value)) = rows.next().await? {
    ///     sum += value;
    /// }
    /// # Ok(sum) })?;
    /// # assert_eq!(sum, 90);
    /// # Ok::<(), weft::Error>(())
    /// ```
    pub fn range<'t, K: Key, V: Value>(
        &'t self,
        table: &'t Table<K, V>,
        range: impl KeyRange<K>,
    ) -> Rows<'t, P, K, V> {
        Rows {
            transaction: self,
            table,
            bounds: range.encoded_bounds(),
            direction: Direction::Forward,
            fetched: VecDeque::new(),
            chunk_rows: FIRST_CHUNK_ROWS,
            exhausted: false,
        }
    }
}

impl<P: Policy, K: Key, V: Value> Rows<'_, P, K, V> {
    /// Reverses the stream: from the greatest key to the least. Must be called before the first
    /// row.
    pub fn rev(mut self) -> Self {
        debug_assert!(
            self.chunk_rows == FIRST_CHUNK_ROWS,
            "the direction is chosen before the first row"
        );
        self.direction = match self.direction {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        };
        self
    }

    /// Returns the next row; `None` at the end.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Waits for memory when a chunk of rows must be fetched. Dropping the
    /// future loses no row.
    pub async fn next(&mut self) -> Result<Option<(K, V)>> {
        if self.fetched.is_empty() && !self.exhausted {
            self.fetch().await?;
        }
        Ok(self.fetched.pop_front())
    }

    async fn fetch(&mut self) -> Result<()> {
        let table = self.transaction.checked(self.table)?;
        let (lower, upper) = &self.bounds;
        let range = (
            lower.as_ref().map(AsRef::as_ref),
            upper.as_ref().map(AsRef::as_ref),
        );
        if scan::is_empty(range) {
            self.exhausted = true;
            return Ok(());
        }
        // The chunk is kept apart until the scan has ended: if this future is dropped before,
        // nothing has changed.
        let mut chunk = VecDeque::with_capacity(self.chunk_rows);
        let mut last = KeyBuffer::new();
        let mut failure: Option<DecodeError> = None;
        let rows_max = self.chunk_rows;
        let inner = &self.transaction.inner;
        inner
            .scan::<P>(&table, range, self.direction, |key, value| {
                match scan::decode(key, value) {
                    Ok(row) => chunk.push_back(row),
                    Err(error) => failure = Some(error),
                }
                if failure.is_some() {
                    return ControlFlow::Break(());
                }
                if chunk.len() == rows_max {
                    last.set(key);
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })
            .await?;
        if let Some(error) = failure {
            return Err(error.into());
        }
        self.exhausted = chunk.len() < rows_max;
        self.chunk_rows = CHUNK_ROWS;
        self.fetched = chunk;
        match self.direction {
            Direction::Forward => self.bounds.0 = Bound::Excluded(last),
            Direction::Backward => self.bounds.1 = Bound::Excluded(last),
        }
        Ok(())
    }
}

impl<P: Policy, K, V> std::fmt::Debug for Rows<'_, P, K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("table", &self.table.name())
            .field("direction", &self.direction)
            .field("exhausted", &self.exhausted)
            .finish_non_exhaustive()
    }
}
