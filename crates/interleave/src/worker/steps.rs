//! Single steps, for simulators that decide what runs next.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use crate::{
    gradual,
    slot::Resumed,
    stage::Cohorts,
    worker::{Running, Worker, WorkerLocal},
};

impl<L: WorkerLocal> Worker<L> {
    /// For simulators: number of slots that could be resumed now.
    pub fn step_choices(&self) -> usize {
        self.hot.iter().map(Cohorts::len).sum()
    }

    /// For simulators: tasks that have begun and not ended, drawn ones included.
    pub fn step_open_tasks(&self) -> usize {
        self.open_tasks()
    }

    /// For simulators: resumes the `choice`-th of [`Worker::step_choices`].
    ///
    /// # Panics
    /// When there is no such slot.
    pub fn step(&mut self, choice: usize) {
        let _running = Running::new();
        let interactive = self.hot[0].len();
        let hot = match choice.checked_sub(interactive) {
            None => self.hot[0].choose_nth(choice),
            Some(choice) => self.hot[1].choose_nth(choice),
        };
        self.since_housekeeping += 1;
        // SAFETY: as in `resume_cohort`.
        let slot = unsafe { hot.get() };
        // SAFETY: as above.
        match catch_unwind(AssertUnwindSafe(|| unsafe { slot.resume() })) {
            Ok(Resumed::Pending(noted)) if noted.is_hot => {
                self.hot[slot.class().index()].wait(hot, slot.stage());
            }
            Ok(Resumed::Pending(noted)) => self.park(slot, noted.wait),
            Ok(Resumed::Done) => {
                self.finished(slot, false);
            }
            Err(payload) => self.contain(hot, payload),
        }
        self.hand_over();
    }

    /// For simulators: fires due timers, takes messages in, begins tasks.
    pub fn step_intake(&mut self) {
        let _running = Running::new();
        self.local.poll(self.is_at_rest());
        self.local.look_outside();
        gradual::release_some();
        self.receive();
        self.timers.fire();
        self.receive();
        self.admit();
    }

    /// For simulators: calls the housekeeping of the local.
    pub fn step_housekeep(&mut self) {
        self.housekeep();
    }

    /// For simulators: time until the next timer.
    pub fn step_next_timer(&self) -> Option<Duration> {
        self.timers.next()
    }
}
