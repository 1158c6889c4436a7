//! The counters of all sequences, by number.
//!
//! A counter that no committed sequence has any more, after a restart or a drop, is *retired*. Who still looks for it
//! finds one that is held for good (`counter.rs`, Restarts), and the catalog tells what became of its sequence. What is
//! left of it is an entry of a few bytes, as long as the database is open: that its number has begun is not forgotten,
//! or a statement with an older catalog would begin it again. Its record is deleted by the transaction that writes
//! another counter's next; it stays if none does before the database is closed, and so does that of a restart that was
//! rolled back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{ObjectId, counter::Counter};

/// Records of retired ones that one transaction deletes, at most.
const DELETED_MAX: usize = 8;

pub(super) struct Counters {
    state: Mutex<State>,
    /// Stands for all that are retired.
    retired: Arc<Counter>,
}

#[derive(Default)]
struct State {
    /// Those that were asked for and those that are retired. Under 0, the one of numbers of objects.
    by_number: HashMap<ObjectId, Arc<Counter>>,
    /// Retired ones whose records may be there.
    records: Vec<ObjectId>,
}

impl Counters {
    pub(super) fn new() -> Counters {
        Counters {
            state: Mutex::default(),
            retired: Arc::new(Counter::held()),
        }
    }

    /// The counter of a number; made if there is none.
    pub(super) fn get(&self, id: ObjectId) -> Arc<Counter> {
        self.with(|state| state.by_number.entry(id).or_default().clone())
    }

    /// No committed sequence has it from now on, nor will one.
    pub(super) fn retire(&self, id: ObjectId) {
        self.with(|state| {
            state.by_number.insert(id, self.retired.clone());
            state.records.push(id);
        });
    }

    pub(super) fn is_retired(&self, counter: &Arc<Counter>) -> bool {
        Arc::ptr_eq(counter, &self.retired)
    }

    /// Some whose records are to be deleted now.
    pub(super) fn take_records(&self) -> Vec<ObjectId> {
        self.with(|state| {
            let kept = state.records.len().saturating_sub(DELETED_MAX);
            state.records.split_off(kept)
        })
    }

    /// Their records were not deleted.
    pub(super) fn put_back_records(&self, ids: Vec<ObjectId>) {
        self.with(|state| state.records.extend(ids));
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
