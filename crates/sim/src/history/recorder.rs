//! Collects the records of one run, from any thread.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use super::Record;

/// The history of one run, while it is being written.
#[derive(Debug, Default)]
pub struct Recorder {
    order: AtomicU64,
    records: Mutex<Vec<Record>>,
}

impl Recorder {
    /// Returns a recorder whose order continues at `order`.
    pub fn starting_at(order: u64) -> Recorder {
        Recorder {
            order: AtomicU64::new(order),
            ..Recorder::default()
        }
    }

    /// Returns the next number of the history's order.
    pub fn next(&self) -> u64 {
        // SeqCst: the order must agree with the order of events on all threads.
        self.order.fetch_add(1, Ordering::SeqCst)
    }

    /// Adds a transaction that has ended.
    pub fn push(&self, record: Record) {
        self.records
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .push(record);
    }

    /// Returns the number of transactions that have ended.
    pub fn len(&self) -> usize {
        self.records.lock().unwrap_or_else(|e| e.into_inner()).len()
    }

    /// Returns whether no transaction has ended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the history, by transaction number.
    pub fn take(&self) -> Vec<Record> {
        let mut records =
            std::mem::take(&mut *self.records.lock().unwrap_or_else(|e| e.into_inner()));
        records.sort_by_key(|record| record.number);
        records
    }
}
