//! The cost of a wait where many transactions wait already.

use std::sync::Arc;

use super::*;
use crate::locks::{
    Acquired, Gate, TableLockMode,
    TableLockMode::{AccessExclusive, AccessShare, RowShare},
    TableRequest,
};

/// Transactions that wait.
const WAITERS: u16 = 2000;
/// Looks at a holder or waiter in one search: one for the copy, and two for each mode that is used.
const LOOKS_EACH: usize = 5;

/// Tables of a lock table by number, and the transactions that lock them.
struct Tables {
    locks: Locks,
    gates: [Arc<Gate>; 2],
}

fn id(number: u16) -> TransactionId {
    TransactionId::new(number / 1000, number % 1000, 1)
}

impl Tables {
    fn new() -> Tables {
        Tables {
            locks: Locks::new(|| None),
            gates: [0, 1].map(|number| Arc::new(Gate::new(number))),
        }
    }

    /// Asks for a lock; a wait of a transaction that `is_free` searches for no cycle.
    fn ask(&self, table: usize, by: u16, mode: TableLockMode, is_free: bool) -> Acquired {
        let request = TableRequest {
            gate: &self.gates[table],
            by: id(by),
            mode,
            is_free,
            closes: true,
        };
        self.locks.acquire_table(&request, true)
    }

    fn hold(&self, table: usize, by: u16, mode: TableLockMode) {
        let acquired = self.ask(table, by, mode, true);
        assert!(matches!(acquired, Acquired::Held(_)));
    }

    fn wait(&self, table: usize, by: u16, mode: TableLockMode) {
        let acquired = self.ask(table, by, mode, true);
        assert!(matches!(acquired, Acquired::Queued(_)));
    }

    /// Returns the looks that a search through the wait of `by` takes, and whether the wait can stay.
    fn looks(&self, by: u16) -> (usize, bool) {
        let mut looks = 0;
        let resolved = self.locks.graph().resolve(&self.locks, id(by), &mut looks);
        (looks, resolved.is_some())
    }
}

/// Waiters for one lock all exclude each other. A search went through the whole queue for each of them
/// that it reached, under the latch of the graph: the wait behind 2,000 others took two million looks.
#[test]
fn a_wait_behind_many_others_costs_as_much_as_there_are() {
    let tables = Tables::new();
    tables.hold(0, 0, AccessExclusive);
    for by in 1..=WAITERS {
        tables.wait(0, by, AccessExclusive);
    }
    let entries = usize::from(WAITERS) + 1;
    let (looks, stays) = tables.looks(WAITERS);
    assert!(stays && looks <= LOOKS_EACH * entries, "{looks}");
    // The cycle through all of them is found.
    tables.hold(1, WAITERS, AccessExclusive);
    let closes = tables.ask(1, 0, AccessExclusive, false);
    assert!(matches!(closes, Acquired::Deadlock));
}

/// Holders that share a lock, and each wait elsewhere behind the others, are reached there as often as
/// there are holders.
#[test]
fn a_wait_for_many_that_wait_elsewhere_costs_as_much_as_there_are() {
    let tables = Tables::new();
    tables.hold(1, 0, AccessExclusive);
    for by in 1..=WAITERS {
        tables.hold(0, by, AccessShare);
        tables.wait(1, by, AccessExclusive);
    }
    tables.wait(0, WAITERS + 1, AccessExclusive);
    let entries = 2 * (usize::from(WAITERS) + 1);
    let (looks, stays) = tables.looks(WAITERS + 1);
    assert!(stays && looks <= LOOKS_EACH * entries, "{looks}");
}

/// A cycle that leads through a long queue of a table is looked at again for each order of the queue
/// that is tried, while all tables are latched.
#[test]
fn orders_of_a_long_queue_are_tried_within_a_bound() {
    let tables = Tables::new();
    tables.hold(0, 0, AccessShare);
    let reader = WAITERS + 1;
    tables.hold(1, reader, AccessShare);
    for by in 1..=WAITERS {
        tables.wait(0, by, AccessExclusive);
        // Each waits for the reader as well, which can pass only a few of them.
        tables.wait(1, by, AccessExclusive);
    }
    tables.wait(0, reader, RowShare);
    let searches = 2 + MOVES_MAX;
    let one_search = LOOKS_EACH * (2 * usize::from(WAITERS) + 2);
    let (looks, _) = tables.looks(reader);
    assert!(looks <= LOOKS_MAX + searches * one_search, "{looks}");
}
