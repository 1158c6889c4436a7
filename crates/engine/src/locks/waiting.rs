//! Waiting for a turn at a record or a table.
//!
//! An event wait ([`Wait::Lock`]), without a pin: afterwards the operation begins again from the
//! key. The wait ends when the lock is handed over, when the record is gone, when the transaction
//! is over (a sibling under the same `join` was aborted), or when its time is up.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use interleave::{Sleep, Wait, note_wait, sleep};

use super::{Gate, Place, Strength, TableLockMode, Ticket, record::Answer};
use crate::{
    error::Error, session::Generation, timestamp::TransactionId, transaction::Transaction,
};

/// Lock that is waited for.
pub(crate) enum Wanted {
    Record(Strength),
    Table(Arc<Gate>, TableLockMode),
}

/// Place in the queue of a record or a table. Dropping it gives up the place, or the lock if the
/// lock was handed over and the operation has not been told yet.
pub(crate) struct Waiting<'t> {
    transaction: &'t Transaction,
    by: TransactionId,
    began: Generation,
    place: Place,
    wanted: Wanted,
    ticket: Arc<Ticket>,
    /// The waker in the queue.
    waker: Option<Waker>,
    limit: Limit,
    is_over: bool,
}

/// Limit of the length of a wait.
enum Limit {
    None,
    /// Not polled yet: outside a worker there are no timers, and the timer ends at once.
    Fresh(Sleep),
    Running(Sleep),
}

/// Outcome of a wait, when the transaction can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The lock is held.
    Granted(Place),
    /// The record is gone.
    Dissolved,
}

impl<'t> Waiting<'t> {
    pub(crate) fn new(
        transaction: &'t Transaction,
        place: Place,
        wanted: Wanted,
        ticket: Arc<Ticket>,
    ) -> Box<Waiting<'t>> {
        transaction.note_wait(1);
        let limit = match transaction.lock_timeout() {
            None => Limit::None,
            Some(duration) => Limit::Fresh(sleep(duration)),
        };
        Box::new(Waiting {
            by: transaction.name(),
            began: transaction.session().waits.begin(),
            transaction,
            place,
            wanted,
            ticket,
            waker: None,
            limit,
            is_over: false,
        })
    }

    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        match std::mem::replace(&mut self.limit, Limit::None) {
            Limit::None => false,
            Limit::Fresh(mut sleep) => {
                if Pin::new(&mut sleep).poll(context).is_pending() {
                    self.limit = Limit::Running(sleep);
                }
                false
            }
            Limit::Running(mut sleep) => {
                let is_late = Pin::new(&mut sleep).poll(context).is_ready();
                self.limit = Limit::Running(sleep);
                is_late
            }
        }
    }

    /// Releases a lock that was handed over, but of which its operation had not heard when it ended.
    fn release_unheard(&self) {
        match &self.wanted {
            Wanted::Record(_) => self.transaction.release_unheard(self.place),
            Wanted::Table(gate, _) => self.transaction.release_unheard_table(gate),
        }
    }

    /// Leaves the queue, or takes the answer.
    fn end(&mut self) -> Answer {
        let session = self.transaction.session();
        let locks = &session.database.locks;
        self.is_over = true;
        session.waits.end(self.began);
        self.transaction.note_wait(-1);
        locks.withdraw(self.place, self.by, &self.ticket);
        self.ticket.answer()
    }
}

impl Future for Waiting<'_> {
    type Output = Result<Waited, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let transaction = this.transaction;
        if this.ticket.answer() == Answer::Waiting {
            let is_known = |known: &Waker| known.will_wake(context.waker());
            if !this.waker.as_ref().is_some_and(is_known) {
                let locks = &transaction.session().database.locks;
                if locks.set_waker(this.place, &this.ticket, context.waker()) {
                    this.waker = Some(context.waker().clone());
                } else {
                    // Tickets leave a queue answered: without the waker there, this poll is the last.
                    debug_assert_ne!(this.ticket.answer(), Answer::Waiting, "no lost wake");
                }
            }
        }
        let is_late = this.is_late(context);
        if this.ticket.answer() == Answer::Waiting && !is_late {
            note_wait(Wait::Lock);
            return Poll::Pending;
        }
        let answer = this.end();
        Poll::Ready(match transaction.check_open() {
            Err(over) => {
                if answer == Answer::Granted {
                    this.release_unheard();
                }
                Err(over)
            }
            Ok(()) => match answer {
                Answer::Granted => {
                    match &this.wanted {
                        Wanted::Record(strength) => {
                            transaction.note_lock(this.place, *strength, false);
                        }
                        Wanted::Table(gate, mode) => transaction.note_table_lock(gate, *mode),
                    }
                    Ok(Waited::Granted(this.place))
                }
                Answer::Dissolved => Ok(Waited::Dissolved),
                Answer::Waiting => Err(transaction.timed_out()),
            },
        })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over && self.end() == Answer::Granted {
            self.release_unheard();
        }
    }
}
