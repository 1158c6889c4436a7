//! Intake: messages of other threads, taken in between two rounds.

use std::sync::{Arc, atomic::Ordering};

use crate::{
    inbox::Message,
    task::{Ticket, end},
    worker::{HotSlot, Running, Whereabouts, Worker, WorkerLocal},
};

/// Messages taken in at once, so that a message that sends itself again (an order that wants to run
/// every round) does not keep the rotation from running.
const MESSAGES_PER_ROUND_MAX: u32 = 1024;

impl<L: WorkerLocal> Worker<L> {
    /// Takes in the messages of other threads.
    pub fn receive(&mut self) {
        let _running = Running::new();
        for _ in 0..MESSAGES_PER_ROUND_MAX {
            if self.inbox.is_empty() {
                return;
            }
            match self.inbox.receive() {
                None => return,
                Some(Message::Start(task, ticket)) => {
                    if self.queue.is_empty() {
                        self.pace.admitted_at = self.timers.read_at();
                    }
                    self.queue.push_back((task, ticket));
                }
                Some(Message::Wake(handle)) => {
                    handle.clear();
                    self.woken(handle.index());
                }
                Some(Message::Cancel(ticket)) => self.cancel(&ticket),
                Some(Message::Rouse) => {}
                // Foreign code: its panic is its sender's affair, not the tasks'.
                Some(Message::Order(order)) => end(None, || order(self)),
            }
        }
    }

    pub(super) fn woken(&mut self, index: u32) {
        let (slot, place, _) = &mut self.slots[index as usize];
        match place {
            Whereabouts::Free | Whereabouts::Staged => {}
            // The task may have been woken for something other than its armed leaf.
            Whereabouts::Hot => slot.disarm_any(),
            Whereabouts::Parked => {
                slot.disarm_any();
                *place = Whereabouts::Hot;
                let slot = slot.clone();
                self.join(&slot, slot.stage());
            }
            Whereabouts::AtDevice => {
                slot.disarm_any();
                self.answered(index);
            }
        }
    }

    pub(super) fn cancel(&mut self, ticket: &Arc<Ticket>) {
        if let Some(at) = self
            .queue
            .iter()
            .position(|(_, queued)| Arc::ptr_eq(queued, ticket))
        {
            if let Some((task, _)) = self.queue.remove(at) {
                end(None, || drop(task));
            }
            self.ended();
            self.stats.tasks_cancelled += 1;
            return;
        }
        let index = ticket.slot.load(Ordering::Relaxed);
        let Some((slot, place, _)) = self
            .slots
            .get(index as usize)
            .filter(|(_, _, holder)| holder.as_ref().is_some_and(|t| Arc::ptr_eq(t, ticket)))
        else {
            return; // The task has ended.
        };
        let (slot, place) = (slot.clone(), *place);
        match place {
            Whereabouts::Hot => {
                self.hot[slot.class().index()].remove(HotSlot::new(&slot));
            }
            Whereabouts::AtDevice => self.leaves_device(),
            Whereabouts::Staged => self.unstage_one(index),
            Whereabouts::Free | Whereabouts::Parked => {}
        }
        self.stats.tasks_cancelled += 1;
        // SAFETY: no slot is being resumed: this runs between rounds.
        end(None, || unsafe { slot.vacate() });
        self.release(index);
    }
}
