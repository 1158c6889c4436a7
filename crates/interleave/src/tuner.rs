//! Number of tasks in flight: found by trying.
//!
//! The published rule G >= T_stall / (T_compute + T_switch) + 1 (paper 003 section 4) needs times that are unknown
//! beforehand, and leaves out conflicts between transactions in flight. The worker therefore starts at 8 and compares
//! neighbours (and "no suspension at all") in short windows by the useful work done in them. A candidate is measured
//! between two windows of the incumbent, whose mean is its yardstick.
//!
//! Windows are noisy: tasks differ, and so does the machine from one millisecond to the next. The differences among
//! windows of the incumbent tell by how much a trial may be wrong, and a candidate is tried until the mean of its
//! trials is clear of its margin by that. A larger number must be better, a smaller one only not worse: a window does
//! not show the long-run costs of conflicts and latency. Trials become rarer while nothing changes, so that their cost
//! vanishes.
//!
//! Tasks in flight together may end together, and where work counts only at the end, it comes in lumps. A window
//! therefore lasts until many times as many tasks have ended as are in flight. After a change to more, the added tasks
//! have begun and not ended; after a change to fewer, the excess tasks still end: a window begins when both have ended,
//! or the larger number would look worse than it is. Tasks also differ, so a window has some hundred of them.
//!
//! If tasks wait for each other, windows that begin too early mislead the other way: added tasks run at first, and join
//! the queue later; and with fewer in flight the queue is worked off first. Several generations therefore come and go
//! before a window begins. The tuner also checks whether half of the tasks in flight wait: then they are too many,
//! whatever the rate is.
//!
//! Tasks that wait for the device have cost the worker when they asked and count when they are answered: a number that
//! begins more of them than it ends looks worse than it is. After a change, waits under way are therefore answered
//! before a window begins, and a window lasts until several times as many were.
//!
//! If tasks wait for clients, a worker has nothing to do now and then, and a window would seldom end before that: the
//! number in flight stayed what it was before the clients came. Time at rest therefore does not count, unless the
//! worker waited for the device. Tasks that serve a connection do not end, so that each of their windows lasts 20 ms: a
//! change of load is noticed after some tenths of a second of work, five seconds at most.
//!
//! Being wrong for a while costs speed, never correctness.

/// The ladder of candidates. The first does not suspend.
const LADDER: [usize; 10] = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64];
const START: usize = 3;

/// Length of a window and of the time left out after a change, in nanoseconds.
const WINDOW_NS: u64 = 400_000;
const SETTLE_NS: u64 = 100_000;
/// Longest window: a window with less work, fewer tasks ended, or fewer for each task in flight, is prolonged up to
/// this length; likewise the time left out.
const WINDOW_NS_MAX: u64 = 20_000_000;
const PROGRESS_MIN: u64 = 64;
const TASKS_MIN: u64 = 256;
const GENERATIONS_MIN: u64 = 24;
const GENERATIONS_SETTLE: u64 = 8;
/// Answers of the device for each task that waits for it, as `GENERATIONS_MIN` and `GENERATIONS_SETTLE` count tasks
/// ended.
const ANSWERS_MIN: u64 = 6;
const ANSWERS_SETTLE: u64 = 2;

const PAUSE_WINDOWS_MIN: u32 = 2;
const PAUSE_WINDOWS_MAX: u32 = 256;
/// Tasks in flight of which all may wait for each other.
const CROWD_MIN: usize = 2;
/// Margin by which a candidate with more in flight must be better to win, as a share; one with fewer need not be worse.
const MARGIN_UP: f64 = 0.02;
const MARGIN_DOWN: f64 = -0.005;
/// Maximum trials of a candidate before it has won or lost.
const TRIALS_MAX: u32 = 8;
/// Gain of "no suspension", which may be far away, below which it is tried more rarely.
const FAR_OFF: f64 = -0.15;
const SKIPS: u32 = 4;
/// Least error that one trial is assumed to have, as a share.
const NOISE_MIN: f64 = 0.01;
/// Errors by which a candidate must be clear of its margin to win. To lose, one error suffices.
const ERRORS_TO_WIN: f64 = 2.0;
/// Maximum gain that one window is taken to have over another.
const GAIN_MAX: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The incumbent runs; this many more windows before the next trial.
    Pause(u32),
    /// The incumbent's window before a trial.
    Before,
    /// The candidate's window; the rate before it.
    Trial { candidate: usize, before: f64 },
    /// The incumbent's window after a trial.
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
    /// Kind of candidate that is tried next.
    turn: usize,
    /// Candidate that has been tried and has neither won nor lost.
    open: Option<Gains>,
    /// Turns in which "no suspension" is not tried: it was out of the question.
    skips: u32,
    /// Difference between windows of the same number, as a share: a moving mean.
    noise: f64,
    /// Trials since anything changed.
    quiet: u32,
    /// Time in which the worker had something to do, when the window began.
    window_from_ns: u64,
    /// Total time in which the worker had nothing to do.
    rested_ns: u64,
    /// Events required before the window begins; `None` within it.
    settles_after: Option<Settled>,
    from: Totals,
    started: bool,
    /// Reports in the window, and those in which half of the tasks in flight waited.
    reports: u32,
    crowded: u32,
}

