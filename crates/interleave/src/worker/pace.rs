//! The worker's clock: slices are measured, turns are cut, and time decides when to look around.
//!
//! A switch between two point reads takes some ten nanoseconds, about as long as reading the clock does. The clock is
//! therefore read once per several resumptions: as many as take about [`READING`], and at each one where resumptions
//! are long. The frequency of readings decides which slices are exact. If every resumption takes long, each slice is
//! known, and its task. If switches had been quick until then, a slice that suddenly is long is measured, but may
//! belong to any of the resumptions since the reading before ([`LongSlice::among`](crate::LongSlice)); the next slices
//! are exact. The processor time of a task is a sample: the time between two readings is charged to whichever task is
//! resumed when the clock is read, and the number of resumptions between them varies, so that in a rotation of few
//! tasks the charge does not always fall on the same task.
//!
//! If the system has more to run than processors, a thread loses its processor in the middle of a slice. Time that the
//! thread did not run is not counted in a slice that is called long while there are batch tasks: then the thread's own
//! time is read at each look around.
//!
//! # Invariant: no task holds its worker
//! A slice longer than [`SLICE_US_MAX`](crate::SLICE_US_MAX) is counted, and the longest is kept by name. The worker
//! looks at sockets, messages, timers and admissions when [`LOOK`] has passed, between any two slices: the round is cut
//! off there.

use std::time::Duration;

use crate::{
    class::Class,
    config::Scheduling,
    slice::{Label, LongSlice, SLICE_MAX},
    slot::{Resumed, Slot},
    worker::{Worker, WorkerLocal},
};

/// Time between two readings of the clock, roughly.
const READING: Duration = Duration::from_micros(16);

/// Readings in a row that find resumptions quick before there are more resumptions to a reading.
const QUICK_MIN: u32 = 8;

/// Maximum resumptions between two readings.
const RESUMPTIONS_MAX: u32 = 256;

/// Time between two looks around: the cost of a look (a system call) is to be a small part of it.
const LOOK: Duration = Duration::from_micros(50);

/// Maximum resumptions between two looks around: for a simulation, whose clock stands still.
const UNLOOKED_MAX: u32 = 2048;

/// Schedule of readings of the clock and of looks around.
#[derive(Debug)]
pub(super) struct Pace {
    /// Resumptions until the next reading.
    left: u32,
    /// Resumptions from the last reading to the next.
    planned: u32,
    /// Readings in a row that found resumptions quick.
    quick: u32,
    /// Resumptions since the last look around.
    unlooked: u32,
    /// State of the generator that varies `planned`.
    spread: u32,
    looked_at: Duration,
    /// Run time of the thread at the last look around, if there were batch tasks.
    ran_at: Option<Duration>,
    /// Whether it is time to look around.
    pub(super) is_due: bool,
    /// Time at which a task was last begun out of the queue, or the queue was empty.
    pub(super) admitted_at: Duration,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace {
            left: 1,
            planned: 1,
            quick: 0,
            unlooked: 0,
            spread: 0x9e37_79b9,
            looked_at: Duration::ZERO,
            ran_at: None,
            is_due: false,
            admitted_at: Duration::ZERO,
        }
    }

    /// Counts a resumption. Returns whether the clock is to be read after it.
    #[inline(always)]
    pub(super) fn counts(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// Has the clock read after the next resumption.
    pub(super) fn read_next(&mut self) {
        (self.planned, self.left) = (1, 1);
    }

    /// Returns the resumptions since the last reading.
    fn among(&self) -> u32 {
        self.planned - self.left
    }

    /// Plans the next reading: the resumptions since the last reading took `elapsed`.
    fn plan(&mut self, elapsed: Duration) {
        let elapsed = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let next = u64::from(self.among()) * READING.as_nanos() as u64 / elapsed.max(1);
        // The plan grows slowly: one quick resumption does not say that the others are.
        self.quick = match next > u64::from(self.planned) {
            true => self.quick + 1,
            false => 0,
        };
        let most = match self.quick >= QUICK_MIN {
            true => (2 * self.planned).min(RESUMPTIONS_MAX),
            false => self.planned,
        };
        let next = (next.min(u64::from(most)) as u32).max(1);
        // Xorshift.
        self.spread ^= self.spread << 13;
        self.spread ^= self.spread >> 17;
        self.spread ^= self.spread << 5;
        self.planned = next - self.spread % (next / 4 + 1);
        self.left = self.planned;
    }

    fn is_time_to_look(&self, now: Duration) -> bool {
        self.unlooked >= UNLOOKED_MAX || now.saturating_sub(self.looked_at) >= LOOK
    }
}

impl<L: WorkerLocal> Worker<L> {
    /// Restarts the measurement between two resumptions: the worker's own work since the last reading is charged to no
    /// task, and from now on nothing is due. Returns the time.
    pub(super) fn mark(&mut self) -> Duration {
        let now = self.clock.now();
        self.timers.set_read_at(now);
        // The worker may have slept.
        self.demand.note(Class::Batch, Duration::ZERO, now);
        self.pace.looked_at = now;
        self.pace.ran_at = match self.hot[Class::Batch.index()].is_empty() {
            true => None,
            false => self.clock.thread_time(),
        };
        self.pace.unlooked = 0;
        self.pace.is_due = false;
        now
    }

