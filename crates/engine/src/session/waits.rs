//! The number of a worker's operations that wait for other transactions.
//!
//! Waiting operations keep the worker from beginning as many new transactions as otherwise
//! ([`interleave::WorkerLocal::waiting`]), but only for a while: mostly the other transaction ends
//! within microseconds. A transaction that takes longer (its client thinks between two statements)
//! must not keep a whole worker from unrelated work. A wait is therefore counted in the
//! [`Generation`] in which it began, and only the two newest generations matter.

use std::{cell::Cell, time::Duration};

/// Shortest length of a generation.
pub(super) const GENERATION: Duration = Duration::from_millis(10);

/// Generation in which a wait began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u64);

#[derive(Debug, Default)]
pub(crate) struct Waits {
    newest: Cell<u64>,
    /// Beginning of the newest generation.
    since: Cell<Duration>,
    /// Waits of the two newest generations, the even one and the odd one.
    counts: [Cell<usize>; 2],
}

impl Waits {
    fn count(&self, generation: u64) -> &Cell<usize> {
        &self.counts[(generation % 2) as usize]
    }

    /// Returns the number of waits of the two newest generations.
    #[inline]
    pub(crate) fn recent(&self) -> usize {
        self.counts[0].get() + self.counts[1].get()
    }

    pub(crate) fn begin(&self) -> Generation {
        let newest = self.newest.get();
        let count = self.count(newest);
        count.set(count.get() + 1);
        Generation(newest)
    }

    pub(crate) fn end(&self, began: Generation) {
        if self.newest.get() - began.0 < 2 {
            let count = self.count(began.0);
            count.set(count.get() - 1);
        }
    }

    /// Begins a new generation if the newest is old enough: the oldest generation is forgotten.
    pub(crate) fn age(&self, now: Duration) {
        if now.saturating_sub(self.since.get()) >= GENERATION {
            let newest = self.newest.get() + 1;
            self.newest.set(newest);
            self.since.set(now);
            self.count(newest).set(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_does_not_count() {
        let (waits, moment) = (Waits::default(), Duration::from_millis);
        waits.age(moment(100));
        let first = waits.begin();
        waits.age(moment(105));
        let second = waits.begin();
        assert_eq!(waits.recent(), 2);
        waits.age(moment(110));
        let third = waits.begin();
        assert_eq!(waits.recent(), 3);
        waits.end(second);
        assert_eq!(waits.recent(), 2);
        waits.age(moment(120));
        assert_eq!(waits.recent(), 1, "the first began two generations ago");
        waits.end(first);
        assert_eq!(waits.recent(), 1);
        waits.end(third);
        assert_eq!(waits.recent(), 0);
    }
}
