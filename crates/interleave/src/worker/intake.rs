//! Intake: what other threads sent, taken in between two rounds.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::{
    inbox::Message,
    task::{Ticket, drop_panicked},
    worker::{Whereabouts, Worker, WorkerLocal},
};

impl<L: WorkerLocal> Worker<L> {
    /// Takes in what other threads sent.
    pub fn receive(&mut self) {
        while !self.inbox.is_empty() {
            match self.inbox.receive() {
                None => return,
                Some(Message::Start(task, ticket)) => self.queue.push_back((task, ticket)),
                Some(Message::Wake(handle)) => {
                    handle.clear();
                    self.woken(handle.index());
                }
                Some(Message::Cancel(ticket)) => self.cancel(&ticket),
                Some(Message::Order(order)) => order(self),
            }
        }
    }

    pub(super) fn woken(&mut self, index: u32) {
        let (slot, place, _) = &mut self.slots[index as usize];
        match place {
            Whereabouts::Free => {}
            // It may have been woken for something that is not its armed leaf.
            Whereabouts::Hot => slot.disarm_any(),
            Whereabouts::Parked => {
                slot.disarm_any();
                *place = Whereabouts::Hot;
                self.hot.push(slot.clone());
            }
        }
    }

    pub(super) fn cancel(&mut self, ticket: &Arc<Ticket>) {
        if let Some(at) = self
            .queue
            .iter()
            .position(|(_, queued)| Arc::ptr_eq(queued, ticket))
        {
            self.queue.remove(at);
            self.ended();
            self.stats.tasks_cancelled += 1;
            return;
        }
        let found = self
            .slots
            .iter()
            .position(|(_, _, t)| t.as_ref().is_some_and(|t| Arc::ptr_eq(t, ticket)));
        let Some(index) = found else { return };
        if let Some(at) = self
            .hot
            .iter()
            .position(|slot| slot.index() == index as u32)
        {
            self.hot.swap_remove(at);
        }
        self.stats.tasks_cancelled += 1;
        let slot = self.slots[index].0.clone();
        // SAFETY: no slot is being resumed: this runs between rounds.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { slot.root() }.clear()));
        if let Err(payload) = dropped {
            drop_panicked(payload, || ());
        }
        self.release(index as u32);
    }
}
