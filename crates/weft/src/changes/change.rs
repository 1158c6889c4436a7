//! Elements of a change stream.

use std::{fmt, sync::Weak, time::Duration};

use super::Position;
use crate::{
    error::Result,
    key::Key,
    options::WallTime,
    table::{Table, TypeTag},
    value::Value,
};

/// Changes of one committed transaction. Cheap to clone; it holds a part of the log, which counts
/// as memory of the database.
#[derive(Clone)]
pub struct ChangedTransaction {
    inner: engine::ChangedTransaction,
    /// Identity of the database; never upgraded.
    database: Weak<engine::Database>,
}

/// A change that a transaction made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Change<'t> {
    /// A change of a record.
    Record(ChangedRecord<'t>),
    /// A change of a table as a whole.
    Table(TableChange<'t>),
}

/// A record that a transaction changed, in its new state.
#[derive(Clone, Copy)]
pub struct ChangedRecord<'t> {
    record: engine::ChangedRecord<'t>,
    database: &'t Weak<engine::Database>,
}

/// A change of a table by a transaction.
#[derive(Clone, Copy)]
pub struct TableChange<'t> {
    event: &'t engine::TableEvent,
    database: &'t Weak<engine::Database>,
}

/// Kinds of changes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableChangeKind<'t> {
    /// The table was created, empty.
    Created,
    /// The table was dropped, with all its records: the stream does not tell them one by one.
    Dropped,
    /// All records of the table were removed: the stream does not tell them one by one.
    Truncated,
    /// The table got another name.
    Renamed {
        /// Name before the change.
        from: &'t str,
    },
}

impl ChangedTransaction {
    pub(super) fn new(
        inner: engine::ChangedTransaction,
        database: Weak<engine::Database>,
    ) -> ChangedTransaction {
        ChangedTransaction { inner, database }
    }

    /// Returns the transaction's place in commit order, from which a stream can go on after it.
    pub fn position(&self) -> Position {
        Position(self.inner.timestamp().0)
    }

    /// Returns the number of records that the transaction changed; 0 if it changed only tables.
    #[allow(
        clippy::len_without_is_empty,
        reason = "without records it is not empty either"
    )]
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// Returns all changes of the transaction. Each record is told once, and changes of tables in
    /// their order: a copy to which the changes are applied in this order equals the database.
    /// Records that the transaction wrote to a table before it dropped or truncated that come
    /// before this, all others at the end.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let database = &self.database;
        let changes = self.inner.changes();
        changes.map(move |change| match change {
            engine::Change::Record(record) => Change::Record(ChangedRecord { record, database }),
            engine::Change::Table(event) => Change::Table(TableChange { event, database }),
        })
    }

    /// Returns the records among [`ChangedTransaction::changes`].
    pub fn records(&self) -> impl Iterator<Item = ChangedRecord<'_>> {
        let database = &self.database;
        let records = self.inner.records();
        records.map(move |record| ChangedRecord { record, database })
    }
}

impl<'t> TableChange<'t> {
    /// Returns the table's number ([`Table::number`]).
    pub fn table_number(&self) -> u32 {
        self.event.table.number
    }

    /// Returns the name that the table has after the change, or had when it was dropped.
    pub fn table_name(&self) -> &'t str {
        &self.event.table.name
    }

    /// Returns the types of the table's keys and values.
    pub fn types(&self) -> Option<TypeTag> {
        TypeTag::decode(&self.event.table.description)
    }

    /// Returns the time to live of the table's records after they were last written; `None` if they
    /// live for ever.
    pub fn ttl(&self) -> Option<Duration> {
        self.event.table.ttl()
    }

    /// Returns the kind of the change.
    pub fn kind(&self) -> TableChangeKind<'t> {
        match &self.event.kind {
            engine::TableEventKind::Dropped => TableChangeKind::Dropped,
            engine::TableEventKind::Truncated { .. } => TableChangeKind::Truncated,
            engine::TableEventKind::Renamed { from, .. } => TableChangeKind::Renamed { from },
            engine::TableEventKind::Created => TableChangeKind::Created,
        }
    }

    /// Returns whether the change is one of the table of this handle.
    ///
    /// # Errors
    /// [`crate::Error::ForeignTable`].
    pub fn is_of<K, V>(&self, table: &Table<K, V>) -> Result<bool> {
        is_of(self.database, &self.event.table, table)
    }
}

impl<'t> ChangedRecord<'t> {
    /// Returns the number of the record's table ([`Table::number`]), which it keeps when it is
    /// truncated or renamed.
    pub fn table_number(&self) -> u32 {
        self.record.table.number
    }

    /// Returns the name of the record's table, at this place of the stream.
    pub fn table_name(&self) -> &'t str {
        &self.record.table.name
    }

    /// Returns the encoded key.
    pub fn key(&self) -> &'t [u8] {
        self.record.key
    }

    /// Returns the encoded value; `None` if the record was deleted.
    pub fn value(&self) -> Option<&'t [u8]> {
        Some(self.record.table.split(self.record.value?).1)
    }

    /// Returns the record's key and value, `None` in place of the value if it was deleted. Returns
    /// `None` if the record is of another table. The handle may be older than a truncation of the
    /// table, or later, and the table may be dropped.
    ///
    /// # Errors
    /// [`crate::Error::Decode`]; [`crate::Error::ForeignTable`].
    pub fn for_table<K: Key, V: Value>(
        &self,
        table: &Table<K, V>,
    ) -> Result<Option<(K, Option<V>)>> {
        if !is_of(self.database, self.record.table, table)? {
            return Ok(None);
        }
        let key = K::decode_key(self.key())?;
        let value = self.value().map(V::decode);
        Ok(Some((key, value.transpose()?)))
    }

    /// Returns the time when the record expires, if it was not deleted, and its table has a
    /// [`Table::ttl`]. No change marks the expiry itself; some time later the record is deleted,
    /// which is a change like others.
    pub fn expires_at(&self) -> Option<WallTime> {
        self.record.table.split(self.record.value?).0
    }
}

fn is_of<K, V>(
    database: &Weak<engine::Database>,
    changed: &engine::ChangedTable,
    table: &Table<K, V>,
) -> Result<bool> {
    if !table.is_of(database) {
        return Err(table.foreign());
    }
    Ok(table.number() == changed.number)
}

impl fmt::Debug for ChangedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedTransaction")
            .field("position", &self.position())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ChangedRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}

impl fmt::Debug for TableChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.event.fmt(f)
    }
}
