//! The ends of large transactions, in turns with other tasks: undoing writes, and freeing the
//! memory of lists. (Their commit: `commit/turns.rs`.)
//!
//! Writes are undone one by one, newest first, by an open transaction, as if by returns to ever
//! earlier savepoints: other transactions meet uncommitted versions before and after, and wait for
//! the end as for any other.
//!
//! # Effects on the catalog
//! Operations on the catalog write its records and note effects. The effects are undone before
//! those records: as long as the records stand, no other transaction changes the objects. Writes
//! behind the last operation on the catalog (entries of a new index, rows of a new table) are not
//! among those records, and are undone first, in turns: a return to a savepoint made just behind
//! that operation would do the same.
//!
//! # Aborts
//! A transaction that is aborted for a conflict undoes its writes at once, unless there are many
//! and its owner has promised to undo them ([`Transaction::will_be_undone_in_turns`]): then the
//! transaction is *doomed* ([`State::Doomed`]). Its operations report that it is aborted, and no
//! operation can begin in it any more; to other transactions it looks open until its owner rolls it
//! back in turns, or drops it. No transaction waits for ever: no operation of a doomed transaction
//! waits for a lock (else the transaction is not doomed, but undone at once), so its owner, which
//! was told, goes on.

use interleave::{turn_is_over, yield_now};

use super::{Savepoint, Transaction};
use crate::{error::Error, session::State, transaction::commit::AT_ONCE_MAX};

/// Writes between two checks whether a turn is over.
pub(super) const WRITES_PER_LOOK: usize = 256;

/// Yields to other tasks if this task has had its turn.
pub(super) async fn give_way() {
    if turn_is_over() {
        yield_now().await;
    }
}

impl Transaction {
    /// Rolls back, in turns with other tasks if the transaction has many writes or locks.
    ///
    /// # Suspension
    /// Yields.
    ///
    /// # Cancellation
    /// The rest is undone at once.
    pub async fn rollback_in_turns(self) {
        match self.context.state.get() {
            State::Open => self.take_all_back_in_turns().await,
            _ => self.undo_aborted_in_turns().await,
        }
    }

    /// Undoes the writes of a transaction that was aborted ([`Error::Abort`]): a large transaction
    /// keeps its writes and locks until this is called, or until it is dropped or rolled back.
    ///
    /// # Suspension
    /// Yields.
    ///
    /// # Cancellation
    /// The rest is left for the next call, or the drop.
    pub async fn undo_aborted_in_turns(&self) {
        if let State::Doomed(abort) = self.context.state.get() {
            self.take_all_back_in_turns().await;
            self.undo(State::Aborted(abort));
        }
    }

    /// Undoes most of the writes, and releases locks. The writes' answers are not noted, since the
    /// transaction will not commit.
    pub(super) async fn take_all_back_in_turns(&self) {
        self.take_back_in_turns(0, 0, 0).await;
        while self.drop_some_saved(WRITES_PER_LOOK) {
            give_way().await;
        }
        self.forget_places_in_turns().await;
    }

    /// Whether an abort leaves the undo to the owner: if there are many writes. Not if sibling
    /// operations wait for other transactions, since the undo ends those waits; nor if the
    /// transaction is to be run again, since a retry begins with the undo.
    pub(super) fn can_be_undone_later(&self) -> bool {
        let conduct = self.context.conduct.get();
        self.write_count() > AT_ONCE_MAX
            && self.context.waits.get() == 0
            && conduct.is_undone_in_turns
            && !conduct.is_restarted
    }

    /// Returns to `savepoint`, in turns with other tasks if there are many writes to undo.
    ///
    /// # Errors
    /// Fails as [`Transaction::rollback_to`] does.
    ///
    /// # Suspension
    /// Yields.
    ///
    /// # Cancellation
    /// The rest is undone at once.
    pub async fn rollback_to_in_turns(&self, savepoint: &Savepoint) -> Result<(), Error> {
        let lengths = self.savepoint_lengths(savepoint)?;
        // The certifier has to hear of writes before they are undone.
        if !self.has_saved_nothing_since(savepoint) || self.is_certified() {
            return self.rollback_to(savepoint);
        }
        let returning = Returning::begin(self, savepoint);
        self.take_back_in_turns(lengths.writes, lengths.locks, lengths.effects)
            .await;
        while self.cut_moves(lengths.moves, WRITES_PER_LOOK) {
            give_way().await;
        }
        returning.end()
    }

    fn is_certified(&self) -> bool {
        self.context.dependencies.is_for_certification()
    }

    /// Undoes most of the writes and releases the locks from the places `writes` and `locks` in
    /// their lists on. If there are effects on the catalog from the place `effects` on, undoes most
    /// of the writes behind the last operation on the catalog. The rest is left for the undo of the
    /// effects.
    async fn take_back_in_turns(&self, writes: usize, locks: usize, effects: usize) {
        let has_effects = self.context.effects.borrow().len() > effects;
        let from = match has_effects {
            true => writes.max(self.context.writes_at_effects.get()),
            false => writes,
        };
        while self.write_count() > from + WRITES_PER_LOOK {
            self.take_writes_back(self.write_count() - WRITES_PER_LOOK);
            give_way().await;
        }
        while !has_effects && self.release_some_locks(locks, WRITES_PER_LOOK) {
            give_way().await;
        }
    }

    /// Forgets the list of writes, and gives back most of its memory.
    pub(super) async fn forget_in_turns(&self) {
        while self.context.writes.borrow_mut().drop_part() {
            give_way().await;
        }
        while self.context.keys.borrow_mut().drop_part() {
            give_way().await;
        }
        self.forget_places_in_turns().await;
    }

    fn cut_moves(&self, len: usize, events_max: usize) -> bool {
        self.context.moves.borrow_mut().cut(len, events_max)
    }

    fn forget_some_moves(&self, entries_max: usize) -> bool {
        self.context.moves.borrow_mut().forget_some(entries_max)
    }

    /// Gives back the memory of the places of records in the lists, and of the moves of rows.
    pub(super) async fn forget_places_in_turns(&self) {
        while self.forget_some_moves(WRITES_PER_LOOK) {
            give_way().await;
        }
        while self.context.places.borrow_mut().drop_part() {
            give_way().await;
        }
        while self.context.locks.borrow_mut().drop_part() {
            give_way().await;
        }
    }
}

/// Return to a savepoint under way: no other operation can begin in its transaction. The rest is
/// done when it ends, or is dropped.
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
        // A caller that drops the return asks for no error; the transaction is over then.
        let _ = Returning {
            transaction,
            savepoint,
        }
        .end();
    }
}
