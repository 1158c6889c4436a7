//! Settings of a run.

use std::{path::PathBuf, time::Duration};

use isolation::{Isolation, Level, generate::Shape};
use weft::{Certifier, OnConflict};

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time for which transactions run; checking is not counted.
    pub running: Duration,
    /// Worker threads of the database.
    pub workers: usize,
    /// Clients per worker, each with one transaction under way.
    pub clients: usize,
    /// Seed of the transactions' operations; their interleaving is not determined by it.
    pub seed: u64,
    /// Isolation level of the transactions.
    pub isolation: Isolation,
    /// Certifier of serializable transactions.
    pub certifier: Certifier,
    /// Reaction of a write to another transaction's uncommitted write.
    pub on_conflict: OnConflict,
    /// Share of transactions that lock the records that they read in order to change them, per
    /// mille.
    pub locks: u32,
    /// Share of operations that are undone, per mille.
    pub undone: u32,
    /// Whether cycles that need the order of time are failures too. They are failures at every
    /// level and with every certifier.
    pub strict: bool,
    /// Shape of the transactions.
    pub shape: Shape,
    /// Directory of the database, empty or missing; `None` for a database in memory.
    pub data_dir: Option<PathBuf>,
    /// Number of times that the power of a simulated disk fails in a run; not with `data_dir`.
    pub crashes: u32,
    /// Share of transactions that their client rolls back, per mille.
    pub rollbacks: u32,
    /// Share of transactions that are dropped in the middle, per mille.
    pub cancellations: u32,
    /// Number of transactions after which a batch is over.
    pub batch: usize,
    /// Whether all transactions are kept in [`crate::Summary::history`].
    pub keep_history: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            running: Duration::from_secs(10),
            workers: 2,
            clients: 16,
            seed: 1,
            isolation: Isolation::Serializable,
            certifier: Certifier::default(),
            on_conflict: OnConflict::default(),
            locks: 100,
            undone: 30,
            strict: true,
            shape: Shape::default(),
            data_dir: None,
            crashes: 0,
            rollbacks: 20,
            cancellations: 5,
            batch: 50_000,
            keep_history: false,
        }
    }
}

impl Settings {
    /// Returns the level that the history must satisfy.
    pub fn level(&self) -> Level {
        Level {
            isolation: self.isolation,
            strict: self.strict,
        }
    }

    /// Returns the engine's level of the same name.
    pub(crate) fn engine_isolation(&self) -> weft::Isolation {
        match self.isolation {
            Isolation::ReadCommitted => weft::Isolation::ReadCommitted,
            Isolation::Snapshot => weft::Isolation::Snapshot,
            Isolation::Serializable => weft::Isolation::Serializable,
        }
    }
}
