//! Histories: what transactions did and what they were told.
//!
//! A [`Record`] is one transaction's side of the story, written down by its
//! client (`client.rs`) in the order in which its operations ended. Checkers
//! (`check.rs`) see nothing else.
//!
//! Two clocks run through a history. The database's *clock* counts commits: a
//! state of the database is named by it. The *order* counts whatever is written
//! down, in all transactions together: what ended before something else began
//! has the smaller number.

mod recorder;

use std::ops::Bound;

use engine::{Direction, Durability, Error, Isolation};

pub use recorder::Recorder;

/// A record's key.
pub type Key = Vec<u8>;

/// A record's value. Workloads never write one value twice.
pub type Value = Vec<u8>;

/// What an operation did and what it was told.
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
        /// Bounds in key order, whatever the direction.
        range: (Bound<Key>, Bound<Key>),
        /// Which end it starts from.
        direction: Direction,
        /// Records after which it was ended.
        limit: usize,
        /// What it visited.
        found: Vec<(Key, Value)>,
    },
    /// An insert; `done` is false if it was told of a duplicate.
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
    /// An upsert whose future was dropped before it was ready, and which turned
    /// out to have taken effect or not.
    Abandoned {
        /// The key.
        key: Key,
        /// The value.
        value: Value,
        /// Whether it was found written afterwards.
        done: bool,
    },
    /// Any of these, refused.
    Failed {
        /// The key of a point operation.
        key: Option<Key>,
        /// Why.
        error: Error,
    },
}

impl Action {
    /// The record that the action changed, and what it is now.
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
    /// It ran at the same time as the event before it in the same transaction.
    pub joined: bool,
    /// What happened.
    pub action: Action,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed at this timestamp (read-only: its snapshot).
    Committed(u64),
    /// It was told of an abort.
    Aborted,
    /// It was rolled back by its own wish.
    RolledBack,
    /// It was dropped in the middle: cancelled, or by a panic.
    Unfinished,
    /// It committed at this timestamp, and others saw it, but its client was never
    /// told: it was dropped, or the device failed, before that.
    InDoubt(u64),
}

/// Something that a workload knows must hold, beyond what checkers derive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name.
    pub what: &'static str,
    /// What it must be.
    pub expected: u64,
    /// What it was.
    pub found: u64,
}

/// One transaction's side of the story.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The transaction's number in the run.
    pub number: u64,
    /// What it was up to.
    pub label: &'static str,
    /// Its isolation level.
    pub isolation: Isolation,
    /// What its acknowledgement waits for.
    pub durability: Durability,
    /// The order before it began.
    pub begun: u64,
    /// Its snapshot, at the end (under read committed: the clock when it began).
    pub snapshot: u64,
    /// Its operations in the order in which they ended.
    pub events: Vec<Event>,
    /// What its workload claims.
    pub claims: Vec<Claim>,
    /// How it ended.
    pub outcome: Outcome,
    /// The order when it began to end.
    pub ended: u64,
    /// The order when its client had been told of its end.
    pub told: u64,
}

impl Record {
    /// The commit timestamp, if it committed and changed something.
    pub fn written_at(&self) -> Option<u64> {
        match self.outcome {
            Outcome::Committed(at) | Outcome::InDoubt(at) if self.effects().next().is_some() => {
                Some(at)
            }
            _ => None,
        }
    }

    /// All changes, in order.
    pub fn effects(&self) -> impl Iterator<Item = (&Key, Option<&Value>)> {
        self.events.iter().filter_map(|event| event.action.effect())
    }
}
