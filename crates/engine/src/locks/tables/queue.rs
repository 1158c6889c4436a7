//! A table of the lock table: its holders and its waiters.
//!
//! Pure bookkeeping, under the latch of the table locks. A waiter gets its lock as soon as it is
//! excluded by no holder and by no waiter that stands before it: waiters that do not exclude each
//! other pass each other. A newcomer goes to the end of the queue, except for one that has locks
//! here for which a transaction in the queue waits: the newcomer goes just before that transaction,
//! which would otherwise wait for it in vain. (PostgreSQL does the same.) A waiter is put before
//! others as well if a deadlock needs it (`graph.rs`).

use std::{collections::VecDeque, sync::Arc, task::Waker};

use crate::{
    locks::{
        mode::{TableLockMode, TableLockModes},
        record::{Answer, Ticket},
        view::{View, Wait},
    },
    timestamp::TransactionId,
};

struct Waiter {
    by: TransactionId,
    mode: TableLockMode,
    ticket: Arc<Ticket>,
    waker: Option<Waker>,
}

impl Waiter {
    fn is_of(&self, ticket: &Ticket) -> bool {
        std::ptr::eq(&*self.ticket, ticket)
    }
}

/// Pass of a waiter before others: its turn before and after.
#[must_use = "the order may be only tried"]
pub(in crate::locks) struct Pass {
    from: usize,
    to: usize,
}

#[derive(Default)]
pub(super) struct Queue {
    holders: Vec<(TransactionId, TableLockModes)>,
    waiters: VecDeque<Waiter>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    pub(super) fn held(&self, by: TransactionId) -> TableLockModes {
        let own = self.holders.iter().find(|holder| holder.0 == by);
        own.map_or(TableLockModes::NONE, |own| own.1)
    }

    /// Enters a holder, or adds `modes` to those it has.
    pub(super) fn hold(&mut self, by: TransactionId, modes: TableLockModes) {
        match self.holders.iter_mut().find(|holder| holder.0 == by) {
            Some(own) => own.1 = own.1.and(modes),
            None => self.holders.push((by, modes)),
        }
    }

    /// Whether no holder, and no waiter before `turn`, excludes a lock.
    fn is_free_for(&self, by: TransactionId, mode: TableLockMode, turn: usize) -> bool {
        let mut holders = self.holders.iter();
        let mut before = self.waiters.range(..turn);
        let excluded = TableLockModes::NONE.with(mode);
        holders.all(|holder| holder.0 == by || !holder.1.exclude(mode))
            && before.all(|waiter| waiter.by == by || !excluded.exclude(waiter.mode))
    }

    /// Returns the place of a newcomer in the queue.
    fn turn_of(&self, by: TransactionId) -> usize {
        let held = self.held(by);
        let waits_for_it = |waiter: &Waiter| waiter.by != by && held.exclude(waiter.mode);
        let first = self.waiters.iter().position(waits_for_it);
        first.unwrap_or(self.waiters.len())
    }

    /// Grants a lock at once, if no transaction excludes it. Returns whether it did.
    pub(super) fn request(&mut self, by: TransactionId, mode: TableLockMode) -> bool {
        let turn = self.turn_of(by);
        let is_free = self.held(by).has(mode) || self.is_free_for(by, mode, turn);
        if is_free {
            self.hold(by, TableLockModes::NONE.with(mode));
        }
        is_free
    }

    /// Enters a waiter.
    pub(super) fn enqueue(&mut self, by: TransactionId, mode: TableLockMode) -> Arc<Ticket> {
        let ticket = Ticket::new();
        let waiter = Waiter {
            by,
            mode,
            ticket: ticket.clone(),
            waker: None,
        };
        self.waiters.insert(self.turn_of(by), waiter);
        ticket
    }

    /// Puts the waiter `mover` just before the waiter `passed`, for which it waits. Returns `None`
    /// if `mover` does not stand behind `passed`.
    pub(super) fn let_pass(&mut self, mover: TransactionId, passed: TransactionId) -> Option<Pass> {
        let first_of = |by| self.waiters.iter().position(|waiter| waiter.by == by);
        let to = first_of(passed)?;
        let excluded = TableLockModes::NONE.with(self.waiters[to].mode);
        let behind = self.waiters.range(to..);
        let is_mover = |waiter: &Waiter| waiter.by == mover && excluded.exclude(waiter.mode);
        let from = to + behind.into_iter().position(is_mover)?;
        self.shift(from, to);
        Some(Pass { from, to })
    }

    /// Takes back the latest change of the queue, a pass.
    pub(super) fn take_back(&mut self, pass: Pass) {
        self.shift(pass.to, pass.from);
    }

    fn shift(&mut self, from: usize, to: usize) {
        if let Some(waiter) = self.waiters.remove(from) {
            self.waiters.insert(to, waiter);
        }
    }

    /// Grants the locks that can be granted. Returns the wakers to call.
    pub(super) fn hand_over(&mut self) -> Vec<Waker> {
        let (mut turn, mut wakers) = (0, Vec::new());
        while let Some(waiter) = self.waiters.get(turn) {
            let (by, mode) = (waiter.by, waiter.mode);
            if !self.is_free_for(by, mode, turn) {
                turn += 1;
                continue;
            }
            self.hold(by, TableLockModes::NONE.with(mode));
            if let Some(waiter) = self.waiters.remove(turn) {
                waiter.ticket.set(Answer::Granted);
                wakers.extend(waiter.waker);
            }
        }
        wakers
    }

    /// Weakens the locks of a holder to the modes `to`, or takes the holder out.
    pub(super) fn weaken(&mut self, by: TransactionId, to: TableLockModes) {
        self.holders.retain_mut(|holder| {
            if holder.0 == by {
                holder.1 = to;
            }
            !holder.1.is_empty()
        });
    }

    /// Takes a waiter out. Returns whether it was in the queue.
    pub(super) fn leave(&mut self, ticket: &Ticket) -> bool {
        let mut waiters = self.waiters.iter();
        let at = waiters.position(|waiter| waiter.is_of(ticket));
        at.is_some_and(|at| self.waiters.remove(at).is_some())
    }

    pub(super) fn set_waker(&mut self, ticket: &Ticket, waker: &Waker) -> bool {
        let mut waiters = self.waiters.iter_mut();
        let own = waiters.find(|waiter| waiter.is_of(ticket));
        own.is_some_and(|own| {
            own.waker = Some(waker.clone());
            true
        })
    }

    /// Takes out all waits of a transaction. Returns the wakers to call.
    pub(super) fn cancel(&mut self, by: TransactionId) -> Vec<Waker> {
        let mut wakers = Vec::new();
        self.waiters.retain_mut(|waiter| {
            if waiter.by == by {
                waiter.ticket.set(Answer::Dissolved);
                wakers.extend(waiter.waker.take());
            }
            waiter.by != by
        });
        wakers
    }

    /// Returns the holders and waiters, for a search.
    pub(super) fn view(&self) -> View {
        let holders = self.holders.iter();
        let holders = holders.map(|(holder, modes)| (*holder, modes.bits()));
        let waits = self.waiters.iter().map(|waiter| Wait {
            by: waiter.by,
            mode: waiter.mode as u8,
            excludes: waiter.mode.excluded().bits(),
            // Each wait has its own turn, also after another one of its transaction.
            covers: 0,
        });
        View::new(holders, waits)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
