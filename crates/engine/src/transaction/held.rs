//! The locks that a transaction has, and their release at its end.
//!
//! Locks are in a list, in the order in which they were taken; a savepoint is a mark in that list.
//! A record that the transaction has merely written is not in the list, even if another transaction
//! waits for it and has entered it into the lock table on the writer's behalf: that lock comes and
//! goes with the write (`locks.rs`).

use std::{ops::Range, time::Duration};

use super::Transaction;
use crate::{
    error::{Abort, Error},
    indirection::Slot,
    locks::{OnConflict, Place, Strength, Waited},
    session::{Lost, State},
    table::Table,
    timestamp::{Begin, TransactionId},
};

impl Transaction {
    /// Returns the behaviour of a write that meets another open transaction's write or lock.
    pub fn on_conflict(&self) -> OnConflict {
        self.context.conduct.get().on_conflict
    }

    /// Sets the behaviour of a write that meets another open transaction's write or lock. Default:
    /// the write aborts.
    pub fn set_on_conflict(&self, on_conflict: OnConflict) {
        let mut conduct = self.context.conduct.get();
        conduct.on_conflict = on_conflict;
        self.context.conduct.set(conduct);
    }

    /// Returns the longest wait of an operation for another transaction's end. `None`: unlimited.
    pub fn lock_timeout(&self) -> Option<Duration> {
        self.context.conduct.get().lock_timeout
    }

    /// Sets the longest wait of an operation for another transaction's end; then the operation
    /// fails with [`Error::LockTimeout`]. Outside a worker there are no timers, and the operation
    /// waits on.
    pub fn set_lock_timeout(&self, lock_timeout: Option<Duration>) {
        let mut conduct = self.context.conduct.get();
        conduct.lock_timeout = lock_timeout;
        self.context.conduct.set(conduct);
    }

    /// Declares that the transaction will be run again if it is aborted ([`Transaction::restart`]).
    /// If the transaction waits for others, and is aborted because another transaction has changed
    /// a record, it then keeps its lock on that record until the restart.
    pub fn will_be_restarted(&self) {
        let mut conduct = self.context.conduct.get();
        conduct.is_restarted = true;
        self.context.conduct.set(conduct);
    }

    /// Declares that the owner calls [`Transaction::undo_aborted_in_turns`], or ends the
    /// transaction, as soon as an operation has reported that the transaction is aborted, and waits
    /// for nothing else before. The abort of a large transaction then undoes nothing by itself,
    /// which would hold the worker.
    pub fn will_be_undone_in_turns(&self) {
        let mut conduct = self.context.conduct.get();
        conduct.is_undone_in_turns = true;
        self.context.conduct.set(conduct);
    }

    /// Returns the name of a transaction that has locks or waits for some.
    pub(crate) fn name(&self) -> TransactionId {
        self.context
            .id
            .get()
            .expect("a transaction that wants a lock has a name")
    }

    /// Whether no other transaction can be waiting for this one.
    pub(super) fn is_nobodys_concern(&self) -> bool {
        self.context.writes.borrow().is_empty()
            && self.context.locks.borrow().is_empty()
            && self.context.table_locks.borrow().is_empty()
            && self.context.waits.get() == 0
    }

    /// Adds `change` to the number of waits.
    pub(crate) fn note_wait(&self, change: i32) {
        let waits = &self.context.waits;
        waits.set(waits.get().saturating_add_signed(change));
        if change > 0 {
            self.session.counters.update(|stats| stats.lock_waits += 1);
        }
    }

    /// Counts a wait that took too long, and returns its error.
    pub(crate) fn timed_out(&self) -> Error {
        self.session
            .counters
            .update(|stats| stats.lock_timeouts += 1);
        Error::LockTimeout
    }

    fn held(&self, place: Place) -> Option<Strength> {
        self.context.locks.borrow().strength(place)
    }

    /// Enters a lock that the transaction has acquired; `is_new` if it had none there, not even by
    /// a write.
    pub(crate) fn note_lock(&self, place: Place, strength: Strength, is_new: bool) {
        let will_grow = {
            let mut locks = self.context.locks.borrow_mut();
            locks.push(place, strength, is_new);
            locks.will_grow()
        };
        if will_grow {
            self.session.account.charge(&self.context);
        }
    }

    /// Whether the transaction has locked a record at least at `strength`, apart from its write
    /// there.
    pub(super) fn has_locked_record(&self, slot: *const Slot, strength: Strength) -> bool {
        let is_without = self.context.locks.borrow().is_empty();
        !is_without && self.held(Place::of(slot)) >= Some(strength)
    }

    /// Returns the strength at which the transaction's own write locks a record.
    fn strength_of_write(&self, place: Place) -> Option<Strength> {
        let Place::Record(slot) = place else {
            return None;
        };
        let _pin = self.session.memory.pin();
        // SAFETY: slots never move, and the anchor of the transaction keeps those of a table that
        // it has written or locked.
        let head = unsafe { &*slot }.version()?;
        let is_own = head.begin() == Begin::InProgress(self.name());
        is_own.then(|| head.strength())
    }

    /// Weakens the lock on a record to the strength that the transaction still needs: `to`, or that
    /// of its write.
    fn weaken(&self, place: Place, to: Option<Strength>) {
        let to = to.max(self.strength_of_write(place));
        let locks = &self.session.database.locks;
        locks.release(place, self.name(), to);
    }

