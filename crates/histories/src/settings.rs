//! What a run is.

use std::{path::PathBuf, time::Duration};

use isolation::{Isolation, Level, generate::Shape};
use weft::{Certifier, OnConflict};

/// What a run is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long transactions run, checking not counted.
    pub running: Duration,
    /// Worker threads of the database.
    pub workers: usize,
    /// Clients per worker, each with one transaction under way.
    pub clients: usize,
    /// Decides what transactions do; not how they meet.
    pub seed: u64,
    /// The level they run at.
    pub isolation: Isolation,
    /// How serializable transactions are certified.
    pub certifier: Certifier,
    /// What a write does that meets another transaction's.
    pub on_conflict: OnConflict,
    /// Transactions that lock what they read in order to change it, in thousands.
    pub locks: u32,
    /// Operations that are undone again, in thousands.
    pub undone: u32,
    /// Whether cycles that need the order of time are failures too. They are with every
    /// level and certifier.
    pub strict: bool,
    /// What they do.
    pub shape: Shape,
    /// Where the database is kept: an empty or missing directory. `None`: in memory.
    pub data_dir: Option<PathBuf>,
    /// Times that the power of a simulated disk fails in a run. Not with `data_dir`.
    pub crashes: u32,
    /// Transactions that end by their client's wish, in thousands.
    pub rollbacks: u32,
    /// Transactions that are dropped in the middle, in thousands.
    pub cancellations: u32,
    /// Transactions after which a batch is over.
    pub batch: usize,
    /// Keep all transactions in [`crate::Summary::history`].
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
    /// The level that the history must be of.
    pub fn level(&self) -> Level {
        Level {
            isolation: self.isolation,
            strict: self.strict,
        }
    }

    /// The engine's level of that name.
    pub(crate) fn engine_isolation(&self) -> weft::Isolation {
        match self.isolation {
            Isolation::ReadCommitted => weft::Isolation::ReadCommitted,
            Isolation::Snapshot => weft::Isolation::Snapshot,
            Isolation::Serializable => weft::Isolation::Serializable,
        }
    }
}
