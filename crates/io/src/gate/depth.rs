//! Search for the number of reads under way with which most get done: found by trying.
//!
//! A device answers the faster the more it has to do, up to some depth; beyond that, further reads
//! only wait. No interface tells that depth. The completions per second are therefore counted with
//! the present depth and with one that is half as deep again, or two thirds as deep, in turns. A
//! larger depth must be better to win, and by a margin; a smaller one must not be worse by more
//! than a smaller margin. Between the two the depth does not move.
//!
//! A trial is several pairs of windows, one of each depth, since windows are noisy; a trial that is
//! clear after two pairs is decided then. Trials become rarer while nothing changes. A window in
//! which passes were free says nothing of the depth, and does not count.
//!
//! Being wrong for a while costs speed or latency, never correctness.

use std::time::Duration;

/// Depth at which the search begins.
pub const DEPTH_START: usize = 32;
/// Maximum reads that are ever let in.
pub const DEPTH_MAX: usize = 1024;

/// Minimum length of a window: in time, in completions, and in completions for each read under way.
const WINDOW: Duration = Duration::from_millis(4);
const WINDOW_COMPLETIONS: u64 = 256;
const WINDOW_GENERATIONS: u64 = 8;
/// Reads, as a multiple of the larger depth, that end after a change before a window begins.
const SETTLE_GENERATIONS: u64 = 2;
/// Completions of which one may find no read waiting.
const UNLIMITED_SHARE: u64 = 4;

/// Margin by which a larger depth must be better, and a smaller one may be worse, as a share.
const MARGIN_UP: f64 = 0.05;
const MARGIN_DOWN: f64 = -0.02;
/// Distance from its margin at which a trial is decided early.
const CLEAR: f64 = 0.08;
const PAIRS_MIN: u32 = 2;
const PAIRS_MAX: u32 = 6;
/// Windows between two trials.
const PAUSE_MIN: u32 = 1;
const PAUSE_MAX: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Number of further windows before the next trial.
    Pause(u32),
    /// The present depth's window of a pair.
    Present,
    /// The candidate's window of a pair.
    Candidate,
}

#[derive(Debug)]
pub(super) struct DepthFinder {
    /// The present depth.
    depth: usize,
    candidate: usize,
    upwards: bool,
    phase: Phase,
    pause: u32,
    /// Pairs of the trial; the sums of their rates follow.
    pairs: u32,
    present_sum: f64,
    candidate_sum: f64,
    /// Completions that are left out before the window begins.
    settles: u64,
    from: Duration,
    completed: u64,
    /// Completions in the window that found no read waiting.
    unlimited: u64,
}

impl DepthFinder {
    pub(super) fn new(now: Duration) -> DepthFinder {
        DepthFinder {
            depth: DEPTH_START,
            candidate: DEPTH_START,
            upwards: true,
            phase: Phase::Pause(PAUSE_MIN),
            pause: PAUSE_MIN,
            pairs: 0,
            present_sum: 0.0,
            candidate_sum: 0.0,
            settles: DEPTH_START as u64 * SETTLE_GENERATIONS,
            from: now,
            completed: 0,
            unlimited: 0,
        }
    }

    /// Returns the depth to use now.
    pub(super) fn depth(&self) -> usize {
        match self.phase {
            Phase::Candidate => self.candidate,
            Phase::Pause(_) | Phase::Present => self.depth,
        }
    }

    /// Takes in that a read has ended; `limits` says whether a read waits for a pass. Returns the
    /// depth to use from now on.
    pub(super) fn completed(&mut self, now: Duration, limits: bool) -> usize {
        if self.settles > 0 {
            self.settles -= 1;
            self.from = now;
            return self.depth();
        }
        self.completed += 1;
        self.unlimited += u64::from(!limits);
        let length = now.saturating_sub(self.from);
        let enough = WINDOW_COMPLETIONS.max(self.depth() as u64 * WINDOW_GENERATIONS);
        if length < WINDOW || self.completed < enough {
            return self.depth();
        }
        let rate = self.completed as f64 / length.as_secs_f64();
        let says_something = self.unlimited * UNLIMITED_SHARE <= self.completed;
        let before = self.depth();
        if says_something {
            self.window(rate);
        } else {
            self.phase = Phase::Pause(self.pause);
        }
        self.begin_window(now, before);
        self.depth()
    }

    fn begin_window(&mut self, now: Duration, before: usize) {
        let after = self.depth();
        self.settles = match after == before {
            true => 0,
            false => before.max(after) as u64 * SETTLE_GENERATIONS,
        };
        (self.from, self.completed, self.unlimited) = (now, 0, 0);
    }

    /// Takes in the rate of a window that has ended.
    fn window(&mut self, rate: f64) {
        match self.phase {
            Phase::Pause(windows) if windows > 1 => self.phase = Phase::Pause(windows - 1),
            Phase::Pause(_) => self.begin_trial(),
            Phase::Present => {
                self.present_sum += rate;
                self.phase = Phase::Candidate;
            }
            Phase::Candidate => {
                self.candidate_sum += rate;
                self.pairs += 1;
                self.judge();
            }
        }
    }

