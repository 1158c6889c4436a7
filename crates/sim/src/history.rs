//! Histories: the operations of transactions and the answers they received.
//!
//! A [`Record`] is one transaction's side of the story, written down by its
//! client (`client.rs`) in the order in which its operations ended. Checkers
//! (`check.rs`) see nothing else.
//!
//! Two clocks run through a history. The database's *clock* counts commits: a
//! state of the database is named by it. The *order* counts all recorded events,
//! in all transactions together: an event that ended before another began has the
//! smaller number.

mod recorder;

use std::ops::Bound;

use engine::{Direction, Durability, Error, Isolation};

pub use recorder::Recorder;

/// Key of a record.
pub type Key = Vec<u8>;

/// Value of a record. Workloads never write one value twice.
pub type Value = Vec<u8>;

/// An operation and its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A point read.
    Get {
        /// The key.
        key: Key,
        /// The value read.
        found: Option<Value>,
    },
    /// An ordered scan.
    Scan {
        /// Bounds in key order, for either direction.
        range: (Bound<Key>, Bound<Key>),
        /// Direction of the scan.
        direction: Direction,
        /// Maximum records visited.
        limit: usize,
        /// Records visited.
        found: Vec<(Key, Value)>,
    },
    /// An insert; `done` is false if the record was there.
    Insert {
        /// The key.
        key: Key,
        /// The value.
        value: Value,
        /// Whether the record was inserted.
        done: bool,
    },
    /// An update.
    Update {
        /// The key.
        key: Key,
        /// The new value.
        value: Value,
        /// Whether there was a record.
        done: bool,
    },
    /// An upsert.
    Upsert {
        /// The key.
        key: Key,
        /// The new value.
        value: Value,
    },
    /// A delete.
    Delete {
        /// The key.
        key: Key,
        /// Whether there was a record.
        done: bool,
    },
    /// An upsert whose future was dropped before it was ready; it may have taken
    /// effect or not.
    Abandoned {
        /// The key.
        key: Key,
        /// The value.
        value: Value,
        /// Whether the value was found afterwards.
        done: bool,
    },
    /// An operation that failed.
    Failed {
        /// The key of a point operation.
        key: Option<Key>,
        /// Error of the operation.
        error: Error,
    },
}

impl Action {
    /// Returns the record that the action changed, and its new value.
    pub fn effect(&self) -> Option<(&Key, Option<&Value>)> {
        match self {
            Action::Insert { key, value, done }
            | Action::Update { key, value, done }
            | Action::Abandoned { key, value, done } => done.then_some((key, Some(value))),
            Action::Upsert { key, value } => Some((key, Some(value))),
            Action::Delete { key, done } => done.then_some((key, None)),
            Action::Get { .. } | Action::Scan { .. } | Action::Failed { .. } => None,
        }
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The database's clock before and after.
    pub clock: (u64, u64),
    /// The history's order before and after.
    pub order: (u64, u64),
    /// Whether it ran at the same time as the event before it in the same
    /// transaction.
    pub joined: bool,
    /// The operation and its answer.
    pub action: Action,
}

/// End of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed at this timestamp (read-only: its snapshot).
    Committed(u64),
    /// Aborted by the database.
    Aborted,
    /// Rolled back by its client.
    RolledBack,
    /// Dropped in the middle: cancelled, or by a panic.
    Unfinished,
    /// Committed at this timestamp and visible to others, but its client was never
    /// told: it was dropped, or the device failed, before that.
    InDoubt(u64),
}

/// A condition that a workload knows to hold, beyond those that checkers derive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Name of the claim.
    pub what: &'static str,
    /// Expected value.
    pub expected: u64,
    /// Value found.
    pub found: u64,
}

/// A transaction as its client recorded it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Number of the transaction in the run.
    pub number: u64,
    /// Kind of the transaction.
    pub label: &'static str,
    /// Isolation level.
    pub isolation: Isolation,
    /// Event that the acknowledgement waits for.
    pub durability: Durability,
    /// Order before the transaction began.
    pub begun: u64,
    /// Snapshot at the end (under read committed: the clock when the transaction
    /// began).
    pub snapshot: u64,
    /// Operations in the order in which they ended.
    pub events: Vec<Event>,
    /// Claims of its workload.
    pub claims: Vec<Claim>,
    /// End of the transaction.
    pub outcome: Outcome,
    /// Order when the transaction began to end.
    pub ended: u64,
    /// Order when the client had been told of the end.
    pub told: u64,
}

impl Record {
    /// Returns the commit timestamp, if the transaction committed and changed
    /// something.
    pub fn written_at(&self) -> Option<u64> {
        match self.outcome {
            Outcome::Committed(at) | Outcome::InDoubt(at) if self.effects().next().is_some() => {
                Some(at)
            }
            _ => None,
        }
    }

    /// Returns all changes, in order.
    pub fn effects(&self) -> impl Iterator<Item = (&Key, Option<&Value>)> {
        self.events.iter().filter_map(|event| event.action.effect())
    }
}
