//! Changes of one transaction, in bytes of the log that it shares with others.
//!
//! # Order
//! A transaction is whole: the order in it matters only where it decides which table a change
//! belongs to. Events are in the order of the operations. The records of a storage that an event
//! ends come before the event: writes to a table that the transaction then truncated are not taken
//! for later writes. All other records come after all events, when their tables exist and have
//! their new names.

use std::{fmt, ops::Range, sync::Arc};

use io::Buffer;
use memory::Reservation;

use super::Tables;
use crate::{
    catalog::{
        EVENTS,
        event::{ChangedTable, TableEvent},
        view::CatalogView,
    },
    log::format::{Flaw, LoggedTransaction, LoggedWrite, Transactions},
    timestamp::Timestamp,
};

/// A part of a log file.
pub(super) struct Piece {
    pub(super) bytes: Buffer,
    /// Part of the memory limit.
    _memory: Reservation,
}

impl Piece {
    pub(super) fn new(bytes: Buffer, memory: Reservation) -> Piece {
        Piece {
            bytes,
            _memory: memory,
        }
    }
}

/// Next item of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A transaction with this timestamp.
    At(Timestamp),
    /// Bytes on the device that are to be read.
    ToBeRead,
    /// Nothing, or nothing that counts.
    None,
}

/// Changes that a transaction committed. Cheap to clone; holds the part of the log that it was read
/// from, which counts as memory of the database.
#[derive(Clone)]
pub struct ChangedTransaction {
    timestamp: Timestamp,
    records: u32,
    piece: Arc<Piece>,
    writes: Range<usize>,
    /// Events of tables; mostly `None`.
    events: Option<Arc<[TableEvent]>>,
    /// Tables before the transaction; `None` until it is handed out.
    tables: Option<Arc<Tables>>,
}

/// Record that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedRecord<'t> {
    /// Table of the record, at this place of the stream.
    pub table: &'t ChangedTable,
    /// Key of the record.
    pub key: &'t [u8],
    /// New value; `None` if the record was deleted. With a TTL, the value is in its stored form
    /// ([`ChangedTable::split`]).
    pub value: Option<&'t [u8]>,
}

/// Change of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'t> {
    /// A record was changed.
    Record(ChangedRecord<'t>),
    /// A table was changed as a whole.
    Table(&'t TableEvent),
}

impl ChangedTransaction {
    /// Reads the next transaction in `payload`, which is a part of `piece`, and sets `payload` to
    /// the rest; all of the transaction can be read.
    pub(super) fn read(
        piece: &Arc<Piece>,
        payload: &mut Range<usize>,
    ) -> Option<Result<ChangedTransaction, Flaw>> {
        let mut transactions = Transactions::in_payload(&piece.bytes[payload.clone()]);
        let logged = transactions.next()?;
        let rest = transactions.rest().len();
        Some(logged.and_then(|logged| {
            let (records, events) = check(&logged)?;
            payload.start = payload.end - rest;
            Ok(ChangedTransaction {
                timestamp: logged.timestamp,
                records,
                piece: piece.clone(),
                writes: payload.start - logged.bytes().len()..payload.start,
                events: (!events.is_empty()).then(|| events.into()),
                tables: None,
            })
        }))
    }

    /// Prepares the transaction for being handed out, and applies its events to `tables`.
    ///
    /// # Errors
    /// [`Flaw`] if it has a record of a table that does not exist.
    pub(super) fn enter(&mut self, tables: &mut Arc<Tables>) -> Result<(), Flaw> {
        self.tables = Some(tables.clone());
        let mut last = None;
        for write in self.writes() {
            if last != Some(write.table) {
                let found = self.table_of(write.table, self.events().len());
                found.ok_or(Flaw::Nonsense)?;
                last = Some(write.table);
            }
        }
        if !self.events().is_empty() {
            let tables = Arc::make_mut(tables);
            self.events().iter().for_each(|event| tables.apply(event));
        }
        Ok(())
    }

    /// Returns the commit timestamp: the position to go on from after this transaction.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// Returns how many records it changed. Records of the catalog do not count.
    pub fn len(&self) -> usize {
        self.records as usize
    }

    /// Whether it changed nothing, neither records nor tables.
    pub fn is_empty(&self) -> bool {
        self.records == 0 && self.events.is_none()
    }

    /// Returns the changes of tables as a whole, in the order of the operations.
    pub fn events(&self) -> &[TableEvent] {
        self.events.as_deref().unwrap_or_default()
    }

    /// Returns all changes: each record once, in the order of their first change, and the events of
    /// tables. Writes to a table that the transaction dropped or truncated come before that event,
    /// all other records at the end.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let mut writes = self.in_order().peekable();
        let mut passed = 0;
        std::iter::from_fn(move || {
            let rank = writes.peek().map(|write| self.rank(write.table));
            if let Some(event) = self.events().get(passed)
                && rank != Some(passed)
            {
                passed += 1;
                return Some(Change::Table(event));
            }
            let write = writes.next()?;
            Some(Change::Record(ChangedRecord {
                // The table was looked up before.
                table: self.table_of(write.table, passed)?,
                key: write.key,
                value: write.value,
            }))
        })
    }

    /// Returns the records among [`ChangedTransaction::changes`].
    pub fn records(&self) -> impl Iterator<Item = ChangedRecord<'_>> {
        self.changes().filter_map(|change| match change {
            Change::Record(record) => Some(record),
            Change::Table(_) => None,
        })
    }
}

