//! The ends of large transactions, in turns with other tasks: what is taken back, and the memory
//! of what is noted. (Their commit: `commit/turns.rs`.)
//!
//! What is taken back write by write, newest first, is taken back by an open transaction, as if by
//! returns to ever earlier savepoints: others meet uncommitted versions before and after, and wait
//! for the end as for any other.

use interleave::{turn_is_over, yield_now};

use super::{Savepoint, Transaction};
use crate::{error::Error, session::State};

/// Writes between two looks whether a turn is over.
pub(super) const WRITES_PER_LOOK: usize = 256;

/// Lets others go on, if this task has had its turn.
pub(super) async fn give_way() {
    if turn_is_over() {
        yield_now().await;
    }
}

impl Transaction {
    /// As [`Transaction::rollback`], in turns with other tasks if it has written much.
    ///
    /// # Suspension
    /// Yields.
    ///
    /// # Cancellation
    /// The rest is taken back at once.
    pub async fn rollback_in_turns(self) {
        if self.context.state.get() == State::Open {
            self.take_back_in_turns(0, 0).await;
        }
    }

    /// As [`Transaction::rollback_to`], in turns with other tasks if much was written.
    ///
    /// # Errors
    /// As for [`Transaction::rollback_to`].
    ///
    /// # Suspension
    /// Yields.
    ///
    /// # Cancellation
    /// The rest is undone at once.
    pub async fn rollback_to_in_turns(&self, savepoint: &Savepoint) -> Result<(), Error> {
        let lengths = self.savepoint_lengths(savepoint)?;
        if !self.has_saved_nothing_since(savepoint) {
            return self.rollback_to(savepoint);
        }
        let returning = Returning::begin(self, savepoint);
        self.take_back_in_turns(lengths.writes, lengths.effects)
            .await;
        returning.end()
    }

    /// Takes back most of what was written from a place in the list on. All of it is for who
    /// undoes the rest if there are effects from the given one on, since they come first, or if it is
    /// to be noted what the writes have told.
    async fn take_back_in_turns(&self, writes: usize, effects: usize) {
        let has_effects = self.context.effects.borrow().len() > effects;
        if has_effects || self.context.dependencies.is_for_certification() {
            return;
        }
        while self.write_count() > writes + WRITES_PER_LOOK {
            self.take_writes_back(self.write_count() - WRITES_PER_LOOK);
            give_way().await;
        }
    }

    /// Forgets what it has written, and gives back most of that memory.
    pub(super) async fn forget_in_turns(&self) {
        while self.context.writes.borrow_mut().drop_part() {
            give_way().await;
        }
        while self.context.keys.borrow_mut().drop_part() {
            give_way().await;
        }
    }
}

/// A return to a savepoint under way: nothing else can begin in its transaction. The rest is done
/// when it ends, or is dropped.
struct Returning<'t> {
    transaction: &'t Transaction,
    savepoint: &'t Savepoint,
}

impl<'t> Returning<'t> {
    fn begin(transaction: &'t Transaction, savepoint: &'t Savepoint) -> Returning<'t> {
        transaction.context.state.set(State::Returning);
        Returning {
            transaction,
            savepoint,
        }
    }

    fn end(self) -> Result<(), Error> {
        let (transaction, savepoint) = (self.transaction, self.savepoint);
        std::mem::forget(self);
        transaction.context.state.set(State::Open);
        transaction.rollback_to(savepoint)
    }
}

impl Drop for Returning<'_> {
    fn drop(&mut self) {
        let Returning {
            transaction,
            savepoint,
        } = *self;
        // Whoever gives it up does not ask for errors; the transaction is over then.
        let _ = Returning {
            transaction,
            savepoint,
        }
        .end();
    }
}