    fn begin_trial(&mut self) {
        let candidate = |upwards, depth: usize| match upwards {
            true => (depth + depth.div_ceil(2)).min(DEPTH_MAX),
            false => (depth * 2 / 3).max(1),
        };
        self.candidate = candidate(self.upwards, self.depth);
        if self.candidate == self.depth {
            self.upwards = !self.upwards;
            self.candidate = candidate(self.upwards, self.depth);
        }
        self.phase = Phase::Present;
        (self.pairs, self.present_sum, self.candidate_sum) = (0, 0.0, 0.0);
    }

    fn judge(&mut self) {
        let gain = self.candidate_sum / self.present_sum - 1.0;
        let margin = if self.upwards { MARGIN_UP } else { MARGIN_DOWN };
        let is_clear = (gain - margin).abs() >= CLEAR;
        if self.pairs < PAIRS_MIN || self.pairs < PAIRS_MAX && !is_clear {
            self.phase = Phase::Present;
            return;
        }
        if gain >= margin {
            self.depth = self.candidate;
            self.pause = PAUSE_MIN;
        } else {
            self.upwards = !self.upwards;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        self.phase = Phase::Pause(self.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that answers after `latency_us`, but no more than `capacity` reads a second; its
    /// speed changes by up to `noise` now and then.
    struct Device {
        latency_us: f64,
        capacity: f64,
        noise: f64,
        dice: u64,
        now_ns: f64,
    }

    impl Device {
        fn new(latency_us: f64, capacity: f64, noise: f64) -> Device {
            Device {
                latency_us,
                capacity,
                noise,
                dice: 0x9e37_79b9_7f4a_7c15,
                now_ns: 0.0,
            }
        }

        /// Returns the depth from which the device does no more.
        fn knee(&self) -> f64 {
            self.capacity * self.latency_us / 1e6
        }

        /// Has the device end `count` reads and tell the finder, with a read always waiting or
        /// never.
        fn read(&mut self, finder: &mut DepthFinder, count: u64, limits: bool) -> usize {
            let mut speed = 1.0;
            for i in 0..count {
                if i % 500 == 0 {
                    self.dice ^= self.dice << 13;
                    self.dice ^= self.dice >> 7;
                    self.dice ^= self.dice << 17;
                    let share = (self.dice >> 11) as f64 / (1u64 << 53) as f64;
                    speed = 1.0 + self.noise * (2.0 * share - 1.0);
                }
                let rate = (finder.depth() as f64 * 1e6 / self.latency_us).min(self.capacity);
                self.now_ns += 1e9 / (rate * speed);
                finder.completed(Duration::from_nanos(self.now_ns as u64), limits);
            }
            finder.depth
        }
    }

    #[test]
    fn it_finds_the_depth_from_which_the_device_does_no_more() {
        for (latency, capacity) in [
            (100.0, 40_000.0),
            (80.0, 500_000.0),
            (100.0, 1_500_000.0),
            (1000.0, 400_000.0),
        ] {
            for noise in [0.0, 0.1] {
                let mut device = Device::new(latency, capacity, noise);
                let mut finder = DepthFinder::new(Duration::ZERO);
                device.read(&mut finder, 3_000_000, true);
                let mut off = 0;
                for _ in 0..100 {
                    let share = device.read(&mut finder, 10_000, true) as f64 / device.knee();
                    off += u32::from(!(0.85..2.3).contains(&share));
                }
                assert!(off < 10, "{latency} {capacity} {noise}: {finder:?}");
            }
        }
    }

    #[test]
    fn it_stays_between_one_and_the_most() {
        let mut device = Device::new(10_000.0, 1e9, 0.05);
        let mut finder = DepthFinder::new(Duration::ZERO);
        assert_eq!(device.read(&mut finder, 3_000_000, true), DEPTH_MAX);
        let mut device = Device::new(1.0, 1000.0, 0.0);
        let mut finder = DepthFinder::new(Duration::ZERO);
        assert_eq!(device.read(&mut finder, 1_000_000, true), 1);
    }

    #[test]
    fn a_device_that_changes_is_followed() {
        let mut finder = DepthFinder::new(Duration::ZERO);
        let mut device = Device::new(100.0, 2_000_000.0, 0.05);
        assert!(device.read(&mut finder, 3_000_000, true) > 150);
        (device.latency_us, device.capacity) = (100.0, 100_000.0);
        assert!(device.read(&mut finder, 5_000_000, true) < 30);
    }

    #[test]
    fn while_passes_are_to_be_had_nothing_is_tried() {
        let mut finder = DepthFinder::new(Duration::ZERO);
        let mut device = Device::new(100.0, 2_000_000.0, 0.1);
        assert_eq!(device.read(&mut finder, 1_000_000, false), DEPTH_START);
        assert_eq!(finder.depth(), DEPTH_START);
    }
}
