//! How many in flight: found by trying.
//!
//! The published rule G >= T_stall / (T_compute + T_switch) + 1 (paper 003
//! section 4) needs times nobody knows beforehand, and conflicts between
//! transactions in flight are not in it. So the worker starts at 16 and compares
//! neighbours (and "no suspension at all") in short windows by the useful work
//! done in them. A candidate is measured between two windows of the incumbent,
//! whose mean is its yardstick, and must win twice in a row. Trials become
//! rarer while nothing changes, so that their cost vanishes (below 0.5 %).
//!
//! Being wrong for a while costs speed, never correctness.

/// The ladder of candidates. The first does not suspend.
const LADDER: [usize; 9] = [1, 4, 8, 12, 16, 24, 32, 48, 64];
const START: usize = 4;

/// Length of a window and of the time left out after a change, in nanoseconds.
const WINDOW_NS: u64 = 400_000;
const SETTLE_NS: u64 = 100_000;
/// A window with less progress is prolonged, up to this length.
const WINDOW_NS_MAX: u64 = 20_000_000;
const PROGRESS_MIN: u64 = 64;

const PAUSE_WINDOWS_MIN: u32 = 2;
const PAUSE_WINDOWS_MAX: u32 = 256;
/// A candidate must be this much better to win.
const MARGIN: f64 = 1.03;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Incumbent runs; this many more windows before the next trial.
    Pause(u32),
    /// Incumbent's window before a trial.
    Before,
    /// Candidate's window; the rate before it.
    Trial { candidate: usize, before: f64 },
    /// Incumbent's window after a trial.
    After {
        candidate: usize,
        before: f64,
        trial: f64,
    },
}

#[derive(Debug)]
pub(crate) struct Tuner {
    incumbent: usize,
    phase: Phase,
    pause: u32,
    /// Which kind of candidate is tried next, and whether it has won once.
    turn: usize,
    won: Option<usize>,
    /// Trials since anything changed.
    quiet: u32,
    window_from_ns: u64,
    settled_at_ns: u64,
    progress_from: u64,
    started: bool,
}

impl Tuner {
    pub(crate) fn new() -> Tuner {
        Tuner {
            incumbent: START,
            phase: Phase::Pause(1),
            pause: PAUSE_WINDOWS_MIN,
            turn: 0,
            won: None,
            quiet: 0,
            window_from_ns: 0,
            settled_at_ns: 0,
            progress_from: 0,
            started: false,
        }
    }

    /// The number to keep in flight now.
    pub(crate) fn in_flight(&self) -> usize {
        match self.phase {
            Phase::Trial { candidate, .. } => LADDER[candidate],
            _ => LADDER[self.incumbent],
        }
    }

    /// What the worker would settle on now.
    pub(crate) fn settled(&self) -> usize {
        LADDER[self.incumbent]
    }

    /// The worker was idle: what the window holds says nothing.
    pub(crate) fn interrupt(&mut self) {
        self.started = false;
    }

    /// Reports time and the running total of useful work. True if
    /// [`Tuner::in_flight`] may have changed.
    pub(crate) fn tick(&mut self, now_ns: u64, progress: u64) -> bool {
        if !self.started {
            self.open(now_ns, progress);
            return false;
        }
        if now_ns < self.settled_at_ns {
            self.progress_from = progress;
            self.window_from_ns = now_ns;
            return false;
        }
        let elapsed = now_ns - self.window_from_ns;
        let done = progress.wrapping_sub(self.progress_from);
        if elapsed < WINDOW_NS || (done < PROGRESS_MIN && elapsed < WINDOW_NS_MAX) {
            return false;
        }
        let before = self.in_flight();
        self.close(done as f64 / elapsed as f64);
        let changed = self.in_flight() != before;
        self.open(now_ns, progress);
        if !changed {
            self.settled_at_ns = now_ns;
        }
        changed
    }

