//! Insert, update, upsert, delete.
//!
//! On a table with indexes each of them is one *operation* of several writes:
//! `maintain.rs`.
//!
//! All four come down to [`Statement::write_record`], which puts a new version in
//! front of a chain, once the record's slot is known; `insert` and `upsert` make
//! the slot if the index does not know the key.
//!
//! # Races
//! Two writers of one record: both read the head, one compare-and-swap wins, the
//! other finds the winner's uncommitted version and aborts (first updater wins), or
//! waits for the winner's end (`locks.rs`). It waits outside the leaf, without a pin,
//! and then begins again from the key.
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

use index::{InsertError, Inserted, look_up};
use interleave::{Point, Policy, leaf};

use super::{
    Statement, Transaction,
    conflict::{Seized, Standing, let_others_go},
    read::INDEX_POINT,
    visibility::Sight,
};
use crate::{
    error::{Abort, Error},
    indirection::{Rid, Slot},
    locks::{Waited, Waiting},
    secondary::{derived::is_derived, entry::Entry, list::List},
    session::{KeptKey, Saved, Step, Write, WriteKind},
    table::Table,
    timestamp::Begin,
    version::Version,
};

/// What a write asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// Only if the record is absent.
    Insert,
    /// Only if the record is there.
    Change,
    /// Either way.
    Put,
    /// An entry: only if there is none, or this record's own.
    Claim(Rid),
    /// An entry: if there is one or not, it leaves a tombstone, which conflicts with
    /// whoever inserts the entry at an older snapshot.
    Erase,
    /// Only if the record is there and has expired.
    Expire,
}

/// How an attempt to write ended.
pub(super) enum Written<'t> {
    Done,
    /// The record is there (for `Intent::Insert`), is another's (for `Intent::Claim`),
    /// or is not there (for `Intent::Change`).
    Refused,
    /// For `Intent::Claim`: the entry is that of an expired record, with this key.
    Lapsed(Box<[u8]>),
    /// The record is being removed; its key will be free in a moment.
    Dying,
    /// It is another transaction's; to be tried again after the wait.
    Blocked(Box<Waiting<'t>>),
}

impl Written<'_> {
    #[inline(always)]
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Written::Done)
    }
}

/// While the transaction that made the head ends.
const OWNER_ENDS: Point = Point::new("engine: ending owner");

