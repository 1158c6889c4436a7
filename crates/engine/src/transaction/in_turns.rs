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
/// Bytes of a list that are given back at a time.
const BYTES_PER_LOOK: usize = 1 << 20;

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
        struct Rest<'t>(&'t Transaction, &'t Savepoint);
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                // Whoever is here has been told of errors, or does not want to be told.
                let _ = self.0.rollback_to(self.1);
            }
        }
        let lengths = self.savepoint_lengths(savepoint)?;
        let rest = Rest(self, savepoint);
        if self.has_saved_nothing_since(savepoint) {
            self.take_back_in_turns(lengths.writes, lengths.effects)
                .await;
        }
        std::mem::forget(rest);
        self.rollback_to(savepoint)
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

    /// Gives back most of the memory of lists that are not needed any more.
    pub(super) async fn forget_in_turns(&self) {
        self.context.writes.borrow_mut().clear();
        self.context.keys.borrow_mut().clear();
        while shrink(&mut self.context.writes.borrow_mut())
            || shrink(&mut self.context.keys.borrow_mut())
        {
            give_way().await;
        }
    }
}

/// Gives back a part of the memory of an empty list, if it is large; whether it was.
fn shrink<T>(list: &mut Vec<T>) -> bool {
    let part = BYTES_PER_LOOK / size_of::<T>();
    let is_large = list.capacity() > part;
    if is_large {
        list.shrink_to(list.capacity() - part);
    }
    is_large
}
