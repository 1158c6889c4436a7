//! What a change stream is made of.

use std::{fmt, sync::Weak};

use super::Position;
use crate::{error::Result, key::Key, options::WallTime, table::Table, value::Value};

/// What one transaction committed. Cheap to clone; it holds a part of the log, which
/// counts as memory of the database.
#[derive(Clone)]
pub struct ChangedTransaction {
    inner: engine::ChangedTransaction,
    /// Names the database; never upgraded.
    database: Weak<engine::Database>,
}

/// A record that a transaction changed: what it is since.
#[derive(Clone, Copy)]
pub struct Change<'t> {
    record: engine::ChangedRecord<'t>,
    database: &'t Weak<engine::Database>,
}

impl ChangedTransaction {
    pub(super) fn new(
        inner: engine::ChangedTransaction,
        database: Weak<engine::Database>,
    ) -> ChangedTransaction {
        ChangedTransaction { inner, database }
    }

    /// Its place in commit order: where to go on from after it.
    pub fn position(&self) -> Position {
        Position(self.inner.timestamp().0)
    }

    /// How many records it changed; at least one.
    #[allow(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// The records that it changed, each once.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let database = &self.database;
        let records = self.inner.records();
        records.map(move |record| Change { record, database })
    }
}

impl<'t> Change<'t> {
    /// The number of the record's table ([`Table::number`],
    /// [`crate::Database::table_name`]).
    pub fn table_number(&self) -> u32 {
        self.record.table
    }

    /// The encoded key.
    pub fn key(&self) -> &'t [u8] {
        self.record.key
    }

    /// The encoded value; `None` if the record was deleted. Of a table whose records
    /// expire, it is behind 8 bytes that say when, in microseconds since 1970, little-endian.
    pub fn value(&self) -> Option<&'t [u8]> {
        self.record.value
    }

    /// The record's key and value, `None` in place of the value if it was deleted. All
    /// `None` if the record is of another table.
    ///
    /// # Errors
    /// [`crate::Error::Decode`]; [`crate::Error::ForeignTable`].
    pub fn for_table<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
    ) -> Result<Option<(K, Option<V>)>> {
        if !table.is_of(self.database) {
            return Err(table.foreign());
        }
        if table.number() != self.record.table {
            return Ok(None);
        }
        let key = K::decode_key(self.record.key)?;
        let value = self.record.value;
        let value = value.map(|stored| V::decode(table.engine().split_changed(stored).1));
        Ok(Some((key, value.transpose()?)))
    }

    /// When the record expires, if it is of this table, was not deleted, and the table
    /// has a [`Table::ttl`]. Nothing follows when it does; some time later it is deleted,
    /// which is a change like others.
    pub fn expires_at<K, V>(&self, table: &Table<K, V>) -> Option<WallTime> {
        let is_of = table.is_of(self.database) && table.number() == self.record.table;
        let stored = self.record.value.filter(|_| is_of)?;
        table.engine().split_changed(stored).0
    }
}

impl fmt::Debug for ChangedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedTransaction")
            .field("position", &self.position())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}