    /// Marks as [`Worker::mark`] does, and counts the worker's own work as a slice if it was long. Returns the time.
    pub(super) fn mark_own(&mut self) -> Duration {
        let (before, ran_at) = (self.timers.read_at(), self.pace.ran_at);
        let now = self.mark();
        let own = now.saturating_sub(before);
        let own = match own > SLICE_MAX {
            true => self.ran_of(own, ran_at),
            false => own,
        };
        if own > SLICE_MAX {
            self.slice_was_long(own, Label::default(), "the worker between tasks", 1);
        }
        now
    }

    /// Charges the time that was not charged yet, between two resumptions.
    pub(super) fn settle_clock(&mut self) {
        if self.pace.among() == 0 {
            return;
        }
        let Some(last) = self.hot[self.class.index()].last() else {
            return;
        };
        // SAFETY: the worker lives.
        let slot = unsafe { last.get() };
        self.measure(slot, self.class);
    }

    /// Measures the time since the last reading, after a resumption of `slot` in the turn of `class`; charges it, and
    /// finds out what is due. Returns the slot's class from now on.
    #[cold]
    #[inline(never)]
    pub(super) fn read_clock(&mut self, slot: &Slot, class: Class, resumed: Resumed) -> Class {
        let elapsed = self.measure(slot, class);
        self.classify(slot, elapsed, resumed)
    }

    fn measure(&mut self, slot: &Slot, class: Class) -> Duration {
        let now = self.clock.now();
        let elapsed = now.saturating_sub(self.timers.read_at());
        self.timers.set_read_at(now);
        let among = self.pace.among();
        self.pace.plan(elapsed);
        self.pace.unlooked += among;
        self.pace.is_due |= self.pace.is_time_to_look(now);
        let others = match class {
            Class::Interactive => !self.hot[Class::Batch.index()].is_empty(),
            Class::Batch => !self.hot[Class::Interactive.index()].is_empty(),
        };
        self.shares.charge(class, elapsed, others);
        self.demand.note(class, elapsed, now);
        if elapsed > SLICE_MAX {
            let ran = self.ran_of(elapsed, self.pace.ran_at);
            if ran > SLICE_MAX {
                // SAFETY: between two resumptions, on the worker's thread.
                let future = unsafe { slot.root() }.type_name();
                self.slice_was_long(ran, slot.label(), future, among);
            }
        }
        elapsed
    }

    /// Returns how much of a slice of `elapsed` the thread has run, if it had run for `ran_at` at the last look around.
    #[cold]
    fn ran_of(&self, elapsed: Duration, ran_at: Option<Duration>) -> Duration {
        let since = |ran_at| Some(self.clock.thread_time()?.saturating_sub(ran_at));
        let ran = ran_at.and_then(since);
        ran.map_or(elapsed, |ran| elapsed.min(ran))
    }

    /// Charges `time` to the task in `slot`, which may become batch by it. Returns the slot's class.
    fn classify(&mut self, slot: &Slot, time: Duration, resumed: Resumed) -> Class {
        let class = slot.class();
        let spent = slot.charge(time);
        // These two kinds of scheduling fix which tasks run beside each other.
        let is_fixed = matches!(
            self.config.scheduling,
            Scheduling::Sequential | Scheduling::StrictBatch
        );
        if class == Class::Batch
            || is_fixed
            || resumed == Resumed::Done
            || spent < Duration::from_micros(self.config.batch_after_us.into())
        {
            return class;
        }
        self.hot[Class::Interactive.index()].leave();
        self.hot[Class::Batch.index()].enter();
        slot.set_class(Class::Batch);
        self.stats.tasks_batch += 1;
        Class::Batch
    }

    #[cold]
    fn slice_was_long(
        &mut self,
        duration: Duration,
        label: Label,
        future: &'static str,
        among: u32,
    ) {
        self.stats.slices_long += 1;
        let slice = LongSlice {
            duration,
            label,
            future,
            among,
        };
        let longest = self.timers.longest();
        if longest.is_none_or(|longest| duration > longest.duration) {
            self.timers.set_longest(Some(slice));
            self.stats.slice_ns_max = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            self.inbox.longest.set(Some(slice));
        }
        self.local.slice_was_long(&slice);
    }

    /// Forgets the longest slice: for callers that want the longest of a stretch of time.
    pub fn forget_longest_slice(&mut self) {
        self.timers.set_longest(None);
        self.stats.slice_ns_max = 0;
        self.inbox.longest.set(None);
        self.publish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the readings per resumption, where each resumption takes `resumption`.
    fn readings(resumption: Duration) -> f64 {
        let mut pace = Pace::new();
        let (mut since, mut readings) = (Duration::ZERO, 0);
        for _ in 0..100_000 {
            since += resumption;
            if pace.counts() {
                readings += 1;
                pace.plan(since);
                since = Duration::ZERO;
            }
        }
        f64::from(readings) / 100_000.0
    }

    #[test]
    fn long_resumptions_are_read_one_by_one_and_quick_ones_seldom() {
        assert_eq!(readings(Duration::from_micros(20)), 1.0);
        let quick = readings(Duration::from_nanos(30));
        assert!(quick < 0.01, "{quick}");
        let middling = readings(Duration::from_micros(1));
        assert!((0.05..0.2).contains(&middling), "{middling}");
    }

    #[test]
    fn a_long_resumption_among_quick_ones_has_the_next_ones_measured() {
        let mut pace = Pace::new();
        for _ in 0..10_000 {
            if pace.counts() {
                pace.plan(Duration::from_micros(3));
            }
        }
        while !pace.counts() {}
        pace.plan(Duration::from_secs(14));
        assert_eq!((pace.planned, pace.left), (1, 1));
    }
}
