//! Writes of a table with indexes: the record and its entries, in one *operation*.
//!
//! 1. The record is written. A transaction that loses a conflict over it has not met an entry yet.
//! 2. For each index, the old keys of the record are compared with the new ones: entries of removed
//!    keys are erased, entries of new keys are claimed. Entries that the builder of an index has
//!    still to reach are left to the builder (`secondary/reach.rs`).
//!
//! Conflicts between different records over one unique key are conflicts over the entry. A claim
//! that finds another record's entry is a duplicate, unless that record has expired: then that
//! record is deleted within the operation, and the claim is made again. Entries expire with their
//! records, and are written again when the expiry changes.
//!
//! # All or nothing
//! The writes of an operation are noted in the context's *journal*, and none of them overwrites a
//! version in place. Unless the operation completes, the drop of [`Operation`] undoes them, newest
//! first: after a duplicate or a lack of memory, when the future is dropped, when the extractor
//! panics. The transaction then is as it was before and can go on.
//!
//! Journals of two operations must not mix, and no operation may build on writes that another may
//! undo. Therefore, within a transaction, operations on tables with indexes take turns. A read that
//! overlaps with an operation (under a `join`) may meet a part of it.
//!
//! # Which indexes
//! The list of indexes is loaded after the transaction took its name, in one stretch under a pin:
//! the builder knows a transaction that goes by an earlier list as open (`secondary/build.rs`). The
//! list is loaded again when the operation has ended; if it has changed, the transaction is
//! aborted. Otherwise, under read committed, an operation that goes by an earlier list might
//! overwrite what an operation with the new list has committed meanwhile, and would leave its
//! entries behind:
//!
//! ```text
//!   T: loads the list, suspended      index added     U: writes r, with an entry, commits
//!   T: writes r (a newer version, which read committed may), without an eye for entries
//! ```
//! `T` has then seen `U`'s version, hence sees the new list now. If `T` sees the old list, its
//! version was there before the index, and no transaction writes `r` before `T` has ended.

use std::pin::Pin;

use interleave::Policy;

use super::{
    Statement, Transaction,
    write::{Content, Existing, Intent, OrNew, Seek, Written},
};
use crate::{
    error::Error,
    indirection::Rid,
    secondary::{
        IndexCore,
        entry::{self, Entry, Scratch},
        list::List,
    },
    session::{Lent, Saved, State},
    table::Table,
    ttl::WallTime,
    version::Version,
};

impl Transaction {
    /// Returns the indexes that a write of `table` has to maintain. Gives the transaction its name.
    #[inline(always)]
    pub(super) fn indexes_of<'t>(&self, table: &'t Table) -> Option<&'t List> {
        // See the module text. The list itself needs no pin.
        let _pin = self.session.memory.pin();
        self.id();
        table.indexes.current()
    }
}

/// Statement that writes a table with indexes.
pub(super) struct Indexed<'t> {
    statement: Statement<'t>,
    table: &'t Table,
    indexes: &'t List,
}

impl<'t> Statement<'t> {
    pub(super) fn indexed(mut self, table: &'t Table, indexes: &'t List) -> Indexed<'t> {
        self.journals = true;
        Indexed {
            statement: self,
            table,
            indexes,
        }
    }
}

