//! Tables that come and go, and records in several of them at once: a transaction appears
//! whole in all of them, and in the catalog, or in none.
//!
//! In the history the catalog consists of records as well: under [`CATALOG`] and the number
//! of a name, the number of the storage that the table of this name has. A record of such a
//! table has the number of its storage in its key: truncating or dropping the table makes
//! these keys unreachable (`check/tables.rs`).
//!
//! Indexes are dropped and renamed here as well; tasks of their own make them
//! (`crashes/indexes.rs`). In the history they are records under [`INDEXES`] and the number
//! of a name. An index names its table by the table's *tag*, a number in the table's
//! description that survives renaming and truncation: dropping the table makes its indexes
//! unreachable.

use engine::{Error, Extractor, IndexOptions, Table};
use interleave::Policy;

use super::{Mood, expiring};
use crate::{client::Client, history::Value};

/// First byte of the keys; the number of the storage follows, big-endian.
pub(crate) const PREFIX: u8 = b't';

/// First byte of the keys of names.
pub(crate) const CATALOG: u8 = b'u';

/// First byte of the keys of indexes' names.
pub(crate) const INDEXES: u8 = b'v';

/// Number of names of tables.
pub(crate) const NAMES: usize = 4;

/// Number of names of indexes, of any table.
pub(crate) const INDEX_NAMES: usize = 8;

/// Records per table.
const RECORDS: usize = 5;

/// Returns the name of a table by number.
pub(crate) fn table_name(name: u8) -> String {
    format!("further {name}")
}

/// Returns the name of an index by number.
pub(crate) fn index_name(name: u8) -> String {
    format!("index {name}")
}

/// Prefix of the descriptions of all tables of this workload; their tag follows.
const DESCRIPTION: &[u8] = b"a table that comes and goes";

/// Bytes of a tag, and of the number of an index.
const TAG_BYTES: usize = 8;

/// Returns the description of a table.
pub(crate) fn description(tag: u64) -> Vec<u8> {
    [DESCRIPTION, &tag.to_be_bytes()].concat()
}

/// Returns a table's tag, if the table belongs to this workload.
pub(crate) fn tag(table: &Table) -> Option<[u8; TAG_BYTES]> {
    let tag = table.description().strip_prefix(DESCRIPTION)?;
    tag.try_into().ok()
}

/// Returns the value of a table name's record: storage and tag.
pub(crate) fn name_value(table: &Table) -> Value {
    let mut value = table.number().to_be_bytes().to_vec();
    value.extend_from_slice(&tag(table).unwrap_or_default());
    value
}

/// Returns the storage and the tag in the value of a table name's record.
pub(crate) fn named(value: &[u8]) -> Option<(u32, [u8; TAG_BYTES])> {
    let (storage, tag) = value.split_first_chunk()?;
    Some((u32::from_be_bytes(*storage), tag.try_into().ok()?))
}

/// Returns the description of an index: a unique number, and whether the index is unique.
pub(crate) fn index_description(number: u64, unique: bool) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[u8::from(unique)]].concat()
}

/// Returns the value of an index name's record: its table's tag, and the index's
/// description.
pub(crate) fn index_value(table: &Table, description: &[u8]) -> Value {
    [&tag(table).unwrap_or_default()[..], description].concat()
}

/// Returns the tag of the index's table, and whether the index is unique, from the value of
/// an index name's record.
pub(crate) fn indexed(value: &[u8]) -> Option<([u8; TAG_BYTES], bool)> {
    let (tag, description) = value.split_first_chunk()?;
    Some((*tag, description.last() == Some(&1)))
}

/// Returns the key of unique indexes: it has few values, so that it is often taken.
pub(crate) fn column(value: &[u8]) -> u8 {
    // Values begin with a number of 8 bytes (`Client::unique`).
    (value[5] ^ value[7]) % 8
}

/// Returns the options of an index, and the function for its keys.
pub(crate) fn index_kind(unique: bool) -> (IndexOptions, Extractor) {
    let options = IndexOptions {
        unique,
        prefix_free: unique,
    };
    let extract: Extractor = match unique {
        true => std::sync::Arc::new(|_, value, keys| {
            keys.push_covering(&[column(value)], &value[..8]);
        }),
        false => std::sync::Arc::new(|_, value, keys| {
            keys.push(&value[..6]);
            keys.push(&value[6..]);
        }),
    };
    (options, extract)
}

/// Returns the key of a record in a storage.
pub(crate) fn record_key(storage: u32, record: u8) -> Vec<u8> {
    let mut key = vec![PREFIX];
    key.extend_from_slice(&storage.to_be_bytes());
    key.push(record);
    key
}

/// Returns the storage of a key's record, if its table belongs to this workload.
pub(crate) fn storage_of(key: &[u8]) -> Option<u32> {
    match key {
        [PREFIX, a, b, c, d, ..] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}

pub(super) async fn run<P: Policy>(client: &Client<'_>, mood: &mut Mood<'_>) -> Result<(), Error> {
    for _ in 0..mood.dice.between(1, 4) {
        let name = mood.dice.below(NAMES) as u8;
        match mood.dice.weighted(&[3, 1, 1, 1, 6, 2, 1, 1, 4]) {
            0 => drop(client.create_table::<P>(name).await?),
            1 => drop(client.drop_table::<P>(name).await?),
            2 => drop(client.truncate_table::<P>(name).await?),
            3 => {
                let to = mood.dice.below(NAMES) as u8;
                client.rename_table::<P>(name, to).await?;
            }
            4 => {
                if let Some(storage) = client.open_table::<P>(name).await? {
                    write::<P>(client, mood, storage).await?;
                }
            }
            6 => {
                let index = mood.dice.below(INDEX_NAMES) as u8;
                client.drop_index::<P>(index).await?;
            }
            7 => {
                let (from, to) = (mood.dice.below(INDEX_NAMES), mood.dice.below(INDEX_NAMES));
                client.rename_index::<P>(from as u8, to as u8).await?;
            }
            8 => expiring::operate::<P>(client, mood).await?,
            _ => {
                // The handle of any transaction, perhaps of a table that is gone or not
                // there yet.
                let known = mood.world.storages();
                if !known.is_empty() {
                    let storage = known[mood.dice.below(known.len())];
                    match write::<P>(client, mood, storage).await {
                        Err(Error::TableDropped) => {}
                        written => written?,
                    }
                }
            }
        }
        mood.pause().await;
    }
    Ok(())
}

async fn write<P: Policy>(
    client: &Client<'_>,
    mood: &mut Mood<'_>,
    storage: u32,
) -> Result<(), Error> {
    for _ in 0..mood.dice.between(1, 3) {
        let key = record_key(storage, mood.dice.below(RECORDS) as u8);
        match mood.dice.below(6) {
            0 | 1 => drop(client.get::<P>(&key).await?),
            2 => unless_refused(client.delete::<P>(&key).await.map(drop))?,
            _ => {
                let value = client.value(mood.padding());
                unless_refused(client.upsert::<P>(&key, &value).await)?;
            }
        }
        mood.pause().await;
    }
    Ok(())
}

/// Turns a refusal by an index, which leaves the transaction as it was, into success.
pub(super) fn unless_refused(written: Result<(), Error>) -> Result<(), Error> {
    match written {
        Err(Error::DuplicateIndexKey { .. } | Error::IndexNotAttached { .. }) => Ok(()),
        written => written,
    }
}
