//! The graph of waits between transactions.
//!
//! The graph knows at which records each transaction waits; the records and tables know which
//! transactions this makes it wait for. A transaction waits for *all* of them: it ends only when
//! each of its operations has ended (several may wait, under a `join`). A cycle is therefore a
//! deadlock, and the other way round.
//!
//! # Why none is missed
//! Waits begin one after the other, under the graph's latch, and each looks for a cycle through
//! itself before the next begins. Consider the last of a cycle's waits to begin: all edges of the
//! cycle are there by then, and stay. For an edge comes into being when a wait begins, its own or
//! one that goes before it in the queue, which is then the last; when a waiter becomes a holder,
//! the edge was there already; a transaction that becomes a holder without waiting is in no cycle.
//!
//! # Why none is imagined
//! The records are looked at one after the other, not at one moment, each once in a search
//! (`view.rs`). But as long as the graph is latched no wait begins, and none is given up. Let a
//! cycle be found whose waits do not all last, and let the first of them to end be that of `x` for
//! `y`: then `y` has released what `x` was seen to wait for, after that was seen. A transaction
//! releases nothing while it waits, and `y` was found waiting and has waited since before the search
//! began: its own wait has ended earlier, which contradicts that `x`'s was the first.
//!
//! # Bounds
//! A search for a cycle looks at each holder and waiter of a place that it comes to a few times, for
//! each mode at most twice, however many of the waiters exclude each other (`view.rs`). The tables'
//! latch is held for at most [`LOOKS_MAX`] such looks, and one search for cycles more. A deadlock that
//! an order would have dissolved after more than these is given up like any other.
//!
//! # Letting waiters pass
//! An edge from a waiter to another one that stands before it at a table is there for the sake of
//! order alone. If a cycle has such an edge, the waiter is put before the other, and the search
//! begins again; PostgreSQL does the same. Such a move brings new edges to the waiter that was put
//! forward and to no other, so a cycle that the move closes goes through that waiter: the search
//! looks for cycles through all waiters that were moved. Only if no order helps, the new wait is
//! given up.
//!
//! The tables stay latched from the first look at an order to the last grant by the order that is
//! kept, or until the old order is back: releases take no graph latch, and an order that is only
//! tried must neither grant a lock nor keep one from a waiter. A lock granted by such an order would
//! bring edges to the waiters that were passed, which have looked for their cycles before. A lock
//! kept back by it would leave a waiter that no transaction is in the way of: the waiter has no edge
//! for its wait, and no release is to come.
//!
//! An entry stays until its waiter has looked at its ticket. If the lock was granted, the waiter is
//! not in the record's queue any more, and there is no edge.

use std::{
    collections::{HashMap, hash_map::Entry},
    task::Waker,
};

use super::{Locks, Place, View, tables::LatchedTables};
use crate::timestamp::TransactionId;

/// Maximum waiters that may be let pass for one wait: for most deadlocks one is enough.
const MOVES_MAX: usize = 4;
/// Maximum orders of queues that are tried for one wait, under the graph's latch.
const TRIES_MAX: u32 = 64;
/// Looks at holders and waiters after which no further search is made for one wait. A look that finds a
/// transaction comes with an entry of a hash map, so all of them take some milliseconds.
const LOOKS_MAX: usize = 1 << 17;

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

    /// Decides whether the wait of `by` can stay: if it is in no cycle, or in none any more after
    /// waiters of tables were let pass others. Returns the wakers to call then, `None` otherwise. Adds the
    /// number of entries looked at to `looks`.
    pub(super) fn resolve(
        &self,
        locks: &Locks,
        by: TransactionId,
        looks: &mut usize,
    ) -> Option<Vec<Waker>> {
        // Most waits are in no cycle, and most cycles are of records alone: neither keeps releases of
        // tables waiting.
        let Some(cycle) = self.cycle(locks, None, by, looks) else {
            return Some(Vec::new());
        };
        if cycle.iter().all(|edge| edge.table_to_pass().is_none()) {
            return None;
        }
        self.reorder(locks, by, looks)
    }

    /// Lets waiters of tables pass others, so that `by` is in no cycle any more. Returns the wakers
    /// to call then, `None` if no order helps.
    fn reorder(&self, locks: &Locks, by: TransactionId, looks: &mut usize) -> Option<Vec<Waker>> {
        let mut search = Search {
            graph: self,
            locks,
            tables: locks.tables.latch(),
            moves: Vec::new(),
            tries: 0,
            looks_left: LOOKS_MAX,
        };
        let is_resolved = search.resolves(by);
        let Search {
            moves,
            mut tables,
            looks_left,
            ..
        } = search;
        *looks += LOOKS_MAX - looks_left;
        let moved = is_resolved.then(|| moves.iter().map(|moved| moved.table));
        Some(moved?.flat_map(|table| tables.hand_over(table)).collect())
    }

    /// Returns the edges of a cycle through `by`, from its end to its beginning. `tables` are those
    /// of `locks`, if they are latched.
    fn cycle(
        &self,
        locks: &Locks,
        tables: Option<&LatchedTables<'_>>,
        by: TransactionId,
        looks: &mut usize,
    ) -> Option<Vec<Edge>> {
        let mut next = vec![by];
        let (mut reached, mut found) = (HashMap::new(), Vec::new());
        let mut views = HashMap::<Place, View>::new();
        while let Some(waiter) = next.pop() {
            for place in self.waits_of(waiter) {
                let view = views.entry(place).or_insert_with(|| {
                    let view = locks.view(place, tables);
                    *looks += view.len();
                    view
                });
                *looks += view.blockers(waiter, waiter == by, &mut found);
                for (blocker, waits_here) in found.drain(..) {
                    let Entry::Vacant(entry) = reached.entry(blocker) else {
                        continue;
                    };
                    entry.insert(Edge {
                        waiter,
                        blocker,
                        place,
                        waits_here,
                    });
                    if blocker == by {
                        return Some(path_to(by, &reached));
                    }
                    next.push(blocker);
                }
            }
        }
        None
    }
}

