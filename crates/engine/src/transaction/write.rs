//! Insert, update, upsert, modify, delete.
//!
//! On a table with indexes each of these is one *operation* of several writes: `maintain.rs`.
//!
//! | part | file |
//! | --- | --- |
//! | the operations | this file |
//! | the way to the record's slot, which `insert` and `upsert` make if the index does not know the key; waits | `seek.rs` |
//! | a new version in front of the chain in the slot | `install.rs` |
//! | its content: given, or made of the old content | `content.rs` |
//!
//! # Races
//! Two writers of one record: both read the head, one compare-and-swap wins, the other writer finds
//! the winner's uncommitted version and aborts (first updater wins), or waits for the winner's end
//! (`locks.rs`). The loser waits outside the leaf, without a pin, and then begins again from the
//! key.
//!
//! Two inserters of one key: both make a record, one index insert wins, the other inserter finds
//! the winner's RID, drops its own record (never published) and goes on as a writer of the
//! winner's.
//!
//! ```text
//!   inserter                            collector or undo of a record
//!   index: key is present, RID r        slot r: version → DEAD
//!   slot r is DEAD                      index: remove key
//!   yields, tries again                 retires r
//! ```

mod content;
mod install;
mod seek;

use std::ops::ControlFlow;

use interleave::Policy;

pub(super) use self::{
    content::{Changed, Content},
    seek::{Existing, Found, OrNew, Seek},
};
use super::{Statement, Transaction, row::NewPlace};
use crate::{
    error::{Abort, Error},
    indirection::{Rid, Slot},
    locks::{Strength, Waiting},
    table::Table,
    timestamp::Timestamp,
};

/// Condition of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// Only if the record is absent.
    Insert,
    /// Only if the record is there.
    Change,
    /// Only if the record is the row that was there at a snapshot, or, without one, any row
    /// (`row.rs`).
    Row(Option<Timestamp>),
    /// Whether the record is there or not.
    Put,
    /// An entry: only if there is none, or this record's own.
    Claim(Rid),
    /// An entry: whether there is one or not, the write leaves a tombstone, which conflicts with an
    /// inserter of the entry at an older snapshot. Refused if the entry is another record's.
    Erase(Rid),
    /// Only if the record is there and has expired.
    Expire,
}

/// Outcome of an attempt to write.
pub(super) enum Written<'t> {
    Done,
    /// The record is there (for `Intent::Insert`), is another's (for `Intent::Claim` and
    /// `Intent::Erase`), or is not there (for `Intent::Change`).
    Refused,
    /// The record is there, and its content is to stay.
    Left,
    /// For `Intent::Claim`: the entry is that of an expired record, with this key.
    Lapsed(Box<[u8]>),
    /// The record is being removed; its key will be free in a moment.
    Dying,
    /// The record is another transaction's; the write is to be tried again after the wait.
    Blocked(Box<Waiting<'t>>),
    /// The record is on the device; the write is to be tried again when it was fetched.
    Cold(&'t Slot),
    /// The record is the transaction's own, among many writes, some more of which were noted; the
    /// write is to be tried again until the earlier write is found.
    Sought,
    /// For `Intent::Row`: the row is not there any more, even if another is under its key.
    Absent,
    /// For `Intent::Row`: the row lies elsewhere now.
    Moved(Box<NewPlace>),
    /// For `Intent::Row`: the command under way has written the row before.
    Already,
}

impl Written<'_> {
    #[inline(always)]
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Written::Done)
    }
}

impl Transaction {
    /// Inserts a record with `key` and `value` into `table`.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if there is a record with this key, [`Error::DuplicateIndexKey`] if
    /// another record has the same key in a unique index, [`Error::IndexNotAttached`] if an index
    /// is missing since the database was opened; aborts; limits of key, value and memory. After an
    /// error that is no abort the transaction can go on, and the operation has had no effect on the
    /// table or any of its indexes.
    ///
    /// # Suspension
    /// Memory waits. Writes of tables with indexes run one after the other within a transaction:
    /// under a `join`, an event wait for the write before.
    ///
    /// # Cancellation
    /// Dropping the future leaves the record written or not, with its index entries
    /// or without; the transaction's commit or rollback covers it either way.
    #[inline]
    pub fn insert<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> impl Future<Output = Result<(), Error>> {
        let answer = |is_new| match is_new {
            true => Ok(()),
            false => Err(Error::DuplicateKey),
        };
        self.write::<P, _>(OrNew, table, key, Some(value), Intent::Insert, answer)
    }

    /// Inserts a record with `key` and `value`, or replaces the value of the record under `key`.
    ///
    /// # Errors
    /// Fails as [`Transaction::insert`] does, without [`Error::DuplicateKey`].
    ///
    /// # Suspension
    /// Suspends as [`Transaction::insert`] does.
    #[inline]
    pub fn upsert<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> impl Future<Output = Result<(), Error>> {
        self.write::<P, _>(OrNew, table, key, Some(value), Intent::Put, |_| Ok(()))
    }

