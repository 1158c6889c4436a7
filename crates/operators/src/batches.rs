//! Rows of an iterator, some at a time.

use std::vec;

use interleave::{Interleaver, Lookup};

use crate::Found;

/// Rows that are looked up at a time: enough that the beginning and the end of a batch, when few
/// lookups are in flight, do not count, and few enough that they stay in the second-level cache.
pub const BATCH_ROWS: usize = 1024;

/// Looks the keys of `rows` up. Returns each row with its match. Rows without a key find nothing.
pub(crate) fn looked_up<R, K: Copy, S: Lookup<K>>(
    interleaver: &mut Interleaver,
    structure: &S,
    rows: Vec<R>,
    key: impl Fn(&R) -> Option<K>,
) -> Vec<(R, Option<<S::Found as Found>::Match>)>
where
    S::Found: Found,
{
    let keyed = rows.iter().enumerate();
    let keyed = keyed.filter_map(|(at, row)| Some((at, key(row)?)));
    let (places, keys): (Vec<usize>, Vec<K>) = keyed.unzip();
    let mut joined: Vec<_> = rows.into_iter().map(|row| (row, None)).collect();
    interleaver.look_up_all(structure, &keys, |at, found| {
        joined[places[at]].1 = found.into_match();
    });
    joined
}

/// An iterator whose elements are made a batch at a time.
#[derive(Debug)]
pub(crate) struct Batches<I: Iterator, T> {
    rows: I,
    ready: vec::IntoIter<T>,
}

impl<I: Iterator, T> Batches<I, T> {
    pub(crate) fn new(rows: I) -> Self {
        Self {
            rows,
            ready: Vec::new().into_iter(),
        }
    }

    /// Returns the next element. If none is ready, takes a batch of rows, of which `make` makes
    /// elements, maybe none.
    pub(crate) fn next(&mut self, mut make: impl FnMut(Vec<I::Item>) -> Vec<T>) -> Option<T> {
        loop {
            if let Some(element) = self.ready.next() {
                return Some(element);
            }
            let batch: Vec<_> = self.rows.by_ref().take(BATCH_ROWS).collect();
            if batch.is_empty() {
                return None;
            }
            self.ready = make(batch).into_iter();
        }
    }

    /// Returns the number of ready elements, and the maximum of all elements if a row makes one.
    pub(crate) fn size_hint(&self) -> (usize, Option<usize>) {
        let ready = self.ready.len();
        let (_, most) = self.rows.size_hint();
        (ready, most.and_then(|most| most.checked_add(ready)))
    }
}
