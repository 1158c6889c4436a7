//! Savepoints: a transaction undoes its last part and goes on.
//!
//! The versions kept for that are described in `session/savepoints.rs`. A return to a savepoint
//! restores the records that were written before it and again after it, newest first, and then
//! undoes the writes that came after it; neither suspends. Other transactions see nothing of all
//! this: every version that they meet is uncommitted, before and after.
//!
//! Reads since the savepoint stay reads: certification goes on to count them. The answers of writes
//! count as well (an update: there was such a record; an insertion: there was none). Such an answer
//! is noted nowhere as long as the write stands, because no other transaction can change the
//! record; so it is noted for the certification before the write is undone. The snapshot does not
//! move any more.

use index::look_up;
use interleave::{Policy, Sequential, run_inline};

use super::{Transaction, read::INDEX_POINT};
use crate::{
    error::Error,
    session::{Lengths, Saved, State},
    timestamp::TransactionId,
};

/// Point within a transaction to which the transaction can return: see [`Transaction::savepoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    transaction: TransactionId,
    number: u32,
}

impl Transaction {
    /// Makes a savepoint. Savepoints nest: a savepoint lies within all earlier savepoints that are
    /// not released.
    ///
    /// # Errors
    /// [`Error::OperationUnderWay`]; [`Error::MemoryExhausted`] after 2^32 savepoints;
    /// [`Error::Abort`] and [`Error::Ended`] if the transaction is over.
    pub fn savepoint(&self) -> Result<Savepoint, Error> {
        self.check_between_operations()?;
        let lengths = self.list_lengths();
        let number = self.context.savepoints.borrow_mut().make(lengths);
        Ok(Savepoint {
            transaction: self.id(),
            number: number.ok_or(Error::MemoryExhausted)?,
        })
    }

    /// Returns the lengths of the lists that a return to a savepoint cuts.
    pub(super) fn list_lengths(&self) -> Lengths {
        let context = &self.context;
        Lengths {
            writes: context.writes.borrow().len(),
            keys: context.keys.borrow().end(),
            locks: context.locks.borrow().len(),
            table_locks: context.table_locks.borrow().len(),
            effects: context.effects.borrow().len(),
            moves: context.moves.borrow().len(),
        }
    }

    /// Undoes everything that was written since `savepoint` was made, and releases the locks that
    /// were taken since. The savepoint stays, those within it are gone.
    ///
    /// # Errors
    /// [`Error::NoSuchSavepoint`], [`Error::OperationUnderWay`]; [`Error::Abort`] and
    /// [`Error::Ended`] if the transaction is over. The return itself aborts the transaction if
    /// there is no memory to note the answers of the writes.
    pub fn rollback_to(&self, savepoint: &Savepoint) -> Result<(), Error> {
        let number = self.check_savepoint(savepoint)?;
        let mark = self.context.savepoints.borrow_mut().return_to(number);
        let mark = mark.ok_or(Error::NoSuchSavepoint)?;
        let writes = self.context.writes.borrow().len();
        self.note_what_was_told(mark.lengths.writes..writes);
        self.check_open()?;
        self.undo_effects(mark.lengths.effects);
        loop {
            let saved = self.context.savepoints.borrow_mut().saved_after(&mark);
            let Some(saved) = saved else { break };
            self.restore(&saved);
        }
        self.take_writes_back(mark.lengths.writes);
        // The remaining operations on the catalog have written before the savepoint.
        let at_effects = &self.context.writes_at_effects;
        at_effects.set(at_effects.get().min(mark.lengths.writes));
        self.release_locks(mark.lengths.locks);
        self.release_table_locks(mark.lengths.table_locks);
        self.context.keys.borrow_mut().truncate(mark.lengths.keys);
        (self.context.moves.borrow_mut()).truncate(mark.lengths.moves);
        Ok(())
    }

