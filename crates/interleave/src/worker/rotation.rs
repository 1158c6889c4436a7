//! The hot rotation: turns for the slots that wait for memory, a cohort at a time
//! (see `stage.rs`).

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
};

use crate::{
    class::Class,
    slot::{Payload, Resumed, Slot},
    stage::Stage,
    task::end,
    wait::Wait,
    worker::{HotSlot, Whereabouts, Worker, WorkerLocal},
};

/// Tasks begun in one place of the rotation before the round goes on.
const STARTS_PER_ROUND_MAX: u32 = 32;
/// Weight of a finished task towards housekeeping, in resumptions.
const TASK_WEIGHT: u64 = 16;

impl<L: WorkerLocal> Worker<L> {
    /// Gives one turn to every slot of the cohort that is to go on next, of the class that is to go on next; until it
    /// is time to look around.
    pub(super) fn rotate(&mut self) {
        let [interactive, batch] = &self.hot;
        let class = (self.shares).next(self.class, !interactive.is_empty(), !batch.is_empty());
        if class != self.class {
            self.settle_clock();
            // The other class's tasks may be as slow as this one's were quick.
            self.pace.read_next();
            self.class = class;
        }
        let turns = u64::from(self.hot[class.index()].choose());
        self.stats.resumptions += turns;
        self.since_housekeeping += turns;
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| match class {
            Class::Interactive => self.resume_cohort::<{ Class::Interactive as usize }>(),
            Class::Batch => self.resume_cohort::<{ Class::Batch as usize }>(),
        })) {
            self.contain(self.hot[class.index()].current(), payload);
        }
        // Clients that were answered ask again soon. A look costs little beside a turn of a batch task, which leaves
        // caches cold for tasks that come during it.
        let [interactive, batch] = &self.hot;
        if class == Class::Interactive && interactive.is_empty() && !batch.is_empty() {
            // The time of the interactive tasks is charged to them: the look begins with a mark.
            self.settle_clock();
            self.pace.is_due = true;
        }
    }

    /// Adds a slot that can be resumed to the rotation of its class.
    #[inline]
    pub(super) fn join(&mut self, slot: &Rc<Slot>, stage: Stage) {
        self.hot[slot.class().index()].join(HotSlot::new(slot), stage);
    }

    /// Takes in a panic that came out of the turn of `slot`. The slot stays in the rotation, to get the panic through
    /// its root, or its task has ended.
    #[cold]
    pub(super) fn contain(&mut self, hot: HotSlot, payload: Payload) {
        // SAFETY: the worker lives.
        let slot = unsafe { hot.get() };
        let Some(payload) = slot.postpone(payload) else {
            self.hot[slot.class().index()].wait(hot, slot.stage());
            return;
        };
        if !self.source_panicked() {
            self.stats.tasks_panicked += 1;
        }
        self.hot[slot.class().index()].leave();
        // SAFETY: the slot's resumption has just unwound.
        end(Some(payload), || unsafe { slot.vacate() });
        self.release(slot.index());
    }

    #[inline]
    fn resume_cohort<const CLASS: usize>(&mut self) {
        // A new task is interactive.
        let refill = self.refills && CLASS == Class::Interactive.index();
        let mut starts_left = STARTS_PER_ROUND_MAX;
        while let Some(hot) = self.hot[CLASS].next() {
            // SAFETY: the worker lives.
            let slot = unsafe { hot.get() };
            loop {
                // SAFETY: the worker lives; slots of the rotation have a future; nothing else is being resumed here.
                let resumed = unsafe { slot.resume() };
                let mut class = CLASS;
                if self.pace.counts() {
                    class = self.read_clock(slot, Class::ALL[CLASS], resumed).index();
                }
                match resumed {
                    Resumed::Pending(noted) if noted.is_hot => {
                        self.stats.waits_memory += 1;
                        self.hot[class].wait(hot, slot.stage());
                    }
                    Resumed::Pending(noted) => self.park(slot, noted.wait),
                    Resumed::Done => {
                        if self.finished(slot, refill) {
                            if starts_left > 0 {
                                // The next task begins within this turn.
                                starts_left -= 1;
                                continue;
                            }
                            self.hot[class].wait(hot, Stage::default());
                        }
                    }
                }
                break;
            }
            if self.pace.is_due {
                self.cut_off(CLASS);
            }
        }
    }

    /// Ends the cohort's turns: its other slots have theirs when the worker has looked around.
    #[cold]
    fn cut_off(&mut self, class: usize) {
        // SAFETY: the worker lives.
        let left = self.hot[class].interrupt(|hot| unsafe { hot.get() }.stage());
        self.stats.resumptions -= u64::from(left);
        self.since_housekeeping -= u64::from(left);
    }

    pub(super) fn park(&mut self, slot: &Slot, wait: Wait) {
        self.hot[slot.class().index()].leave();
        let place = &mut self.slots[slot.index() as usize].1;
        if wait == Wait::Device {
            *place = Whereabouts::AtDevice;
            self.stats.waits_device += 1;
            self.asks_device();
            return;
        }
        *place = Whereabouts::Parked;
        self.stats.waits_event += 1;
        match wait {
            Wait::Lock => self.stats.waits_lock += 1,
            Wait::Log => self.stats.waits_log += 1,
            Wait::Client => self.stats.waits_client += 1,
            Wait::Request => {
                self.stats.waits_client += 1;
                slot.set_class(Class::Interactive);
            }
            Wait::Event | Wait::Turn | Wait::Device | Wait::Memory => {}
        }
    }

    /// Handles the end of the task in `slot`. Returns true if another task has taken its place; else the slot has left
    /// the rotation.
    #[inline]
    pub(super) fn finished(&mut self, slot: &Slot, refill: bool) -> bool {
        self.stats.tasks_finished += 1;
        self.since_housekeeping += TASK_WEIGHT;
        let ticket = &mut self.slots[slot.index() as usize].2;
        if ticket.take().is_some() {
            self.ended();
        }
        // SAFETY: the slot is not being resumed.
        let frame_bytes = unsafe { slot.root() }.bytes() as u64;
        self.stats.frame_bytes_max = self.stats.frame_bytes_max.max(frame_bytes);
        let room = self.hot[Class::Interactive.index()].len() <= self.hot_max()
            && self.open_tasks() <= self.config.open_tasks_max
            && !self.is_crowded();
        let admits = refill && room && self.has_supply() && self.local.admits();
        let filled = admits && self.fill(slot);
        if !filled {
            self.hot[slot.class().index()].leave();
            self.release(slot.index());
        }
        filled
    }
}
