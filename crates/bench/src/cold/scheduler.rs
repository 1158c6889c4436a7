//! Who runs while a transaction waits for the device.

use std::str::FromStr;

use serde::Serialize;
use weft::WorkerConfig;

use crate::measure::InFlight;
use crate::{Error, Result};

/// How long the sequential execution looks for the end of a read before the worker sleeps,
/// in microseconds: longer than any read takes.
const SPIN_US: u32 = 1_000_000;

/// One way to schedule transactions that wait for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Nobody: one transaction after the other, and the worker spins until a read is over
    /// (the `Sequential` of MosaicDB, section 6.2).
    Sequential,
    /// Whoever is ready: a transaction that waits leaves the rotation and joins it again
    /// when its read is over. What the engine does unless told otherwise.
    Auto,
}

impl Scheduler {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Sequential, Self::Auto];

    /// The name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Auto => "auto",
        }
    }

    /// Whether it has more than one transaction under way on a worker.
    pub(super) fn is_concurrent(self) -> bool {
        self != Self::Sequential
    }

    /// The settings of a worker that schedules so, from those of its database. At most
    /// `open_max` transactions are open.
    pub(super) fn worker_config(
        self,
        in_flight: InFlight,
        open_max: Option<usize>,
        config: WorkerConfig,
    ) -> WorkerConfig {
        // The worker's own task is open as well (`weft::Options::worker_config`).
        let open = |transactions| transactions + 1;
        match self {
            Self::Sequential => WorkerConfig {
                in_flight: weft::InFlight::Fixed(1),
                open_tasks_max: open(1),
                idle_spin_us: SPIN_US,
                ..config
            },
            Self::Auto => WorkerConfig {
                in_flight: in_flight.into(),
                open_tasks_max: open_max.map_or(config.open_tasks_max, open),
                ..config
            },
        }
    }
}

impl FromStr for Scheduler {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| {
            Error::input(format!(
                "`{text}` is not a scheduler; choose from {}",
                Self::ALL.map(Self::name).join(", ")
            ))
        })
    }
}