impl<'t> Indexed<'t> {
    /// Writes a record and its entries, or deletes them.
    pub(super) async fn write<P: Policy>(
        &self,
        seek: impl Seek,
        key: &[u8],
        content: impl Content,
        intent: Intent,
    ) -> Result<Written<'t>, Error> {
        // The deletion of an expired record violates no index, and builders delete such records.
        if let Some(missing) = self.indexes.missing.first()
            && intent != Intent::Expire
        {
            let index = missing.number as usize;
            return Err(Error::IndexNotAttached { index });
        }
        let transaction = self.statement.transaction;
        let mut operation = Operation::begin(transaction).await;
        // Other operations had their turn before.
        transaction.check_open()?;
        let (statement, table) = (&self.statement, self.table);
        let written = statement.write::<P>(seek, table, key, content, intent);
        let written = written.await?;
        if written.is_done() {
            let scratch = &mut operation.scratch;
            let first = (self.indexes.attached.iter())
                .position(|index| self.compare(0, index, scratch, key).is_some());
            if let Some(first) = first {
                // Boxed: a write that leaves the index keys as they are, or a write of a table
                // without indexes, should not carry the frame along.
                Box::pin(self.maintain::<P>(0, first, scratch, key)).await?;
            }
            operation.complete();
        }
        Ok(written)
    }

    /// Finds the index keys that a record had before a `step` of the operation, and those that it
    /// has now. `None`: the entries are as they should be, or are left to the builder.
    #[inline]
    fn compare(
        &self,
        step: usize,
        index: &IndexCore,
        scratch: &mut Scratch,
        key: &[u8],
    ) -> Option<Difference> {
        let transaction = self.statement.transaction;
        if !index.is_maintained_at(key) || transaction.drops_index(index) {
            return None;
        }
        let (old_keys, new_keys) = (&mut scratch.old_keys, &mut scratch.new_keys);
        let (rid, old, new) = transaction.written_by(step);
        let old = old.as_ref().and_then(Version::payload);
        let old = old.map(|old| self.table.split(old));
        let new = new.payload().map(|new| self.table.split(new));
        old_keys.clear();
        new_keys.clear();
        if let Some((_, old)) = old {
            (index.extract)(key, old, old_keys);
        }
        if let Some((_, new)) = new {
            (index.extract)(key, new, new_keys);
        }
        let expiry = new.and_then(|new| new.0);
        let same_expiry = expiry == old.and_then(|old| old.0);
        (!same_expiry || old_keys != new_keys).then_some(Difference {
            rid,
            expiry,
            same_expiry,
        })
    }

    /// Updates the entries of the record that a `step` of the operation has written, in the indexes
    /// from the `first` one whose entries differ.
    async fn maintain<P: Policy>(
        &self,
        step: usize,
        first: usize,
        scratch: &mut Scratch,
        key: &[u8],
    ) -> Result<(), Error> {
        let statement = &self.statement;
        for index in &self.indexes.attached[first..] {
            // A sibling under the same `join` may have aborted the transaction.
            statement.transaction.check_open()?;
            let Some(Difference {
                rid,
                expiry,
                same_expiry,
            }) = self.compare(step, index, scratch, key)
            else {
                continue;
            };
            let Scratch {
                old_keys,
                new_keys,
                key: entry_key,
                payload,
            } = &mut *scratch;
            for (old_key, _) in old_keys.iter() {
                if new_keys.find(old_key).is_some() {
                    continue;
                }
                entry::encode_key(index.options, old_key, rid, entry_key);
                statement.erase::<P>(&index.entries, rid, entry_key).await?;
            }
            for (new_key, covered) in new_keys.iter() {
                if same_expiry && old_keys.find(new_key) == Some(covered) {
                    continue;
                }
                entry::encode_key(index.options, new_key, rid, entry_key);
                let entry = Entry {
                    rid,
                    primary_key: key,
                    covered,
                };
                entry.encode(expiry, payload);
                loop {
                    let claimed = statement.claim::<P>(index, rid, entry_key, payload);
                    match claimed.await? {
                        Claimed::Done => break,
                        Claimed::Duplicate => {
                            let index = index.number() as usize;
                            return Err(Error::DuplicateIndexKey { index });
                        }
                        Claimed::Lapsed(other) => self.expire::<P>(&other).await?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Deletes another record that has expired, as a part of the operation. If another transaction
    /// has written that record meanwhile, the next claim of its entry finds out.
    fn expire<'s, P: Policy>(
        &'s self,
        key: &'s [u8],
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + 's>> {
        Box::pin(async move {
            let transaction = self.statement.transaction;
            let step = transaction.context.journal.borrow().len();
            let deleted =
                self.statement
                    .write::<P>(Existing, self.table, key, None::<&[u8]>, Intent::Expire);
            if deleted.await?.is_done() {
                let mut scratch = Scratch::default();
                let entries = self.maintain::<P>(step, 0, &mut scratch, key);
                entries.await?;
            }
            Ok(())
        })
    }
}

/// Record whose entries in an index have to change; its index keys are in the scratch memory.
struct Difference {
    rid: Rid,
    expiry: Option<WallTime>,
    /// Whether the expiry is unchanged; otherwise all entries are written again.
    same_expiry: bool,
}

/// Outcome of a claim.
pub(crate) enum Claimed {
    Done,
    /// The entry belongs to another record.
    Duplicate,
    /// The entry belongs to another record, which has this key and has expired: the entry has to be
    /// claimed again when that record is deleted.
    Lapsed(Box<[u8]>),
}

impl Transaction {
    /// Claims an entry for the record `rid`, on behalf of the builder of an index.
    pub(crate) async fn claim_entry<P: Policy>(
        &self,
        index: &IndexCore,
        rid: Rid,
        entry_key: &[u8],
        payload: &[u8],
    ) -> Result<Claimed, Error> {
        let statement = self.statement(&index.entries)?;
        let claimed = statement.claim::<P>(index, rid, entry_key, payload);
        claimed.await
    }
}

impl<'t> Statement<'t> {
    /// Claims an entry for the record `rid`, unless the entry belongs to another record.
    async fn claim<P: Policy>(
        &self,
        index: &'t IndexCore,
        rid: Rid,
        entry_key: &[u8],
        payload: &[u8],
    ) -> Result<Claimed, Error> {
        if entry_key.len() > crate::KEY_BYTES_MAX {
            let index = index.number() as usize;
            return Err(Error::IndexKeyTooLong { index });
        }
        if payload.len() > crate::VALUE_BYTES_MAX {
            let bytes = payload.len();
            return Err(Error::ValueTooLong { bytes });
        }
        let (entries, payload) = (&*index.entries, Some(payload));
        let written = self.write::<P>(OrNew, entries, entry_key, payload, Intent::Claim(rid));
        Ok(match written.await? {
            Written::Done => Claimed::Done,
            Written::Lapsed(key) => Claimed::Lapsed(key),
            _ => Claimed::Duplicate,
        })
    }

    /// Removes an entry. If there is no entry, because the builder has not come to the record yet,
    /// a tombstone tells the builder that what it read is out of date. Until then, the entry of a
    /// unique index may belong to another record, which has taken the key since; that entry stays.
    async fn erase<P: Policy>(
        &self,
        entries: &'t Table,
        rid: Rid,
        entry_key: &[u8],
    ) -> Result<(), Error> {
        let erased = self.write::<P>(
            Existing,
            entries,
            entry_key,
            None::<&[u8]>,
            Intent::Erase(rid),
        );
        if !erased.await?.is_done() {
            self.write::<P>(OrNew, entries, entry_key, None::<&[u8]>, Intent::Erase(rid))
                .await?;
        }
        Ok(())
    }
}

/// Write of a record and its entries, under way.
struct Operation<'t> {
    transaction: &'t Transaction,
    scratch: Lent<'t, Scratch>,
    is_complete: bool,
    /// Length of the list of moves before the operation.
    moves: usize,
}

impl<'t> Operation<'t> {
    /// Begins an operation when its turn has come.
    async fn begin(transaction: &'t Transaction) -> Operation<'t> {
        transaction.context.turn.take().await;
        Operation {
            transaction,
            scratch: transaction.session.scratch.lend(),
            is_complete: false,
            moves: transaction.context.moves.borrow().len(),
        }
    }

    /// Makes the writes of the operation permanent parts of the transaction.
    fn complete(&mut self) {
        self.is_complete = true;
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        let context = &self.transaction.context;
        let journal = context.journal.borrow();
        if !self.is_complete && !journal.is_empty() && context.state.get() == State::Open {
            // The progress of the operation tells of records that other transactions can change
            // again.
            let new = journal.iter().filter(|step| step.before.is_none());
            (self.transaction).note_what_was_told(new.map(|step| step.write));
        }
        drop(journal);
        if !self.is_complete {
            context.moves.borrow_mut().truncate(self.moves);
        }
        // If the transaction was aborted, all its writes were undone.
        let is_open = context.state.get() == State::Open;
        let mut journal = context.journal.borrow_mut();
        while let Some(step) = journal.pop() {
            match step.before {
                None if self.is_complete || !is_open => {}
                None => self.transaction.take_step_back(step.write),
                Some(saved) if self.is_complete && is_open => self.transaction.keep(saved),
                Some(saved) if is_open => self.transaction.restore(&saved),
                Some(saved) => self.transaction.discard(saved.version),
            }
        }
        drop(journal);
        context.turn.give_back();
    }
}

impl Transaction {
    /// Returns the record that a step of the operation has written, the version that the step
    /// replaced and the version that it made. Both versions stay in place until the operation ends:
    /// the replaced one is committed and superseded by an uncommitted one, or is the transaction's
    /// own and kept; the new one may be changed by no other transaction.
    fn written_by(&self, step: usize) -> (Rid, Option<Version>, Version) {
        let context = &self.context;
        let step = context.journal.borrow()[step];
        let write = &context.writes.borrow()[step.write];
        let replaced = match step.before {
            Some(saved) => Some(saved.version),
            None => write.version.next(),
        };
        (write.rid, replaced, write.version)
    }

    /// Undoes the write at the place `at`, the newest remaining write of an operation. Later writes
    /// in the list belong to sibling operations that are under way: no savepoint can have been made
    /// since, and no list names those writes by their place.
    fn take_step_back(&self, at: usize) {
        let write = self.context.writes.borrow_mut().remove(at);
        self.context.places.borrow_mut().cut(at);
        let keys = self.context.keys.borrow();
        self.take_back(&write, write.key(&keys));
    }

    /// Keeps a version that a complete operation has replaced for as long as a savepoint may want
    /// it back.
    fn keep(&self, saved: Saved) {
        let mut savepoints = self.context.savepoints.borrow_mut();
        if saved.savepoint < savepoints.newest() {
            savepoints.save(saved);
        } else {
            self.discard(saved.version);
        }
    }
}
