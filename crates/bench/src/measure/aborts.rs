//! Aborts by reason.

use serde::Serialize;

/// Numbers of aborted transactions by reason. Each is run again until it commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AbortReasons {
    /// Another open transaction had written the record.
    pub write_conflict: u64,
    /// A later commit had written the record.
    pub snapshot_too_old: u64,
    /// No serial order would have allowed the transaction.
    pub not_serializable: u64,
    /// Records came or went in a range that was read.
    pub phantom: u64,
    /// Transactions waited for each other in a circle.
    pub deadlock: u64,
}

impl AbortReasons {
    /// Returns the aborts that `later` counts and `earlier` does not.
    pub fn between(earlier: &weft::Stats, later: &weft::Stats) -> Self {
        Self {
            write_conflict: later.aborts_write_conflict - earlier.aborts_write_conflict,
            snapshot_too_old: later.aborts_snapshot_too_old - earlier.aborts_snapshot_too_old,
            not_serializable: later.aborts_not_serializable - earlier.aborts_not_serializable,
            phantom: later.aborts_phantom - earlier.aborts_phantom,
            deadlock: later.aborts_deadlock - earlier.aborts_deadlock,
        }
    }

    /// Returns the number for each reason, in the order of the fields.
    pub fn each(&self) -> [u64; 5] {
        [
            self.write_conflict,
            self.snapshot_too_old,
            self.not_serializable,
            self.phantom,
            self.deadlock,
        ]
    }

    /// Returns the reasons from numbers in the order of the fields.
    pub fn from_each(each: [u64; 5]) -> Self {
        let [
            write_conflict,
            snapshot_too_old,
            not_serializable,
            phantom,
            deadlock,
        ] = each;
        Self {
            write_conflict,
            snapshot_too_old,
            not_serializable,
            phantom,
            deadlock,
        }
    }
}
