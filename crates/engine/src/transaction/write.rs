//! Insert, update, upsert, delete.
//!
//! All four come down to [`Statement::write_record`], which puts a new version in
//! front of a chain, once the record's slot is known; `insert` and `upsert` make
//! the slot if the index does not know the key.
//!
//! # Races
//! Two writers of one record: both read the head, one compare-and-swap wins, the
//! other finds the winner's uncommitted version and aborts (first updater wins).
//!
//! Two inserters of one key: both make a record, one index insert wins, the other
//! finds the winner's RID, drops its own record (never published) and goes on
//! as a writer of the winner's.
//!
//! ```text
//!   inserter                            collector or undo of a record
//!   index: key is present, RID r        slot r: version → DEAD
//!   slot r is DEAD                      index: remove key
//!   yields, tries again                 retires r
//! ```

use std::sync::atomic::Ordering;

use index::{InsertError, Inserted, Step};
use interleave::{Interleaved, Point, Policy, leaf};

use super::{
    Isolation, Statement, Transaction,
    read::INDEX_POINT,
    visibility::{Look, Sight},
};
use crate::{
    error::{Abort, Error},
    indirection::{Head, Rid, Slot},
    session::{Saved, Write, WriteKind},
    table::Table,
    timestamp::Begin,
    version::{HEADER_BYTES, Version},
};

/// What a write asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    /// Only if the record is absent.
    Insert,
    /// Only if the record is there.
    Change,
    /// Either way.
    Put,
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Done,
    /// The record is there (for `Intent::Insert`) or not (for `Intent::Change`).
    Refused,
    /// The record is being removed; its key will be free in a moment.
    Dying,
}

impl Transaction {
    /// Inserts a record.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if there is one with this key; aborts; limits of
    /// key, value and memory. After errors that are not aborts the transaction
    /// can go on.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future leaves the record written or not; the
    /// transaction's commit or rollback covers it either way.
    #[inline]
    pub async fn insert<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        check(key, Some(value))?;
        let statement = self.statement(table)?;
        let written = leaf!(P, statement.put_body(table, key, value, Intent::Insert))?;
        // A sibling under the same `join` may have aborted the transaction: what
        // was found (or not) is then without its writes.
        self.check_open()?;
        match written {
            Written::Done => Ok(()),
            Written::Refused | Written::Dying => Err(Error::DuplicateKey),
        }
    }

    /// Inserts a record or replaces its value.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], without duplicates.
    ///
    /// # Suspension
    /// As for [`Transaction::insert`].
    #[inline]
    pub async fn upsert<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        check(key, Some(value))?;
        let statement = self.statement(table)?;
        leaf!(P, statement.put_body(table, key, value, Intent::Put)).map(drop)
    }

    /// Replaces a record's value; whether there is such a record.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], without duplicates.
    ///
    /// # Suspension
    /// As for [`Transaction::insert`].
    #[inline]
    pub async fn update<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, Error> {
        check(key, Some(value))?;
        let statement = self.statement(table)?;
        let written = leaf!(P, statement.change_body(table, key, Some(value)))?;
        self.check_open()?;
        Ok(written == Written::Done)
    }

    /// Deletes a record; whether there was one.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], without duplicates.
    ///
    /// # Suspension
    /// As for [`Transaction::insert`].
    #[inline]
    pub async fn delete<P: Policy>(&self, table: &Table, key: &[u8]) -> Result<bool, Error> {
        check(key, None)?;
        let statement = self.statement(table)?;
        let written = leaf!(P, statement.change_body(table, key, None))?;
        self.check_open()?;
        Ok(written == Written::Done)
    }
}

fn check(key: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
    if key.len() > crate::KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { bytes: key.len() });
    }
    match value {
        Some(value) if value.len() > crate::VALUE_BYTES_MAX => {
            Err(Error::ValueTooLong { bytes: value.len() })
        }
        _ => Ok(()),
    }
}

/// A record under way into the index; taken back unless it gets there.
struct Unpublished<'t> {
    transaction: &'t Transaction,
    table: &'t Table,
    rid: Rid,
    version: Version,
    published: bool,
}

impl Drop for Unpublished<'_> {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        let session = &self.transaction.session;
        self.table.records.slot(self.rid).clear();
        session
            .rids
            .borrow_mut()
            .put_back(self.table.number(), self.rid);
        // SAFETY: no index names the RID, so nobody has seen the version.
        unsafe {
            self.version
                .free(&session.memory, self.version.block_bytes())
        };
    }
}

