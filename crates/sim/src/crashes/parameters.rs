//! Parameters of a run of crashes, besides its seed.

use std::fmt;

use crate::{
    failure::{Replay, describe},
    parameters::{Faults, Levels, Parameters},
};

/// Everything that, with a seed, determines a run. Chances are in tenths of a
/// percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashParameters {
    /// Work of a round's workers.
    pub run: Parameters,
    /// Maximum crashes that a database goes on after; each has 1 to this many.
    pub rounds_max: usize,
    /// Images of the disk that are examined after a crash, besides those of
    /// interrupted recoveries.
    pub images: u32,
    /// Chance that an image has rotten bits.
    pub rot: u32,
    /// Chance that the power fails at each change that the end of a recovery makes.
    pub sweep: u32,
    /// Chance that a round has a device that fails calls.
    pub device_errors: u32,
    /// Chance that all transactions of a run are serializable, by either certifier.
    pub serializable: u32,
    /// Chance that a run has little memory: records have to leave it, or versions to
    /// move.
    pub scarce: u32,
}

impl Default for CrashParameters {
    fn default() -> CrashParameters {
        CrashParameters {
            run: Parameters {
                transactions: 120,
                presence_keys: 60,
                levels: Levels::Mixed,
                faults: Faults {
                    restart_per_100_000: 8,
                    ..Faults::ALL
                },
                ..Parameters::default()
            },
            rounds_max: 4,
            images: 6,
            rot: 250,
            sweep: 500,
            device_errors: 250,
            serializable: 400,
            scarce: 300,
        }
    }
}

impl Replay for CrashParameters {
    const RUN: &'static str = "run_crashes";

    fn preset_name(&self) -> Option<&'static str> {
        (*self == Self::default()).then_some("crashes")
    }
}

impl fmt::Display for CrashParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(self, f)
    }
}
