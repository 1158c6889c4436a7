//! Events: operations of transactions on tables, for followers of the change stream.
//!
//! A record of the catalog describes the present; it does not describe the past, nor whether a
//! table was emptied or made. Therefore each operation on a table adds an event to its
//! transaction's part of the log, as a write to [`EVENTS`], which is no storage: the event is never
//! in memory, and in no checkpoint.
//!
//! ```text
//! key    table u32                          big-endian
//! value  version u8 | kind u8 | flags u8 | - u8 | storage u32 | storage before u32
//!        | name | name before | description bytes behind their length, a u32
//!        | TTL u64                          microseconds, with flag 1
//! ```
//! The storage before is that of a table that is truncated, the name before that of a table that is
//! renamed; otherwise they are 0 and empty. A table that is dropped is described as it was.

use std::{fmt, sync::Arc, time::Duration};

use super::{FIRST_NUMBER, NAME_BYTES_MAX, NUMBERS_END};
use crate::{
    bytes::{Reader, put_counted},
    log::format::Flaw,
    ttl::{self, Ttl, WallTime},
};

const VERSION: u8 = 1;
const EXPIRES: u8 = 1;
const CREATED: u8 = 1;
const DROPPED: u8 = 2;
const TRUNCATED: u8 = 3;
const RENAMED: u8 = 4;

/// Description of a table for followers of the change stream, as of some commit.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedTable {
    /// Number of the table for its whole life, which no other table ever has.
    pub number: u32,
    /// Number of the storage that has the table's records ([`crate::Table::number`]). Truncating
    /// the table changes it.
    pub storage: u32,
    /// Name of the table.
    pub name: Arc<str>,
    /// Description given to the table when it was created.
    pub description: Arc<[u8]>,
    pub(crate) ttl: Option<Ttl>,
}

/// Operation of a transaction on a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableEvent {
    /// The table after the operation; a dropped table, as it was.
    pub table: Arc<ChangedTable>,
    /// Kind of the operation.
    pub kind: TableEventKind,
}

/// Kind of an operation on a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableEventKind {
    /// The table was created, empty.
    Created,
    /// The table was dropped with all its records.
    Dropped,
    /// All records of the table were removed.
    #[non_exhaustive]
    Truncated {
        /// Number of the storage that had the records.
        storage: u32,
    },
    /// The table got another name.
    #[non_exhaustive]
    Renamed {
        /// Previous name.
        from: Arc<str>,
    },
}

impl ChangedTable {
    /// Returns the time that records live after they were last written. `None`: for ever.
    pub fn ttl(&self) -> Option<Duration> {
        self.ttl.map(|ttl| Duration::from_micros(ttl.micros()))
    }

    /// Splits the `stored` bytes of a record of this table ([`crate::ChangedRecord::value`]) into
    /// its expiry, if the table's records expire, and its value.
    pub fn split<'v>(&self, stored: &'v [u8]) -> (Option<WallTime>, &'v [u8]) {
        match self.ttl {
            None => (None, stored),
            Some(_) => {
                let (expiry, value) = ttl::split(stored);
                (Some(expiry), value)
            }
        }
    }
}

impl TableEvent {
    /// Returns the key and the value of the event's write to the log.
    pub(crate) fn encode(&self) -> ([u8; 4], Vec<u8>) {
        let ChangedTable {
            number,
            storage,
            name,
            description,
            ttl,
        } = &*self.table;
        let (kind, storage_before, name_before) = match &self.kind {
            TableEventKind::Created => (CREATED, 0, ""),
            TableEventKind::Dropped => (DROPPED, 0, ""),
            TableEventKind::Truncated { storage } => (TRUNCATED, *storage, ""),
            TableEventKind::Renamed { from } => (RENAMED, 0, &**from),
        };
        let flags = if ttl.is_some() { EXPIRES } else { 0 };
        let mut value = vec![VERSION, kind, flags, 0];
        value.extend_from_slice(&storage.to_le_bytes());
        value.extend_from_slice(&storage_before.to_le_bytes());
        put_counted(&mut value, name.as_bytes());
        put_counted(&mut value, name_before.as_bytes());
        put_counted(&mut value, description);
        if let Some(ttl) = ttl {
            value.extend_from_slice(&ttl.micros().to_le_bytes());
        }
        (number.to_be_bytes(), value)
    }

