//! The counters of all sequences, by number.
//!
//! A counter that no committed sequence has any more, after a restart or a drop, is *retired*. A
//! transaction that still looks for it finds one that is held for good (`counter.rs`, Restarts),
//! and the catalog tells what became of its sequence. An entry of a few bytes stays as long as the
//! database is open: without it, a statement with an older catalog would begin the counter again.
//! The counter's record is deleted by the transaction that writes another counter's next; it stays
//! if no transaction does before the database is closed. The record of a restart that was rolled
//! back stays as well.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{ObjectId, counter::Counter};

/// Most records of retired counters that one transaction deletes.
const DELETED_MAX: usize = 8;

pub(super) struct Counters {
    state: Mutex<State>,
    /// Counter that stands for all that are retired.
    retired: Arc<Counter>,
}

#[derive(Default)]
struct State {
    /// Counters that were asked for or are retired. Number 0 has the counter of objects' numbers.
    by_number: HashMap<ObjectId, Arc<Counter>>,
    /// Retired counters whose records may be there.
    records: Vec<ObjectId>,
}

impl Counters {
    pub(super) fn new() -> Counters {
        Counters {
            state: Mutex::default(),
            retired: Arc::new(Counter::held()),
        }
    }

    /// Returns the counter of a number; makes it if there is none.
    pub(super) fn get(&self, id: ObjectId) -> Arc<Counter> {
        self.with(|state| state.by_number.entry(id).or_default().clone())
    }

    /// Retires a counter: no committed sequence has it from now on, nor will one.
    pub(super) fn retire(&self, id: ObjectId) {
        self.with(|state| {
            state.by_number.insert(id, self.retired.clone());
            state.records.push(id);
        });
    }

    pub(super) fn is_retired(&self, counter: &Arc<Counter>) -> bool {
        Arc::ptr_eq(counter, &self.retired)
    }

    /// Takes the numbers of some counters whose records are to be deleted now.
    pub(super) fn take_records(&self) -> Vec<ObjectId> {
        self.with(|state| {
            let kept = state.records.len().saturating_sub(DELETED_MAX);
            state.records.split_off(kept)
        })
    }

    /// Puts back numbers of counters whose records were not deleted.
    pub(super) fn put_back_records(&self, ids: Vec<ObjectId>) {
        self.with(|state| state.records.extend(ids));
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
