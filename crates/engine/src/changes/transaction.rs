//! What one transaction changed, in bytes of the log that it shares with others.
//!
//! # Order
//! A transaction is whole, so the order in it matters only where it tells what a change is
//! of. Events are in the order of the operations. The records of a storage that an event
//! ends come before it, so that what a transaction wrote to a table that it then truncated
//! is not taken for what it wrote afterwards; all others come after all events, so that
//! their tables are there and have their new names.

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
    /// As part of the memory limit.
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

/// What a lane has next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A transaction.
    At(Timestamp),
    /// Something on the device.
    ToBeRead,
    /// Nothing that counts.
    None,
}

/// What a transaction committed. Cheap to clone; holds the part of the log that it was
/// read from, which counts as memory of the database.
#[derive(Clone)]
pub struct ChangedTransaction {
    timestamp: Timestamp,
    records: u32,
    piece: Arc<Piece>,
    writes: Range<usize>,
    /// `None`: there are none, as mostly.
    events: Option<Arc<[TableEvent]>>,
    /// The tables before it; none before it is handed out.
    tables: Option<Arc<Tables>>,
}

/// A record that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedRecord<'t> {
    /// Its table, at this place of the stream.
    pub table: &'t ChangedTable,
    /// The key.
    pub key: &'t [u8],
    /// The new value; `None`: it was deleted. Of a table with a TTL, as it is stored
    /// ([`ChangedTable::split`]).
    pub value: Option<&'t [u8]>,
}

/// Something that a transaction changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'t> {
    /// A record.
    Record(ChangedRecord<'t>),
    /// A table as a whole.
    Table(&'t TableEvent),
}

impl ChangedTransaction {
    /// The next transaction in `payload`, which is a part of `piece` and becomes what
    /// follows; all of it can be read.
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

    /// The transaction's turn to be handed out: it changes what `tables` there are.
    ///
    /// # Errors
    /// If it has a record of none of them.
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

    /// Its commit timestamp: the position to go on from after it.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// How many records it changed. Those of the catalog are none of them.
    pub fn len(&self) -> usize {
        self.records as usize
    }

    /// Whether it changed nothing, neither records nor tables.
    pub fn is_empty(&self) -> bool {
        self.records == 0 && self.events.is_none()
    }

    /// What it did to tables, in the order in which it did it.
    pub fn events(&self) -> &[TableEvent] {
        self.events.as_deref().unwrap_or_default()
    }

    /// Everything that it changed: each record once, in the order of their first change,
    /// beside what it did to tables. What it wrote to a table that it dropped or truncated
    /// comes before that, all other records at the end.
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
                // It was looked up before.
                table: self.table_of(write.table, passed)?,
                key: write.key,
                value: write.value,
            }))
        })
    }

    /// The records among [`ChangedTransaction::changes`].
    pub fn records(&self) -> impl Iterator<Item = ChangedRecord<'_>> {
        self.changes().filter_map(|change| match change {
            Change::Record(record) => Some(record),
            Change::Table(_) => None,
        })
    }
}

impl ChangedTransaction {
    /// The writes to tables.
    fn writes(&self) -> impl Iterator<Item = LoggedWrite<'_>> {
        let writes = LoggedWrite::read_all(&self.piece.bytes[self.writes.clone()]);
        // They were read before.
        let writes = writes.map_while(Result::ok);
        writes.filter(|write| is_of_table(write.table))
    }

    /// The same by their ranks, which without events they all share.
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

    /// How many events come before the records of a storage: those before the one that
    /// ends it, or all.
    fn rank(&self, storage: u32) -> usize {
        let mut events = self.events().iter();
        let end = events.position(|event| event.ends() == Some(storage));
        end.unwrap_or(self.events().len())
    }

    /// The table of a storage, after so many of the events.
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

/// All its writes can be read, and are as many as it says: how many of them are of tables,
/// and the events.
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
