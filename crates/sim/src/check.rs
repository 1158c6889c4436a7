//! Checkers of histories: they accept only histories that the engine may produce.
//!
//! Commit timestamps give the order of all commits, so nothing has to be searched
//! for: the committed states are rebuilt (`versions.rs`) and every operation is
//! held against the state that it should have seen.
//!
//! | rule | file |
//! | --- | --- |
//! | every answer agrees with the transaction's state | `answers.rs` |
//! | concurrent writers: first updater wins, no dirty write, no groundless abort | `writes.rs` |
//! | lists only grow; claims of workloads hold | `claims.rs` |
//! | tables that come and go are used while they are there | `tables.rs` |
//! | memory in use is as much as the surviving records need | `memory.rs` |
//!
//! Transactions that did not commit are checked as well: their answers before their end
//! must have been right.

mod answers;
mod claims;
mod explain;
mod memory;
mod tables;
mod versions;
mod writes;

use std::fmt;

use crate::history::Record;

pub(crate) use self::tables::{LiveTables, is_name};
pub use self::{
    memory::{block_bytes, version_bytes},
    versions::Versions,
};

/// Assumptions that a checker may make about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether all workers ran on one thread: between two suspensions nothing else
    /// happened, and the clocks of the history are exact.
    pub one_thread: bool,
    /// Whether operations may fail because memory is exhausted.
    pub memory_is_scarce: bool,
    /// Whether transactions may wait for each other, and lock records.
    pub waits: bool,
    /// Whether tables have indexes: conflicts over entries, and with the builders of
    /// indexes, are in no history.
    pub has_indexes: bool,
    /// Whether the device may fail, so that existing records cannot be read.
    pub power_fails: bool,
}

/// A violated rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule.
    pub rule: &'static str,
    /// Number of the transaction that violates it.
    pub transaction: u64,
    /// Description of the violation.
    pub story: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: transaction {}: {}",
            self.rule, self.transaction, self.story
        )
    }
}

impl std::error::Error for Violation {}

impl Violation {
    pub(crate) fn new(rule: &'static str, record: &Record, story: impl fmt::Display) -> Violation {
        Violation {
            rule,
            transaction: record.number,
            story: format!(
                "{story} ({} at {:?}, snapshot {}, {:?})",
                record.label, record.isolation, record.snapshot, record.outcome
            ),
        }
    }
}

/// Checks a history against all rules.
///
/// # Errors
/// Returns the first violation.
pub fn history(records: &[Record], rules: &Rules) -> Result<(), Violation> {
    let versions = Versions::of(records)?;
    for record in records {
        answers::check(&versions, records, record, rules)?;
        claims::check(record)?;
    }
    writes::first_updater_wins(&versions, records)?;
    writes::no_dirty_write(records)?;
    if rules.one_thread && !rules.has_indexes {
        writes::aborts_have_a_cause(&versions, records, rules)?;
    }
    tables::check(&versions, records)?;
    claims::lists_only_grow(&versions, records)
}

/// Checks the answers that one transaction received, given the versions of its history.
pub(crate) fn answers(
    versions: &Versions,
    records: &[Record],
    record: &Record,
    rules: &Rules,
) -> Result<(), Violation> {
    answers::check(versions, records, record, rules)
}

/// Formats a key or value for display.
fn shown(bytes: &[u8]) -> String {
    let mut text = bytes.iter().take(16).map(u8::to_string).collect::<Vec<_>>();
    if bytes.len() > 16 {
        text.push(format!(".. {} bytes", bytes.len()));
    }
    format!("[{}]", text.join(" "))
}

#[cfg(test)]
mod tests;
