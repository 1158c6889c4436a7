//! Demand: whether interactive tasks have wanted much of a worker lately, for long work that may as well be done
//! elsewhere.
//!
//! Batch tasks take what interactive tasks leave, in slices, and each slice delays those that become ready meanwhile.
//! Work that is divided among workers therefore leaves the workers that are in demand alone ([`is_in_demand`]).

use std::{cell::Cell, time::Duration};

use crate::class::Class;

/// Time over which demand is judged.
const WINDOW: Duration = Duration::from_millis(100);

/// Time that interactive tasks have had of a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Share of the time from which on the worker is in demand.
    percent: u32,
    /// Time at which the window began.
    begun: Duration,
    /// Time that interactive tasks have had since then.
    had: Duration,
    /// Whether they had much of the window before.
    was_high: bool,
}

thread_local! {
    /// Whether the worker that runs on this thread is in demand.
    static IS_HIGH: Cell<bool> = const { Cell::new(false) };
}

impl Demand {
    pub(crate) fn new(percent: u8) -> Demand {
        Demand {
            percent: percent.into(),
            begun: Duration::ZERO,
            had: Duration::ZERO,
            was_high: false,
        }
    }

    /// Notes that tasks of `class` have had the worker for `time` until `now`.
    #[inline]
    pub(crate) fn note(&mut self, class: Class, time: Duration, now: Duration) {
        let window = now.saturating_sub(self.begun);
        if window >= WINDOW {
            self.was_high = self.is_much_of(window);
            (self.begun, self.had) = (now, Duration::ZERO);
        }
        if class == Class::Interactive {
            self.had += time;
        }
        self.publish();
    }

    /// Has [`is_in_demand`] tell of this worker, which runs on this thread from now on.
    #[inline]
    pub(crate) fn publish(&self) {
        IS_HIGH.set(self.was_high || self.is_much_of(WINDOW));
    }

    fn is_much_of(&self, window: Duration) -> bool {
        self.percent < 100 && self.had * 100 >= window * self.percent
    }
}

/// Returns whether interactive tasks have had much of this thread's worker lately, in the last 100 to 200 milliseconds:
/// [`WorkerConfig::demand_percent`](crate::WorkerConfig::demand_percent) or more.
pub fn is_in_demand() -> bool {
    IS_HIGH.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[test]
    fn a_worker_is_in_demand_while_interactive_tasks_have_much_of_it() {
        let mut demand = Demand::new(25);
        // Has tasks work for `share` microseconds of each of `count` milliseconds.
        let mut now = 0;
        let mut work = |class, share, count| {
            for _ in 0..count {
                now += 1;
                demand.note(class, Duration::from_micros(share), now * MILLISECOND);
            }
            is_in_demand()
        };
        assert!(!work(Class::Batch, 1000, 300));
        assert!(!work(Class::Interactive, 200, 300), "a fifth");
        assert!(work(Class::Interactive, 600, 50), "in the window");
        assert!(work(Class::Interactive, 600, 300));
        assert!(work(Class::Batch, 1000, 50), "in the window before");
        assert!(!work(Class::Batch, 1000, 200));
        assert!(work(Class::Interactive, 1000, 30));
        // The worker has slept since then: it looks around before the first task.
        demand.note(Class::Batch, Duration::ZERO, 100_000 * MILLISECOND);
        assert!(!is_in_demand());
    }
}
