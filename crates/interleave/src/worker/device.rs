//! Tasks that wait for the device: what room they take, and how they come back.
//!
//! Only what [`Scheduling`] differs in is here. The rotation knows two numbers that are kept up
//! to date here: how much room there is, and whether a finished task is replaced at once. So
//! tasks that never wait for the device pay nothing.

use crate::{
    class::Class,
    config::Scheduling,
    stage::Stage,
    worker::{Whereabouts, Worker, WorkerLocal},
};

impl<L: WorkerLocal> Worker<L> {
    /// Counts what room is left by those that wait for the device.
    pub(super) fn make_room(&mut self) {
        self.room = match self.config.scheduling {
            Scheduling::Pipelined | Scheduling::DualQueue { .. } => self.in_flight,
            Scheduling::Sequential | Scheduling::Reserved { .. } => {
                self.in_flight.saturating_sub(self.at_device)
            }
            Scheduling::StrictBatch if self.at_device > 0 => 0,
            Scheduling::StrictBatch => self.in_flight,
        };
        // Who is staged comes first, but not in the middle of a round.
        self.refills = self.config.scheduling != Scheduling::StrictBatch && self.staging.is_empty();
    }

    /// A task has begun to wait for the device.
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

    /// A task waits for it no more.
    pub(super) fn leaves_device(&mut self) {
        self.at_device -= 1;
        self.make_room();
    }

    /// The device has answered a task.
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

    /// Lets those in that the device has answered, as far as there is room.
    #[inline]
    pub(super) fn unstage(&mut self) {
        if !self.staging.is_empty() {
            self.let_in();
        }
    }

    /// A task that has been answered is cancelled.
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

    /// Whether completions are to be looked at before this round, while tasks wait for some.
    /// (When there is nothing to resume they are looked at anyway.)
    #[cold]
    pub(super) fn visits_device(&mut self) -> bool {
        let finished = self.stats.tasks_finished;
        let about = self.timers.read_at();
        self.visits.is_due(finished, about, || self.clock.now())
    }

    /// Hands over what tasks of the last round want from the device, unless the next look at
    /// completions does so soon.
    #[inline]
    pub(super) fn hand_over(&mut self) {
        if std::mem::take(&mut self.asked_device) && !self.visits.hand_over() {
            self.local.hand_over();
        }
    }

    /// Whether the worker polls on instead of going to sleep.
    pub(super) fn spins_on_device(&self) -> bool {
        self.config.scheduling == Scheduling::Sequential && self.at_device > 0
    }
}