/// Result of the trials of a candidate: by how much it was better, as a share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gains {
    candidate: usize,
    trials: u32,
    sum: f64,
}

/// Work of a worker since it began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Useful work, in any unit.
    pub(crate) progress: u64,
    /// Tasks that have ended.
    pub(crate) finished: u64,
    /// Waits for the device that have ended.
    pub(crate) answered: u64,
}

/// Tasks that wait now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    /// Tasks that wait for other tasks.
    pub(crate) for_tasks: usize,
    pub(crate) for_device: usize,
    /// Whether all tasks wait.
    pub(crate) are_all: bool,
}

/// Totals at which a change has come to bear.
#[derive(Clone, Copy, Debug)]
struct Settled {
    /// Tasks that have ended since the change.
    finished: u64,
    /// Waits for the device that have ended since the change.
    answered: u64,
}

/// Returns by how much rate `to` is better than rate `from`: as a logarithm, so that gains and losses are even;
/// bounded, since there are windows in which the machine stood still.
fn gain(from: f64, to: f64) -> f64 {
    let least = f64::MIN_POSITIVE;
    (to.max(least).ln() - from.max(least).ln()).clamp(-GAIN_MAX, GAIN_MAX)
}

impl Tuner {
    pub(crate) fn new() -> Tuner {
        Tuner {
            incumbent: START,
            phase: Phase::Pause(1),
            pause: PAUSE_WINDOWS_MIN,
            turn: 0,
            open: None,
            skips: 0,
            noise: 0.05,
            quiet: 0,
            window_from_ns: 0,
            rested_ns: 0,
            settles_after: None,
            from: Totals::default(),
            started: false,
            reports: 0,
            crowded: 0,
        }
    }

    /// Returns the number to keep in flight now.
    pub(crate) fn in_flight(&self) -> usize {
        match self.phase {
            Phase::Trial { candidate, .. } => LADDER[candidate],
            _ => LADDER[self.incumbent],
        }
    }

    /// Returns the number that the worker would settle on now.
    pub(crate) fn settled(&self) -> usize {
        LADDER[self.incumbent]
    }

    /// Notes that the worker had nothing to do for `nanoseconds`. Windows leave rests out: the rate is work per busy
    /// time. After a long rest another kind of work may come, and the window begins anew.
    pub(crate) fn rested(&mut self, nanoseconds: u64) {
        self.rested_ns += nanoseconds;
        if nanoseconds >= WINDOW_NS_MAX {
            self.interrupt();
        }
    }

    /// Has the window begin anew.
    pub(crate) fn interrupt(&mut self) {
        self.started = false;
    }

