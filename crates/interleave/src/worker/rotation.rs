//! The hot rotation: turns for the slots that wait for memory, a cohort at a time
//! (see `stage.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    slot::{Payload, Resumed, Slot},
    stage::Stage,
    task::end,
    wait::Wait,
    worker::{HotSlot, Whereabouts, Worker, WorkerLocal},
};

/// Tasks begun in one place of the rotation before the round goes on.
const STARTS_PER_ROUND_MAX: u32 = 32;
/// What a finished task counts for, in resumptions, towards housekeeping.
const TASK_WEIGHT: u64 = 16;

impl<L: WorkerLocal> Worker<L> {
    /// One turn for every slot of the cohort that is to go on next.
    pub(super) fn rotate(&mut self) {
        let turns = u64::from(self.hot.choose());
        self.stats.resumptions += turns;
        self.since_housekeeping += turns;
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.resume_cohort())) {
            self.contain(self.hot.current(), payload);
        }
    }

    /// Takes in a panic that came out of the turn of `slot`. It stays in the
    /// rotation, to get the panic through its root, or its task has ended.
    #[cold]
    pub(super) fn contain(&mut self, hot: HotSlot, payload: Payload) {
        // SAFETY: the worker lives.
        let slot = unsafe { hot.get() };
        let Some(payload) = slot.postpone(payload) else {
            self.hot.wait(hot, slot.stage());
            return;
        };
        if !self.source_panicked() {
            self.stats.tasks_panicked += 1;
        }
        self.hot.leave();
        // SAFETY: the slot's resumption has just unwound.
        end(Some(payload), || unsafe { slot.vacate() });
        self.release(slot.index());
    }

    #[inline]
    fn resume_cohort(&mut self) {
        let refill = self.refills;
        let mut starts_left = STARTS_PER_ROUND_MAX;
        while let Some(hot) = self.hot.next() {
            // SAFETY: the worker lives.
            let slot = unsafe { hot.get() };
            loop {
                // SAFETY: as above; slots of the rotation have a future; nothing
                // else is being resumed here.
                match unsafe { slot.resume() } {
                    Resumed::Pending(noted) if noted.is_hot => {
                        self.stats.waits_memory += 1;
                        self.hot.wait(hot, slot.stage());
                    }
                    Resumed::Pending(noted) => self.park(slot, noted.wait),
                    Resumed::Done => {
                        if self.finished(slot, refill) {
                            if starts_left > 0 {
                                // The next task begins in the same turn.
                                starts_left -= 1;
                                continue;
                            }
                            self.hot.wait(hot, Stage::default());
                        }
                    }
                }
                break;
            }
        }
    }

    pub(super) fn park(&mut self, slot: &Slot, wait: Wait) {
        self.hot.leave();
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
            Wait::Event | Wait::Turn | Wait::Device | Wait::Memory => {}
        }
    }

    /// The task in `slot` has finished. True when another one has taken its
    /// place; else the slot has left the rotation.
    #[inline]
    pub(super) fn finished(&mut self, slot: &Slot, refill: bool) -> bool {
        self.stats.tasks_finished += 1;
        self.since_housekeeping += TASK_WEIGHT;
        let ticket = &mut self.slots[slot.index() as usize].2;
        if ticket.take().is_some() {
            self.ended();
        }
        // SAFETY: not being resumed.
        let frame_bytes = unsafe { slot.root() }.bytes() as u64;
        self.stats.frame_bytes_max = self.stats.frame_bytes_max.max(frame_bytes);
        let room = self.hot.len() <= self.hot_max()
            && self.open_tasks() <= self.config.open_tasks_max
            && !self.is_crowded();
        let admits = refill && room && self.has_supply() && self.local.admits();
        let filled = admits && self.fill(slot);
        if !filled {
            self.hot.leave();
            self.release(slot.index());
        }
        filled
    }
}