    /// Replaces the value of the record under `key`. Returns whether there is such a record.
    ///
    /// # Errors
    /// Fails as [`Transaction::insert`] does, without [`Error::DuplicateKey`].
    ///
    /// # Suspension
    /// Suspends as [`Transaction::insert`] does.
    #[inline]
    pub fn update<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> impl Future<Output = Result<bool, Error>> {
        self.write::<P, _>(Existing, table, key, Some(value), Intent::Change, Ok)
    }

    /// Replaces the value of the record under `key` by a value made by `change`, which is given the
    /// old value and appends the new value to the given memory. Returns whether the value was
    /// replaced: false if there is no such record, or if `change` breaks, which leaves the record
    /// as it is.
    ///
    /// This is [`Transaction::get`] and [`Transaction::update`] with no other writer in between:
    /// under read committed no update is lost, and a record that has been changed since the
    /// snapshot was taken is no conflict as long as the snapshot can move to the present. If
    /// another transaction comes in between all the same, `change` is called again.
    ///
    /// # Errors
    /// Fails as [`Transaction::insert`] does, without [`Error::DuplicateKey`].
    ///
    /// # Suspension
    /// Suspends as [`Transaction::insert`] does; never while `change` runs.
    #[inline]
    #[allow(clippy::manual_async_fn, reason = "an argument would be kept twice")]
    pub fn modify<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        mut change: impl FnMut(&[u8], &mut Vec<u8>) -> ControlFlow<()>,
    ) -> impl Future<Output = Result<bool, Error>> {
        async move {
            check(key, None)?;
            let change = |old: &[u8], new: &mut Vec<u8>| match change(old, new) {
                ControlFlow::Continue(()) => ControlFlow::Continue(Strength::Update),
                ControlFlow::Break(()) => ControlFlow::Break(()),
            };
            let content = Changed::new(self, table, change);
            let statement = self.statement_to_write(table)?;
            let written =
                self.carry_out::<P>(statement, Existing, table, key, &content, Intent::Change);
            Ok(written.await?.is_done())
        }
    }

    /// Deletes the record under `key`. Returns whether there was one.
    ///
    /// # Errors
    /// Fails as [`Transaction::insert`] does, without [`Error::DuplicateKey`].
    ///
    /// # Suspension
    /// Suspends as [`Transaction::insert`] does.
    #[inline]
    pub fn delete<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
    ) -> impl Future<Output = Result<bool, Error>> {
        self.write::<P, _>(Existing, table, key, None, Intent::Change, Ok)
    }

    /// Deletes the record under `key` if it has expired. Returns whether it had.
    pub(crate) fn expire<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
    ) -> impl Future<Output = Result<bool, Error>> {
        self.write::<P, _>(Existing, table, key, None, Intent::Expire, Ok)
    }

    /// Writes a record and its index entries. `answer` is given whether the write took place.
    #[inline(always)]
    #[allow(clippy::manual_async_fn, reason = "an argument would be kept twice")]
    fn write<P: Policy, R>(
        &self,
        seek: impl Seek,
        table: &Table,
        key: &[u8],
        value: Option<&[u8]>,
        intent: Intent,
        answer: impl FnOnce(bool) -> Result<R, Error>,
    ) -> impl Future<Output = Result<R, Error>> {
        async move {
            check(key, value)?;
            let statement = self.statement_to_write(table)?;
            let mut room = Vec::new();
            let value = match value {
                Some(value) => Some(self.to_store(table, value, &mut room)?),
                None => None,
            };
            let is_written = self.carry_out::<P>(statement, seek, table, key, value, intent);
            answer(is_written.await?.is_done())
        }
    }

    /// Writes a record and its index entries, with `content` in the form in which it is stored.
    #[inline(always)]
    #[allow(clippy::manual_async_fn, reason = "an argument would be kept twice")]
    pub(super) fn carry_out<'t, P: Policy>(
        &'t self,
        statement: Statement<'t>,
        seek: impl Seek,
        table: &'t Table,
        key: &[u8],
        content: impl Content,
        intent: Intent,
    ) -> impl Future<Output = Result<Written<'t>, Error>> {
        async move {
            let indexes = self.indexes_of(table);
            let written = match indexes {
                None => {
                    let written = statement.write::<P>(seek, table, key, content, intent);
                    written.await?
                }
                Some(indexes) => {
                    let indexed = statement.indexed(table, indexes);
                    indexed.write::<P>(seek, key, content, intent).await?
                }
            };
            // A sibling under the same `join` may have aborted the transaction: the record was then
            // found (or not found) without the transaction's writes.
            self.check_open()?;
            if written.is_done() {
                if !table.indexes.is_current(indexes) {
                    return Err(self.doom(Abort::WriteConflict));
                }
                self.context.count_write();
            }
            Ok(written)
        }
    }
}

pub(super) fn check(key: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
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
