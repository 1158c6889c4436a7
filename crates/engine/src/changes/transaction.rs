//! What one transaction changed, in bytes of the log that it shares with others.

use std::{fmt, ops::Range, sync::Arc};

use io::Buffer;
use memory::Reservation;

use crate::{
    catalog::view::CatalogView,
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
}

/// A record that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedRecord<'t> {
    /// The number of its table.
    pub table: u32,
    /// The key.
    pub key: &'t [u8],
    /// The new value; `None`: it was deleted. Of a table with a TTL, as it is stored
    /// ([`crate::Table::split_changed`]).
    pub value: Option<&'t [u8]>,
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
            let records = check(&logged)?;
            payload.start = payload.end - rest;
            Ok(ChangedTransaction {
                timestamp: logged.timestamp,
                records,
                piece: piece.clone(),
                writes: payload.start - logged.bytes().len()..payload.start,
            })
        }))
    }

    /// Its commit timestamp: the position to go on from after it.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// How many records it changed. Those of the catalog are none of them: a transaction
    /// that only created or dropped tables changed none.
    pub fn len(&self) -> usize {
        self.records as usize
    }

    /// Whether it changed none.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The records that it changed, each once, in the order of their first change.
    pub fn records(&self) -> impl Iterator<Item = ChangedRecord<'_>> {
        let writes = LoggedWrite::read_all(&self.piece.bytes[self.writes.clone()]);
        // They were read before.
        let writes = writes.map_while(Result::ok);
        let of_tables = writes.filter(|write| !CatalogView::is_about(write.table));
        of_tables.map(|write| ChangedRecord {
            table: write.table,
            key: write.key,
            value: write.value,
        })
    }
}

/// All its writes can be read, and are as many as it says: how many of them are of tables,
/// not of the catalog.
fn check(logged: &LoggedTransaction<'_>) -> Result<u32, Flaw> {
    let (mut count, mut of_tables) = (0, 0);
    for write in logged.writes() {
        of_tables += u32::from(!CatalogView::is_about(write?.table));
        count += 1;
    }
    if count == logged.count {
        Ok(of_tables)
    } else {
        Err(Flaw::Nonsense)
    }
}

impl fmt::Debug for ChangedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedTransaction")
            .field("timestamp", &self.timestamp)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}
