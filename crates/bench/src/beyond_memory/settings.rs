//! Settings of the measurement, and the sizes of working sets that follow from them.

use std::time::Duration;

use super::Direction;
use crate::distribution::Distribution;
use crate::keys::KeyShape;
use crate::measure::{Durability, InFlight};
use crate::values::ValueShape;
use commands::number::{bytes_text, plural};
use commands::{Error, Result};

/// Most bytes that a record takes in memory beside its key and its value: header and rounding of
/// its version, slot, index.
const RECORD_OVERHEAD_BYTES: u64 = 192;
/// Most bytes that a database takes beside its records.
const DATABASE_OVERHEAD_BYTES: u64 = 256 << 20;

/// Settings of the measurement. Lists have at least one element.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The ceiling on memory, in bytes.
    pub memory_bytes: u64,
    /// Shape of the values; keys have eight bytes.
    pub value: ValueShape,
    /// Sizes of working sets, as multiples of the ceiling, more than 0 each, growing.
    pub working_sets: Vec<f64>,
    /// Distribution of the accesses over the working set.
    pub distribution: Distribution,
    /// Share of transactions that only read, 0 to 100; the others change every record that they
    /// access.
    pub read_percent: f64,
    /// Records that a transaction accesses, at least 1.
    pub accesses: u32,
    /// Condition for acknowledging changes.
    pub durability: Durability,
    /// Transactions in flight on each worker.
    pub in_flight: InFlight,
    /// Number of worker threads, at least 1.
    pub workers: usize,
    /// Time for which each size is accessed before it is measured.
    pub warm_up: Duration,
    /// Time for each size in each direction and repeat.
    pub duration: Duration,
    /// Whether a database whose memory holds everything is measured too.
    pub compares: bool,
    /// Number of repeats, at least 1.
    pub repeats: u32,
    /// Seed of every random choice.
    pub seed: u64,
}

/// One size of the working set in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) direction: Direction,
    pub(super) working_set: f64,
    pub(super) records: u64,
}

impl Settings {
    pub(super) fn record_bytes(&self) -> u64 {
        (KeyShape::BYTES_MIN + self.value.bytes()) as u64
    }

    pub(super) fn records_of(&self, working_set: f64) -> u64 {
        (working_set * self.memory_bytes as f64) as u64 / self.record_bytes()
    }

    /// Returns the number of all records: those of the largest working set.
    pub(super) fn records(&self) -> u64 {
        let largest = self.working_sets.iter().copied().fold(0.0, f64::max);
        self.records_of(largest)
    }

    /// Returns all sizes, growing and then shrinking.
    pub(super) fn sizes(&self) -> Vec<Size> {
        let of = |direction, working_set| Size {
            direction,
            working_set,
            records: self.records_of(working_set),
        };
        let all = self.working_sets.iter();
        let growing = all.clone().map(|&one| of(Direction::Growing, one));
        let shrinking = all.rev().map(|&one| of(Direction::Shrinking, one));
        growing.chain(shrinking).collect()
    }

    /// Returns the bytes of memory that hold everything, with replaced versions that are not freed
    /// yet.
    pub(super) fn memory_for_all(&self) -> u64 {
        let records = self.records() * (self.record_bytes() + RECORD_OVERHEAD_BYTES);
        records / 4 * 5 + DATABASE_OVERHEAD_BYTES
    }

    /// Checks that the settings can be measured.
    ///
    /// # Errors
    /// [`Error::Input`] that says which value to change.
    pub fn check(&self) -> Result<()> {
        let is_positive = |one: &f64| *one > 0.0 && one.is_finite();
        if !self.working_sets.iter().all(is_positive)
            || !self.working_sets.is_sorted_by(|one, next| one < next)
        {
            return Err(Error::input(
                "--working-sets are parts of memory, more than 0, that grow; give for example \
                 0.5,1,2",
            ));
        }
        let smallest = self.working_sets.iter().copied().fold(f64::MAX, f64::min);
        if self.records_of(smallest) == 0 {
            return Err(Error::input(format!(
                "a working set of {smallest} times --memory {} is less than a record; give it more",
                self.memory_bytes
            )));
        }
        if matches!(self.distribution, Distribution::Latest { .. }) {
            return Err(Error::input(
                "--distribution latest needs records that are added, and none are; choose zipfian \
                 or uniform",
            ));
        }
        Ok(())
    }

    /// Returns a line that describes the measurement.
    pub fn description(&self) -> String {
        format!(
            "{}, transactions of {}, {}, durability {}",
            self.title(),
            plural(self.accesses.into(), "record"),
            plural(self.workers as u64, "worker"),
            self.durability.name(),
        )
    }

    /// Returns a short description, as the title of a chart.
    pub fn title(&self) -> String {
        format!(
            "{} of {}, {} of memory, {}, {} % of transactions only read",
            plural(self.records(), "record"),
            bytes_text(self.record_bytes()),
            bytes_text(self.memory_bytes),
            self.distribution.name(),
            self.read_percent,
        )
    }
}
