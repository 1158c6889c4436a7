//! Rows against an existing structure: each row's key is looked up in it (index nested-loop join;
//! paper 003).

use interleave::{Interleaver, Lookup};

use crate::batches::{Batches, looked_up};

/// Result of a lookup, as joins see it.
pub trait Found {
    /// Match of a key that the structure has.
    type Match;

    /// Returns the match; `None` if the structure does not have the key.
    fn into_match(self) -> Option<Self::Match>;
}

impl<T> Found for Option<T> {
    type Match = T;

    fn into_match(self) -> Option<T> {
        self
    }
}

/// Result of a search in a sorted array: the place, or the place where the key would be.
impl<T, E> Found for Result<T, E> {
    type Match = T;

    fn into_match(self) -> Option<T> {
        self.ok()
    }
}

/// A join of rows with the matches of their keys in a structure: `(row, found)` for each row, in
/// order.
///
/// ```
/// use index::sorted::SortedArray;
/// use operators::{IndexJoin, Joined as _};
///
/// let cities = SortedArray::from_sorted(vec![1000, 2000, 3000]).unwrap();
/// let people = [("Ann", Some(2000)), ("Bob", None), ("Cid", Some(2500))];
/// let join = IndexJoin::new(people, |person| person.1, &cities);
/// let found: Vec<_> = join.inner().collect();
/// assert_eq!(found, [(("Ann", Some(2000)), 1)]);
/// ```
pub struct IndexJoin<'s, I, S, K, F>
where
    I: Iterator,
    K: Copy,
    S: Lookup<K>,
    S::Found: Found,
{
    structure: &'s S,
    key: F,
    interleaver: Interleaver,
    batches: Batches<I, Row<I, S, K>>,
}

type Row<I, S, K> = (<I as Iterator>::Item, Option<Match<S, K>>);
type Match<S, K> = <<S as Lookup<K>>::Found as Found>::Match;

impl<'s, I, S, K, F> IndexJoin<'s, I, S, K, F>
where
    I: Iterator,
    K: Copy,
    S: Lookup<K>,
    S::Found: Found,
    F: Fn(&I::Item) -> Option<K>,
{
    /// Returns a join of `rows` with `structure`. `key` gives a row's key; a row without one (SQL's
    /// NULL) finds nothing.
    pub fn new(rows: impl IntoIterator<IntoIter = I>, key: F, structure: &'s S) -> Self {
        Self::with(Interleaver::auto(), rows, key, structure)
    }

    /// Returns a join as [`IndexJoin::new`] does, with an interleaver that is told how to look up,
    /// or knows the structure from before.
    pub fn with(
        interleaver: Interleaver,
        rows: impl IntoIterator<IntoIter = I>,
        key: F,
        structure: &'s S,
    ) -> Self {
        Self {
            structure,
            key,
            interleaver,
            batches: Batches::new(rows.into_iter()),
        }
    }

    /// Returns the interleaver, with its knowledge of the structure.
    pub fn interleaver(&self) -> &Interleaver {
        &self.interleaver
    }
}

impl<I, S, K, F> Iterator for IndexJoin<'_, I, S, K, F>
where
    I: Iterator,
    K: Copy,
    S: Lookup<K>,
    S::Found: Found,
    F: Fn(&I::Item) -> Option<K>,
{
    type Item = Row<I, S, K>;

    fn next(&mut self) -> Option<Self::Item> {
        let (structure, key) = (self.structure, &self.key);
        let interleaver = &mut self.interleaver;
        self.batches
            .next(|rows| looked_up(interleaver, structure, rows, key))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.batches.size_hint()
    }
}
