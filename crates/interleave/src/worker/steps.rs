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
    /// Returns the number of slots that could be resumed now, for simulators.
    pub fn step_choices(&self) -> usize {
        self.hot.iter().map(Cohorts::len).sum()
    }

    /// Returns the number of tasks that have begun and not ended, tasks drawn from a source
    /// included, for simulators.
    pub fn step_open_tasks(&self) -> usize {
        self.open_tasks()
    }

    /// Resumes the `choice`-th of [`Worker::step_choices`], for simulators.
    ///
    /// # Panics
    /// Panics if there is no such slot.
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
        // SAFETY: the slot of the rotation has a future, and nothing else is being resumed here.
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

    /// Fires due timers, takes messages in and begins tasks, for simulators.
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

    /// Calls the housekeeping of the local, for simulators.
    pub fn step_housekeep(&mut self) {
        self.housekeep();
    }

    /// Returns the time until the next timer, for simulators.
    pub fn step_next_timer(&self) -> Option<Duration> {
        self.timers.next()
    }
}