/// Returns the edges by which `by` was reached from itself.
fn path_to(by: TransactionId, reached: &HashMap<TransactionId, Edge>) -> Vec<Edge> {
    let mut path = Vec::new();
    let mut at = by;
    while let Some(&edge) = reached.get(&at) {
        path.push(edge);
        at = edge.waiter;
        if at == by {
            break;
        }
    }
    path
}

/// Wait at a place of a waiter for a blocker, which holds a lock or waits there before it.
#[derive(Clone, Copy)]
struct Edge {
    waiter: TransactionId,
    blocker: TransactionId,
    place: Place,
    waits_here: bool,
}

impl Edge {
    /// Returns the table in whose queue the waiter can be let pass the blocker, `None` if no order
    /// of a queue removes the edge.
    fn table_to_pass(&self) -> Option<u32> {
        match self.place {
            Place::Table(table) => self.waits_here.then_some(table),
            Place::Record(_) => None,
        }
    }
}

/// Pass of a waiter before another.
struct Move {
    table: u32,
    passed: TransactionId,
    by: TransactionId,
}

/// Search for an order of the tables' queues without a cycle.
struct Search<'g> {
    graph: &'g Graph,
    locks: &'g Locks,
    tables: LatchedTables<'g>,
    moves: Vec<Move>,
    tries: u32,
    looks_left: usize,
}

impl Search<'_> {
    /// Lets waiters pass until neither `by` nor any moved waiter is in a cycle. On failure all
    /// queues are as they were.
    fn resolves(&mut self, by: TransactionId) -> bool {
        let mut all = std::iter::once(by).chain(self.moves.iter().map(|moved| moved.by));
        let cycle = loop {
            let Some(one) = all.next() else {
                return true;
            };
            // An order that was not searched to the end is none that helps.
            if self.looks_left == 0 {
                return false;
            }
            let mut looks = 0;
            let cycle = self
                .graph
                .cycle(self.locks, Some(&self.tables), one, &mut looks);
            self.looks_left = self.looks_left.saturating_sub(looks);
            if let Some(cycle) = cycle {
                break cycle;
            }
        };
        // The new wait's own place first: then no other waiter is moved.
        for edge in cycle.into_iter().rev() {
            let Some(table) = edge.table_to_pass() else {
                continue;
            };
            let (passed, mover) = (edge.blocker, edge.waiter);
            // Moves back and forth would have no end.
            let undone = |moved: &Move| (moved.passed, moved.by) == (mover, passed);
            if self.moves.len() >= MOVES_MAX
                || self.tries >= TRIES_MAX
                || self.looks_left == 0
                || self.moves.iter().any(undone)
            {
                continue;
            }
            self.tries += 1;
            let Some(pass) = self.tables.let_pass(table, mover, passed) else {
                continue;
            };
            self.moves.push(Move {
                table,
                passed,
                by: mover,
            });
            if self.resolves(by) {
                return true;
            }
            self.moves.pop();
            self.tables.take_back(table, pass);
        }
        false
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
