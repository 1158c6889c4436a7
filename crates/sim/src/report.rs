//! Counters of a successful run. Sums over runs tell whether faults and
//! anomalies had their chance.

use std::{collections::BTreeMap, fmt};

use engine::{Abort, Error};

use crate::history::{Action, Outcome, Record};

/// Counters of one run, or sums over several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Workers.
    pub workers: usize,
    /// Steps of the simulation.
    pub steps: u64,
    /// Transactions that committed.
    pub committed: u64,
    /// Aborts because an open transaction had written the record.
    pub write_conflicts: u64,
    /// Aborts because a later commit had written the record.
    pub snapshots_too_old: u64,
    /// Aborts because transactions waited for each other in a cycle.
    pub deadlocks: u64,
    /// Operations that found a record locked, or waited for it too long.
    pub locked: u64,
    /// Transactions rolled back by themselves.
    pub rolled_back: u64,
    /// Transactions dropped in the middle.
    pub unfinished: u64,
    /// Operations.
    pub operations: u64,
    /// Pairs of operations that ran at once.
    pub joined: u64,
    /// Writes given up in the middle.
    pub abandoned: u64,
    /// Operations that found memory exhausted.
    pub exhausted: u64,
    /// Panics injected.
    pub panics: u64,
    /// Tasks cancelled.
    pub cancelled: u64,
    /// Workers replaced.
    pub restarts: u64,
    /// Indexes that were built.
    pub indexes: u64,
    /// Entries of the indexes in the end.
    pub index_entries: u64,
    /// Reads at a shared snapshot, compared with what its maker saw.
    pub snapshots_compared: u64,
    /// Records that were deleted because they had expired.
    pub expired: u64,
    /// Number of passes of each suspension point.
    pub points: BTreeMap<&'static str, u64>,
}

impl Report {
    /// Adds the counts of a history.
    pub(crate) fn count(&mut self, records: &[Record]) {
        for record in records {
            match record.outcome {
                Outcome::Committed(_) => self.committed += 1,
                Outcome::RolledBack => self.rolled_back += 1,
                Outcome::Unfinished => self.unfinished += 1,
                Outcome::Aborted | Outcome::InDoubt(_) => {}
            }
            let mut abort = None;
            for event in &record.events {
                self.operations += 1;
                self.joined += u64::from(event.joined);
                match &event.action {
                    Action::Abandoned { .. } => self.abandoned += 1,
                    Action::Failed { error, .. } => match error {
                        Error::MemoryExhausted => self.exhausted += 1,
                        Error::Locked | Error::LockTimeout => self.locked += 1,
                        Error::Abort(why) => abort = abort.or(Some(*why)),
                        _ => {}
                    },
                    _ => {}
                }
            }
            match abort {
                Some(Abort::WriteConflict) => self.write_conflicts += 1,
                Some(Abort::Deadlock) => self.deadlocks += 1,
                Some(_) => self.snapshots_too_old += 1,
                None => {}
            }
        }
    }

    /// Adds another run.
    pub fn merge(&mut self, other: &Report) {
        self.workers += other.workers;
        self.steps += other.steps;
        self.committed += other.committed;
        self.write_conflicts += other.write_conflicts;
        self.snapshots_too_old += other.snapshots_too_old;
        self.deadlocks += other.deadlocks;
        self.locked += other.locked;
        self.rolled_back += other.rolled_back;
        self.unfinished += other.unfinished;
        self.operations += other.operations;
        self.joined += other.joined;
        self.abandoned += other.abandoned;
        self.exhausted += other.exhausted;
        self.panics += other.panics;
        self.cancelled += other.cancelled;
        self.restarts += other.restarts;
        self.indexes += other.indexes;
        self.snapshots_compared += other.snapshots_compared;
        self.expired += other.expired;
        self.index_entries += other.index_entries;
        for (point, times) in &other.points {
            *self.points.entry(point).or_default() += times;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} steps, {} committed, {} write conflicts, {} snapshots too old, \
             {} deadlocks, {} locked, {} rolled back, {} unfinished, {} operations ({} joined, {} abandoned, \
             {} exhausted), {} panics, {} cancelled, {} restarts, {} indexes",
            self.steps,
            self.committed,
            self.write_conflicts,
            self.snapshots_too_old,
            self.deadlocks,
            self.locked,
            self.rolled_back,
            self.unfinished,
            self.operations,
            self.joined,
            self.abandoned,
            self.exhausted,
            self.panics,
            self.cancelled,
            self.restarts,
            self.indexes
        )
    }
}
