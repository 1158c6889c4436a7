//! The hot rotation: turns for the slots that wait for memory, a cohort at a time
//! (see `stage.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    config::Scheduling,
    slot::{Payload, Resumed, Slot, Wait},
    stage::Stage,
    task::end,
    worker::{Whereabouts, Worker, WorkerLocal},
};

/// Tasks begun in one place of the rotation before the round goes on.
const STARTS_PER_ROUND_MAX: u32 = 32;
/// What a finished task counts for, in resumptions, towards housekeeping.
const TASK_WEIGHT: u64 = 16;

impl<L: WorkerLocal> Worker<L> {
    /// One turn for every slot of the cohort that is to go on next.
    pub(super) fn rotate(&mut self) {
        let stage = match &*self.hot {
            [slot] => slot.stage(),
            slots => self.cohorts.choose(slots.iter().map(|slot| slot.stage())),
        };
        let mut cursor = 0;
        while let Err(payload) =
            catch_unwind(AssertUnwindSafe(|| self.rotate_from(&mut cursor, stage)))
        {
            if self.contain(cursor, payload) {
                cursor += 1;
            }
        }
    }

    /// Takes in a panic that came out of the turn of the slot at `cursor`. True if
    /// the slot stays in the rotation, to get the panic through its root; else its
    /// task has ended.
    #[cold]
    pub(super) fn contain(&mut self, cursor: usize, payload: Payload) -> bool {
        let Some(payload) = self.hot[cursor].postpone(payload) else {
            return true;
        };
        if !self.source_panicked() {
            self.stats.tasks_panicked += 1;
        }
        let slot = self.hot.swap_remove(cursor);
        // SAFETY: the slot's resumption has just unwound.
        end(Some(payload), || unsafe { slot.vacate() });
        self.release(slot.index());
        false
    }

    #[inline]
    pub(super) fn rotate_from(&mut self, cursor: &mut usize, stage: Stage) {
        let refill = self.config.scheduling == Scheduling::Pipelined;
        let mut starts_left = STARTS_PER_ROUND_MAX;
        while *cursor < self.hot.len() {
            let slot: *const Slot = &*self.hot[*cursor];
            // A task that has just taken a finished one's place waits nowhere
            // yet; its slot is still at the cohort's stage, so it begins at once.
            if self.hot[*cursor].stage() != stage {
                *cursor += 1;
                continue;
            }
            self.since_housekeeping += 1;
            self.stats.resumptions += 1;
            // SAFETY: the slot is kept by `slots`, whose entries are never removed
            // while the worker lives; hot slots have a future; nothing else is
            // being resumed here.
            match unsafe { (*slot).resume() } {
                Resumed::Pending(Wait::Memory) => {
                    self.stats.waits_memory += 1;
                    *cursor += 1;
                }
                Resumed::Pending(Wait::Event) => self.park(*cursor),
                Resumed::Done => {
                    self.finished(*cursor, refill && starts_left > 0);
                    starts_left = starts_left.saturating_sub(1);
                }
            }
        }
    }

    pub(super) fn park(&mut self, cursor: usize) {
        self.stats.waits_event += 1;
        let slot = self.hot.swap_remove(cursor);
        self.slots[slot.index() as usize].1 = Whereabouts::Parked;
    }

    /// The task at `cursor` has finished: the next one takes its place, or the
    /// slot leaves the rotation.
    #[inline]
    pub(super) fn finished(&mut self, cursor: usize, refill: bool) {
        self.stats.tasks_finished += 1;
        self.since_housekeeping += TASK_WEIGHT;
        let slot = self.hot[cursor].clone();
        let ticket = &mut self.slots[slot.index() as usize].2;
        if ticket.take().is_some() {
            self.ended();
        }
        // SAFETY: not being resumed.
        self.stats.frame_bytes_max = self
            .stats
            .frame_bytes_max
            .max(unsafe { slot.root() }.bytes() as u64);
        let room = self.hot.len() <= self.in_flight;
        if !(refill && room && self.has_supply() && self.fill(&slot)) {
            self.hot.swap_remove(cursor);
            self.release(slot.index());
        }
    }
}
