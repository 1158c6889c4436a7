//! Asynchronous memory access chaining: a ring of state machines, each at a stage of its own. A machine that ends
//! begins with the next key in place.

use std::collections::TryReserveError;

use interleave::{Execution, Policy, Prefetching};

use super::GROUP_MAX;
use crate::hash::{
    ChainedTable, Key, OpenTable, Refused,
    chained::{NONE, Onward},
    hash_of,
    open::Seen,
};

/// A search in an open table: the number of its key, the hash, the slot to look at next.
#[derive(Clone, Copy)]
struct Search {
    number: usize,
    hash: u64,
    at: usize,
}

/// Stores the value of each key.
pub fn probe_open_amac<K: Key, V: Copy>(
    table: &OpenTable<K, V>,
    keys: &[K],
    group: usize,
    found: &mut [Option<V>],
) {
    assert!(found.len() >= keys.len());
    if table.is_empty() {
        return found[..keys.len()].fill(None);
    }
    let begin = |number: usize| {
        let hash = hash_of(keys[number]);
        let at = table.first(hash);
        Prefetching::prefetch(table.address(at), 1);
        Search { number, hash, at }
    };
    let step = |search: &mut Search| match table.look(search.at, search.hash, keys[search.number]) {
        Seen::Done(value) => {
            found[search.number] = value;
            true
        }
        Seen::Onward(after) => {
            Prefetching::prefetch(table.address(after), 1);
            search.at = after;
            false
        }
    };
    ring(keys.len(), group, begin, step);
}

/// Inserts or replaces.
///
/// # Errors
/// [`TryReserveError`] if there is no memory for the table to grow; nothing was inserted.
pub fn build_open_amac<K: Key, V: Copy>(
    table: &mut OpenTable<K, V>,
    pairs: &[(K, V)],
    group: usize,
) -> Result<(), TryReserveError> {
    table.grow(table.len() + pairs.len(), Execution::Sequential)?;
    let building = table.building();
    let mut added = 0;
    let begin = |number: usize| {
        let hash = hash_of(pairs[number].0);
        let at = building.first(hash);
        Prefetching::prefetch(building.address(at), 1);
        Search { number, hash, at }
    };
    let step =
        |search: &mut Search| match building.put(search.at, search.hash, pairs[search.number]) {
            Seen::Done(old) => {
                added += usize::from(old.is_none());
                true
            }
            Seen::Onward(after) => {
                Prefetching::prefetch(building.address(after), 1);
                search.at = after;
                false
            }
        };
    ring(pairs.len(), group, begin, step);
    table.count(added);
    Ok(())
}

/// A walk along a chain.
#[derive(Clone, Copy)]
struct Walk<'t> {
    number: usize,
    /// Bucket, until it is read.
    head: Option<&'t u32>,
    entry: u32,
}

/// Stores the newest value of each key.
pub fn probe_chained_amac<K: Key, V: Copy>(
    table: &ChainedTable<K, V>,
    keys: &[K],
    group: usize,
    found: &mut [Option<V>],
) {
    assert!(found.len() >= keys.len());
    if table.is_empty() {
        return found[..keys.len()].fill(None);
    }
    let begin = |number: usize| {
        let head = table.head(hash_of(keys[number]));
        Prefetching::prefetch(head, 1);
        Walk {
            number,
            head: Some(head),
            entry: NONE,
        }
    };
    let step = |walk: &mut Walk<'_>| {
        walk.entry = match walk.head.take() {
            Some(head) => *head,
            None => match table.look(walk.entry, keys[walk.number]) {
                Onward::Found(value) => {
                    found[walk.number] = Some(value);
                    return true;
                }
                Onward::Next(next) => next,
            },
        };
        if walk.entry == NONE {
            found[walk.number] = None;
            return true;
        }
        Prefetching::prefetch(table.address(walk.entry), 1);
        false
    };
    ring(keys.len(), group, begin, step);
}

/// Adds an entry for each pair.
///
/// # Errors
/// [`Refused`] if memory is lacking or there would be too many entries; nothing was added.
pub fn build_chained_amac<K: Key, V: Copy>(
    table: &mut ChainedTable<K, V>,
    pairs: &[(K, V)],
    group: usize,
) -> Result<(), Refused> {
    let building = table.append(pairs)?;
    let begin = |number: usize| {
        let bucket = building.bucket(pairs[number].0);
        Prefetching::prefetch(building.address(bucket), 1);
        (number, bucket)
    };
    ring(pairs.len(), group, begin, |&mut (number, bucket)| {
        building.link(number, bucket);
        true
    });
    Ok(())
}

/// Runs state machines `0..count`, `group` at a time. `begin` makes one at its first prefetch; `step` goes on to the
/// next, or says that the machine has ended.
#[inline(always)]
fn ring<S: Copy>(
    count: usize,
    group: usize,
    begin: impl Fn(usize) -> S,
    mut step: impl FnMut(&mut S) -> bool,
) {
    let mut next = group.clamp(1, GROUP_MAX).min(count);
    let mut states: Vec<S> = (0..next).map(&begin).collect();
    while !states.is_empty() {
        let mut place = 0;
        while place < states.len() {
            if !step(&mut states[place]) {
                place += 1;
            } else if next < count {
                states[place] = begin(next);
                next += 1;
                place += 1;
            } else {
                // Removed rather than swapped out: the order of the machines decides the order in a bucket.
                states.remove(place);
            }
        }
    }
}
