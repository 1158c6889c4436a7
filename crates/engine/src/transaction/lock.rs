//! Explicit row locks: `select ... for update` and its relatives.
//!
//! # Key shares, beside writes that keep the key
//! A key share keeps a record where it is, with its key; writes that keep the key go on beside it.
//! A key share therefore ignores that the version its snapshot sees has been replaced since, as long
//! as each later version, committed or not, keeps the key (`Version::strength`):
//!
//! ```text
//!   newest                                      seen by the snapshot
//!   uncommitted, keeps the key → committed, keeps the key → committed
//! ```
//! Then the record is locked and that version is read, at every isolation level, without a wait;
//! the snapshot is not too old. (PostgreSQL does the same.) This is right because the lock is the
//! record's and not a version's: no transaction deletes the record or changes its key before the
//! lock's end, even if others write it meanwhile, and none has done so since the snapshot. If a
//! later version does not keep the key, the lock is taken as any other. A version's statement that
//! it keeps the key concerns the keys that its table had when it was written.

use std::ops::{Bound, ControlFlow};

use index::{Direction, look_up};
use interleave::{Point, Policy, leaf};

use super::{
    RowFound, RowOutcome, Statement, Transaction,
    conflict::{Seized, Standing, let_others_go},
    read::INDEX_POINT,
    row::{NewPlace, Trace},
    visibility::Sight,
};
use crate::{
    error::Error,
    indirection::{Rid, Slot},
    locks::{IfLocked, Strength, Waiting},
    table::Table,
    timestamp::{Begin, Timestamp},
    version::{HEADER_BYTES, Version},
};

/// Number of records that a locking scan finds before it locks them one by one.
const KEYS_AT_ONCE: usize = 64;

/// Object to lock under a key.
#[derive(Clone, Copy)]
enum Aim {
    /// The record under the key.
    Record,
    /// The row that was there at a snapshot, or, without a snapshot, any row (`row.rs`).
    Row(Option<Timestamp>),
}

/// Result of locking a row: its place, and what was read of it.
#[derive(Debug)]
pub struct RowLocked<R> {
    /// Outcome, and the place of the row.
    pub found: RowFound,
    /// Result of the read, if the row was locked.
    pub read: Option<R>,
}

