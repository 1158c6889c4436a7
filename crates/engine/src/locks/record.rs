//! A record of the lock table: its holders and its waiters.
//!
//! Pure bookkeeping, under the latch of the record's shard. Wakers are handed out to be called
//! without the latch.

use std::{collections::VecDeque, sync::Arc, task::Waker};

use super::{
    Strength,
    view::{ModeBits, View, Wait},
};
use crate::{
    sync::{AtomicU64, Ordering},
    timestamp::TransactionId,
};

/// Ticket of a waiter. Answered once, under the latch.
pub(crate) struct Ticket(AtomicU64);

/// Answer of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The waiter is still in the queue.
    Waiting,
    /// The lock is held.
    Granted,
    /// There is no such record any more, or the waiter's transaction is over.
    Dissolved,
}

impl Ticket {
    pub(super) fn new() -> Arc<Ticket> {
        Arc::new(Ticket(AtomicU64::new(Answer::Waiting as u64)))
    }

    pub(crate) fn answer(&self) -> Answer {
        // Acquire: pairs with the Release in `set`; the next holder sees what the last one did to
        // the record.
        match self.0.load(Ordering::Acquire) {
            0 => Answer::Waiting,
            1 => Answer::Granted,
            _ => Answer::Dissolved,
        }
    }

    pub(super) fn set(&self, answer: Answer) {
        self.0.store(answer as u64, Ordering::Release);
    }
}

/// Whether other transactions may be waiting for the one that asks for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stake {
    /// The transaction has locks, or has written, or waits elsewhere as well.
    Some,
    /// No transaction can be waiting for it.
    None,
}

/// Maximum transactions with a stake that may go just before a waiter without one. (The next goes
/// behind it, so that the waiter does not starve.)
const OVERTAKEN_MAX: u32 = 16;

struct Waiter {
    by: TransactionId,
    strength: Strength,
    stake: Stake,
    /// Number of transactions that have come later and gone just before this one.
    overtaken: u32,
    ticket: Arc<Ticket>,
    waker: Option<Waker>,
}

impl Waiter {
    fn lets_pass(&self, newcomer: Stake) -> bool {
        newcomer < self.stake && self.overtaken < OVERTAKEN_MAX
    }

    fn is_of(&self, ticket: &Ticket) -> bool {
        std::ptr::eq(&*self.ticket, ticket)
    }
}

#[derive(Default)]
pub(super) struct Record {
    holders: Vec<(TransactionId, Strength)>,
    queue: VecDeque<Waiter>,
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

    /// Whether the lock excludes no other holder, and no waiter before `turn`.
    fn is_free_for(&self, by: TransactionId, strength: Strength, turn: usize) -> bool {
        let mut holders = self.holders.iter();
        let mut before = self.queue.range(..turn);
        holders.all(|holder| holder.0 == by || holder.1.goes_with(strength))
            && before.all(|waiter| waiter.by == by || waiter.strength.goes_with(strength))
    }

    /// Grants a lock at once. Returns the strength held before.
    ///
    /// # Errors
    /// Another transaction holds the record or came before.
    pub(super) fn request(
        &mut self,
        by: TransactionId,
        strength: Strength,
        stake: Stake,
    ) -> Result<Option<Strength>, ()> {
        let held = self.held(by);
        if held >= Some(strength) {
            return Ok(held);
        }
        let turn = self.turn_of(by, stake);
        if !self.is_free_for(by, strength, turn) {
            return Err(());
        }
        self.note_overtaken(turn);
        self.hold(by, strength);
        Ok(held)
    }

    /// Enters a waiter.
    pub(super) fn enqueue(
        &mut self,
        by: TransactionId,
        strength: Strength,
        stake: Stake,
    ) -> Arc<Ticket> {
        let ticket = Ticket::new();
        let waiter = Waiter {
            by,
            strength,
            stake,
            overtaken: 0,
            ticket: ticket.clone(),
            waker: None,
        };
        let turn = self.turn_of(by, stake);
        self.note_overtaken(turn);
        self.queue.insert(turn, waiter);
        ticket
    }

    /// Returns the place of a newcomer in the queue: before the transactions that wait for the lock
    /// that it has here, and that would otherwise wait for it in vain; none waits for the newcomer
    /// then that did not before.
    fn turn_of(&self, by: TransactionId, stake: Stake) -> usize {
        let mut before = self.queue.iter();
        let last = before.rposition(|waiter| !waiter.lets_pass(stake));
        let turn = last.map_or(0, |last| last + 1);
        let Some(held) = self.held(by) else {
            return turn;
        };
        let waits_for_it = |waiter: &Waiter| waiter.by != by && !waiter.strength.goes_with(held);
        let first = self.queue.range(..turn).position(waits_for_it);
        first.unwrap_or(turn)
    }

    /// Counts a newcomer at `turn` with the first waiter that it overtakes. Counted with all, they
    /// would all have had enough at once, and the next newcomer would go to the very end.
    fn note_overtaken(&mut self, turn: usize) {
        if let Some(next) = self.queue.get_mut(turn) {
            next.overtaken += 1;
        }
    }