    /// Takes in the time, the totals until now, and the tasks that wait. Returns true if [`Tuner::in_flight`] may have
    /// changed.
    pub(crate) fn tick(&mut self, now_ns: u64, totals: Totals, waiting: Waiting) -> bool {
        let now_ns = now_ns.saturating_sub(self.rested_ns);
        let at_device = waiting.for_device as u64;
        if !self.started {
            self.open(now_ns, totals, self.in_flight(), at_device);
            return false;
        }
        let before = self.in_flight();
        let elapsed = now_ns.saturating_sub(self.window_from_ns);
        // The progress is less than before where much was taken back.
        let done = totals.progress.saturating_sub(self.from.progress);
        let finished = totals.finished.wrapping_sub(self.from.finished);
        let answered = totals.answered.wrapping_sub(self.from.answered);
        if let Some(settled) = self.settles_after {
            let is_settled = finished >= settled.finished && answered >= settled.answered;
            if elapsed >= WINDOW_NS_MAX || (elapsed >= SETTLE_NS && is_settled) {
                self.begin(now_ns, totals);
            }
            return false;
        }
        // A worker at rest has no new tasks that would be in the way of those it waits for.
        if !waiting.are_all {
            self.reports += 1;
            self.crowded += u32::from(before > CROWD_MIN && 2 * waiting.for_tasks >= before);
        }
        let is_telling = done >= PROGRESS_MIN
            && finished >= TASKS_MIN.max(GENERATIONS_MIN * before as u64)
            && answered >= ANSWERS_MIN * at_device;
        if elapsed < WINDOW_NS || (!is_telling && elapsed < WINDOW_NS_MAX) {
            return false;
        }
        // If tasks do not end, as those of connections do not, a smaller number shortens no queue.
        if 2 * self.crowded > self.reports && finished >= before as u64 {
            self.give_way();
        } else {
            self.close(done as f64 / elapsed as f64);
        }
        let changed = self.in_flight() != before;
        if changed {
            self.open(now_ns, totals, before, at_device);
        } else {
            self.begin(now_ns, totals);
        }
        changed
    }

    /// Opens a window, with `before` in flight and `at_device` at the device until now, that begins once the tasks now
    /// running have come to bear.
    fn open(&mut self, now_ns: u64, totals: Totals, before: usize, at_device: u64) {
        self.started = true;
        self.begin(now_ns, totals);
        let most = self.in_flight().max(before) as u64;
        self.settles_after = Some(Settled {
            finished: GENERATIONS_SETTLE * most,
            answered: ANSWERS_SETTLE * at_device,
        });
    }

    fn begin(&mut self, now_ns: u64, totals: Totals) {
        self.window_from_ns = now_ns;
        self.settles_after = None;
        self.from = totals;
        (self.reports, self.crowded) = (0, 0);
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
                let difference = gain(before, rate).abs();
                self.noise += (difference - self.noise) / 16.0;
                let gain = f64::midpoint(gain(before, trial), gain(rate, trial));
                self.weigh(candidate, gain, rate)
            }
        };
    }

    /// Goes one down, since there are too many, or stays if only a trial had so many.
    fn give_way(&mut self) {
        self.phase = match self.phase {
            Phase::Trial { .. } => self.lost(),
            _ => {
                self.incumbent = self.incumbent.saturating_sub(1);
                self.open = None;
                Phase::Pause(1)
            }
        };
    }

    /// Takes in by how much a candidate was better in a trial, after which the incumbent's rate is `now`.
    fn weigh(&mut self, candidate: usize, gain: f64, now: f64) -> Phase {
        let none = Gains {
            candidate,
            trials: 0,
            sum: 0.0,
        };
        let mut gains = self.open.take().unwrap_or(none);
        gains.trials += 1;
        gains.sum += gain;
        let trials = f64::from(gains.trials);
        let mean = gains.sum / trials;
        let error = self.noise.max(NOISE_MIN) / trials.sqrt();
        let margin = match candidate > self.incumbent {
            true => MARGIN_UP,
            false => MARGIN_DOWN,
        };
        if gains.trials > 1 && mean - ERRORS_TO_WIN * error > margin {
            self.incumbent = candidate;
            self.quiet = 0;
            self.pause = (self.pause / 4).max(PAUSE_WINDOWS_MIN);
            return Phase::Pause(1);
        }
        if mean + error < margin || gains.trials == TRIALS_MAX {
            if candidate == 0 && mean < FAR_OFF {
                self.skips = SKIPS;
            }
            return self.lost();
        }
        self.open = Some(gains);
        Phase::Trial {
            candidate,
            before: now,
        }
    }

    fn lost(&mut self) -> Phase {
        self.open = None;
        self.turn = self.turn.wrapping_add(1);
        if self.turn.is_multiple_of(3) && self.skips > 0 {
            self.skips -= 1;
            self.turn += 1;
        }
        self.quiet += 1;
        if self.quiet >= 3 {
            self.quiet = 0;
            self.pause = (self.pause * 2).min(PAUSE_WINDOWS_MAX);
        }
        Phase::Pause(self.pause)
    }

    /// Returns the candidate that is still open, else the next in turn: no suspension, the next larger, the next
    /// smaller.
    fn candidate(&self) -> usize {
        if let Some(open) = self.open {
            return open.candidate;
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
mod tests;
