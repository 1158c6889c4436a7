//! Tasks that wait for the device: the room they take, and how they come back.
//!
//! This module holds only the differences between kinds of [`Scheduling`]. The rotation knows two
//! numbers that are kept up to date here: how much room there is, and whether a finished task is
//! replaced at once. Tasks that never wait for the device pay nothing.

use crate::{
    class::Class,
    config::Scheduling,
    stage::Stage,
    worker::{Whereabouts, Worker, WorkerLocal},
};

impl<L: WorkerLocal> Worker<L> {
    /// Counts the room left by tasks that wait for the device.
    pub(super) fn make_room(&mut self) {
        self.room = match self.config.scheduling {
            Scheduling::Pipelined | Scheduling::DualQueue { .. } => self.in_flight,
            Scheduling::Sequential | Scheduling::Reserved { .. } => {
                self.in_flight.saturating_sub(self.at_device)
            }
            Scheduling::StrictBatch if self.at_device > 0 => 0,
            Scheduling::StrictBatch => self.in_flight,
        };
        // Staged tasks come first, but not in the middle of a round.
        self.refills = self.config.scheduling != Scheduling::StrictBatch && self.staging.is_empty();
    }

    /// Notes that a task has begun to wait for the device.
    #[cold]
    pub(super) fn asks_device(&mut self) {
        if self.at_device == 0 {
            self.visits
                .begin(self.clock.now(), self.stats.tasks_finished);
        }
        self.at_device += 1;
        self.asked_device = true;
        self.make_room();
    }

    /// Notes that a task no longer waits for the device.
    pub(super) fn leaves_device(&mut self) {
        self.at_device -= 1;
        self.make_room();
    }

    /// Takes in that the device has answered the task in slot `index`.
    pub(super) fn answered(&mut self, index: u32) {
        self.visits.brought();
        let (slot, place, _) = &mut self.slots[index as usize];
        if matches!(self.config.scheduling, Scheduling::DualQueue { .. }) {
            *place = Whereabouts::Staged;
            self.staging.push_back(index);
        } else {
            *place = Whereabouts::Hot;
            let slot = slot.clone();
            self.join(&slot, slot.stage());
        }
        self.leaves_device();
    }

    /// Lets tasks in that the device has answered, as far as there is room.
    #[inline]
    pub(super) fn unstage(&mut self) {
        if !self.staging.is_empty() {
            self.let_in();
        }
    }

    /// Takes a task out of staging that was answered and is cancelled.
    pub(super) fn unstage_one(&mut self, index: u32) {
        self.staging.retain(|&staged| staged != index);
        self.make_room();
    }

    #[cold]
    fn let_in(&mut self) {
        while self.hot[Class::Interactive.index()].len() < self.hot_max().max(1)
            && let Some(index) = self.staging.pop_front()
        {
            let (slot, place, _) = &mut self.slots[index as usize];
            *place = Whereabouts::Hot;
            let slot = slot.clone();
            self.join(&slot, Stage::default());
        }
        self.make_room();
    }

    /// Returns whether to look for completions before this round, while tasks wait for some. (A
    /// worker with nothing to resume looks anyway.)
    #[cold]
    pub(super) fn visits_device(&mut self) -> bool {
        let finished = self.stats.tasks_finished;
        let about = self.timers.read_at();
        self.visits.is_due(finished, about, || self.clock.now())
    }

    /// Hands over what tasks of the last round want from the device, unless the next look for
    /// completions does so soon.
    #[inline]
    pub(super) fn hand_over(&mut self) {
        if std::mem::take(&mut self.asked_device) && !self.visits.hand_over() {
            self.local.hand_over();
        }
    }

    /// Returns whether the worker polls on instead of going to sleep.
    pub(super) fn spins_on_device(&self) -> bool {
        self.config.scheduling == Scheduling::Sequential && self.at_device > 0
    }
}
