//! A task's turn, cut by time: [`Turn`].
//!
//! A task that computes counts what it does, in units of its own choice (rows, comparisons,
//! bytes), and gives the others a turn when it has had the worker for long. Counting is an
//! addition and a comparison; now and then, as often as the units turn out to be quick, the
//! clock is read.

use std::{cell::Cell, time::Duration};

use crate::{slot, touch::yield_now};

/// A turn ends when it has lasted for so long: three quarters of the bound, since what is done
/// between two readings comes on top of it. Between two turns the worker looks around, which takes
/// some microseconds.
const TURN: Duration = Duration::from_micros(150);

/// Between two readings of the clock, about.
const READING: Duration = Duration::from_micros(15);

/// Units of a turn at most: what a turn makes has a bound, whatever the clock says.
const UNITS_MAX: u32 = 16 * 1024;

/// Units of a turn in which the clock stands still, as a simulation's does.
const UNITS_STILL_MAX: u32 = 4096;

/// Units before the clock is read for the first time.
const UNITS_FIRST: u32 = 64;

/// Whether the running task has had the worker for a turn's length, since others last had a turn:
/// for whoever does so much between two looks that a reading of the clock is nothing to it. Outside
/// a worker no turn ends.
pub fn turn_is_over() -> bool {
    slot::time().is_some_and(|(now, began)| now.saturating_sub(began) >= TURN)
}

/// How much of its turn a task has had. A part of the task: whoever computes on its behalf
/// counts in the same one.
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
    /// Whether some of them were reckoned by [`owe`](Turn::owe): however quick they were, no more than [`UNITS_FIRST`] are
    /// planned for that.
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
    /// Counts units of work that were done. Whether the turn is over: the task is to await
    /// [`yield_now`], and the next one begins.
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

    /// Counts units of work that were done, and gives the others a turn when this one is over.
    #[inline]
    pub async fn pause(&self, units: usize) {
        if self.spend(units) {
            yield_now().await;
        }
    }

    /// Counts units that the work of one is worth, as it was reckoned: the clock is read at the next count, if these are
    /// many.
    #[inline]
    pub fn owe(&self, units: usize) {
        let left = (self.left.get() as usize).saturating_sub(units);
        self.left.set(left as u32);
        self.is_reckoned.set(true);
    }

    /// Whether the clock is read at the next count.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.left.get() == 0
    }

    /// Counts one unit. Whether the clock is to be read, which [`spend`](Self::spend) of nothing does: for loops in which a
    /// branch is all that there is room for.
    #[inline]
    pub fn tick(&self) -> bool {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        left == 0
    }

    /// Has the clock read after no more than so many units, at least one.
    #[inline]
    pub fn read_within(&self, units: u32) {
        let surplus = self.left.get().saturating_sub(units.max(1));
        self.left.set(self.left.get() - surplus);
        self.planned.set(self.planned.get() - surplus);
    }

    /// How many units to do before the next count, of so many: as many as are known to take no
    /// more than a part of a turn.
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
            // Nobody waits.
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
        // No more than what is left of the turn. That it is over by time is told again at once if nobody has heeded it.
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