impl Statement<'_> {
    /// Update and delete (`None`).
    #[inline(always)]
    async fn change_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<Written, Error> {
        let pin = self.transaction.session.memory.pin();
        let mut lookup = table.index.lookup(&pin, key);
        let rid = loop {
            match lookup.step() {
                Step::Touch(address, bytes) => {
                    P::touch(INDEX_POINT.at(lookup.touches()), address, bytes).await
                }
                Step::Done(Some(rid)) => break rid,
                Step::Done(None) => return Ok(Written::Refused),
            }
        };
        let rid = Rid(rid);
        let slot = table.records.slot(rid);
        P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
        self.write_record::<P>(table, rid, slot, key, value, Intent::Change)
            .await
    }

    /// Insert and upsert.
    #[inline(always)]
    async fn put_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
        intent: Intent,
    ) -> Result<Written, Error> {
        let transaction = self.transaction;
        let session = &*transaction.session;
        loop {
            let pin = session.memory.pin();
            let rid = session.rids.borrow_mut().take(table, &session.memory)?;
            let version =
                match Version::create(&session.memory, transaction.id(), Some(value), None) {
                    Ok(version) => version,
                    Err(exhausted) => {
                        session.rids.borrow_mut().put_back(table.number(), rid);
                        return Err(exhausted.into());
                    }
                };
            table
                .version_bytes_hint
                .store(version.block_bytes(), Ordering::Relaxed);
            let slot = table.records.slot(rid);
            slot.publish_first(version);
            let mut record = Unpublished {
                transaction,
                table,
                rid,
                version,
                published: false,
            };
            // The index publishes in its last, unsuspended stretch. If this
            // future is dropped before that, `record` is taken back.
            let inserted = table
                .index
                .insert::<P>(&session.memory, &pin, key, rid.0)
                .await;
            match inserted {
                Ok(Inserted::New) => {
                    record.published = true;
                    transaction.remember(
                        WriteKind::Record,
                        table,
                        rid,
                        slot,
                        version,
                        None,
                        Some(key),
                    );
                    // A sibling under the same `join` may have aborted the
                    // transaction while the index was being searched.
                    if let Err(over) = transaction.check_open() {
                        transaction.take_writes_back(0);
                        return Err(over);
                    }
                    return Ok(Written::Done);
                }
                Ok(Inserted::Present(present)) => {
                    drop(record);
                    let rid = Rid(present);
                    let slot = table.records.slot(rid);
                    P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
                    let written = self
                        .write_record::<P>(table, rid, slot, key, Some(value), intent)
                        .await?;
                    if written != Written::Dying {
                        return Ok(written);
                    }
                }
                Err(InsertError::KeyTooLong) => return Err(Error::KeyTooLong { bytes: key.len() }),
                Err(_) => return Err(Error::MemoryExhausted),
            }
            // Another thread is removing the key: let it.
            drop(pin);
            if P::MAY_SUSPEND {
                Interleaved::touch(Point::new("engine: dying record"), slot, 8).await;
            }
            std::thread::yield_now();
        }
    }

    /// Puts a new version in front of the chain in `slot`, if `intent` allows.
    /// The slot must have been touched.
    #[inline(always)]
    async fn write_record<P: Policy>(
        &self,
        table: &Table,
        rid: Rid,
        slot: &Slot,
        key: &[u8],
        value: Option<&[u8]>,
        intent: Intent,
    ) -> Result<Written, Error> {
        let transaction = self.transaction;
        loop {
            let Head::Version(head) = slot.head() else {
                return Ok(if intent == Intent::Change {
                    Written::Refused
                } else {
                    Written::Dying
                });
            };
            P::touch(
                Point::new("engine: head to replace"),
                head.address(),
                HEADER_BYTES,
            )
            .await;
            // The operation may have been suspended while a sibling under the
            // same `join` aborted the transaction.
            transaction.check_open()?;
            // The chain may have changed during the last wait. What was taken back
            // meanwhile must not be mistaken for a conflict.
            if slot.head() != Head::Version(head) {
                continue;
            }
            let snapshot = transaction.context.snapshot();
            let sight = transaction.sight(head, snapshot);
            let changeable = match sight {
                Sight::Own | Sight::Visible => true,
                Sight::Newer => {
                    transaction.isolation() == Isolation::ReadCommitted && head.is_committed()
                }
                Sight::Uncommitted => false,
            };
            if !changeable {
                // Nothing there for this snapshot: nothing to conflict about.
                if intent == Intent::Change && !transaction.sees_record::<P>(slot, head).await {
                    return Ok(Written::Refused);
                }
                let abort = if sight == Sight::Newer {
                    Abort::SnapshotTooOld
                } else {
                    Abort::WriteConflict
                };
                return Err(transaction.doom(abort));
            }
            let refused = match intent {
                Intent::Insert => !head.is_tombstone(),
                Intent::Change => head.is_tombstone(),
                Intent::Put => false,
            };
            if refused {
                // Under read committed it may be newer than the snapshot.
                if let Begin::Committed(timestamp) = head.begin() {
                    transaction.saw(timestamp);
                }
                return Ok(Written::Refused);
            }
            if sight == Sight::Own {
                transaction.rewrite(slot, head, key, value)?;
                return Ok(Written::Done);
            }
            let memory = &transaction.session.memory;
            let version = Version::create(memory, transaction.id(), value, Some(head))?;
            if slot.replace(head, version) {
                let old = (head, head.block_bytes() as u32);
                // Commit needs the key of a deletion, undo that of a tombstone, the
                // log all.
                let logs = transaction.session.lane().is_some();
                let key = (logs || value.is_none() || head.is_tombstone()).then_some(key);
                transaction.remember(
                    WriteKind::Version,
                    table,
                    rid,
                    slot,
                    version,
                    Some(old),
                    key,
                );
                return Ok(Written::Done);
            }
            // SAFETY: never published.
            unsafe { version.free(memory, version.block_bytes()) };
        }
    }
}

