//! One record of the lock table: who has it, and who waits for it.
//!
//! Pure bookkeeping, under the latch of the record's shard. Wakers are handed out to
//! be called without it.

use std::{collections::VecDeque, sync::Arc, task::Waker};

use super::Strength;
use crate::{
    sync::{AtomicU64, Ordering},
    timestamp::TransactionId,
};

/// What a waiter holds on to. Answered once, under the latch.
pub(crate) struct Ticket(AtomicU64);

/// What a ticket says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Still in the queue.
    Waiting,
    /// The lock is held.
    Granted,
    /// There is no such record any more, or its waiter's transaction is over.
    Dissolved,
}

impl Ticket {
    pub(crate) fn answer(&self) -> Answer {
        // Acquire: pairs with the Release in `set`; what the last holder did to the
        // record is seen by the next.
        match self.0.load(Ordering::Acquire) {
            0 => Answer::Waiting,
            1 => Answer::Granted,
            _ => Answer::Dissolved,
        }
    }

    fn set(&self, answer: Answer) {
        self.0.store(answer as u64, Ordering::Release);
    }
}

struct Waiter {
    by: TransactionId,
    strength: Strength,
    ticket: Arc<Ticket>,
    waker: Option<Waker>,
}

impl Waiter {
    fn is_of(&self, ticket: &Ticket) -> bool {
        std::ptr::eq(&*self.ticket, ticket)
    }
}

#[derive(Default)]
pub(super) struct Record {
    holders: Vec<(TransactionId, Strength)>,
    queue: VecDeque<Waiter>,
}

impl Strength {
    fn goes_with(self, other: Strength) -> bool {
        self == Strength::Shared && other == Strength::Shared
    }
}

impl Record {
    pub(super) fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    fn held(&self, by: TransactionId) -> Option<Strength> {
        let own = self.holders.iter().find(|holder| holder.0 == by);
        own.map(|&(_, strength)| strength)
    }

    /// Enters a holder, or makes its lock stronger.
    pub(super) fn hold(&mut self, by: TransactionId, strength: Strength) {
        match self.holders.iter_mut().find(|holder| holder.0 == by) {
            Some(own) => own.1 = own.1.max(strength),
            None => self.holders.push((by, strength)),
        }
    }

    /// Whether no other holder minds.
    fn is_free_for(&self, by: TransactionId, strength: Strength) -> bool {
        let mut others = self.holders.iter().filter(|holder| holder.0 != by);
        others.all(|holder| holder.1.goes_with(strength))
    }

    /// Grants a lock at once: what was held before.
    ///
    /// # Errors
    /// Somebody holds the record or came before.
    pub(super) fn request(
        &mut self,
        by: TransactionId,
        strength: Strength,
    ) -> Result<Option<Strength>, ()> {
        let held = self.held(by);
        if held >= Some(strength) {
            return Ok(held);
        }
        let is_first = held.is_some() || self.queue.is_empty();
        if !is_first || !self.is_free_for(by, strength) {
            return Err(());
        }
        self.hold(by, strength);
        Ok(held)
    }

    /// Enters a waiter: at the end, or, if it holds a lock, before all that hold none.
    pub(super) fn enqueue(&mut self, by: TransactionId, strength: Strength) -> Arc<Ticket> {
        let ticket = Arc::new(Ticket(AtomicU64::new(Answer::Waiting as u64)));
        let waiter = Waiter {
            by,
            strength,
            ticket: ticket.clone(),
            waker: None,
        };
        let at = match self.held(by) {
            Some(_) => self
                .queue
                .iter()
                .take_while(|other| self.held(other.by).is_some())
                .count(),
            None => self.queue.len(),
        };
        self.queue.insert(at, waiter);
        ticket
    }

    /// Grants locks from the head of the queue; whom to wake.
    pub(super) fn hand_over(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some(first) = self.queue.front()
            && self.is_free_for(first.by, first.strength)
            && let Some(first) = self.queue.pop_front()
        {
            self.hold(first.by, first.strength);
            first.ticket.set(Answer::Granted);
            wakers.extend(first.waker);
        }
        wakers
    }

    /// Weakens a holder's lock, or takes the holder out.
    pub(super) fn weaken(&mut self, by: TransactionId, to: Option<Strength>) {
        match to {
            None => self.holders.retain(|holder| holder.0 != by),
            Some(strength) => {
                if let Some(own) = self.holders.iter_mut().find(|holder| holder.0 == by) {
                    own.1 = strength;
                }
            }
        }
    }

    pub(super) fn bequeath(&mut self, from: TransactionId, to: TransactionId) {
        if let Some(own) = self.holders.iter_mut().find(|holder| holder.0 == from) {
            own.0 = to;
        }
    }