impl ChangedTransaction {
    /// Returns the writes to tables.
    fn writes(&self) -> impl Iterator<Item = LoggedWrite<'_>> {
        let writes = LoggedWrite::read_all(&self.piece.bytes[self.writes.clone()]);
        // The writes were read before.
        let writes = writes.map_while(Result::ok);
        writes.filter(|write| is_of_table(write.table))
    }

    /// Returns the writes to tables ordered by rank; without events, all writes have the same rank.
    fn in_order(&self) -> impl Iterator<Item = LoggedWrite<'_>> {
        let as_logged = self.events.is_none().then(|| self.writes());
        let ranked = self.events.is_some().then(|| {
            let mut writes: Vec<LoggedWrite<'_>> = self.writes().collect();
            writes.sort_by_cached_key(|write| self.rank(write.table));
            writes
        });
        let as_logged = as_logged.into_iter().flatten();
        as_logged.chain(ranked.into_iter().flatten())
    }

    /// Returns how many events come before the records of a storage: the events before the one that
    /// ends the storage, or all.
    fn rank(&self, storage: u32) -> usize {
        let mut events = self.events().iter();
        let end = events.position(|event| event.ends() == Some(storage));
        end.unwrap_or(self.events().len())
    }

    /// Returns the table of a storage, after the first `passed` events.
    fn table_of(&self, storage: u32, passed: usize) -> Option<&ChangedTable> {
        let mut made = self.events()[..passed]
            .iter()
            .rev()
            .map(|event| &event.table);
        let made = made.find(|table| table.storage == storage);
        made.or_else(|| self.tables.as_ref()?.of_storage(storage))
            .map(|table| &**table)
    }
}

fn is_of_table(number: u32) -> bool {
    !CatalogView::is_about(number) && number != EVENTS
}

/// Checks that all writes can be read, and are as many as the transaction says; returns how many of
/// them are of tables, and the events.
fn check(logged: &LoggedTransaction<'_>) -> Result<(u32, Vec<TableEvent>), Flaw> {
    let (mut count, mut of_tables) = (0, 0);
    let mut events = Vec::new();
    for write in logged.writes() {
        let write = write?;
        of_tables += u32::from(is_of_table(write.table));
        if write.table == EVENTS {
            events.push(TableEvent::decode(write.key, write.value)?);
        }
        count += 1;
    }
    if count == logged.count {
        Ok((of_tables, events))
    } else {
        Err(Flaw::Nonsense)
    }
}

impl fmt::Debug for ChangedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedTransaction")
            .field("timestamp", &self.timestamp)
            .field("records", &self.records)
            .field("events", &self.events())
            .finish_non_exhaustive()
    }
}