    /// Grants the locks that nothing excludes. Returns the wakers to call.
    pub(super) fn hand_over(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let mut turn = 0;
        while let Some(waiter) = self.queue.get(turn) {
            let (by, strength) = (waiter.by, waiter.strength);
            if !self.is_free_for(by, strength, turn) {
                if strength == Strength::Update {
                    // No other waiter passes one that wants to delete.
                    break;
                }
                turn += 1;
                continue;
            }
            self.hold(by, strength);
            // A transaction may want the same lock twice, with waiters between that it now
            // excludes.
            self.queue.retain_mut(|waiter| {
                let has_it = waiter.by == by && waiter.strength <= strength;
                if has_it {
                    waiter.ticket.set(Answer::Granted);
                    wakers.extend(waiter.waker.take());
                }
                !has_it
            });
        }
        wakers
    }

    /// Weakens a holder's lock to the strength `to`, or takes the holder out.
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

    /// Takes a waiter out. Returns whether it was in the queue.
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

    /// Takes out all waits of a transaction. Returns the wakers to call.
    pub(super) fn cancel(&mut self, by: TransactionId) -> Vec<Waker> {
        let (own, others) = self.queue.drain(..).partition(|waiter| waiter.by == by);
        self.queue = others;
        answer_dissolved(own)
    }

    /// Tells all waiters that the record is gone. Returns the wakers to call.
    pub(super) fn dissolve(self) -> Vec<Waker> {
        answer_dissolved(self.queue)
    }