    pub(crate) fn decode(key: &[u8], value: Option<&[u8]>) -> Result<TableEvent, Flaw> {
        let number = key.try_into().map_err(|_| Flaw::Nonsense)?;
        let number = u32::from_be_bytes(number);
        let mut reader = Reader(value.ok_or(Flaw::Nonsense)?);
        let &[VERSION, kind, flags @ (0 | EXPIRES), 0] = reader.take(4)? else {
            return Err(Flaw::Nonsense);
        };
        let (storage, storage_before) = (reader.u32()?, reader.u32()?);
        let name = self::name(reader.counted()?)?;
        let name_before = self::name(reader.counted()?)?;
        let description = Arc::from(reader.counted()?);
        let ttl = match flags {
            EXPIRES => Some(Ttl::of_micros(reader.u64()?).ok_or(Flaw::Nonsense)?),
            _ => None,
        };
        let possible = FIRST_NUMBER..NUMBERS_END;
        if !reader.is_empty() || !possible.contains(&number) || !possible.contains(&storage) {
            return Err(Flaw::Nonsense);
        }
        let kind = match (kind, storage_before, &*name_before) {
            (CREATED, 0, "") => TableEventKind::Created,
            (DROPPED, 0, "") => TableEventKind::Dropped,
            (TRUNCATED, FIRST_NUMBER..NUMBERS_END, "") => TableEventKind::Truncated {
                storage: storage_before,
            },
            (RENAMED, 0, _) => TableEventKind::Renamed { from: name_before },
            _ => return Err(Flaw::Nonsense),
        };
        let table = Arc::new(ChangedTable {
            number,
            storage,
            name,
            description,
            ttl,
        });
        Ok(TableEvent { table, kind })
    }
}

fn name(bytes: &[u8]) -> Result<Arc<str>, Flaw> {
    let name = std::str::from_utf8(bytes).map_err(|_| Flaw::Nonsense)?;
    if name.len() > NAME_BYTES_MAX {
        return Err(Flaw::Nonsense);
    }
    Ok(Arc::from(name))
}

/// Describes the event in words, for readers of the log.
impl fmt::Display for TableEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChangedTable {
            number,
            storage,
            name,
            ..
        } = &*self.table;
        match &self.kind {
            TableEventKind::Created => write!(f, "create table {number} {name:?}"),
            TableEventKind::Dropped => write!(f, "drop table {number} {name:?}"),
            TableEventKind::Truncated { storage: before } => write!(
                f,
                "truncate table {number} {name:?}: storage {storage} in place of {before}"
            ),
            TableEventKind::Renamed { from } => {
                write!(f, "rename table {number} {from:?} to {name:?}")
            }
        }
    }
}

impl fmt::Debug for ChangedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedTable")
            .field("number", &self.number)
            .field("storage", &self.storage)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn events() -> impl Iterator<Item = TableEvent> {
        let truncated = TableEventKind::Truncated { storage: 4 };
        let renamed = |from: &str| TableEventKind::Renamed { from: from.into() };
        let kinds = [
            (TableEventKind::Created, None),
            (TableEventKind::Dropped, Ttl::of_micros(77)),
            (truncated, None),
            (renamed("old"), Ttl::of_micros(u64::MAX)),
            (renamed(""), None),
        ];
        kinds.into_iter().map(|(kind, ttl)| TableEvent {
            table: Arc::new(ChangedTable {
                number: 4,
                storage: 9,
                name: "accounts".into(),
                description: Arc::from(*b"u64 to i64"),
                ttl,
            }),
            kind,
        })
    }

    #[test]
    fn an_event_reads_as_it_was_written_and_only_whole() {
        for event in events() {
            let (key, mut value) = event.encode();
            assert_eq!(TableEvent::decode(&key, Some(&value)).as_ref(), Ok(&event));
            for length in 0..value.len() {
                let part = TableEvent::decode(&key, Some(&value[..length]));
                assert_eq!(part, Err(Flaw::Nonsense), "{length} bytes of {event}");
            }
            value.push(0);
            assert!(TableEvent::decode(&key, Some(&value)).is_err());
            assert!(TableEvent::decode(&key, None).is_err());
            assert!(TableEvent::decode(&key[1..], Some(&value)).is_err());
        }
    }

    #[test]
    fn changes_that_no_operation_makes_are_refused() {
        // Columns: version, kind, flags, storage, storage before.
        for (at, byte) in [(0, 2), (1, 0), (1, 5), (2, 2), (3, 1), (4, 0), (8, 4)] {
            let (key, mut value) = events().next().expect("there are some").encode();
            value[at] = byte;
            let decoded = TableEvent::decode(&key, Some(&value));
            assert_eq!(decoded, Err(Flaw::Nonsense), "byte {at}");
        }
    }
}
