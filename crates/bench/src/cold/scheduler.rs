//! Who runs while a transaction waits for the device.

use std::str::FromStr;

use serde::Serialize;
use weft::{Scheduling, WorkerConfig};

use super::Variation;
use crate::measure::InFlight;
use commands::{Error, Result};

/// One way to schedule transactions that wait for the device: those that MosaicDB compares
/// (sections 4 and 6.2), with its numbers unless others are asked for, and our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Nobody: one transaction after the other, which prefetch, and the worker spins until a
    /// read is over.
    Sequential,
    /// Those of the same batch; the next one begins when all of them have ended. Completions
    /// are looked at before anybody is resumed. Batches of 8.
    Batch,
    /// Whoever is ready, and a new one for each that has ended; but who waits keeps his
    /// place, and so only a part of the places may be of those who wait. 16 places, 8 of them
    /// for those.
    Pipelined,
    /// As many as there are places for, beside those who wait, for whom there are other
    /// places; if these are full, the transaction is aborted. 8 places and 16; completions are
    /// looked at when 8 transactions have ended.
    DualQueue,
    /// Whoever is ready: a transaction that waits leaves the rotation and joins it again
    /// when its read is over. What the engine does unless told otherwise; it finds its
    /// numbers while it runs.
    Auto,
}

impl Scheduler {
    /// Every one.
    pub const ALL: [Self; 5] = [
        Self::Sequential,
        Self::Batch,
        Self::Pipelined,
        Self::DualQueue,
        Self::Auto,
    ];

    /// The name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Batch => "batch",
            Self::Pipelined => "pipelined",
            Self::DualQueue => "dual-queue",
            Self::Auto => "auto",
        }
    }

    /// Whether it has more than one transaction under way on a worker.
    pub(super) fn is_concurrent(self) -> bool {
        self != Self::Sequential
    }

    /// Whether it aborts a transaction whose read cannot begin.
    pub(super) fn refuses(self) -> bool {
        self == Self::DualQueue
    }

    /// The number in flight, if asked for so many.
    pub(super) fn in_flight(self, asked: InFlight) -> InFlight {
        match (self, asked) {
            (Self::Sequential, _) => InFlight::Fixed(1),
            (Self::Batch | Self::DualQueue, InFlight::Auto) => InFlight::Fixed(8),
            (Self::Pipelined, InFlight::Auto) => InFlight::Fixed(16),
            (_, asked) => asked,
        }
    }

    /// Places of those who wait for the device, if asked for so many; `None` where that is no
    /// choice.
    pub(super) fn cold_slots(self, in_flight: InFlight, asked: Option<u32>) -> Option<u32> {
        match (self, self.in_flight(in_flight)) {
            (Self::Pipelined, InFlight::Fixed(all)) => asked.or(Some(all.div_ceil(2))),
            (Self::DualQueue, _) => asked.or(Some(16)),
            _ => None,
        }
    }

    /// Transactions that end between two looks at completions, if asked for so many; `None`
    /// where that is no choice.
    pub(super) fn visit_interval(self, asked: u32) -> Option<u32> {
        (self == Self::DualQueue).then_some(asked)
    }
}

impl Variation {
    /// The settings of a worker that schedules so, from those of its database. At most
    /// `open_max` transactions are open.
    pub(super) fn worker_config(
        self,
        open_max: Option<usize>,
        config: WorkerConfig,
    ) -> WorkerConfig {
        let cold_slots = self.cold_slots.unwrap_or(1) as usize;
        WorkerConfig {
            in_flight: self.in_flight.into(),
            scheduling: match self.scheduler {
                Scheduler::Sequential => Scheduling::Sequential,
                Scheduler::Batch => Scheduling::StrictBatch,
                Scheduler::Pipelined => Scheduling::Reserved {
                    device_slots: cold_slots,
                },
                Scheduler::DualQueue => Scheduling::DualQueue {
                    cold_slots,
                    visit_interval: self.visit_interval.unwrap_or(1),
                },
                Scheduler::Auto => Scheduling::Pipelined,
            },
            // The worker's own task is open as well (`weft::Options::worker_config`).
            open_tasks_max: open_max.map_or(config.open_tasks_max, |open| open + 1),
            ..config
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
