//! Records of the catalog.
//!
//! ```text
//! OBJECTS  key    table u32 | index u32          big-endian; index 0: the table itself
//!          value  version u8 | kind u8 | flags u8 | - u8 | storage u32
//!                 | name | description           bytes behind their length, a u32
//!                 | TTL u64                      microseconds, of a table with flag 1
//! NAMES    key    the name
//!          value  table u32 | index u32          as the key above
//! ```
//! The indexes of a table follow it in the order of the keys. Flag 1 of an index: unique; of a
//! table: its records expire (`ttl.rs`). An index's records are derived; it has no storage.

use std::fmt;

use crate::{
    bytes::{Reader, TooShort, put_counted},
    catalog::{FIRST_NUMBER, NUMBERS_END},
    ttl::Ttl,
};

const VERSION: u8 = 1;
const TABLE: u8 = 0;
const INDEX: u8 = 1;
const UNIQUE: u8 = 1;
const EXPIRES: u8 = 1;

/// Bytes of the longest name of a table or index.
pub const NAME_BYTES_MAX: usize = 1024;

/// Name of a table or an index of the catalog for its whole life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) table: u32,
    /// Number of the index; 0 for the table itself.
    pub(crate) index: u32,
}

impl ObjectKey {
    pub(crate) const BYTES: usize = 8;

    pub(crate) fn encode(self) -> [u8; ObjectKey::BYTES] {
        (u64::from(self.table) << 32 | u64::from(self.index)).to_be_bytes()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<ObjectKey, Undecodable> {
        let bytes = bytes.try_into().map_err(|_| Undecodable)?;
        let word = u64::from_be_bytes(bytes);
        Ok(ObjectKey {
            table: (word >> 32) as u32,
            index: word as u32,
        })
    }
}

/// Kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Table {
        /// Number of the storage that has its records.
        storage: u32,
        ttl: Option<Ttl>,
    },
    Index {
        unique: bool,
    },
}

/// Description of an object in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// Description for the embedding's own use.
    pub(crate) description: Vec<u8>,
}

/// Error: the bytes are no record of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable;

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it cannot be decoded")
    }
}

impl From<TooShort> for Undecodable {
    fn from(TooShort: TooShort) -> Undecodable {
        Undecodable
    }
}

impl Definition {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (kind, flags, storage) = match self.kind {
            Kind::Table { storage, ttl } => {
                (TABLE, if ttl.is_some() { EXPIRES } else { 0 }, storage)
            }
            Kind::Index { unique } => (INDEX, if unique { UNIQUE } else { 0 }, 0),
        };
        let mut bytes = vec![VERSION, kind, flags, 0];
        bytes.extend_from_slice(&storage.to_le_bytes());
        put_counted(&mut bytes, self.name.as_bytes());
        put_counted(&mut bytes, &self.description);
        if let Kind::Table { ttl: Some(ttl), .. } = self.kind {
            bytes.extend_from_slice(&ttl.micros().to_le_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Definition, Undecodable> {
        let mut reader = Reader(bytes);
        let &[VERSION, kind, flags, 0] = reader.take(4)? else {
            return Err(Undecodable);
        };
        let storage = reader.u32()?;
        let mut kind = match (kind, flags, storage) {
            (TABLE, 0 | EXPIRES, FIRST_NUMBER..NUMBERS_END) => Kind::Table { storage, ttl: None },
            (INDEX, 0 | UNIQUE, 0) => Kind::Index {
                unique: flags == UNIQUE,
            },
            _ => return Err(Undecodable),
        };
        let name = std::str::from_utf8(reader.counted()?).map_err(|_| Undecodable)?;
        let description = reader.counted()?;
        if let Kind::Table { ttl, .. } = &mut kind
            && flags == EXPIRES
        {
            *ttl = Some(Ttl::of_micros(reader.u64()?).ok_or(Undecodable)?);
        }
        if name.len() > NAME_BYTES_MAX || !reader.is_empty() {
            return Err(Undecodable);
        }
        Ok(Definition {
            kind,
            name: name.to_owned(),
            description: description.to_vec(),
        })
    }
}

/// Returns the numbers that a record of [`crate::catalog::OBJECTS`] mentions.
pub(crate) fn numbers(key: &[u8], value: Option<&[u8]>) -> impl Iterator<Item = u32> {
    let key = ObjectKey::decode(key).ok();
    let definition = value.and_then(|value| Definition::decode(value).ok());
    let storage = definition.and_then(|definition| match definition.kind {
        Kind::Table { storage, .. } => Some(storage),
        Kind::Index { .. } => None,
    });
    let numbers = [key.map(|key| key.table), key.map(|key| key.index), storage];
    numbers
        .into_iter()
        .flatten()
        .filter(|&number| number < NUMBERS_END)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn definitions() -> [Definition; 3] {
        let table = |ttl| Kind::Table { storage: 7, ttl };
        let index = Kind::Index { unique: true };
        let kinds = [
            (table(None), &b"u64 to i64"[..]),
            (table(Ttl::of_micros(1 << 40)), b"u64 to i64"),
            (index, b""),
        ];
        kinds.map(|(kind, description)| Definition {
            kind,
            name: "accounts".to_owned(),
            description: description.to_vec(),
        })
    }

    #[test]
    fn records_that_expire_at_once_are_refused() {
        let mut bytes = definitions()[1].encode();
        let end = bytes.len();
        bytes[end - 8..].fill(0);
        assert_eq!(Definition::decode(&bytes), Err(Undecodable));
    }

    #[test]
    fn a_definition_reads_as_it_was_written_and_only_whole() {
        for definition in definitions() {
            let mut bytes = definition.encode();
            assert_eq!(Definition::decode(&bytes), Ok(definition));
            for length in 0..bytes.len() {
                let part = Definition::decode(&bytes[..length]);
                assert_eq!(part, Err(Undecodable), "{length} bytes");
            }
            bytes.push(0);
            assert_eq!(Definition::decode(&bytes), Err(Undecodable));
        }
    }

    #[test]
    fn other_versions_and_impossible_storages_are_refused() {
        for (at, byte) in [(0, 2), (1, 9), (2, 2), (3, 1), (4, 0), (7, 0x80)] {
            let mut bytes = definitions()[0].encode();
            bytes[at] = byte;
            assert_eq!(Definition::decode(&bytes), Err(Undecodable), "byte {at}");
        }
    }

    #[test]
    fn keys_of_indexes_follow_their_table() {
        let key = |table, index| ObjectKey { table, index }.encode();
        assert!(key(2, 0) < key(2, 5) && key(2, 5) < key(2, 700) && key(2, 700) < key(3, 0));
        let round_trip = ObjectKey::decode(&key(2, 700));
        assert_eq!(
            round_trip,
            Ok(ObjectKey {
                table: 2,
                index: 700
            })
        );
        assert_eq!(ObjectKey::decode(b"short"), Err(Undecodable));
    }
}
