//! What a change stream is made of.

use std::{fmt, sync::Weak, time::Duration};

use super::Position;
use crate::{
    error::Result,
    key::Key,
    options::WallTime,
    table::{Table, TypeTag},
    value::Value,
};

/// What one transaction committed. Cheap to clone; it holds a part of the log, which
/// counts as memory of the database.
#[derive(Clone)]
pub struct ChangedTransaction {
    inner: engine::ChangedTransaction,
    /// Names the database; never upgraded.
    database: Weak<engine::Database>,
}

/// Something that a transaction changed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Change<'t> {
    /// A record.
    Record(ChangedRecord<'t>),
    /// A table as a whole.
    Table(TableChange<'t>),
}

/// A record that a transaction changed: what it is since.
#[derive(Clone, Copy)]
pub struct ChangedRecord<'t> {
    record: engine::ChangedRecord<'t>,
    database: &'t Weak<engine::Database>,
}

/// What a transaction did to a table.
#[derive(Clone, Copy)]
pub struct TableChange<'t> {
    event: &'t engine::TableEvent,
    database: &'t Weak<engine::Database>,
}

/// What was done to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableChangeKind<'t> {
    /// It was created, empty.
    Created,
    /// It was dropped, with all its records: they are not told one by one.
    Dropped,
    /// All its records were removed: they are not told one by one.
    Truncated,
    /// It got another name.
    Renamed {
        /// The one before.
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

    /// Its place in commit order: where to go on from after it.
    pub fn position(&self) -> Position {
        Position(self.inner.timestamp().0)
    }

    /// How many records it changed; none, if all it did was to tables.
    #[allow(
        clippy::len_without_is_empty,
        reason = "without records it is not empty either"
    )]
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// Everything that it changed. Each record is told once, and what was done to tables
    /// in its order: whoever does the same to a copy in this order has what the database
    /// has. Records that it wrote to a table before it dropped or truncated that come
    /// before this, all others at the end.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let database = &self.database;
        let changes = self.inner.changes();
        changes.map(move |change| match change {
            engine::Change::Record(record) => Change::Record(ChangedRecord { record, database }),
            engine::Change::Table(event) => Change::Table(TableChange { event, database }),
        })
    }

    /// The records among [`ChangedTransaction::changes`].
    pub fn records(&self) -> impl Iterator<Item = ChangedRecord<'_>> {
        let database = &self.database;
        let records = self.inner.records();
        records.map(move |record| ChangedRecord { record, database })
    }
}

impl<'t> TableChange<'t> {
    /// The table's number ([`Table::number`]).
    pub fn table_number(&self) -> u32 {
        self.event.table.number
    }

    /// The name that the table has since, or had when it was dropped.
    pub fn table_name(&self) -> &'t str {
        &self.event.table.name
    }

    /// The types of the table's keys and values.
    pub fn types(&self) -> Option<TypeTag> {
        TypeTag::decode(&self.event.table.description)
    }

    /// How long the table's records live after they were last written. `None`: for ever.
    pub fn ttl(&self) -> Option<Duration> {
        self.event.table.ttl()
    }

    /// What was done to it.
    pub fn kind(&self) -> TableChangeKind<'t> {
        match &self.event.kind {
            engine::TableEventKind::Dropped => TableChangeKind::Dropped,
            engine::TableEventKind::Truncated { .. } => TableChangeKind::Truncated,
            engine::TableEventKind::Renamed { from, .. } => TableChangeKind::Renamed { from },
            engine::TableEventKind::Created => TableChangeKind::Created,
        }
    }

    /// Whether it was done to the table of this handle.
    ///
    /// # Errors
    /// [`crate::Error::ForeignTable`].
    pub fn is_of<K, V>(&self, table: &Table<K, V>) -> Result<bool> {
        is_of(self.database, &self.event.table, table)
    }
}

impl<'t> ChangedRecord<'t> {
    /// The number of the record's table ([`Table::number`]), which it keeps when it is
    /// truncated or renamed.
    pub fn table_number(&self) -> u32 {
        self.record.table.number
    }

    /// The name of the record's table, at this place of the stream.
    pub fn table_name(&self) -> &'t str {
        &self.record.table.name
    }

    /// The encoded key.
    pub fn key(&self) -> &'t [u8] {
        self.record.key
    }

    /// The encoded value; `None` if the record was deleted.
    pub fn value(&self) -> Option<&'t [u8]> {
        Some(self.record.table.split(self.record.value?).1)
    }

    /// The record's key and value, `None` in place of the value if it was deleted. All
    /// `None` if the record is of another table. The handle may be older than a truncation
    /// of the table, or later, and the table may be dropped.
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

    /// When the record expires, if it was not deleted, and its table has a
    /// [`Table::ttl`]. Nothing follows when it does; some time later it is deleted, which
    /// is a change like others.
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
