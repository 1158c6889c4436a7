//! Schedulers: each decides which transaction runs while another waits for the device.

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
    /// No other transaction runs: one runs after another, each with prefetching, and the worker
    /// spins until a read is over.
    Sequential,
    /// Transactions of the same batch run; the next batch begins when all of them have ended.
    /// Completions are looked at before any transaction is resumed. Batches of 8.
    Batch,
    /// Every ready transaction runs, and a new one for each that has ended. A waiting transaction
    /// keeps its place, so only a part of the places may be taken by waiting ones: 16 places, 8 of
    /// them for those.
    Pipelined,
    /// Transactions in their places run; waiting transactions have other places, and if these are
    /// full, a transaction that would wait is aborted. 8 places and 16; completions are looked at
    /// when 8 transactions have ended.
    DualQueue,
    /// Every ready transaction runs: one that waits leaves the rotation and joins it again when its
    /// read is over. The engine does so unless told otherwise, and finds its numbers while it runs.
    Auto,
}

impl Scheduler {
    /// Every scheduler.
    pub const ALL: [Self; 5] = [
        Self::Sequential,
        Self::Batch,
        Self::Pipelined,
        Self::DualQueue,
        Self::Auto,
    ];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Batch => "batch",
            Self::Pipelined => "pipelined",
            Self::DualQueue => "dual-queue",
            Self::Auto => "auto",
        }
    }

    /// Returns whether the scheduler has more than one transaction under way on a worker.
    pub(super) fn is_concurrent(self) -> bool {
        self != Self::Sequential
    }

    /// Returns whether the scheduler aborts a transaction whose read cannot begin.
    pub(super) fn refuses(self) -> bool {
        self == Self::DualQueue
    }

    /// Returns the number in flight if `asked` is requested.
    pub(super) fn in_flight(self, asked: InFlight) -> InFlight {
        match (self, asked) {
            (Self::Sequential, _) => InFlight::Fixed(1),
            (Self::Batch | Self::DualQueue, InFlight::Auto) => InFlight::Fixed(8),
            (Self::Pipelined, InFlight::Auto) => InFlight::Fixed(16),
            (_, asked) => asked,
        }
    }

    /// Returns the number of places for transactions that wait for the device if `asked` is
    /// requested; `None` where that is no choice.
    pub(super) fn cold_slots(self, in_flight: InFlight, asked: Option<u32>) -> Option<u32> {
        match (self, self.in_flight(in_flight)) {
            (Self::Pipelined, InFlight::Fixed(all)) => asked.or(Some(all.div_ceil(2))),
            (Self::DualQueue, _) => asked.or(Some(16)),
            _ => None,
        }
    }

    /// Returns the number of transactions that end between two looks at completions if `asked` is
    /// requested; `None` where that is no choice.
    pub(super) fn visit_interval(self, asked: u32) -> Option<u32> {
        (self == Self::DualQueue).then_some(asked)
    }
}

impl Variation {
    /// Returns the settings of a worker with this scheduling, from those of its database. At most
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
