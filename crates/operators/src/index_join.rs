//! Rows against a structure that is there: each row's key is looked up in it (index nested-loop
//! join; paper 003).

use interleave::{Interleaver, Lookup};

use crate::batches::{Batches, looked_up};

/// What a lookup comes to, as joins see it.
pub trait Found {
    /// What a key that is there finds.
    type Match;

    /// It; `None` if the key is not there.
    fn into_match(self) -> Option<Self::Match>;
}

impl<T> Found for Option<T> {
    type Match = T;

    fn into_match(self) -> Option<T> {
        self
    }
}

/// As of searches in sorted arrays: the place, or the place where it would be.
impl<T, E> Found for Result<T, E> {
    type Match = T;

    fn into_match(self) -> Option<T> {
        self.ok()
    }
}

/// Joins rows with what their keys find in a structure: `(row, found)` for each row, in order.
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
    /// `key` gives a row's key; a row without one (SQL's NULL) finds nothing.
    pub fn new(rows: impl IntoIterator<IntoIter = I>, key: F, structure: &'s S) -> Self {
        Self::with(Interleaver::auto(), rows, key, structure)
    }

    /// The same with an interleaver that is told how, or knows the structure from before.
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

    /// What it knows of the structure by now.
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