impl Transaction {
    /// Whether the snapshot sees a live record in the chain.
    async fn sees_record<P: Policy>(&self, slot: &Slot, head: Version) -> bool {
        let snapshot = self.context.snapshot();
        let visible = match self.look(slot, head, snapshot) {
            Look::Over(visible) => visible,
            Look::Further(older) => self.look_further::<P>(slot, older, snapshot).await,
        };
        visible.is_some_and(|version| !version.is_tombstone())
    }

    #[allow(clippy::too_many_arguments)] // The fields of one `Write`.
    #[inline]
    fn remember(
        &self,
        kind: WriteKind,
        table: &Table,
        rid: Rid,
        slot: *const Slot,
        version: Version,
        old: Option<(Version, u32)>,
        key: Option<&[u8]>,
    ) {
        let key = key.map_or((0, 0), |key| self.context.keep_key(key));
        let table = table.number();
        self.context.writes.borrow_mut().push(Write {
            kind,
            slot,
            version,
            old,
            table,
            rid,
            key,
            savepoint: self.context.savepoints.borrow().newest(),
        });
        self.context.count_write();
    }

    /// Changes a record that this transaction has written before. If a savepoint lies
    /// between, the version that stands there is kept for it.
    fn rewrite(
        &self,
        slot: &Slot,
        own: Version,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.context.count_write();
        let mut writes = self.context.writes.borrow_mut();
        // Rewrites mostly follow soon after the first write.
        let at = writes.iter().rposition(|write| write.version == own);
        let at = at.expect("what a transaction has written is among its writes");
        let write = &mut writes[at];
        let mut savepoints = self.context.savepoints.borrow_mut();
        let is_saved = write.savepoint < savepoints.newest();
        // SAFETY: our own, uncommitted; reads hand slices out only within calls.
        if is_saved || !unsafe { own.overwrite(value) } {
            let version = Version::create(&self.session.memory, self.id(), value, own.next())?;
            let replaced = slot.replace(own, version);
            debug_assert!(
                replaced,
                "an uncommitted head is replaced by its maker alone"
            );
            if is_saved {
                savepoints.save(Saved {
                    write: at,
                    version: own,
                    key: write.key,
                    savepoint: write.savepoint,
                });
                write.savepoint = savepoints.newest();
            } else {
                self.discard(own);
            }
            write.version = version;
        }
        if value.is_none() && write.kind == WriteKind::Version {
            write.key = self.context.keep_key(key);
        }
        Ok(())
    }
}
