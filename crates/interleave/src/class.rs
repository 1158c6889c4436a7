//! The two classes of tasks: [`Class`], and how they share a worker: [`Shares`].
//!
//! A task begins as *interactive*. A task that has had the worker for
//! [`WorkerConfig::batch_after_us`](crate::WorkerConfig::batch_after_us) since it began, or since it last waited for
//! its client ([`Wait::Request`](crate::Wait::Request)), becomes *batch*: users declare nothing. A part of work that
//! is known to be long says so ([`become_batch`]). Each class has a rotation of its own. Interactive tasks go first
//! for as long as their class has not had more than its share; then batch tasks do. A class that has nothing to do
//! gives its share to the other, and is owed little for it ([`CREDIT_MAX`]): it goes first when it comes back, and
//! does not make up for all of the time that it was away.
//!
//! # Invariant: neither class starves
//! While both classes have something to do, the batch class has its share of any stretch of time, but for the credit,
//! one slice and a stint. [`Shares::next`] chooses the class that has had less, and stays with a class for a stint: a
//! change of classes costs readings of the clock, and the contents of caches.

use std::time::Duration;

use crate::slot::current;

/// Maximum credit of a class that was away: the time that interactive tasks may take at once before a batch task has
/// its next slice.
const CREDIT_MAX: Duration = Duration::from_millis(2);

/// Shortest time for which a class goes on while both have something to do, where each has half of the time (where
/// shares are uneven, the class with more goes on longer: 0.8 ms of 99 percent). About the time between two readings of
/// the clock where resumptions are quick; less than one resumption where they are not.
const STINT: Duration = Duration::from_micros(16);

/// Lead of a class at which the other one goes on, in the units of [`Shares`].
const MARGIN: i64 = STINT.as_nanos() as i64 / 2 * 50;

/// One of the two rotations that a task is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    #[default]
    Interactive,
    /// The task has had the worker for long without waiting for its client.
    Batch,
}

impl Class {
    pub(crate) const ALL: [Class; 2] = [Class::Interactive, Class::Batch];

    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// Time with which a task is charged to be batch: more than any
/// [`WorkerConfig::batch_after_us`](crate::WorkerConfig::batch_after_us).
const LONG: Duration = Duration::from_secs(1 << 16);
const _: () = assert!(LONG.as_micros() > u32::MAX as u128);

/// Has the running task be batch from the next reading of the clock on, as if it had had the worker for long: for the
/// parts of long work that are tasks of their own. Outside a worker this does nothing.
pub fn become_batch() {
    current(|slot| slot.charge(LONG));
}

/// Time that each class had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    batch_percent: i64,
    /// Lead of interactive tasks, in nanoseconds times percent: each class's time, times the share of the other.
    lead: i64,
}

impl Shares {
    pub(crate) fn new(batch_percent: u8) -> Shares {
        Shares {
            batch_percent: i64::from(batch_percent),
            lead: 0,
        }
    }

    /// Returns the class that goes on after `last`; `interactive` and `batch` say whether each has something to do.
    #[inline]
    pub(crate) fn next(&self, last: Class, interactive: bool, batch: bool) -> Class {
        let margin = match last {
            Class::Interactive => MARGIN,
            Class::Batch => -MARGIN,
        };
        if batch && (!interactive || self.lead > margin) {
            Class::Batch
        } else {
            Class::Interactive
        }
    }

    /// Charges `time` on the worker to `class`; `others` says whether the other class had something to do.
    pub(crate) fn charge(&mut self, class: Class, time: Duration, others: bool) {
        let nanoseconds = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX >> 8);
        let credit = CREDIT_MAX.as_nanos() as i64;
        match class {
            Class::Interactive => {
                self.lead = self
                    .lead
                    .saturating_add(nanoseconds.saturating_mul(self.batch_percent));
                // No task was there to be overtaken.
                if !others {
                    self.lead = self.lead.min(0);
                }
            }
            Class::Batch => {
                let share = 100 - self.batch_percent;
                self.lead = self.lead.saturating_sub(nanoseconds.saturating_mul(share));
                if !others {
                    self.lead = self.lead.max(-credit * self.batch_percent);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_micros(100);

    /// Returns the time of each class, in slices out of `slices`.
    fn run(shares: &mut Shares, slices: u32, hungry: impl Fn(u32) -> (bool, bool)) -> [u32; 2] {
        let mut had = [0; 2];
        let mut class = Class::Interactive;
        for slice in 0..slices {
            let (interactive, batch) = hungry(slice);
            class = shares.next(class, interactive, batch);
            let others = match class {
                Class::Interactive => batch,
                Class::Batch => interactive,
            };
            shares.charge(class, SLICE, others);
            had[class.index()] += 1;
        }
        had
    }

    #[test]
    fn both_have_their_share_while_both_want_it() {
        for percent in [1, 25, 50, 75, 99] {
            let mut shares = Shares::new(percent);
            let [_, batch] = run(&mut shares, 10_000, |_| (true, true));
            let expected = 100 * u32::from(percent);
            assert!(batch.abs_diff(expected) <= 30, "{percent}: {batch}");
        }
    }

    #[test]
    fn a_class_that_is_alone_has_all_and_pays_for_none_of_it() {
        let mut shares = Shares::new(50);
        assert_eq!(run(&mut shares, 1000, |_| (true, false)), [1000, 0]);
        // A batch task that comes now has half, not all that it missed.
        let [interactive, batch] = run(&mut shares, 100, |_| (true, true));
        assert!(interactive.abs_diff(batch) <= 2, "{interactive} {batch}");
    }

    #[test]
    fn an_interactive_task_goes_first_when_it_comes_back() {
        let mut shares = Shares::new(50);
        assert_eq!(run(&mut shares, 1000, |_| (false, true)), [0, 1000]);
        let mut class = Class::Batch;
        let first = (0..1000).find(|_| {
            class = shares.next(class, true, true);
            shares.charge(class, SLICE, true);
            class == Class::Batch
        });
        // The credit: two milliseconds of slices.
        assert_eq!(first, Some(21));
        let had = run(&mut shares, 100, |_| (true, true));
        assert!(had[0].abs_diff(had[1]) <= 2, "{had:?}");
    }

    #[test]
    fn classes_take_turns_in_stints_however_short_their_slices_are() {
        let mut shares = Shares::new(50);
        let (mut class, mut changes, mut had) = (Class::Interactive, 0, [0_u32; 2]);
        let slices = 160_000;
        for _ in 0..slices {
            let next = shares.next(class, true, true);
            changes += u32::from(next != class);
            class = next;
            had[class.index()] += 1;
            shares.charge(class, Duration::from_nanos(100), true);
        }
        // Changes within 16 milliseconds.
        assert!((900..=1100).contains(&changes), "{changes}");
        assert!(had[0].abs_diff(had[1]) <= 200, "{had:?}");
    }
}