    /// Takes a waiter out; whether it was in the queue.
    pub(super) fn leave(&mut self, ticket: &Ticket) -> bool {
        let at = self.queue.iter().position(|waiter| waiter.is_of(ticket));
        at.is_some_and(|at| self.queue.remove(at).is_some())
    }

    pub(super) fn set_waker(&mut self, ticket: &Ticket, waker: &Waker) -> bool {
        let own = self.queue.iter_mut().find(|waiter| waiter.is_of(ticket));
        own.is_some_and(|own| {
            own.waker = Some(waker.clone());
            true
        })
    }

    /// Takes all waits of a transaction out; whom to wake.
    pub(super) fn cancel(&mut self, by: TransactionId) -> Vec<Waker> {
        let (own, others) = self.queue.drain(..).partition(|waiter| waiter.by == by);
        self.queue = others;
        answer_dissolved(own)
    }

    /// Tells all waiters that the record is gone; whom to wake.
    pub(super) fn dissolve(self) -> Vec<Waker> {
        answer_dissolved(self.queue)
    }

    /// For whom `waiter` waits: the holders that mind, or else the nearest in the queue
    /// that it cannot share the record with. (Those in turn wait for the rest.)
    pub(super) fn blockers(&self, waiter: TransactionId, found: &mut Vec<TransactionId>) {
        for (at, own) in self.queue.iter().enumerate() {
            if own.by != waiter {
                continue;
            }
            let mut before = self.queue.range(..at).rev();
            let is_behind_a_writer = before.any(|other| {
                if other.by != waiter && !other.strength.goes_with(own.strength) {
                    found.push(other.by);
                }
                other.strength == Strength::Exclusive && other.by != waiter
            });
            if !is_behind_a_writer {
                let others = self.holders.iter().filter(|holder| holder.0 != waiter);
                let minding = others.filter(|holder| !holder.1.goes_with(own.strength));
                found.extend(minding.map(|holder| holder.0));
            }
        }
    }
}

fn answer_dissolved(waiters: VecDeque<Waiter>) -> Vec<Waker> {
    waiters
        .into_iter()
        .filter_map(|waiter| {
            waiter.ticket.set(Answer::Dissolved);
            waiter.waker
        })
        .collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Strength::*, *};

    fn id(number: u16) -> TransactionId {
        TransactionId::new(0, number, 1)
    }

    #[test]
    fn who_comes_first_is_served_first_and_shared_locks_go_together() {
        let mut record = Record::default();
        assert_eq!(record.request(id(1), Exclusive), Ok(None));
        let tickets = [(2, Shared), (3, Shared), (4, Exclusive), (5, Shared)]
            .map(|(by, strength)| record.enqueue(id(by), strength));
        record.weaken(id(1), None);
        record.hand_over();
        let answers = || tickets.iter().map(|ticket| ticket.answer());
        let granted = || answers().filter(|a| *a == Answer::Granted).count();
        assert_eq!(granted(), 2);
        assert!(record.request(id(6), Shared).is_err(), "nobody overtakes");
        record.weaken(id(2), None);
        record.hand_over();
        assert_eq!(granted(), 2, "one of the shared locks is left");
        record.weaken(id(3), None);
        record.hand_over();
        assert_eq!(granted(), 3);
        record.weaken(id(4), None);
        record.hand_over();
        assert_eq!(granted(), 4);
    }

    #[test]
    fn who_has_a_lock_gets_a_stronger_one_before_others() {
        let mut record = Record::default();
        record.request(id(1), Shared).unwrap();
        record.request(id(2), Shared).unwrap();
        let other = record.enqueue(id(3), Exclusive);
        let upgrade = record.enqueue(id(1), Exclusive);
        record.weaken(id(2), None);
        record.hand_over();
        assert_eq!(upgrade.answer(), Answer::Granted);
        assert_eq!(other.answer(), Answer::Waiting);
        assert_eq!(record.held(id(1)), Some(Exclusive));
    }

    #[test]
    fn a_waiter_is_blocked_by_whom_it_cannot_go_with() {
        let mut record = Record::default();
        record.request(id(1), Shared).unwrap();
        record.request(id(2), Shared).unwrap();
        for (by, strength) in [(3, Exclusive), (4, Shared), (5, Shared), (6, Exclusive)] {
            record.enqueue(id(by), strength);
        }
        let blockers = |by| {
            let mut found = Vec::new();
            record.blockers(id(by), &mut found);
            found.sort_by_key(|id| id.context());
            found
        };
        assert_eq!(blockers(3), [id(1), id(2)]);
        assert_eq!(blockers(5), [id(3)]);
        assert_eq!(blockers(6), [id(3), id(4), id(5)]);
    }
}
