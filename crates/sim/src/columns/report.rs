//! Counters of a successful run of a column.

use std::{collections::BTreeMap, fmt};

/// Counters of one run, or sums over several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnReport {
    /// Runs, by the type of their columns.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Rows appended.
    pub rows: u64,
    /// Appends.
    pub appends: u64,
    /// Merges that were completed.
    pub merges: u64,
    /// Steps of merges.
    pub steps: u64,
    /// Merges dropped in the middle.
    pub abandoned: u64,
    /// Merges that were not begun: another was under way, or nothing to merge.
    pub refused: u64,
    /// Snapshots taken.
    pub snapshots: u64,
    /// Queries of snapshots.
    pub questions: u64,
    /// Queries of snapshots with parts that had been merged since.
    pub outlived: u64,
    /// Rows that lists found.
    pub found: u64,
    /// Points at which another thread could go on.
    pub points: u64,
    /// Points at which another thread went on.
    pub switches: u64,
    /// Latches found held by another thread.
    pub waits: u64,
}

impl ColumnReport {
    /// Adds another run, or another thread's part of one.
    pub fn merge(&mut self, other: &ColumnReport) {
        for (kind, runs) in &other.kinds {
            *self.kinds.entry(kind).or_default() += runs;
        }
        self.rows += other.rows;
        self.appends += other.appends;
        self.merges += other.merges;
        self.steps += other.steps;
        self.abandoned += other.abandoned;
        self.refused += other.refused;
        self.snapshots += other.snapshots;
        self.questions += other.questions;
        self.outlived += other.outlived;
        self.found += other.found;
        self.points += other.points;
        self.switches += other.switches;
        self.waits += other.waits;
    }
}

impl fmt::Display for ColumnReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows in {} appends, {} merges in {} steps, {} abandoned, {} not begun, {} snapshots, \
             {} questions ({} after a merge), {} rows found, {} points, {} switches, {} latches \
             waited for",
            self.rows,
            self.appends,
            self.merges,
            self.steps,
            self.abandoned,
            self.refused,
            self.snapshots,
            self.questions,
            self.outlived,
            self.found,
            self.points,
            self.switches,
            self.waits
        )
    }
}
