//! Frequency of looks for completions while tasks wait for the device.
//!
//! A look that finds nothing costs a few loads; a look that finds something may cost a system call,
//! as much for one completion as for many. Looks are therefore so far apart that each brings some
//! completions, but not so far that waiting tasks notice. Intervals are in rounds: the clock is
//! read only at a look.
//!
//! A look also hands over to the device the requests made since the last look: a virtual disk takes
//! several us of the processor for each notification, however much it announces. Adapted looks are
//! close enough together for that to suffice. The table is for one transaction of ten
//! storage-bound, 2 reads each, by the longest time between two looks:
//!
//! | | 20 us | 50 us | 100 us | 200 us | 400 us | 800 us |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | in-memory transactions, thousand/s | 264 | 277 | 286 | 304 | 316 | 347 |
//! | a storage-bound one takes, median | 0.28 ms | 0.36 | 0.50 | 0.77 | 1.5 | 4.3 |
//!
//! A worker that has nothing else to do hands over at once.

use std::time::Duration;

use crate::config::{Scheduling, VISIT_DELAY_US_MAX};

/// Completions that one look is to bring.
const COMPLETIONS_WANTED: u32 = 16;
const DELAY_MAX: Duration = Duration::from_micros(VISIT_DELAY_US_MAX);
const ROUNDS_MAX: u32 = 1 << 16;
const ROUNDS_WITHOUT_END: u32 = 1024;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Visits {
    /// Before every round.
    Always,
    /// When `interval` tasks have finished since the last look; or after [`ROUNDS_WITHOUT_END`],
    /// since tasks may go round and round until a completion is seen.
    Finished {
        interval: u32,
        last: u64,
        rounds: u32,
    },
    /// As often as measurement finds best.
    Adapted(Adapted),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Adapted {
    /// Rounds from one look to the next.
    interval: u32,
    /// Rounds until the next look.
    left: u32,
    last: Duration,
    /// Tasks woken since the last look.
    brought: u32,
}

impl Visits {
    pub(crate) fn new(scheduling: Scheduling) -> Visits {
        match scheduling {
            Scheduling::Sequential | Scheduling::StrictBatch | Scheduling::Reserved { .. } => {
                Visits::Always
            }
            Scheduling::DualQueue { visit_interval, .. } => Visits::Finished {
                interval: visit_interval,
                last: 0,
                rounds: 0,
            },
            Scheduling::Pipelined => Visits::Adapted(Adapted {
                interval: 1,
                left: 1,
                last: Duration::ZERO,
                brought: 0,
            }),
        }
    }

    /// Begins to look: from now on a task waits for the device.
    pub(crate) fn begin(&mut self, now: Duration, finished: u64) {
        match self {
            Visits::Always => {}
            Visits::Finished { last, rounds, .. } => (*last, *rounds) = (finished, 0),
            Visits::Adapted(adapted) => {
                (adapted.left, adapted.last, adapted.brought) = (adapted.interval, now, 0);
            }
        }
    }

    /// Starts anew to find how many rounds there are between two looks: rounds may last longer from
    /// now on.
    pub(crate) fn rounds_change(&mut self) {
        if let Visits::Adapted(adapted) = self {
            (adapted.interval, adapted.left) = (1, 1);
        }
    }

    /// Returns whether a look hands over what the device is asked for, so that nothing else has to.
    pub(crate) fn hand_over(&self) -> bool {
        matches!(self, Visits::Adapted(_))
    }

    /// Notes that the last look has woken a task.
    pub(crate) fn brought(&mut self) {
        if let Visits::Adapted(adapted) = self {
            adapted.brought += 1;
        }
    }

    /// Returns whether it is time for a look, before a round; `finished` tasks have ended until
    /// now, which is later than `about`.
    pub(crate) fn is_due(
        &mut self,
        finished: u64,
        about: Duration,
        now: impl FnOnce() -> Duration,
    ) -> bool {
        match self {
            Visits::Always => true,
            Visits::Finished {
                interval,
                last,
                rounds,
            } => {
                *rounds += 1;
                let due = finished - *last >= u64::from(*interval) || *rounds == ROUNDS_WITHOUT_END;
                if due {
                    (*last, *rounds) = (finished, 0);
                }
                due
            }
            Visits::Adapted(adapted) => {
                adapted.left -= 1;
                let is_overdue = about.saturating_sub(adapted.last) > DELAY_MAX;
                if adapted.left > 0 && !is_overdue {
                    return false;
                }
                adapted.adapt(now());
                true
            }
        }
    }
}

impl Adapted {
    fn adapt(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.last);
        self.interval = if passed > DELAY_MAX {
            (self.interval / 2).max(1)
        } else if self.brought > COMPLETIONS_WANTED {
            (self.interval - self.interval / 4).max(1)
        } else if self.brought < COMPLETIONS_WANTED {
            (self.interval + self.interval / 8 + 1).min(ROUNDS_MAX)
        } else {
            self.interval
        };
        (self.left, self.last, self.brought) = (self.interval, now, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mean time between two looks, for rounds of length `round` and
    /// `completions_per_second`.
    fn delay(round: Duration, completions_per_second: u64) -> Duration {
        let mut visits = Visits::new(Scheduling::Pipelined);
        visits.begin(Duration::ZERO, 0);
        let (mut now, mut looks, mut seen) = (Duration::ZERO, 0u32, 0);
        let mut from = now;
        for i in 0..200_000 {
            if i == 100_000 {
                (from, looks) = (now, 0);
            }
            if visits.is_due(0, Duration::ZERO, || now) {
                looks += 1;
                let there = now.as_nanos() as u64 * completions_per_second / 1_000_000_000;
                (seen..there).for_each(|_| visits.brought());
                seen = there;
            }
            now += round;
        }
        (now - from) / looks
    }

    #[test]
    fn looks_bring_some_each_but_are_not_far_apart() {
        let round = Duration::from_nanos(300);
        // As many completions as are wanted come within the time.
        let often = delay(round, 1_000_000).as_nanos();
        assert!((10_000..28_000).contains(&often), "{often}");
        // Fewer completions come.
        let seldom = delay(round, 10_000).as_nanos();
        assert!((100_000..=220_000).contains(&seldom), "{seldom}");
        // A round takes as long as the longest delay.
        let long = Duration::from_micros(VISIT_DELAY_US_MAX);
        assert!((long..=2 * long).contains(&delay(long, 10_000)));
    }

    /// A round in which nothing suspends has thirty whole transactions: hundreds of rounds went by
    /// without a look, and storage-bound transactions took 30 ms now and then.
    #[test]
    fn rounds_that_become_longer_do_not_put_off_the_next_look() {
        let mut visits = Visits::new(Scheduling::Pipelined);
        visits.begin(Duration::ZERO, 0);
        let short = Duration::from_nanos(300);
        let mut now = Duration::ZERO;
        for _ in 0..100_000 {
            visits.is_due(0, Duration::ZERO, || now);
            now += short;
        }
        visits.rounds_change();
        let rounds = (1..)
            .find(|_| visits.is_due(0, Duration::ZERO, || now))
            .unwrap();
        assert_eq!(rounds, 1);
    }

    /// One task that computes for long makes each round as long as its turns: completions were not
    /// looked at for a tenth of a second.
    #[test]
    fn a_look_is_not_put_off_by_rounds_that_suddenly_are_long() {
        let mut visits = Visits::new(Scheduling::Pipelined);
        visits.begin(Duration::ZERO, 0);
        let mut now = Duration::ZERO;
        for _ in 0..100_000 {
            visits.is_due(0, now, || now);
            now += Duration::from_nanos(300);
        }
        let rounds = (1..).find(|_| {
            now += DELAY_MAX;
            visits.is_due(0, now, || now)
        });
        assert!(rounds.unwrap() <= 2, "{rounds:?}");
    }

    #[test]
    fn a_fixed_interval_is_of_finished_tasks() {
        let mut visits = Visits::new(Scheduling::DualQueue {
            cold_slots: 16,
            visit_interval: 8,
        });
        visits.begin(Duration::ZERO, 100);
        let now = || unreachable!("the clock does not matter");
        let due: Vec<u64> = (100..130)
            .filter(|&n| visits.is_due(n, Duration::ZERO, now))
            .collect();
        assert_eq!(due, [108, 116, 124]);
        // None of the tasks finishes.
        let due = (0..5000)
            .filter(|_| visits.is_due(129, Duration::ZERO, now))
            .count();
        assert_eq!(due, 4);
    }
}
