//! Explicit row locks: `select ... for update` and its relatives.

use std::ops::{Bound, ControlFlow};

use index::{Direction, look_up};
use interleave::{Point, Policy, leaf};

use super::{
    Statement, Transaction,
    conflict::{Seized, Standing, let_others_go},
    read::INDEX_POINT,
    visibility::Sight,
};
use crate::{
    error::Error,
    indirection::{Rid, Slot},
    locks::{IfLocked, Strength, Waiting},
    table::Table,
    timestamp::Begin,
};

/// Records that a locking scan looks for at a time, before it locks them one by one.
const KEYS_AT_ONCE: usize = 64;

/// What an attempt to lock a record and read it came to.
enum Locked<'t> {
    Read,
    Absent,
    Skipped,
    Blocked(Box<Waiting<'t>>),
    /// It is on the device, and has to be fetched first.
    Cold(&'t Slot),
}

impl Transaction {
    /// Locks a record until the end of the transaction (or until it returns to a
    /// savepoint that was made before) and reads it, as [`Transaction::get`] does.
    /// Where there is no record there is nothing to lock: `None`, as for one that was
    /// skipped.
    ///
    /// Under read committed it reads the newest committed version, as it is once the
    /// lock is held. On a snapshot the record must not have been changed since; if it was,
    /// and nothing that the transaction has read was, the snapshot moves to the present.
    ///
    /// # Errors
    /// [`Error::Locked`] with [`IfLocked::Fail`], [`Error::LockTimeout`],
    /// [`Error::MemoryExhausted`], after which the transaction can go on. Aborts:
    /// [`crate::Abort::SnapshotTooOld`], [`crate::Abort::Deadlock`]. As for
    /// [`Transaction::get`].
    ///
    /// # Suspension
    /// Memory waits; with [`IfLocked::Wait`], an event wait for others.
    ///
    /// # Cancellation
    /// Dropping the future leaves the queue; or the record locked, if it had come to
    /// that.
    pub async fn lock<P: Policy, R>(
        &self,
        table: &Table,
        key: &[u8],
        strength: Strength,
        if_locked: IfLocked,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        if key.len() > crate::KEY_BYTES_MAX {
            return Err(Error::KeyTooLong { bytes: key.len() });
        }
        let statement = self.statement_to_write(table)?;
        let reads = &self.context.reads;
        reads.set(reads.get() + 1);
        let (mut read, mut output, mut handed) = (Some(read), None, None);
        let mut show = |value: &[u8]| output = read.take().map(|read| read(value));
        loop {
            let locked = leaf!(
                P,
                statement.lock_body(table, key, strength, if_locked, &mut show)
            )?;
            // A sibling under the same `join` may have aborted the transaction.
            self.check_open()?;
            match locked {
                Locked::Blocked(waiting) => handed = Some(waiting.await?),
                Locked::Cold(slot) => self.thaw_to_write(slot).await?,
                Locked::Read | Locked::Skipped => break,
                Locked::Absent => {
                    if let Some(handed) = handed {
                        self.give_up(handed);
                    }
                    break;
                }
            }
        }
        Ok(output)
    }

    /// Visits the records between two keys in order, locking each before it is
    /// visited, until `visit` breaks. Returns the number visited. With
    /// [`IfLocked::Skip`], records that others have are passed over: several
    /// transactions can so take different jobs from one queue.
    ///
    /// Which records there are is seen as [`Transaction::scan`] sees it; each is then
    /// locked and read as by [`Transaction::lock`].
    ///
    /// # Errors
    /// As for [`Transaction::lock`].
    ///
    /// # Suspension
    /// As for [`Transaction::lock`].
    ///
    /// # Cancellation
    /// Dropping the future leaves the records locked that it has visited.
    pub async fn scan_locked<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        strength: Strength,
        if_locked: IfLocked,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        // The whole is one operation, with one snapshot under read committed.
        let _statement = self.statement(table)?;
        let (mut visited, mut keys) = (0, Vec::<Vec<u8>>::new());
        loop {
            let last = keys.pop();
            keys.clear();
            let rest = match (&last, direction) {
                (None, _) => range,
                (Some(last), Direction::Forward) => (Bound::Excluded(&**last), range.1),
                (Some(last), Direction::Backward) => (range.0, Bound::Excluded(&**last)),
            };
            self.scan::<P>(table, rest, direction, |key, _| {
                keys.push(key.to_vec());
                if keys.len() < KEYS_AT_ONCE {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })
            .await?;
            for key in &keys {
                let show = |value: &[u8]| {
                    visited += 1;
                    visit(key, value)
                };
                let flow = self
                    .lock::<P, _>(table, key, strength, if_locked, show)
                    .await?;
                if flow.is_some_and(|flow| flow.is_break()) {
                    return Ok(visited);
                }
            }
            if keys.len() < KEYS_AT_ONCE {
                return Ok(visited);
            }
        }
    }
}

impl<'t> Statement<'t> {
    async fn lock_body<P: Policy>(
        &self,
        table: &'t Table,
        key: &[u8],
        strength: Strength,
        if_locked: IfLocked,
        show: &mut impl FnMut(&[u8]),
    ) -> Result<Locked<'t>, Error> {
        let transaction = self.transaction;
        let pin = transaction.session.memory.pin();
        let mut lookup = table.index.lookup(&pin, key);
        let Some(rid) = look_up!(P, INDEX_POINT, lookup) else {
            transaction.note_absence(table, key, lookup.found_in());
            return Ok(Locked::Absent);
        };
        let found_in = lookup.found_in();
        let slot = table.records.slot(Rid(rid));
        P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
        let bytes = table.prefetch_bytes();
        loop {
            let (head, owner) = match self.examine::<P>(table, slot, key, bytes, true).await? {
                Standing::Cold => return Ok(Locked::Cold(slot)),
                Standing::Gone | Standing::Unseen => {
                    transaction.note_absence(table, key, found_in);
                    return Ok(Locked::Absent);
                }
                Standing::Free(head, _) if transaction.is_absent(table, head) => {
                    transaction.note(slot, Some(head));
                    transaction.note_absence(table, key, found_in);
                    return Ok(Locked::Absent);
                }
                Standing::Free(head, Sight::Own) => {
                    show(table.split(head.payload().unwrap_or_default()).1);
                    return Ok(Locked::Read);
                }
                Standing::Free(head, _) => (head, None),
                Standing::Owned(head, owner) => (head, Some(owner)),
            };
            match transaction.seize(slot, head, owner, strength, if_locked)? {
                Seized::Held if owner.is_none() => {
                    // Nobody else writes it now.
                    if let Begin::Committed(timestamp) = head.begin() {
                        transaction.saw(timestamp);
                    }
                    transaction.note(slot, Some(head));
                    show(table.split(head.payload().unwrap_or_default()).1);
                    return Ok(Locked::Read);
                }
                Seized::Held | Seized::Changed => {
                    let_others_go::<P>(Point::new("engine: record to lock"), slot).await;
                }
                Seized::Busy if if_locked == IfLocked::Skip => return Ok(Locked::Skipped),
                Seized::Busy => return Err(Error::Locked),
                Seized::Blocked(waiting) => return Ok(Locked::Blocked(waiting)),
            }
        }
    }
}