    /// Returns the holders and waiters, for a search.
    pub(super) fn view(&self) -> View {
        let bit = |strength: Strength| 1 << strength as u8;
        let bits = |of: fn(Strength, Strength) -> bool, one: Strength| -> ModeBits {
            let these = Strength::ALL.into_iter().filter(|other| of(one, *other));
            these.map(bit).sum()
        };
        let holders = self.holders.iter();
        let holders = holders.map(|&(holder, strength)| (holder, bit(strength)));
        let waits = self.queue.iter().map(|waiter| Wait {
            by: waiter.by,
            mode: waiter.strength as u8,
            excludes: bits(|one, other| !one.goes_with(other), waiter.strength),
            // A transaction that wants the lock twice gets it twice.
            covers: bits(|one, other| other <= one, waiter.strength),
        });
        View::new(holders, waits)
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
    fn the_first_waiter_is_served_first_and_shared_locks_go_together() {
        let mut record = Record::default();
        assert_eq!(record.request(id(1), Update, Stake::None), Ok(None));
        let tickets = [(2, Share), (3, Share), (4, Update), (5, Share)]
            .map(|(by, strength)| record.enqueue(id(by), strength, Stake::None));
        record.weaken(id(1), None);
        record.hand_over();
        let answers = || tickets.iter().map(|ticket| ticket.answer());
        let granted = || answers().filter(|a| *a == Answer::Granted).count();
        assert_eq!(granted(), 2);
        assert!(
            record.request(id(6), Share, Stake::None).is_err(),
            "no newcomer overtakes"
        );
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
    fn a_holder_gets_a_stronger_lock_before_others() {
        let mut record = Record::default();
        record.request(id(1), Share, Stake::None).unwrap();
        record.request(id(2), Share, Stake::None).unwrap();
        let other = record.enqueue(id(3), Update, Stake::Some);
        let upgrade = record.enqueue(id(1), Update, Stake::Some);
        record.weaken(id(2), None);
        record.hand_over();
        assert_eq!(upgrade.answer(), Answer::Granted);
        assert_eq!(other.answer(), Answer::Waiting);
        assert_eq!(record.held(id(1)), Some(Update));
    }

    fn blockers(view: &mut View, by: TransactionId) -> Vec<(TransactionId, bool)> {
        let mut found = Vec::new();
        view.blockers(by, true, &mut found);
        found
    }

    #[test]
    fn a_waiter_is_blocked_by_locks_that_exclude_its_own() {
        let mut record = Record::default();
        record.request(id(1), Share, Stake::None).unwrap();
        record.request(id(2), Share, Stake::None).unwrap();
        for (by, strength) in [(3, Update), (4, Share), (5, Share), (6, Update)] {
            record.enqueue(id(by), strength, Stake::None);
        }
        let blockers = |by| blockers(&mut record.view(), id(by));
        let (holders, waiters) = (
            [(id(1), false), (id(2), false)],
            [3, 4, 5].map(|i| (id(i), true)),
        );
        assert_eq!(blockers(3), holders);
        assert_eq!(blockers(4), waiters[..1]);
        assert_eq!(blockers(5), blockers(4));
        assert_eq!(blockers(6), [&holders[..], &waiters[..]].concat());
    }

    #[test]
    fn two_sharers_that_want_more_wait_for_each_other() {
        let mut record = Record::default();
        for by in [1, 2] {
            record.request(id(by), Share, Stake::None).unwrap();
        }
        for by in [1, 2] {
            record.enqueue(id(by), Update, Stake::None);
        }
        for (one, other) in [(1, 2), (2, 1)] {
            let found = blockers(&mut record.view(), id(one));
            assert!(found.contains(&(id(other), false)), "{found:?}");
        }
    }

    /// PostgreSQL 15, table 13.3, row by row: an `x` where the two exclude each other.
    const MATRIX: [&str; 4] = ["...x", "..xx", ".xxx", "xxxx"];

    #[test]
    fn strengths_exclude_each_other_as_in_postgresql() {
        for (held, row) in Strength::ALL.into_iter().zip(MATRIX) {
            for (wanted, mark) in Strength::ALL.into_iter().zip(row.chars()) {
                let mut record = Record::default();
                record.request(id(1), held, Stake::None).unwrap();
                let granted = record.request(id(2), wanted, Stake::None).is_ok();
                assert_eq!(granted, mark == '.', "{held:?} and {wanted:?}");
            }
        }
    }

    /// A reference to a row does not wait for waiters that want to change the row's other columns,
    /// but waits for one that wants to delete the row.
    #[test]
    fn waiters_that_do_not_mind_each_other_pass_each_other() {
        let mut record = Record::default();
        record.request(id(1), NoKeyUpdate, Stake::None).unwrap();
        let change = record.enqueue(id(2), NoKeyUpdate, Stake::None);
        assert!(record.request(id(3), KeyShare, Stake::None).is_ok());
        let removal = record.enqueue(id(4), Update, Stake::None);
        let reference = record.enqueue(id(5), KeyShare, Stake::None);
        assert_eq!(blockers(&mut record.view(), id(5)), [(id(4), true)]);
        let others = [(1, false), (3, false), (2, true)].map(|(by, waits)| (id(by), waits));
        assert_eq!(blockers(&mut record.view(), id(4)), others);
        record.weaken(id(1), None);
        record.hand_over();
        assert_eq!(change.answer(), Answer::Granted);
        assert_eq!(reference.answer(), Answer::Waiting);
        for by in [2, 3] {
            record.weaken(id(by), None);
            record.hand_over();
        }
        assert_eq!(removal.answer(), Answer::Granted);
        assert_eq!(reference.answer(), Answer::Waiting);
    }

    /// A holder of a lock passes the waiters that would wait for it for ever, and no others:
    /// otherwise it would make a transaction wait for it that has not looked for a deadlock.
    #[test]
    fn a_stronger_lock_passes_the_waiters_for_the_weaker_one() {
        for (waits, passes) in [(Update, true), (NoKeyUpdate, false)] {
            let mut record = Record::default();
            record.request(id(1), KeyShare, Stake::Some).unwrap();
            record.request(id(2), Share, Stake::Some).unwrap();
            record.enqueue(id(3), waits, Stake::Some);
            let granted = record.request(id(1), Share, Stake::Some);
            assert_eq!(granted.is_ok(), passes, "{waits:?}");
        }
    }

    /// A `join` waits twice for a record, with another transaction between. A transaction that
    /// asked for the stronger lock first has the weaker with it: otherwise the one between would
    /// wait for the first wait, and the second wait for the one between.
    #[test]
    fn a_transaction_waits_twice_for_a_record() {
        for (first, between, second, is_deadlock) in [
            (Update, Share, Share, false),
            (Update, Update, Update, false),
            (Share, Share, Update, false),
            (Share, Update, Update, true),
        ] {
            let mut record = Record::default();
            record.request(id(9), Update, Stake::None).unwrap();
            let waits = [(1, first), (2, between), (1, second)];
            let tickets = waits.map(|(by, strength)| record.enqueue(id(by), strength, Stake::None));
            let mut view = record.view();
            let mut of_between = Vec::new();
            let waits_for_it = blockers(&mut view, id(1)).contains(&(id(2), true));
            view.blockers(id(2), false, &mut of_between);
            let is_waited_for = of_between.contains(&(id(1), true));
            assert_eq!(waits_for_it && is_waited_for, is_deadlock, "{waits:?}");
            if is_deadlock {
                continue;
            }
            for by in [9, 2] {
                record.weaken(id(by), None);
                record.hand_over();
            }
            assert_eq!(tickets[0].answer(), Answer::Granted, "{waits:?}");
            assert_eq!(tickets[2].answer(), Answer::Granted, "{waits:?}");
        }
    }

    #[test]
    fn transactions_with_locks_elsewhere_overtake_others_but_not_for_ever() {
        let mut record = Record::default();
        record.request(id(1), Update, Stake::None).unwrap();
        let patient = record.enqueue(id(2), Update, Stake::None);
        let busy: Vec<_> = (0..OVERTAKEN_MAX as u16 + 3)
            .map(|i| record.enqueue(id(10 + i), Update, Stake::Some))
            .collect();
        let mut served = 0;
        let mut holder = 1;
        while patient.answer() == Answer::Waiting {
            record.weaken(id(holder), None);
            record.hand_over();
            holder = 10 + served;
            served += 1;
        }
        assert_eq!(u32::from(served) - 1, OVERTAKEN_MAX);
        assert!(
            busy.last()
                .is_some_and(|last| last.answer() == Answer::Waiting)
        );
    }
}
