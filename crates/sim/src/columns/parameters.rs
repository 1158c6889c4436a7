//! Parameters of a column's run, besides its seed.

use std::fmt;

use crate::failure::{Replay, describe};

/// A bug put into the harness on purpose, which its model must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedInColumn {
    /// Some appends are not carried out.
    LoseAppend,
    /// Some snapshots are older than they claim.
    OldSnapshot,
    /// The end of some merges is hidden from the model.
    HiddenMerge,
}

/// Everything that, with a seed, determines a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnParameters {
    /// Maximum threads that append; a run has 1 to this many.
    pub appenders_max: usize,
    /// Maximum threads that merge.
    pub mergers_max: usize,
    /// Maximum threads that read.
    pub readers_max: usize,
    /// Maximum operations of a thread; each has 1 to this many.
    pub operations_max: usize,
    /// Maximum rows of a usual append. A few appends have more rows than are
    /// looked up at a time.
    pub batch_max: usize,
    /// Maximum snapshots that a reader keeps.
    pub kept_max: usize,
    /// A bug to plant.
    pub planted: Option<PlantedInColumn>,
}

impl Default for ColumnParameters {
    fn default() -> ColumnParameters {
        ColumnParameters {
            appenders_max: 3,
            mergers_max: 2,
            readers_max: 3,
            operations_max: 24,
            batch_max: 60,
            kept_max: 4,
            planted: None,
        }
    }
}

impl Replay for ColumnParameters {
    const RUN: &'static str = "run_columns";

    fn preset_name(&self) -> Option<&'static str> {
        (*self == Self::default()).then_some("columns")
    }
}

impl fmt::Display for ColumnParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(self, f)
    }
}