    /// Forgets `savepoint` and those within it; what was written since is kept.
    ///
    /// # Errors
    /// [`Error::NoSuchSavepoint`], [`Error::OperationUnderWay`]; [`Error::Abort`] and
    /// [`Error::Ended`] if the transaction is over.
    pub fn release_savepoint(&self, savepoint: &Savepoint) -> Result<(), Error> {
        let number = self.check_savepoint(savepoint)?;
        let mut savepoints = self.context.savepoints.borrow_mut();
        // A command under way reads the versions that it has replaced.
        let is_released = match self.context.command.is_open() {
            true => savepoints.release_only(number).is_some(),
            false => savepoints.release(number, |version| self.discard(version)),
        };
        match is_released {
            true => Ok(()),
            false => Err(Error::NoSuchSavepoint),
        }
    }

    /// Returns the lengths of the lists when `savepoint` was made.
    ///
    /// # Errors
    /// [`Error::NoSuchSavepoint`], [`Error::OperationUnderWay`]; [`Error::Abort`] and
    /// [`Error::Ended`] if the transaction is over.
    pub(super) fn savepoint_lengths(&self, savepoint: &Savepoint) -> Result<Lengths, Error> {
        let number = self.check_savepoint(savepoint)?;
        let mark = self.context.savepoints.borrow().mark(number);
        mark.map(|mark| mark.lengths).ok_or(Error::NoSuchSavepoint)
    }

    /// Whether no record that had been written before `savepoint` was written again since.
    pub(super) fn has_saved_nothing_since(&self, savepoint: &Savepoint) -> bool {
        let savepoints = self.context.savepoints.borrow();
        let mark = savepoints.mark(savepoint.number);
        mark.is_some_and(|mark| savepoints.has_saved_nothing_after(&mark))
    }

    pub(super) fn check_between_operations(&self) -> Result<(), Error> {
        self.check_open()?;
        if self.context.statements() > 0 {
            return Err(Error::OperationUnderWay);
        }
        Ok(())
    }

    fn check_savepoint(&self, savepoint: &Savepoint) -> Result<u32, Error> {
        self.check_between_operations()?;
        if self.context.id.get() != Some(savepoint.transaction) {
            return Err(Error::NoSuchSavepoint);
        }
        Ok(savepoint.number)
    }

    /// Notes the answers of `writes`, given by their places in the list, before the writes are
    /// undone alone. If the answers are too many to note, the transaction is aborted.
    pub(super) fn note_what_was_told(&self, writes: impl IntoIterator<Item = usize>) {
        self.context.dependencies.settle();
        if !self.context.dependencies.is_for_certification() {
            return;
        }
        for at in writes {
            self.note_told_by(at);
            if self.context.state.get() != State::Open {
                return;
            }
        }
    }

    fn note_told_by(&self, at: usize) {
        let session = &*self.session;
        let pin = session.memory.pin();
        let writes = self.context.writes.borrow();
        let write = &writes[at];
        let old = write.old.map(|(old, _)| old);
        // A tombstone may be collected once it is bare: then only the node tells of the absence.
        if old.is_none_or(|old| old.is_tombstone())
            && let Some(table) = session.database.table_by_number(write.table)
        {
            let keys = self.context.keys.borrow();
            let key = write.key(&keys);
            let mut lookup = table.index.lookup(&pin, key);
            run_inline(async { look_up!(Sequential, INDEX_POINT, lookup) });
            // The node is noted with the own key in it: taking the key out is an own change.
            self.note_absence(&table, key, lookup.found_in());
        }
        let slot = write.slot;
        drop(writes);
        if let Some(old) = old {
            // SAFETY: slots never move, and the anchor of the transaction keeps those of a table that
            // it has written or locked.
            self.note(unsafe { &*slot }, Some(old));
        }
    }

    /// Restores the version that a record had at a savepoint, or before an operation.
    pub(super) fn restore(&self, saved: &Saved) {
        let mut writes = self.context.writes.borrow_mut();
        let write = &mut writes[saved.write];
        // SAFETY: slots never move, and the anchor of the transaction keeps those of a table that
        // it has written or locked.
        let slot = unsafe { &*write.slot };
        let is_marked = slot.replace_own(write.version, saved.version);
        self.context.command.restored(slot, saved.version);
        let undone = std::mem::replace(&mut write.version, saved.version);
        write.key = saved.key;
        write.savepoint = saved.savepoint;
        let is_weaker = saved.version.strength() < undone.strength();
        self.discard(undone);
        if is_marked && is_weaker {
            self.weaken_written(slot);
        }
    }
}
