//! Histories: what transactions did and what they were told.
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
//! - a *register* holds the newest version only. What it replaced is known if its
//!   writer had read the record before;
//! - a *list* holds all versions in order, so whoever reads it knows them all.
//!
//! # Order
//! One counter runs through a history; [`Transaction::begun`], [`Operation::ended`]
//! and [`Transaction::ended`] are readings of it. What ended with a smaller number
//! than something else began with had ended before.

mod file;

use serde::{Deserialize, Serialize};

pub use self::file::{FORMAT, FileError, Header, read, write};

/// A record's name. Ranges of scans are ranges of it.
pub type Key = u64;

/// A number that a write puts into a record. See the module text.
pub type Version = u64;

/// The version of a record that was never made.
pub const UNBORN: Version = 0;

/// What a record holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// The newest version.
    Register(Version),
    /// All versions, the oldest first.
    List(Vec<Version>),
}

impl Value {
    /// The newest version.
    pub fn version(&self) -> Version {
        match self {
            Value::Register(version) => *version,
            Value::List(elements) => elements.last().copied().unwrap_or(UNBORN),
        }
    }

    /// All versions that it shows.
    pub(crate) fn versions(&self) -> &[Version] {
        match self {
            Value::Register(version) => std::slice::from_ref(version),
            Value::List(elements) => elements,
        }
    }
}

/// What an operation did and what it was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Action {
    /// A point read.
    Read {
        /// The record.
        key: Key,
        /// What it held; `None` if there was none.
        found: Option<Value>,
    },
    /// A read of all records with keys from `from` to below `to`.
    Scan {
        /// The least key.
        from: Key,
        /// Above the greatest key.
        to: Key,
        /// All that were there, by key.
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
        /// What it holds now.
        value: Version,
    },
    /// A register was written if it was there.
    Update {
        /// The record.
        key: Key,
        /// What it holds now.
        value: Version,
        /// Whether it was there.
        done: bool,
    },
    /// A register was made unless it was there.
    Insert {
        /// The record.
        key: Key,
        /// What it holds now.
        value: Version,
        /// False if it was there.
        done: bool,
    },
    /// A record was removed if it was there.
    Delete {
        /// The record.
        key: Key,
        /// Whether it was there.
        done: bool,
    },
}

impl Action {
    /// Whether it may have changed a record.
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
    /// What happened.
    #[serde(flatten)]
    pub action: Action,
    /// The order when it had ended.
    pub ended: u64,
}

/// How a transaction ended, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It committed.
    Committed,
    /// Nothing of it remains.
    Aborted,
    /// Nobody was told: the client was gone, or the database.
    Unknown,
}

/// One transaction's side of the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// Its number, for people.
    pub number: u64,
    /// Who ran it. A process runs one transaction after the other.
    pub process: u64,
    /// The order when it began.
    pub begun: u64,
    /// The order when its client was told of the end. Without meaning if the
    /// outcome is unknown.
    pub ended: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it did not commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Its operations, in order, those included that it did before an abort.
    pub operations: Vec<Operation>,
}

impl Transaction {
    /// Whether it had ended before `other` began.
    pub fn precedes(&self, other: &Transaction) -> bool {
        self.outcome != Outcome::Unknown && self.ended < other.begun
    }
}
