//! Locks on whole tables: `lock table ...`, and the locks that statements and DDL take in passing.
//!
//! The engine takes no such lock of its own accord, except for the creation of an index within a
//! transaction: the locks are a convention of their users, and exclude only each other. The first
//! weak lock of a table in a transaction costs two exchanges on a line of the worker's own, one
//! when it is taken and one at the end; the next costs a look at a short list.
//!
//! A transaction's locks are in a list, in the order in which they were taken; a savepoint is a
//! mark in that list.

use std::sync::Arc;

use super::Transaction;
use crate::{
    error::{Abort, Error},
    locks::{
        Acquired, Gate, IfLocked, Place, TableLockMode, TableLockModes, TableRequest, Taken,
        Waiting, Wanted, WeakLocks,
    },
    table::Table,
};

/// Lock that a transaction has taken on a table.
#[derive(Debug)]
pub(crate) struct HeldTable {
    gate: Arc<Gate>,
    /// Modes that the transaction had before this lock was taken; `now` are those that it has
    /// since.
    before: TableLockModes,
    now: TableLockModes,
}

impl Table {
    /// Whether a transaction has or wants a lock on the table that is not weak
    /// ([`TableLockMode::Share`] or stronger, or [`TableLockMode::ShareUpdateExclusive`]). While no
    /// transaction does, and the definition of the table is still in force, a reader can read the
    /// table in a single statement without a lock.
    #[inline(always)]
    pub fn is_guarded(&self) -> bool {
        self.gate.is_closed()
    }
}

impl Transaction {
    /// Locks `table` until the end of the transaction, or until its return to an earlier savepoint.
    /// The storages of a truncated table share one lock.
    ///
    /// # Errors
    /// [`Error::Locked`] if the lock is held and `if_locked` forbids a wait ([`IfLocked::Fail`] and
    /// [`IfLocked::Skip`] are the same here); [`Error::LockTimeout`], [`Error::ForeignTable`],
    /// [`Error::MemoryExhausted`], after which the transaction can go on. [`Abort::Deadlock`].
    ///
    /// # Suspension
    /// With [`IfLocked::Wait`], an event wait for other transactions.
    ///
    /// # Cancellation
    /// Dropping the future leaves the queue.
    pub async fn lock_table(
        &self,
        table: &Table,
        mode: TableLockMode,
        if_locked: IfLocked,
    ) -> Result<(), Error> {
        self.check_open()?;
        if !table.is_in(&self.session.database.arena) {
            return Err(Error::ForeignTable);
        }
        let gate = &table.gate;
        let mut closes = false;
        while !self.has_locked(gate, mode) {
            if mode.is_weak() && !closes && self.take_weak(gate, mode) == Taken::Held {
                self.note_table_lock(gate, mode);
                break;
            }
            let request = TableRequest {
                gate,
                by: self.id(),
                mode,
                is_free: self.is_nobodys_concern(),
                closes,
            };
            let locks = &self.session.database.locks;
            match locks.acquire_table(&request, if_locked == IfLocked::Wait) {
                Acquired::Held(_) => self.note_table_lock(gate, mode),
                // The gate has opened; or it never was closed, and no entry was left.
                Acquired::Changed => closes = !self.entries().has_room(),
                Acquired::Busy => return Err(Error::Locked),
                Acquired::Queued(ticket) => {
                    let place = Place::Table(gate.number());
                    let wanted = Wanted::Table(gate.clone(), mode);
                    Waiting::new(self, place, wanted, ticket).await?;
                }
                Acquired::Deadlock => return Err(self.doom(Abort::Deadlock)),
                Acquired::Exhausted => return Err(Error::MemoryExhausted),
            }
        }
        Ok(())
    }

    /// Whether this transaction has a lock of this `mode` on `table`.
    pub fn has_table_lock(&self, table: &Table, mode: TableLockMode) -> bool {
        self.has_locked(&table.gate, mode)
    }

    fn entries(&self) -> &WeakLocks {
        let tables = &self.session.database.locks.tables;
        let session = tables.entries(self.session.number);
        session.get(self.context.number.into())
    }

    #[inline]
    fn take_weak(&self, gate: &Gate, mode: TableLockMode) -> Taken {
        let modes = self.table_modes(gate.number()).with(mode);
        self.entries().take(self.id(), gate, modes)
    }

    #[inline]
    fn has_locked(&self, gate: &Gate, mode: TableLockMode) -> bool {
        self.table_modes(gate.number()).has(mode)
    }

    /// Returns the modes in which the transaction has locked the table `number`.
    #[inline]
    fn table_modes(&self, number: u32) -> TableLockModes {
        let locks = self.context.table_locks.borrow();
        let own = locks.iter().rev().find(|held| held.gate.number() == number);
        own.map_or(TableLockModes::NONE, |held| held.now)
    }

    /// Enters a lock that the transaction has acquired.
    pub(crate) fn note_table_lock(&self, gate: &Arc<Gate>, mode: TableLockMode) {
        let before = self.table_modes(gate.number());
        self.context.table_locks.borrow_mut().push(HeldTable {
            gate: gate.clone(),
            before,
            now: before.with(mode),
        });
    }

    /// Releases a lock that was handed over, but of which its operation had not heard when it ended.
    pub(crate) fn release_unheard_table(&self, gate: &Gate) {
        let number = gate.number();
        let tables = &self.session.database.locks.tables;
        tables.weaken(number, self.name(), self.table_modes(number));
    }

    /// Releases the locks from the place `from` in the list on.
    pub(super) fn release_table_locks(&self, from: usize) {
        loop {
            let mut locks = self.context.table_locks.borrow_mut();
            let newest = match locks.len() > from {
                true => locks.pop(),
                false => None,
            };
            drop(locks);
            let Some(held) = newest else { return };
            let (number, entries) = (held.gate.number(), self.entries());
            if !entries.weaken(number, held.before) {
                let tables = &self.session.database.locks.tables;
                tables.weaken(number, self.name(), held.before);
                if held.before.is_empty() {
                    entries.forget(number);
                }
            }
        }
    }
}
