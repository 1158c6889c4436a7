//! Rows against rows: one side is built into a hash table, in which the rows of the other side are looked up.

use std::collections::TryReserveError;

use index::hash::{Key, OpenTable};
use interleave::{Execution, Interleaver, Lookup, Policy};

use crate::batches::{BATCH_ROWS, Batches, looked_up};

/// Number that marks the end of a chain of rows with one key.
const NONE: u32 = u32::MAX;

/// Lookups in flight while the table is built: the table is large, or the number does not matter.
const BUILD_IN_FLIGHT: usize = 16;

/// Reason why a hash join cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no memory for the table.
    Memory(TryReserveError),
    /// There are more than 4294967294 rows.
    TooManyRows,
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory(error) => write!(f, "there is no memory for the hash table: {error}"),
            Self::TooManyRows => f.write_str(
                "the side of a hash join that is built has at most 4294967294 rows; build the \
                 other one, or join in parts",
            ),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<TryReserveError> for BuildError {
    fn from(error: TryReserveError) -> Self {
        Self::Memory(error)
    }
}

/// The built side of a join: its rows, by key. Rows without a key (SQL's NULL) are kept and never found.
///
/// A key has one place in the table, however many rows have it; these are chained by their numbers.
///
/// ```
/// use operators::{HashJoin, Joined as _};
///
/// let orders = [("Ann", 10), ("Cid", 20), ("Ann", 30)];
/// let people = [("Ann", 1), ("Bob", 2)];
/// let join = HashJoin::build(orders, |order| Some(order.0)).unwrap();
/// let mut rows: Vec<_> = join.probe(people, |person| Some(person.0)).inner().collect();
/// rows.sort();
/// assert_eq!(rows, [(("Ann", 1), &("Ann", 10)), (("Ann", 1), &("Ann", 30))]);
/// ```
pub struct HashJoin<K, R> {
    rows: Vec<R>,
    /// Number of the newest row of each key.
    table: OpenTable<K, u32>,
    /// Number of the previous row with the same key, for each row.
    before: Vec<u32>,
}

impl<K: Key, R> HashJoin<K, R> {
    /// Builds the table of all `rows`; `key` gives a row's key.
    ///
    /// # Errors
    /// [`BuildError`] if memory is lacking or there are too many rows.
    pub fn build(
        rows: impl IntoIterator<Item = R>,
        key: impl Fn(&R) -> Option<K>,
    ) -> Result<Self, BuildError> {
        Self::build_with(Execution::in_flight(BUILD_IN_FLIGHT), rows, key)
    }

    /// Builds as [`HashJoin::build`] does, as `execution` says.
    ///
    /// # Errors
    /// [`BuildError`] if memory is lacking or there are too many rows.
    pub fn build_with(
        execution: Execution,
        rows: impl IntoIterator<Item = R>,
        key: impl Fn(&R) -> Option<K>,
    ) -> Result<Self, BuildError> {
        let mut source = rows.into_iter();
        let mut join = Self {
            rows: Vec::new(),
            table: OpenTable::new(),
            before: Vec::new(),
        };
        let mut pairs = Vec::with_capacity(BATCH_ROWS);
        loop {
            let first = join.rows.len();
            join.rows.try_reserve(BATCH_ROWS)?;
            join.rows.extend(source.by_ref().take(BATCH_ROWS));
            let count = join.rows.len();
            if count == first {
                return Ok(join);
            }
            if count >= NONE as usize {
                return Err(BuildError::TooManyRows);
            }
            let keyed = (first as u32..).zip(&join.rows[first..]);
            pairs.extend(keyed.filter_map(|(number, row)| Some((key(row)?, number))));
            join.before.try_reserve(count - first)?;
            join.before.resize(count, NONE);
            let before = &mut join.before;
            let chain = |at: usize, old| {
                let (_, number): (K, u32) = pairs[at];
                before[number as usize] = old;
            };
            join.table.insert_all(&pairs, execution, chain)?;
            pairs.clear();
        }
    }

    /// Returns the rows, in the order in which they came.
    pub fn rows(&self) -> &[R] {
        &self.rows
    }

    /// Returns the number of distinct keys of the rows.
    pub fn keys(&self) -> usize {
        self.table.len()
    }

    /// Joins `rows` of the other side with those of this one: `(row, found)` for each pair, and `(row, None)` for rows
    /// that find nothing; in the order of the rows that are given.
    pub fn probe<I: Iterator, F: Fn(&I::Item) -> Option<K>>(
        &self,
        rows: impl IntoIterator<IntoIter = I>,
        key: F,
    ) -> Probe<'_, I, K, R, F>
    where
        I::Item: Clone,
    {
        self.probe_with(Interleaver::auto(), rows, key)
    }

    /// Joins as [`HashJoin::probe`] does, with an interleaver that is told how to look up, or knows the table from
    /// before.
    pub fn probe_with<I: Iterator, F: Fn(&I::Item) -> Option<K>>(
        &self,
        interleaver: Interleaver,
        rows: impl IntoIterator<IntoIter = I>,
        key: F,
    ) -> Probe<'_, I, K, R, F>
    where
        I::Item: Clone,
    {
        Probe {
            join: self,
            key,
            interleaver,
            batches: Batches::new(rows.into_iter()),
            current: None,
        }
    }
}

/// Finds the newest row with a key, and fetches the row and its place in the chain to the cache.
impl<K: Key, R> Lookup<K> for HashJoin<K, R> {
    type Found = Option<u32>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, key: K) -> Option<u32> {
        let newest = self.table.look_up::<P>(key).await?;
        P::prefetch(&raw const self.rows[newest as usize], size_of::<R>());
        P::prefetch(&raw const self.before[newest as usize], size_of::<u32>());
        Some(newest)
    }
}

/// Rows of the other side with their matches; see [`HashJoin::probe`].
pub struct Probe<'j, I: Iterator, K, R, F> {
    join: &'j HashJoin<K, R>,
    key: F,
    interleaver: Interleaver,
    /// Rows, and the newest row that each has found.
    batches: Batches<I, (I::Item, Option<u32>)>,
    /// Row whose pairs are being handed out, and its next match: there may be as many as rows were built.
    current: Option<(I::Item, u32)>,
}

impl<I, K, R, F> Probe<'_, I, K, R, F>
where
    I: Iterator,
{
    /// Returns the interleaver, with its knowledge of the table.
    pub fn interleaver(&self) -> &Interleaver {
        &self.interleaver
    }
}

impl<'j, I, K, R, F> Iterator for Probe<'j, I, K, R, F>
where
    I: Iterator,
    I::Item: Clone,
    K: Key,
    F: Fn(&I::Item) -> Option<K>,
{
    type Item = (I::Item, Option<&'j R>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.current.is_none() {
            let (join, key) = (self.join, &self.key);
            let interleaver = &mut self.interleaver;
            let (row, newest) = self
                .batches
                .next(|rows| looked_up(interleaver, join, rows, key))?;
            let Some(newest) = newest else {
                return Some((row, None));
            };
            self.current = Some((row, newest));
        }
        let (row, found) = self.current.take()?;
        let before = self.join.before[found as usize];
        if before != NONE {
            self.current = Some((row.clone(), before));
        }
        Some((row, Some(&self.join.rows[found as usize])))
    }
}
