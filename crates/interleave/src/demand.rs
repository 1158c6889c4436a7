//! Demand: whether interactive tasks have wanted much of a worker lately, for long work that may as well be done
//! elsewhere.
//!
//! Batch tasks take what interactive tasks leave, in slices, and each slice delays those that become ready meanwhile.
//! Work that is divided among workers therefore leaves the workers that are in demand alone ([`is_in_demand`]).

use std::{cell::Cell, time::Duration};

use crate::class::Class;

/// Time over which demand is judged.
const WINDOW: Duration = Duration::from_millis(10);

/// Part of the time from which on a worker is in demand: one part of so many.
const DEMAND_PART: u32 = 4;

/// Time that interactive tasks have had on this thread.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    /// Time at which the window began.
    begun: Duration,
    /// Time that interactive tasks have had since then.
    had: Duration,
    /// Whether they had much of the window before.
    was_high: bool,
}

thread_local! {
    static DEMAND: Cell<Demand> = const {
        Cell::new(Demand { begun: Duration::ZERO, had: Duration::ZERO, was_high: false })
    };
}

/// Notes that tasks of `class` have had the worker for `time` until `now`.
#[inline]
pub(crate) fn note(class: Class, time: Duration, now: Duration) {
    let mut demand = DEMAND.get();
    let window = now.saturating_sub(demand.begun);
    if window >= WINDOW {
        demand = Demand {
            begun: now,
            had: Duration::ZERO,
            was_high: demand.had * DEMAND_PART >= window,
        };
    }
    if class == Class::Interactive {
        demand.had += time;
    }
    DEMAND.set(demand);
}

/// Returns whether interactive tasks have had a quarter of this thread's worker or more lately: in the last 10 to 20
/// milliseconds in which the worker had something to do.
pub fn is_in_demand() -> bool {
    let demand = DEMAND.get();
    demand.was_high || demand.had * DEMAND_PART >= WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Has tasks of `class` work for `share` microseconds of each of `count` milliseconds from `from` on.
    fn work(class: Class, share: u64, from: u32, count: u32) {
        for millisecond in from..from + count {
            note(
                class,
                Duration::from_micros(share),
                millisecond * MILLISECOND,
            );
        }
    }

    #[test]
    fn a_worker_is_in_demand_while_interactive_tasks_have_much_of_it() {
        work(Class::Batch, 1000, 1, 30);
        assert!(!is_in_demand());
        work(Class::Interactive, 200, 31, 30);
        assert!(!is_in_demand(), "a fifth");
        work(Class::Interactive, 600, 61, 5);
        assert!(is_in_demand(), "in the window");
        work(Class::Interactive, 600, 66, 30);
        assert!(is_in_demand());
        work(Class::Batch, 1000, 96, 5);
        assert!(is_in_demand(), "in the window before");
        work(Class::Batch, 1000, 101, 20);
        assert!(!is_in_demand());
        work(Class::Interactive, 1000, 121, 3);
        assert!(is_in_demand());
        // A worker that has slept since then.
        work(Class::Batch, 10, 10_000, 1);
        assert!(!is_in_demand());
    }
}
