//! The locks that a transaction has, and what it does with them at its end.
//!
//! Locks are in a list, in the order in which they were taken, so that a savepoint is a
//! mark in it. A record that the transaction has merely written is not there, even if
//! somebody waits for it and has entered it into the lock table on its behalf: that
//! lock comes and goes with the write (`locks.rs`).

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
    /// What a write does that meets another open transaction's.
    pub fn on_conflict(&self) -> OnConflict {
        self.context.conduct.get().on_conflict
    }

    /// Changes what a write does that meets another open transaction's. To abort, if
    /// it was not changed.
    pub fn set_on_conflict(&self, on_conflict: OnConflict) {
        let mut conduct = self.context.conduct.get();
        conduct.on_conflict = on_conflict;
        self.context.conduct.set(conduct);
    }

    /// How long an operation waits at most for another transaction's end. `None`:
    /// as long as it takes.
    pub fn lock_timeout(&self) -> Option<Duration> {
        self.context.conduct.get().lock_timeout
    }

    /// Changes how long an operation waits at most for another transaction's end;
    /// then it says [`Error::LockTimeout`]. Outside a worker there are no timers, and
    /// it waits on.
    pub fn set_lock_timeout(&self, lock_timeout: Option<Duration>) {
        let mut conduct = self.context.conduct.get();
        conduct.lock_timeout = lock_timeout;
        self.context.conduct.set(conduct);
    }

    /// Says that the transaction will be run again if it is aborted
    /// ([`Transaction::restart`]). If it waits for others, and is aborted because one
    /// of them has changed a record, it then keeps its lock there meanwhile.
    pub fn will_be_restarted(&self) {
        let mut conduct = self.context.conduct.get();
        conduct.is_restarted = true;
        self.context.conduct.set(conduct);
    }

    /// Says that its owner calls [`Transaction::undo_aborted_in_turns`], or ends it, as soon as an operation
    /// has said that the transaction is aborted, and waits for nothing else before: then an abort of a large
    /// one takes nothing back by itself, which would hold the worker.
    pub fn will_be_undone_in_turns(&self) {
        let mut conduct = self.context.conduct.get();
        conduct.is_undone_in_turns = true;
        self.context.conduct.set(conduct);
    }

    /// The name, of a transaction that has locks or wants some.
    pub(crate) fn name(&self) -> TransactionId {
        self.context.id.get().expect("who wants a lock has a name")
    }

    /// Whether no other transaction can be waiting for this one.
    pub(super) fn is_nobodys_concern(&self) -> bool {
        self.context.writes.borrow().is_empty()
            && self.context.locks.borrow().is_empty()
            && self.context.table_locks.borrow().is_empty()
            && self.context.waits.get() == 0
    }

    /// Counts waits in and out.
    pub(crate) fn note_wait(&self, change: i32) {
        let waits = &self.context.waits;
        waits.set(waits.get().saturating_add_signed(change));
        if change > 0 {
            self.session.counters.update(|stats| stats.lock_waits += 1);
        }
    }

    /// Counts a wait that took too long.
    pub(crate) fn timed_out(&self) -> Error {
        self.session
            .counters
            .update(|stats| stats.lock_timeouts += 1);
        Error::LockTimeout
    }

    fn held(&self, place: Place) -> Option<Strength> {
        self.context.locks.borrow().strength(place)
    }

    /// Enters a lock that the transaction has got; `is_new` if it had none there, be it by a write.
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

    /// Whether the transaction has locked a record so strongly, apart from what it has written there.
    pub(super) fn has_locked_record(&self, slot: *const Slot, strength: Strength) -> bool {
        let is_without = self.context.locks.borrow().is_empty();
        !is_without && self.held(Place::of(slot)) >= Some(strength)
    }

    /// How strongly the transaction locks a record by what it has written there.
    fn strength_of_write(&self, place: Place) -> Option<Strength> {
        let Place::Record(slot) = place else {
            return None;
        };
        let _pin = self.session.memory.pin();
        // SAFETY: tables live as long as the database, and their slots never move.
        let head = unsafe { &*slot }.version()?;
        let is_own = head.begin() == Begin::InProgress(self.name());
        is_own.then(|| head.strength())
    }

    /// Weakens the lock on a record to what the transaction still needs: one that it has otherwise,
    /// or that of its write.
    fn weaken(&self, place: Place, to: Option<Strength>) {
        let to = to.max(self.strength_of_write(place));
        let locks = &self.session.database.locks;
        locks.release(place, self.name(), to);
    }

    /// Gives a lock up that was handed over to nobody's knowledge.
    pub(crate) fn release_unheard(&self, place: Place) {
        self.weaken(place, self.held(place));
    }

    /// Gives a lock up that an operation has waited for, and does not need.
    pub(super) fn give_up(&self, handed: Waited) {
        let Waited::Granted(place) = handed else {
            return;
        };
        let given_up = self.context.locks.borrow_mut().give_up(place);
        if let Some(held) = given_up {
            self.weaken(place, held.before);
        }
    }

    /// Has others go on who can, now that a record is written less strongly.
    pub(super) fn weaken_written(&self, slot: *const Slot) {
        let place = Place::of(slot);
        self.weaken(place, self.held(place));
    }

    /// Hands over a record that the transaction had written and has not any more.
    pub(super) fn release_written(&self, slot: *const Slot) {
        let place = Place::of(slot);
        // A lock may have been given up while the write stood, which was stronger than what is left.
        self.weaken(place, self.held(place));
    }

    /// Hands over records that the transaction has written, after its commit.
    #[cold]
    pub(super) fn release_written_in(&self, writes: Range<usize>) {
        for write in self.context.writes.borrow().range(writes) {
            // SAFETY: tables live as long as the database, and their slots never move.
            if unsafe { &*write.slot }.is_marked() {
                self.release_written(write.slot);
            }
        }
    }

    /// Forgets the locks on a record that is gone.
    pub(super) fn forget_lock(&self, slot: *const Slot) {
        self.context.locks.borrow_mut().forget(Place::of(slot));
    }

    /// Gives up the locks from the given place in the list on.
    pub(super) fn release_locks(&self, from: usize) {
        while self.release_newest_lock(from) {}
    }

    /// Gives up so many of the newest locks, at most, from the given place in the list on. Whether there are
    /// more.
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

    /// Gives up all locks, at the end; but for the one that a retry is to inherit.
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

    /// Gives up everything that a retry could have inherited.
    pub(super) fn disinherit(&self) {
        self.context.lost.take();
        self.end_locks();
    }

    /// Remembers the record that the transaction is about to be aborted for, if it is
    /// to be run again and waits for others: the retry begins with its lock.
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

    /// Counts an abort.
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
