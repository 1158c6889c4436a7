//! Lookups as a ring of state machines (asynchronous memory access chaining).

use interleave::{Policy, Prefetching};
use memory::Pin;

use crate::{
    lookup::{Lookup, Step as LookupStep},
    tree::Tree,
};

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A prefetch was issued: come back after a while.
    Pending,
    /// The lookup is over.
    Done(Option<u64>),
}

/// One lookup under way. Step it until it is done, all under one pin.
pub struct AmacGet<'t, 'k> {
    lookup: Lookup<'t, 'k>,
}

impl<'t, 'k> AmacGet<'t, 'k> {
    /// Returns a lookup of `key`; nothing is read yet.
    #[inline]
    pub fn new(tree: &'t Tree, pin: &Pin<'_>, key: &'k [u8]) -> AmacGet<'t, 'k> {
        AmacGet {
            lookup: tree.lookup(pin, key),
        }
    }

    /// Goes on to the next prefetch or to the end.
    #[inline]
    pub fn step(&mut self) -> Step {
        match self.lookup.step() {
            LookupStep::Touch(address, bytes) => {
                Prefetching::prefetch(address, bytes);
                Step::Pending
            }
            LookupStep::Done(found) => Step::Done(found),
        }
    }
}

/// Looks `keys` up, `in_flight` at a time. `answers[i]` is the value of
/// `keys[i]`.
///
/// # Panics
/// Panics if there are fewer answers than keys.
pub fn multi_get_amac<K: AsRef<[u8]>>(
    tree: &Tree,
    pin: &Pin<'_>,
    keys: &[K],
    answers: &mut [Option<u64>],
    in_flight: usize,
) {
    assert!(answers.len() >= keys.len());
    let mut waiting = keys.iter().enumerate();
    let mut ring: Vec<(usize, AmacGet<'_, '_>)> = waiting
        .by_ref()
        .take(in_flight.max(1))
        .map(|(index, key)| (index, AmacGet::new(tree, pin, key.as_ref())))
        .collect();
    while !ring.is_empty() {
        let mut place = 0;
        while place < ring.len() {
            let (index, lookup) = &mut ring[place];
            if let Step::Done(answer) = lookup.step() {
                answers[*index] = answer;
                match waiting.next() {
                    Some((next, key)) => {
                        *index = next;
                        *lookup = AmacGet::new(tree, pin, key.as_ref());
                        // The first stage misses nothing: go on to its prefetch.
                        if let Step::Done(answer) = lookup.step() {
                            answers[next] = answer;
                        } else {
                            place += 1;
                        }
                    }
                    None => drop(ring.swap_remove(place)),
                }
                continue;
            }
            place += 1;
        }
    }
}