impl Transaction {
    /// Inserts a record.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if there is one with this key,
    /// [`Error::DuplicateIndexKey`] if another has the same key in a unique index,
    /// [`Error::IndexNotAttached`] if an index is missing since the database was opened;
    /// aborts; limits of key, value and memory. After errors that are not aborts the
    /// transaction can go on, and the operation has had no effect on the table or any
    /// of its indexes.
    ///
    /// # Suspension
    /// Memory waits. Writes of tables with indexes run one after the other within a
    /// transaction: under a `join`, an event wait for the one before.
    ///
    /// # Cancellation
    /// Dropping the future leaves the record written or not, with its index entries
    /// or without; the transaction's commit or rollback covers it either way.
    #[inline]
    pub async fn insert<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        check(key, Some(value))?;
        let statement = self.statement_to_write(table)?;
        let mut room = Vec::new();
        let value = Some(self.to_store(table, value, &mut room)?);
        let indexes = self.indexes_of(table);
        let written = match indexes {
            None => {
                let written = statement.put::<P>(table, key, value, Intent::Insert);
                written.await?.is_done()
            }
            Some(indexes) => {
                let indexed = statement.indexed(table, indexes);
                indexed.write::<P>(key, value, Intent::Insert).await?
            }
        };
        if self.has_written(table, indexes, written)? {
            Ok(())
        } else {
            Err(Error::DuplicateKey)
        }
    }

    /// Inserts a record or replaces its value.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], without duplicates in the table.
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
        let statement = self.statement_to_write(table)?;
        let mut room = Vec::new();
        let value = Some(self.to_store(table, value, &mut room)?);
        let indexes = self.indexes_of(table);
        let written = match indexes {
            None => {
                let written = statement.put::<P>(table, key, value, Intent::Put);
                written.await?.is_done()
            }
            Some(indexes) => {
                let indexed = statement.indexed(table, indexes);
                indexed.write::<P>(key, value, Intent::Put).await?
            }
        };
        self.has_written(table, indexes, written).map(drop)
    }

    /// Replaces a record's value; whether there is such a record.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], without duplicates in the table.
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
        let statement = self.statement_to_write(table)?;
        let mut room = Vec::new();
        let value = Some(self.to_store(table, value, &mut room)?);
        let indexes = self.indexes_of(table);
        let written = match indexes {
            None => {
                let written = statement.change::<P>(table, key, value, Intent::Change);
                written.await?.is_done()
            }
            Some(indexes) => {
                let indexed = statement.indexed(table, indexes);
                indexed.write::<P>(key, value, Intent::Change).await?
            }
        };
        self.has_written(table, indexes, written)
    }

    /// Deletes a record; whether there was one.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], without duplicates in the table.
    ///
    /// # Suspension
    /// As for [`Transaction::insert`].
    #[inline]
    pub async fn delete<P: Policy>(&self, table: &Table, key: &[u8]) -> Result<bool, Error> {
        self.remove::<P>(table, key, Intent::Change).await
    }

    /// Deletes a record that has expired; whether it had.
    pub(crate) async fn expire<P: Policy>(&self, table: &Table, key: &[u8]) -> Result<bool, Error> {
        self.remove::<P>(table, key, Intent::Expire).await
    }

    #[inline(always)]
    async fn remove<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        intent: Intent,
    ) -> Result<bool, Error> {
        check(key, None)?;
        let statement = self.statement_to_write(table)?;
        let indexes = self.indexes_of(table);
        let written = match indexes {
            None => {
                let written = statement.change::<P>(table, key, None, intent);
                written.await?.is_done()
            }
            Some(indexes) => {
                let indexed = statement.indexed(table, indexes);
                indexed.write::<P>(key, None, intent).await?
            }
        };
        self.has_written(table, indexes, written)
    }

    /// Counts a write that has ended and maintained `indexes`; whether it took place.
    #[inline(always)]
    fn has_written(
        &self,
        table: &Table,
        indexes: Option<&List>,
        written: bool,
    ) -> Result<bool, Error> {
        // A sibling under the same `join` may have aborted the transaction: what
        // was found (or not) is then without its writes.
        self.check_open()?;
        if !written {
            return Ok(false);
        }
        if !table.indexes.is_current(indexes) {
            return Err(self.doom(Abort::WriteConflict));
        }
        self.context.count_write();
        Ok(true)
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

impl<'t> Statement<'t> {
    /// Update and delete (`None`): whether there was something to change.
    ///
    /// # Suspension
    /// Memory waits; an event wait for others.
    #[inline(always)]
    pub(super) async fn change<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        intent: Intent,
    ) -> Result<Written<'t>, Error> {
        let mut handed = None;
        loop {
            match leaf!(P, self.change_body(table, key, value, intent))? {
                Written::Blocked(waiting) => handed = Some(waiting.await?),
                written => return Ok(self.settle(written, handed)),
            }
        }
    }

    /// Insert and upsert: whether it was done.
    ///
    /// # Suspension
    /// As for `change`.
    #[inline(always)]
    pub(super) async fn put<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        intent: Intent,
    ) -> Result<Written<'t>, Error> {
        let mut handed = None;
        loop {
            match leaf!(P, self.put_body(table, key, value, intent))? {
                Written::Blocked(waiting) => handed = Some(waiting.await?),
                written => return Ok(self.settle(written, handed)),
            }
        }
    }

    /// The end of a write. A lock that it waited for in vain goes to the next.
    #[inline(always)]
    fn settle(&self, written: Written<'t>, handed: Option<Waited>) -> Written<'t> {
        if !written.is_done()
            && let Some(handed) = handed
        {
            self.transaction.give_up(handed);
        }
        written
    }

    /// Update and delete (`None`).
    #[inline(always)]
    async fn change_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        intent: Intent,
    ) -> Result<Written<'t>, Error> {
        let pin = self.transaction.session.memory.pin();
        let mut lookup = table.index.lookup(&pin, key);
        let Some(rid) = look_up!(P, INDEX_POINT, lookup) else {
            self.transaction.note_absence(lookup.found_in());
            return Ok(Written::Refused);
        };
        let found_in = lookup.found_in();
        let rid = Rid(rid);
        let slot = table.records.slot(rid);
        P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
        let written = self
            .write_record::<P>(table, rid, slot, key, value, intent)
            .await?;
        if matches!(written, Written::Refused) {
            self.transaction.note_absence(found_in);
        }
        Ok(written)
    }

    /// Insert and upsert.
    #[inline(always)]
    async fn put_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        intent: Intent,
    ) -> Result<Written<'t>, Error> {
        let transaction = self.transaction;
        let session = &*transaction.session;
        loop {
            let pin = session.memory.pin();
            let rid = session.rids.borrow_mut().take(table, &session.memory)?;
            let version = match Version::create(&session.memory, transaction.id(), value, None) {
                Ok(version) => version,
                Err(exhausted) => {
                    session.rids.borrow_mut().put_back(table.number(), rid);
                    return Err(exhausted.into());
                }
            };
            if value.is_some() {
                let hint = &table.version_bytes_hint;
                hint.store(version.block_bytes(), Ordering::Relaxed);
            }
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
            let tracker = transaction.tracker();
            let inserted = table
                .index
                .insert_observed::<P, _>(&session.memory, &pin, key, rid.0, tracker)
                .await;
            match inserted {
                Ok(Inserted::New) => {
                    record.published = true;
                    self.remember(
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
                        .write_record::<P>(table, rid, slot, key, value, intent)
                        .await?;
                    if !matches!(written, Written::Dying) {
                        return Ok(written);
                    }
                }
                Err(InsertError::KeyTooLong) => return Err(Error::KeyTooLong { bytes: key.len() }),
                Err(_) => return Err(Error::MemoryExhausted),
            }
            // Another thread is removing the key: let it.
            drop(pin);
            let_others_go::<P>(Point::new("engine: dying record"), slot).await;
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
    ) -> Result<Written<'t>, Error> {
        let transaction = self.transaction;
        loop {
            let absent = intent == Intent::Change;
            let (head, sight) = match self.examine::<P>(table, slot, key, absent).await? {
                Standing::Free(head, sight) => (head, sight),
                Standing::Unseen => return Ok(Written::Refused),
                Standing::Gone => {
                    return Ok(match intent {
                        Intent::Change | Intent::Expire => Written::Refused,
                        _ => Written::Dying,
                    });
                }
                Standing::Owned(head, owner) => {
                    match self.seize_to_write(slot, head, Some(owner))? {
                        Seized::Blocked(waiting) => return Ok(Written::Blocked(waiting)),
                        _ => let_others_go::<P>(OWNER_ENDS, slot).await,
                    }
                    continue;
                }
            };
            let refusal = match intent {
                Intent::Insert if !transaction.is_absent(table, head) => Some(Written::Refused),
                Intent::Change if transaction.is_absent(table, head) => Some(Written::Refused),
                Intent::Expire if !transaction.has_lapsed(table, head) => Some(Written::Refused),
                Intent::Claim(rid) => transaction.refuse_claim(table, head, rid),
                _ => None,
            };
            if let Some(refusal) = refusal {
                // Under read committed it may be newer than the snapshot.
                if let Begin::Committed(timestamp) = head.begin() {
                    transaction.saw(timestamp);
                }
                transaction.note(slot, Some(head));
                return Ok(refusal);
            }
            if sight == Sight::Own {
                self.rewrite(slot, head, key, value)?;
                return Ok(Written::Done);
            }
            let is_locked = slot.is_marked();
            if is_locked {
                match self.seize_to_write(slot, head, None)? {
                    Seized::Held => {}
                    Seized::Blocked(waiting) => return Ok(Written::Blocked(waiting)),
                    _ => continue,
                }
            }
            let memory = &transaction.session.memory;
            let version = Version::create(memory, transaction.id(), value, Some(head))?;
            let replaced = if is_locked {
                slot.replace_own(head, version);
                true
            } else {
                slot.replace(head, version)
            };
            if replaced {
                let old = (head, head.block_bytes() as u32);
                // Commit needs the key of a deletion, undo that of a tombstone, the
                // log all.
                let logs = transaction.session.lane().is_some() && !is_derived(table.number());
                let key = (logs || value.is_none() || head.is_tombstone()).then_some(key);
                self.remember(
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
    /// Whether a version is a record's that has expired.
    fn has_lapsed(&self, table: &Table, version: Version) -> bool {
        let stored = version.payload();
        stored.is_some_and(|stored| self.is_expired(table, stored))
    }

    /// Why an entry cannot be the record's with this RID, if it cannot.
    #[inline(always)]
    fn refuse_claim<'t>(&self, entries: &Table, head: Version, rid: Rid) -> Option<Written<'t>> {
        let stored = head.payload()?;
        let payload = entries.split(stored).1;
        if Entry::rid(payload) == rid {
            return None;
        }
        if self.is_expired(entries, stored) {
            return Some(Written::Lapsed(Entry::decode(payload).primary_key.into()));
        }
        Some(Written::Refused)
    }
}

impl Statement<'_> {
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
        let context = &self.transaction.context;
        if context.will_grow() {
            self.transaction.session.account.charge(context);
        }
        let key = key.map_or_else(KeptKey::default, |key| context.keep_key(key));
        let table = table.number();
        let mut writes = context.writes.borrow_mut();
        if self.journals {
            let (write, before) = (writes.len(), None);
            context.journal.borrow_mut().push(Step { write, before });
        }
        writes.push(Write {
            kind,
            slot,
            version,
            old,
            table,
            rid,
            key,
            savepoint: context.savepoints.borrow().newest(),
        });
    }

    /// Changes a record that this transaction has written before. The version that
    /// stands there is kept, if a savepoint lies between, or for the journal.
    fn rewrite(
        &self,
        slot: &Slot,
        own: Version,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        let transaction = self.transaction;
        let context = &transaction.context;
        let mut writes = context.writes.borrow_mut();
        // Rewrites mostly follow soon after the first write.
        let at = writes.iter().rposition(|write| write.version == own);
        let at = at.expect("what a transaction has written is among its writes");
        let write = &mut writes[at];
        let mut savepoints = context.savepoints.borrow_mut();
        let is_saved = write.savepoint < savepoints.newest();
        // SAFETY: our own, uncommitted; reads hand slices out only within calls.
        if is_saved || self.journals || !unsafe { own.overwrite(value) } {
            let memory = &transaction.session.memory;
            let version = Version::create(memory, transaction.id(), value, own.next())?;
            slot.replace_own(own, version);
            let saved = Saved {
                write: at,
                version: own,
                key: write.key,
                savepoint: write.savepoint,
            };
            if self.journals {
                let (write, before) = (at, Some(saved));
                context.journal.borrow_mut().push(Step { write, before });
            } else if is_saved {
                savepoints.save(saved);
            } else {
                transaction.discard(own);
            }
            write.savepoint = savepoints.newest();
            write.version = version;
        }
        if value.is_none() && write.kind == WriteKind::Version {
            write.key = context.keep_key(key);
        }
        Ok(())
    }
}
