//! A task's turn, cut by time: [`Turn`].
//!
//! A task that computes counts what it does, in units of its own choice (rows, comparisons,
//! bytes), and gives the others a turn when it has had the worker for long. Counting is an
//! addition and a comparison; now and then, as often as the units turn out to be quick, the
//! clock is read.

use std::{cell::Cell, time::Duration};

use crate::{slot, touch::yield_now};

/// Length of a turn: three quarters of the bound, since the work between two readings comes on top. Between two turns
/// the worker looks around, which takes some microseconds.
const TURN: Duration = Duration::from_micros(150);

/// Time between two readings of the clock, roughly.
const READING: Duration = Duration::from_micros(15);

/// Maximum units of a turn: the output of a turn has a bound, whatever the clock says.
const UNITS_MAX: u32 = 16 * 1024;

/// Maximum units of a turn in which the clock stands still, as a simulation's does.
const UNITS_STILL_MAX: u32 = 4096;

/// Units before the clock is read for the first time.
const UNITS_FIRST: u32 = 64;

/// Returns whether the running task has had the worker for a turn's length since other tasks last had a turn. For code
/// that does so much between two checks that a reading of the clock costs nothing beside it. Outside a worker no turn
/// ends.
pub fn turn_is_over() -> bool {
    slot::time().is_some_and(|(now, began)| now.saturating_sub(began) >= TURN)
}

/// Share of a turn that a task has used. Belongs to the task: all code that computes on the task's behalf counts in one
/// `Turn`.
#[derive(Debug)]
pub struct Turn {
    /// Units until the clock is read.
    left: Cell<u32>,
    /// Units from the last reading to the next.
    planned: Cell<u32>,
    /// Units that take about [`READING`].
    step: Cell<u32>,
    /// Units since the turn began.
    units: Cell<u32>,
    /// Whether some of the units were estimates ([`owe`](Turn::owe)): at most [`UNITS_FIRST`] are planned after these,
    /// however quick they were.
    is_reckoned: Cell<bool>,
    read_at: Cell<Duration>,
}

impl Default for Turn {
    fn default() -> Turn {
        Turn {
            left: Cell::new(UNITS_FIRST),
            planned: Cell::new(UNITS_FIRST),
            step: Cell::new(UNITS_FIRST),
            units: Cell::new(0),
            is_reckoned: Cell::new(false),
            read_at: Cell::new(Duration::ZERO),
        }
    }
}

impl Turn {
    /// Counts `units` of work that were done. Returns whether the turn is over: the task then awaits [`yield_now`], and
    /// the next turn begins.
    #[inline]
    pub fn spend(&self, units: usize) -> bool {
        match (self.left.get() as usize).checked_sub(units) {
            Some(left @ 1..) => {
                self.left.set(left as u32);
                false
            }
            _ => self.read_clock(units),
        }
    }

    /// Counts `units` of work that were done, and gives the others a turn when this turn is over.
    #[inline]
    pub async fn pause(&self, units: usize) {
        if self.spend(units) {
            yield_now().await;
        }
    }

    /// Counts `units` as an estimate of work whose parts are not counted. The clock is read at the next count if
    /// `units` is large.
    #[inline]
    pub fn owe(&self, units: usize) {
        let left = (self.left.get() as usize).saturating_sub(units);
        self.left.set(left as u32);
        self.is_reckoned.set(true);
    }

    /// Returns whether the clock is read at the next count.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.left.get() == 0
    }

    /// Counts one unit. Returns whether the clock is to be read, by calling [`spend`](Self::spend) with 0: for loops
    /// that have room for no more than a branch.
    #[inline]
    pub fn tick(&self) -> bool {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        left == 0
    }

    /// Has the clock read after no more than `units`, at least one.
    #[inline]
    pub fn read_within(&self, units: u32) {
        let surplus = self.left.get().saturating_sub(units.max(1));
        self.left.set(self.left.get() - surplus);
        self.planned.set(self.planned.get() - surplus);
    }

    /// Returns how many of `units` to do before the next count: as many as are known to take only a part of a turn.
    #[inline]
    pub fn piece(&self, units: usize) -> usize {
        units.min(4 * self.step.get() as usize)
    }

    #[cold]
    fn read_clock(&self, units: usize) -> bool {
        let done = (self.planned.get() - self.left.get()) as usize + units;
        let done = u32::try_from(done).unwrap_or(u32::MAX);
        let of_turn = self.units.get().saturating_add(done);
        let Some((now, began)) = slot::time() else {
            // No task waits outside a worker.
            self.left.set(self.planned.get());
            return false;
        };
        // Others may have had turns since the last reading.
        let since = now.saturating_sub(self.read_at.get().max(began));
        let is_reckoned = self.is_reckoned.replace(false);
        self.read_at.set(now);
        let most = if now == began {
            UNITS_STILL_MAX
        } else {
            UNITS_MAX
        };
        let is_over = now.saturating_sub(began) >= TURN || of_turn >= most;
        self.units.set(if is_over { 0 } else { of_turn });
        let step = if since > READING {
            let quotient = since.as_nanos() / READING.as_nanos();
            done / u32::try_from(quotient + 1).unwrap_or(u32::MAX)
        } else if since < READING / 2 && done >= self.step.get() {
            let most = match is_reckoned {
                true => UNITS_FIRST.max(self.step.get()),
                false => UNITS_STILL_MAX,
            };
            (self.step.get() * 2).min(most)
        } else {
            self.step.get()
        };
        let step = step.clamp(1, UNITS_STILL_MAX);
        self.step.set(step);
        // Plan no more than what is left of the turn. An end by time that was not heeded is reported again at the next
        // count.
        let planned = match is_over {
            true => 1,
            false => step.min(most - self.units.get()),
        };
        self.planned.set(planned);
        self.left.set(planned);
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_a_worker_no_turn_ends() {
        let turn = Turn::default();
        assert!((0..100_000).all(|_| !turn.spend(7)));
        assert!(!turn.spend(usize::MAX));
        turn.owe(usize::MAX);
        assert!(turn.is_due() && !turn.spend(0) && !turn.is_due());
    }

    #[test]
    fn the_clock_is_read_within_so_many_units() {
        let turn = Turn::default();
        turn.read_within(3);
        assert_eq!([(); 4].map(|()| turn.tick()), [false, false, true, true]);
        assert!(!turn.spend(0) && !turn.is_due());
        turn.read_within(0);
        assert!(turn.tick() && !turn.spend(0));
        turn.owe(1000);
        assert!(turn.is_due());
        turn.read_within(5);
        assert!(turn.is_due());
    }
}
