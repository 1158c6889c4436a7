//! Who waits for whom.
//!
//! The graph knows at which records each transaction waits; whom that makes it wait for
//! is asked of the records. A transaction waits for *all* of them: it ends only when
//! each of its operations has ended (several may wait, under a `join`). So a cycle is
//! a deadlock, and the other way round.
//!
//! # Why none is missed
//! Waits begin one after the other, under the graph's latch, and each looks for a cycle
//! through itself before the next begins. Consider the last of a cycle's waits to begin:
//! all edges of the cycle are there by then, and stay. For an edge comes into being
//! when a wait begins, its own or one that goes before it in the queue, which is then
//! the last; when a waiter becomes a holder, it was an edge already; a transaction that
//! becomes a holder without waiting is in no cycle.
//!
//! # Why none is imagined
//! The records are looked at one after the other, not at one moment. But as long as the
//! graph is latched no wait begins, and none is given up. A transaction that was found
//! waiting has waited since before the search began, and has released nothing; so what
//! it was found to hold before, or is found to hold later, it holds now.
//!
//! An entry stays until its waiter has looked at its ticket. If the lock was granted,
//! the record's queue does not have it any more, and there is no edge.

use std::collections::{HashMap, HashSet};

use super::{Locks, Place};
use crate::timestamp::TransactionId;

#[derive(Default)]
pub(super) struct Graph {
    waits: HashMap<TransactionId, Vec<Place>>,
}

impl Graph {
    pub(super) fn enter(&mut self, by: TransactionId, place: Place) {
        self.waits.entry(by).or_default().push(place);
    }

    pub(super) fn leave(&mut self, by: TransactionId, place: Place) {
        let Some(places) = self.waits.get_mut(&by) else {
            return;
        };
        if let Some(at) = places.iter().position(|other| *other == place) {
            places.swap_remove(at);
        }
        if places.is_empty() {
            self.waits.remove(&by);
        }
    }

    pub(super) fn waits_of(&self, by: TransactionId) -> impl Iterator<Item = Place> {
        self.waits.get(&by).into_iter().flatten().copied()
    }

    /// Whether `by` waits for itself.
    pub(super) fn closes_cycle(&self, locks: &Locks, by: TransactionId) -> bool {
        // Each with the record where, as a waiter before others, it was looked at with
        // them.
        let mut next = vec![(by, None)];
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        while let Some((waiter, looked_at)) = next.pop() {
            let waits = self.waits.get(&waiter).map_or(&[][..], Vec::as_slice);
            for &place in waits {
                let is_only_wait = || waits.iter().filter(|other| **other == place).count() == 1;
                if looked_at == Some(place) && is_only_wait() {
                    continue;
                }
                locks.blockers(place, waiter, &mut found);
                for (blocker, waits_here) in found.drain(..) {
                    if blocker == by {
                        return true;
                    }
                    if seen.insert(blocker) {
                        next.push((blocker, waits_here.then_some(place)));
                    }
                }
            }
        }
        false
    }
}
