//! The table locks that are not in entries of their owners' contexts (`weak.rs`).
//!
//! # Invariant
//! *Gate*: a table's gate is closed exactly while there is a queue for it here; both change under
//! the latch. When the queue is made, all entries of the table are transferred into it. While the
//! queue is there, it therefore has all locks of the table, and no transaction takes one elsewhere.
//!
//! # Deadlocks
//! Waits for tables are in the same graph as those for records, and the same argument holds
//! (`graph.rs`). Holders that appear by transfer are new. They come at the moment that the queue is
//! made, hence with the wait that made it or before it, and each by the name of the transaction
//! that has the lock at that moment. A transaction that becomes a holder without waiting is in no
//! cycle: it is excluded by no waiter, so by symmetry no waiter waits for it, except for those that
//! waited for it before.

mod queue;

use std::{collections::HashMap, sync::Arc, task::Waker};

use memory::Reservation;

use self::queue::{Pass, Queue};
use super::{
    Acquired, Gate, Ticket, View, WeakLocks, mode::TableLockMode, mode::TableLockModes, wake,
};
use crate::{
    per_context::{PerContext, SessionContexts},
    sync::{Mutex, MutexGuard},
    timestamp::TransactionId,
};

/// Approximate bytes of a queue, with a few holders and waiters.
const QUEUE_BYTES: usize = 512;

/// Request of a transaction for a lock on a table.
pub(crate) struct TableRequest<'a> {
    pub(crate) gate: &'a Arc<Gate>,
    pub(crate) by: TransactionId,
    pub(crate) mode: TableLockMode,
    /// Whether no transaction can be waiting for the requester.
    pub(crate) is_free: bool,
    /// Whether the gate is to be closed, also for a weak lock: the requester has no entry left.
    pub(crate) closes: bool,
}

/// Table locks: see the module text.
pub(crate) struct TableLocks {
    queues: Mutex<Queues>,
    weak: PerContext<WeakLocks>,
}

struct Queues {
    all: HashMap<u32, (Arc<Gate>, Queue)>,
    /// Part of the memory limit for the queues. (The model checker has no limit.)
    memory: Option<Reservation>,
}

impl Queues {
    /// Hands the table over, or forgets it, after a transaction has left.
    fn settle(&mut self, number: u32) -> Vec<Waker> {
        let Some((gate, queue)) = self.all.get_mut(&number) else {
            return Vec::new();
        };
        let wakers = queue.hand_over();
        if queue.is_empty() {
            gate.open();
            self.all.remove(&number);
            if let Some(memory) = &mut self.memory {
                memory.shrink(QUEUE_BYTES);
            }
        }
        wakers
    }
}

impl TableLocks {
    pub(super) fn new(memory: Option<Reservation>) -> TableLocks {
        TableLocks {
            queues: Mutex::new(Queues {
                all: HashMap::new(),
                memory,
            }),
            weak: PerContext::new(),
        }
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the entries of a session's contexts.
    pub(crate) fn entries(&self, session: u16) -> &SessionContexts<WeakLocks> {
        self.weak.session(session.into())
    }

    pub(super) fn attempt(&self, request: &TableRequest<'_>, queues: bool) -> Acquired {
        let (number, by) = (request.gate.number(), request.by);
        let mut all = self.queues();
        let all = &mut *all;
        if !all.all.contains_key(&number) {
            // The gate has opened meanwhile.
            if request.mode.is_weak() && !request.closes {
                return Acquired::Changed;
            }
            if let Some(memory) = &mut all.memory
                && memory.grow(QUEUE_BYTES).is_err()
            {
                return Acquired::Exhausted;
            }
            request.gate.close();
            let mut queue = Queue::default();
            self.weak.each(|_, _, weak| {
                if let Some((owner, modes)) = weak.transfer(number) {
                    queue.hold(owner, modes);
                }
            });
            all.all.insert(number, (request.gate.clone(), queue));
        }
        let (_, queue) = all.all.get_mut(&number).expect("it was just there");
        match queue.request(by, request.mode) {
            true => Acquired::Held(None),
            false if queues => Acquired::Queued(queue.enqueue(by, request.mode)),
            false => Acquired::Busy,
        }
    }

    /// Weakens the lock of `by` to the modes `to`, or gives it up, and hands the table over.
    /// Without effect if there is no lock.
    pub(crate) fn weaken(&self, number: u32, by: TransactionId, to: TableLockModes) {
        let mut queues = self.queues();
        let Some((_, queue)) = queues.all.get_mut(&number) else {
            return;
        };
        queue.weaken(by, to);
        let wakers = queues.settle(number);
        drop(queues);
        wake(wakers);
    }

    pub(super) fn leave(&self, number: u32, ticket: &Ticket) -> (bool, Vec<Waker>) {
        let mut queues = self.queues();
        let queue = queues.all.get_mut(&number);
        if !queue.is_some_and(|(_, queue)| queue.leave(ticket)) {
            return (false, Vec::new());
        }
        (true, queues.settle(number))
    }

    /// Latches all tables: several looks and changes are one to other transactions.
    pub(super) fn latch(&self) -> LatchedTables<'_> {
        LatchedTables(self.queues())
    }

    pub(super) fn set_waker(&self, number: u32, ticket: &Ticket, waker: &Waker) -> bool {
        let mut queues = self.queues();
        let queue = queues.all.get_mut(&number);
        queue.is_some_and(|(_, queue)| queue.set_waker(ticket, waker))
    }

    pub(super) fn cancel(&self, number: u32, by: TransactionId) -> Vec<Waker> {
        let mut queues = self.queues();
        let mut wakers = Vec::new();
        if let Some((_, queue)) = queues.all.get_mut(&number) {
            wakers = queue.cancel(by);
            wakers.extend(queues.settle(number));
        }
        wakers
    }

    /// Returns the number of tables that have queues.
    #[cfg(all(test, loom))]
    pub(super) fn len(&self) -> usize {
        self.queues().all.len()
    }
}

/// All tables under one latch: no lock of a table is granted or released meanwhile, except by this.
pub(super) struct LatchedTables<'t>(MutexGuard<'t, Queues>);

impl LatchedTables<'_> {
    /// Puts the waiter `mover` before the waiter `passed` of the same table. Returns `None` if
    /// `mover` does not stand behind `passed`.
    pub(super) fn let_pass(
        &mut self,
        number: u32,
        mover: TransactionId,
        passed: TransactionId,
    ) -> Option<Pass> {
        let (_, queue) = self.0.all.get_mut(&number)?;
        queue.let_pass(mover, passed)
    }

    /// Takes back the latest pass at a table.
    pub(super) fn take_back(&mut self, number: u32, pass: Pass) {
        if let Some((_, queue)) = self.0.all.get_mut(&number) {
            queue.take_back(pass);
        }
    }

    /// Grants the locks that can be granted after waiters were let pass. Returns the wakers to
    /// call.
    pub(super) fn hand_over(&mut self, number: u32) -> Vec<Waker> {
        self.0.settle(number)
    }

    /// Returns the holders and waiters of a table, for a search.
    pub(super) fn view(&self, number: u32) -> View {
        let queue = self.0.all.get(&number);
        queue.map(|(_, queue)| queue.view()).unwrap_or_default()
    }
}
