//! The pace at which a checkpoint is written.
//!
//! Durable writes of the log wait until the device has taken in the checkpoint's writes beside
//! them. A checkpoint that no task waits for therefore keeps step with the log: it is to be
//! finished somewhat before the log has grown so far that the next checkpoint is due.

use std::time::Duration;

use crate::checkpoint::CheckpointConfig;

/// Factor by which a checkpoint that is ahead of the log is written slower.
const SLOWER: u64 = 8;
/// Part of the log's growth after which the checkpoint is to be finished: 4 / 5.
const FINISHED_BY: (u64, u64) = (4, 5);

/// Urgency of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Haste {
    /// A task waits for the checkpoint.
    AwaitedBySomebody,
    /// The checkpoint was due.
    Due {
        /// Expected size: the bytes of the previous checkpoint, 0 if there is none.
        expected_bytes: u64,
    },
}

/// Computation of the times at which chunks may be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    haste: Haste,
    config: CheckpointConfig,
    written: u64,
    due: Duration,
}

impl Pace {
    pub(crate) fn new(haste: Haste, config: CheckpointConfig) -> Pace {
        Pace {
            haste,
            config,
            written: 0,
            due: Duration::ZERO,
        }
    }

    /// Counts `bytes` that are being written, while `logged` bytes came to the log since the
    /// beginning. Returns when the next bytes may be written, reckoned from the beginning.
    pub(crate) fn after(&mut self, bytes: u64, logged: u64) -> Duration {
        self.written += bytes;
        let rate = self.config.bytes_per_second_max;
        let rate = if self.is_ahead(logged) {
            (rate / SLOWER).max(1)
        } else {
            rate
        };
        let micros = u128::from(bytes) * 1_000_000 / u128::from(rate);
        self.due += Duration::from_micros(micros as u64);
        self.due
    }

    /// Whether the checkpoint has done a larger part of its work than the log of its growth.
    fn is_ahead(&self, logged: u64) -> bool {
        let Haste::Due { expected_bytes } = self.haste else {
            return false;
        };
        let (part, of) = FINISHED_BY;
        let grown = u128::from(logged) * u128::from(of);
        let until = u128::from(self.config.log_bytes_max) * u128::from(part);
        if until == 0 {
            // Checkpoints are due by time only.
            return true;
        }
        expected_bytes > 0 && u128::from(self.written) * until > u128::from(expected_bytes) * grown
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn config(log_bytes_max: u64) -> CheckpointConfig {
        CheckpointConfig {
            log_bytes_max,
            interval: Duration::ZERO,
            bytes_per_second_max: 256 * MIB,
        }
    }

    /// Returns the seconds for 100 MiB while the log grows by `logged` bytes for each byte written.
    fn seconds(haste: Haste, log_bytes_max: u64, logged: f64) -> f64 {
        let mut pace = Pace::new(haste, config(log_bytes_max));
        let mut due = Duration::ZERO;
        for chunk in 1..=400 {
            due = pace.after(MIB / 4, (logged * (chunk * MIB / 4) as f64) as u64);
        }
        due.as_secs_f64()
    }

    #[test]
    fn a_waiting_caller_is_served_at_the_full_rate() {
        let full = seconds(Haste::AwaitedBySomebody, 1000 * MIB, 0.0);
        assert!((full - 100.0 / 256.0).abs() < 1e-3, "{full}");
    }

    #[test]
    fn it_keeps_step_with_the_log() {
        let due = Haste::Due {
            expected_bytes: 100 * MIB,
        };
        let idle = seconds(due, 1000 * MIB, 0.0);
        assert!((idle - 100.0 / 32.0).abs() < 1e-2, "{idle}");
        // The log grows by 1,000 MiB while 100 MiB are written: too late at any rate.
        let hurried = seconds(due, 1000 * MIB, 10.0);
        assert!((hurried - 100.0 / 256.0).abs() < 1e-2, "{hurried}");
        let by_time_only = seconds(due, 0, 10.0);
        assert_eq!(by_time_only, idle);
    }

    #[test]
    fn the_first_one_does_not_dawdle() {
        let first = seconds(Haste::Due { expected_bytes: 0 }, 1000 * MIB, 0.0);
        assert!((first - 100.0 / 256.0).abs() < 1e-3, "{first}");
    }
}