    /// Releases a lock that was handed over, but of which its operation had not heard when it ended.
    pub(crate) fn release_unheard(&self, place: Place) {
        self.weaken(place, self.held(place));
    }

    /// Releases a lock that an operation has waited for and does not need.
    pub(super) fn give_up(&self, handed: Waited) {
        let Waited::Granted(place) = handed else {
            return;
        };
        let given_up = self.context.locks.borrow_mut().give_up(place);
        if let Some(held) = given_up {
            self.weaken(place, held.before);
        }
    }

    /// Lets waiting transactions go on, now that a record is written less strongly.
    pub(super) fn weaken_written(&self, slot: *const Slot) {
        let place = Place::of(slot);
        self.weaken(place, self.held(place));
    }

    /// Hands over a record whose write by the transaction was undone or has ended.
    pub(super) fn release_written(&self, slot: *const Slot) {
        let place = Place::of(slot);
        // A lock may have been given up while the write, stronger than the remaining lock, stood.
        self.weaken(place, self.held(place));
    }

    /// Hands over records that the transaction has written, after its commit.
    #[cold]
    pub(super) fn release_written_in(&self, writes: Range<usize>) {
        for write in self.context.writes.borrow().range(writes) {
            // SAFETY: slots never move, and the anchor of the transaction keeps those of a table that
            // it has written or locked.
            if unsafe { &*write.slot }.is_marked() {
                self.release_written(write.slot);
            }
        }
    }

    /// Forgets the locks on a record that is gone.
    pub(super) fn forget_lock(&self, slot: *const Slot) {
        self.context.locks.borrow_mut().forget(Place::of(slot));
    }

    /// Releases the locks from the place `from` in the list on.
    pub(super) fn release_locks(&self, from: usize) {
        while self.release_newest_lock(from) {}
    }

    /// Releases at most `locks_max` of the newest locks, from the place `from` in the list on.
    /// Returns whether there may be more.
    pub(super) fn release_some_locks(&self, from: usize, locks_max: usize) -> bool {
        (0..locks_max).all(|_| self.release_newest_lock(from))
    }

    fn release_newest_lock(&self, from: usize) -> bool {
        let mut locks = self.context.locks.borrow_mut();
        if locks.len() <= from {
            return false;
        }
        let newest = locks.pop();
        drop(locks);
        if let Some(held) = newest
            && let Some(place) = held.place
        {
            self.weaken(place, held.before);
        }
        true
    }

    /// Releases all locks, at the end, except for the lock that a retry is to inherit.
    #[inline]
    pub(super) fn end_locks(&self) {
        if !self.context.table_locks.borrow().is_empty() {
            self.release_table_locks(0);
        }
        if !self.is_without_locks() {
            self.end_locks_slowly();
        }
    }

    #[inline(always)]
    pub(super) fn is_without_locks(&self) -> bool {
        self.context.locks.borrow().is_empty() && self.context.waits.get() == 0
    }

    #[cold]
    fn end_locks_slowly(&self) {
        let table = &self.session.database.locks;
        let name = self.name();
        if self.context.waits.get() > 0 {
            table.cancel(name);
        }
        let lost = self.context.lost.borrow();
        let lost = lost.as_ref().map(|lost| lost.place);
        let ended = std::mem::take(&mut *self.context.locks.borrow_mut());
        let mut kept = None;
        for (place, held) in ended.newest_first() {
            if Some(place) == lost {
                kept = kept.max(Some(held.strength));
            } else {
                table.release(place, name, None);
            }
        }
        if let (Some(place), Some(strength)) = (lost, kept) {
            self.context.locks.borrow_mut().push(place, strength, true);
        }
    }

    /// Releases every lock that a retry could have inherited.
    pub(super) fn disinherit(&self) {
        self.context.lost.take();
        self.end_locks();
    }

    /// Remembers the record for which the transaction is about to be aborted, if the transaction is
    /// to be run again and waits for others: the retry begins with the lock on that record.
    #[cold]
    pub(super) fn note_lost(&self, table: &Table, slot: &Slot, key: &[u8]) {
        let conduct = self.context.conduct.get();
        let is_open = self.context.state.get() == State::Open;
        if is_open && conduct.is_restarted && conduct.on_conflict == OnConflict::Wait {
            *self.context.lost.borrow_mut() = Some(Lost {
                place: Place::of(slot),
                table: table.number(),
                key: key.into(),
            });
        }
    }

    /// Counts an abort by its reason.
    pub(super) fn count_abort(&self, abort: Abort) {
        self.session.counters.update(|stats| match abort {
            Abort::WriteConflict => stats.aborts_write_conflict += 1,
            Abort::SnapshotTooOld => stats.aborts_snapshot_too_old += 1,
            Abort::TableDropped => stats.aborts_table_dropped += 1,
            Abort::Deadlock => stats.aborts_deadlock += 1,
            Abort::NotSerializable => stats.aborts_not_serializable += 1,
            Abort::Phantom => stats.aborts_phantom += 1,
            Abort::OutOfRoom => stats.aborts_out_of_room += 1,
            Abort::ReadRefused => stats.aborts_read_refused += 1,
            Abort::TooMuchRead => stats.aborts_too_much_read += 1,
        });
    }
}