/// Outcome of an attempt to lock a record and read it.
enum Locked<'t> {
    Read,
    Absent,
    /// The record is not where it was found: the index has to say whether it is there.
    NotWhereFound,
    Skipped,
    /// The row has moved, as in [`Written`](super::write::Written).
    Moved(Box<NewPlace>),
    Already,
    Blocked(Box<Waiting<'t>>),
    /// The record is on the device, and has to be fetched first.
    Cold(&'t Slot),
}

impl Transaction {
    /// Locks the record under `key` until the end of the transaction (or until its return to an
    /// earlier savepoint) and reads it, as [`Transaction::get`] does. Returns `None` if there is no
    /// record to lock, or if the record was skipped.
    ///
    /// A [`Strength::KeyShare`] reads what the snapshot sees, as long as no transaction has changed
    /// the record's key since. Otherwise:
    ///
    /// Under read committed, the newest committed version is read, as of the time when the lock is
    /// held. On a snapshot, the record must not have been changed since; if the record was changed,
    /// and nothing that the transaction has read was, the snapshot moves to the present.
    ///
    /// # Errors
    /// [`Error::Locked`] with [`IfLocked::Fail`], [`Error::LockTimeout`],
    /// [`Error::MemoryExhausted`], after which the transaction can go on. Aborts:
    /// [`crate::Abort::SnapshotTooOld`], [`crate::Abort::Deadlock`]. Any error of
    /// [`Transaction::get`].
    ///
    /// # Suspension
    /// Memory waits; with [`IfLocked::Wait`], an event wait for other transactions.
    ///
    /// # Cancellation
    /// Dropping the future leaves the queue; or leaves the record locked, if it was locked already.
    pub async fn lock<P: Policy, R>(
        &self,
        table: &Table,
        key: &[u8],
        strength: Strength,
        if_locked: IfLocked,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        let (mut read, mut output) = (Some(read), None);
        let mut show = |value: &[u8]| output = read.take().map(|read| read(value));
        let wanted = (strength, if_locked);
        self.lock_as::<P>(table, key, None, Aim::Record, wanted, &mut show)
            .await?;
        Ok(output)
    }

    /// Locks and reads the row that a statement has found under `key`, as [`Transaction::lock`]
    /// does; `by` is the transaction that has found it, as for [`Transaction::modify_row`]. A row
    /// that is skipped is reported as [`RowOutcome::Left`].
    ///
    /// # Errors
    /// Fails as [`Transaction::lock`] and [`Transaction::modify_row`] do.
    ///
    /// # Suspension
    /// Memory waits; with [`IfLocked::Wait`], an event wait for other transactions.
    ///
    /// # Cancellation
    /// Dropping the future leaves the queue; or leaves the row locked, if it was locked already.
    pub async fn lock_row<P: Policy, R>(
        &self,
        table: &Table,
        key: &[u8],
        by: Option<&Transaction>,
        strength: Strength,
        if_locked: IfLocked,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<RowLocked<R>, Error> {
        let (mut read, mut output) = (Some(read), None);
        let mut show = |value: &[u8]| output = read.take().map(|read| read(value));
        let mut since = self.found_at(by);
        let mut moved_to: Option<Box<[u8]>> = None;
        let outcome = loop {
            let key = moved_to.as_deref().unwrap_or(key);
            let (aim, wanted) = (Aim::Row(since), (strength, if_locked));
            let locked = self.lock_as::<P>(table, key, by, aim, wanted, &mut show);
            match locked.await? {
                Locked::Moved(place) => {
                    since = Some(place.since);
                    moved_to = Some(place.key);
                }
                Locked::Read => break RowOutcome::Done,
                Locked::Skipped => break RowOutcome::Left,
                Locked::Already => break RowOutcome::Already,
                _ => break RowOutcome::Absent,
            }
        };
        let found = RowFound { outcome, moved_to };
        let read = output;
        Ok(RowLocked { found, read })
    }

    async fn lock_as<'t, P: Policy>(
        &'t self,
        table: &'t Table,
        key: &[u8],
        mut by: Option<&Transaction>,
        aim: Aim,
        (strength, if_locked): (Strength, IfLocked),
        show: &mut impl FnMut(&[u8]),
    ) -> Result<Locked<'t>, Error> {
        if key.len() > crate::KEY_BYTES_MAX {
            return Err(Error::KeyTooLong { bytes: key.len() });
        }
        let statement = self.statement_to_write(table)?;
        let reads = &self.context.reads;
        reads.set(reads.get() + 1);
        let mut handed = None;
        loop {
            let wanted = (strength, if_locked);
            let locked = leaf!(P, statement.lock_body(table, key, by, aim, wanted, show))?;
            // A sibling under the same `join` may have aborted the transaction.
            self.check_open()?;
            match locked {
                Locked::Blocked(waiting) => handed = Some(waiting.await?),
                Locked::Cold(slot) => self.thaw_to_write(slot).await?,
                Locked::Read | Locked::Skipped => return Ok(locked),
                Locked::NotWhereFound => by = None,
                Locked::Absent | Locked::Moved(_) | Locked::Already => {
                    if let Some(handed) = handed {
                        self.give_up(handed);
                    }
                    return Ok(locked);
                }
            }
        }
    }

    /// Visits the records whose keys lie in `range` in order, locking each before it is visited,
    /// until `visit` breaks. Returns the number of records visited. With [`IfLocked::Skip`],
    /// records that other transactions have locked are passed over, so that several transactions
    /// can take different jobs from one queue.
    ///
    /// The set of records is that which [`Transaction::scan`] sees; each record is then locked and
    /// read as by [`Transaction::lock`].
    ///
    /// # Errors
    /// Fails as [`Transaction::lock`] does.
    ///
    /// # Suspension
    /// Memory waits; with [`IfLocked::Wait`], an event wait for other transactions.
    ///
    /// # Cancellation
    /// Dropping the future leaves the visited records locked.
    pub async fn scan_locked<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        strength: Strength,
        if_locked: IfLocked,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        // The whole scan is one operation, with one snapshot under read committed.
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
        by: Option<&Transaction>,
        aim: Aim,
        (strength, if_locked): (Strength, IfLocked),
        show: &mut impl FnMut(&[u8]),
    ) -> Result<Locked<'t>, Error> {
        let transaction = self.transaction;
        let pin = transaction.session.memory.pin();
        let remembered = by.and_then(|by| by.place_found(table, key));
        let (rid, found_in) = match remembered {
            Some(rid) => (rid, None),
            None => {
                let mut lookup = table.index.lookup(&pin, key);
                let Some(rid) = look_up!(P, INDEX_POINT, lookup) else {
                    transaction.note_absence(table, key, lookup.found_in());
                    return Ok(Locked::Absent);
                };
                (Rid(rid), lookup.found_in())
            }
        };
        let is_remembered = remembered.is_some();
        let slot = table.records.slot(rid);
        P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
        let bytes = table.prefetch_bytes();
        let absent = !matches!(aim, Aim::Row(Some(_)));
        loop {
            if strength == Strength::KeyShare
                && let Some((head, seen)) = self.kept_since::<P>(table, slot, aim).await?
            {
                let owner = match head.begin() {
                    Begin::InProgress(owner) if transaction.committed_at(head).is_none() => {
                        Some(owner)
                    }
                    _ => None,
                };
                match transaction.seize(slot, head, owner, strength, if_locked)? {
                    Seized::Held => {
                        transaction.note(slot, Some(seen));
                        show(table.split(seen.payload().unwrap_or_default()).1);
                        return Ok(Locked::Read);
                    }
                    Seized::Changed => {
                        let_others_go::<P>(Point::new("engine: key to hold"), slot).await;
                        continue;
                    }
                    Seized::Busy if if_locked == IfLocked::Skip => return Ok(Locked::Skipped),
                    Seized::Busy => return Err(Error::Locked),
                    Seized::Blocked(waiting) => return Ok(Locked::Blocked(waiting)),
                }
            }
            let standing = self.examine::<P>(table, slot, key, bytes, absent).await?;
            if let (Aim::Row(since), Standing::Free(head, sight)) = (aim, &standing) {
                match transaction.trace(slot, *head, *sight, since)? {
                    Trace::Here => {}
                    Trace::Already => return Ok(Locked::Already),
                    Trace::Absent => return Ok(Locked::Absent),
                    Trace::Moved(place) => return Ok(Locked::Moved(place)),
                }
            }
            let (head, owner) = match standing {
                Standing::Cold => return Ok(Locked::Cold(slot)),
                Standing::Gone | Standing::Unseen if is_remembered => {
                    return Ok(Locked::NotWhereFound);
                }
                Standing::Free(head, _) if is_remembered && transaction.is_absent(table, head) => {
                    return Ok(Locked::NotWhereFound);
                }
                Standing::Gone | Standing::Unseen => {
                    transaction.note_absence(table, key, found_in);
                    return Ok(Locked::Absent);
                }
                Standing::Free(head, _) if transaction.is_absent(table, head) => {
                    transaction.note(slot, Some(head));
                    transaction.note_absence(table, key, found_in);
                    return Ok(Locked::Absent);
                }
                Standing::Free(head, Sight::Own) if strength > head.strength() => {
                    let own = Some(transaction.id());
                    match transaction.seize(slot, head, own, strength, if_locked)? {
                        Seized::Held => {
                            show(table.split(head.payload().unwrap_or_default()).1);
                            return Ok(Locked::Read);
                        }
                        Seized::Changed => continue,
                        Seized::Busy if if_locked == IfLocked::Skip => return Ok(Locked::Skipped),
                        Seized::Busy => return Err(Error::Locked),
                        Seized::Blocked(waiting) => return Ok(Locked::Blocked(waiting)),
                    }
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
                    // No other transaction writes the record now.
                    if let Some(timestamp) = transaction.committed_at(head) {
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

    /// Returns the head of a record, and the version behind it that the snapshot sees, if every
    /// version in between keeps the key.
    ///
    /// # Errors
    /// The error of a transaction that is over.
    #[cold]
    async fn kept_since<P: Policy>(
        &self,
        table: &Table,
        slot: &Slot,
        aim: Aim,
    ) -> Result<Option<(Version, Version)>, Error> {
        let transaction = self.transaction;
        let snapshot = match aim {
            Aim::Row(Some(since)) => since,
            Aim::Row(None) | Aim::Record => transaction.context.snapshot(),
        };
        loop {
            let Some(head) = slot.version() else {
                return Ok(None);
            };
            let mut version = head;
            let seen = loop {
                let point = Point::new("engine: version behind a head");
                P::touch(point, version.address(), HEADER_BYTES).await;
                match transaction.sight(version, snapshot) {
                    Sight::Own => break None,
                    Sight::Visible => break Some(version),
                    Sight::Newer | Sight::Uncommitted => {}
                }
                match version.next() {
                    Some(next) if version.strength() < Strength::Update => version = next,
                    _ => break None,
                }
            };
            transaction.check_open()?;
            // Otherwise the version may have been taken back meanwhile.
            if slot.version() != Some(head) {
                continue;
            }
            let seen = seen.filter(|seen| *seen != head && !transaction.is_absent(table, *seen));
            return Ok(seen.map(|seen| (head, seen)));
        }
    }
}
