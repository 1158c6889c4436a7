//! Histories: the operations of transactions and the answers they received.
//!
//! A history knows nothing of timestamps, snapshots or locks: only what a client of
//! any database can write down. Checkers infer the rest (`observations.rs`,
//! `versions.rs`).
//!
//! # Versions
//! Each write puts a number into its record that no other write ever puts into the
//! same record: a *version*. Zero is the absence of a record that was never made.
//! Two kinds of records tell different amounts:
//!
//! - a *register* holds the newest version only. The version it replaced is known
//!   if its writer had read the record before;
//! - a *list* holds all versions in order, so a reader of it knows them all.
//!
//! # Order
//! One counter runs through a history; [`Transaction::begun`], [`Operation::ended`]
//! and [`Transaction::ended`] are readings of it. An event that ended with a
//! smaller number than another began with had ended before.

mod file;

use serde::{Deserialize, Serialize};

pub use self::file::{FORMAT, FileError, Header, read, write};

/// Name of a record. Ranges of scans are ranges of keys.
pub type Key = u64;

/// Number that a write puts into a record. See the module text.
pub type Version = u64;

/// The version of a record that was never made.
pub const UNBORN: Version = 0;

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// The newest version.
    Register(Version),
    /// All versions, the oldest first.
    List(Vec<Version>),
}

impl Value {
    /// Returns the newest version.
    pub fn version(&self) -> Version {
        match self {
            Value::Register(version) => *version,
            Value::List(elements) => elements.last().copied().unwrap_or(UNBORN),
        }
    }

    /// Returns all versions that the value shows.
    pub(crate) fn versions(&self) -> &[Version] {
        match self {
            Value::Register(version) => std::slice::from_ref(version),
            Value::List(elements) => elements,
        }
    }
}

/// An operation and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Action {
    /// A point read.
    Read {
        /// The record.
        key: Key,
        /// Content of the record; `None` if there was none.
        found: Option<Value>,
    },
    /// A read of all records with keys from `from` to below `to`.
    Scan {
        /// Least key of the range.
        from: Key,
        /// End of the range, excluded.
        to: Key,
        /// All records found, by key.
        found: Vec<(Key, Value)>,
    },
    /// An element was added to a list, which was made if it was absent.
    Append {
        /// The record.
        key: Key,
        /// The element.
        element: Version,
        /// The list that the transaction itself had read and wrote back with the
        /// element; `None` if the database added it, and told nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<Vec<Version>>,
    },
    /// A register was written, whether it was there or not.
    Write {
        /// The record.
        key: Key,
        /// New content.
        value: Version,
    },
    /// A register was written if it was there.
    Update {
        /// The record.
        key: Key,
        /// New content.
        value: Version,
        /// Whether the record was there.
        done: bool,
    },
    /// A register was made unless it was there.
    Insert {
        /// The record.
        key: Key,
        /// New content.
        value: Version,
        /// Whether the record was absent, and was made.
        done: bool,
    },
    /// A record was removed if it was there.
    Delete {
        /// The record.
        key: Key,
        /// Whether the record was there.
        done: bool,
    },
}

impl Action {
    /// Returns whether the operation may have changed a record.
    pub fn writes(&self) -> bool {
        match self {
            Action::Read { .. } | Action::Scan { .. } => false,
            Action::Append { .. } | Action::Write { .. } => true,
            Action::Update { done, .. }
            | Action::Insert { done, .. }
            | Action::Delete { done, .. } => *done,
        }
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The operation and its answer.
    #[serde(flatten)]
    pub action: Action,
    /// Reading of the counter after the operation.
    pub ended: u64,
}

/// End of a transaction, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The transaction committed.
    Committed,
    /// Nothing of the transaction remains.
    Aborted,
    /// The client was not told: it was gone, or the database was.
    Unknown,
}

/// A transaction as its client saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// Number of the transaction, for display.
    pub number: u64,
    /// The process that ran it. A process runs one transaction after the other.
    pub process: u64,
    /// Reading of the counter when the transaction began.
    pub begun: u64,
    /// Reading of the counter when its client was told of the end. Without meaning
    /// if the outcome is unknown.
    pub ended: u64,
    /// End of the transaction.
    pub outcome: Outcome,
    /// The reason why the transaction did not commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Operations in order, including those before an abort.
    pub operations: Vec<Operation>,
}

impl Transaction {
    /// Returns whether this transaction had ended before `other` began.
    pub fn precedes(&self, other: &Transaction) -> bool {
        self.outcome != Outcome::Unknown && self.ended < other.begun
    }
}