    fn open(&mut self, now_ns: u64, progress: u64) {
        self.started = true;
        self.window_from_ns = now_ns;
        self.settled_at_ns = now_ns + SETTLE_NS;
        self.progress_from = progress;
    }

    fn close(&mut self, rate: f64) {
        self.phase = match self.phase {
            Phase::Pause(n) if n > 1 => Phase::Pause(n - 1),
            Phase::Pause(_) => Phase::Before,
            Phase::Before => Phase::Trial {
                candidate: self.candidate(),
                before: rate,
            },
            Phase::Trial { candidate, before } => Phase::After {
                candidate,
                before,
                trial: rate,
            },
            Phase::After {
                candidate,
                before,
                trial,
            } => {
                let yardstick = f64::midpoint(before, rate);
                self.judge(candidate, trial > yardstick * MARGIN)
            }
        };
    }

    fn judge(&mut self, candidate: usize, better: bool) -> Phase {
        if better && self.won == Some(candidate) {
            self.incumbent = candidate;
            self.won = None;
            self.quiet = 0;
            self.pause = PAUSE_WINDOWS_MIN;
            return Phase::Pause(1);
        }
        if better {
            self.won = Some(candidate);
            return Phase::Before;
        }
        self.won = None;
        self.turn = self.turn.wrapping_add(1);
        self.quiet += 1;
        if self.quiet >= 3 {
            self.quiet = 0;
            self.pause = (self.pause * 2).min(PAUSE_WINDOWS_MAX);
        }
        Phase::Pause(self.pause)
    }

    /// The one that has won once, else in turn: no suspension, the next larger,
    /// the next smaller.
    fn candidate(&self) -> usize {
        if let Some(won) = self.won {
            return won;
        }
        let last = LADDER.len() - 1;
        let (up, down) = (
            (self.incumbent + 1).min(last),
            self.incumbent.saturating_sub(1),
        );
        let wish = match self.turn % 3 {
            0 if self.incumbent == 0 => START,
            0 => 0,
            1 => up,
            _ => down,
        };
        if wish == self.incumbent {
            if up == self.incumbent { down } else { up }
        } else {
            wish
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a tuner against a machine whose rate depends on the number in
    /// flight alone; returns where it settles and the share of the best rate
    /// that was reached on the way.
    fn settle(rate: impl Fn(usize) -> f64, windows: u32) -> (usize, f64) {
        let mut tuner = Tuner::new();
        let (mut now, mut progress, mut best) = (0u64, 0.0f64, 0.0f64);
        for n in LADDER {
            best = best.max(rate(n));
        }
        for _ in 0..windows * 10 {
            now += WINDOW_NS / 10;
            progress += rate(tuner.in_flight()) * (WINDOW_NS / 10) as f64;
            tuner.tick(now, progress as u64);
        }
        (tuner.settled(), progress / (best * now as f64))
    }

    #[test]
    fn a_cache_resident_load_stops_suspending_and_pays_little() {
        let (settled, share) = settle(|n| if n == 1 { 0.01 } else { 0.006 }, 5000);
        assert_eq!(settled, 1);
        assert!(share > 0.98, "{share}");
    }

    #[test]
    fn a_missing_load_finds_the_top_of_the_hill() {
        let (settled, share) = settle(
            |n| 0.004 * (n.min(32) as f64) / (8.0 + n.min(32) as f64) - n as f64 * 1e-6,
            5000,
        );
        assert!((24..=48).contains(&settled), "{settled}");
        assert!(share > 0.97, "{share}");
    }

    #[test]
    fn a_change_of_load_is_noticed() {
        let mut tuner = Tuner::new();
        let (mut now, mut progress) = (0u64, 0.0f64);
        for window in 0..60_000u32 {
            let cached = window < 20_000;
            let n = tuner.in_flight();
            let rate = if cached == (n == 1) { 0.01 } else { 0.004 };
            now += WINDOW_NS / 5;
            progress += rate * (WINDOW_NS / 5) as f64;
            tuner.tick(now, progress as u64);
        }
        assert_ne!(tuner.settled(), 1);
    }
}
