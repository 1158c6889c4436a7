//! Tables that come and go, and records in several of them at once: a transaction is
//! whole in all of them, and in the catalog, or in none.
//!
//! In the history the catalog consists of records as well: under [`CATALOG`] and the
//! number of a name, the number of the storage that the table of this name has. A
//! record of such a table has the number of its storage in its key: whoever truncates
//! the table or drops it makes these keys unreachable (`check/tables.rs`).
//!
//! Indexes are dropped and renamed here as well; tasks of their own make them
//! (`crashes/indexes.rs`). In the history they are records under [`INDEXES`] and the number
//! of a name. Whose they are is said by a *tag* of the table, a number that it is described
//! with and keeps through renaming and truncation: whoever drops the table makes them
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

/// Names of tables.
pub(crate) const NAMES: usize = 4;

/// Names of indexes, of whatever table.
pub(crate) const INDEX_NAMES: usize = 8;

/// Records per table.
const RECORDS: usize = 5;

/// The name of a number.
pub(crate) fn table_name(name: u8) -> String {
    format!("further {name}")
}

/// The name of an index.
pub(crate) fn index_name(name: u8) -> String {
    format!("index {name}")
}

/// What the descriptions of all tables of this workload begin with; their tag follows.
const DESCRIPTION: &[u8] = b"a table that comes and goes";

/// Bytes of a tag, and of the number of an index.
const TAG_BYTES: usize = 8;

/// What a table is described with.
pub(crate) fn description(tag: u64) -> Vec<u8> {
    [DESCRIPTION, &tag.to_be_bytes()].concat()
}

/// A table's tag, if it has the description of one of these tables.
pub(crate) fn tag(table: &Table) -> Option<[u8; TAG_BYTES]> {
    let tag = table.description().strip_prefix(DESCRIPTION)?;
    tag.try_into().ok()
}

/// What the name of a table leads to, as the value of a record: storage and tag.
pub(crate) fn name_value(table: &Table) -> Value {
    let mut value = table.number().to_be_bytes().to_vec();
    value.extend_from_slice(&tag(table).unwrap_or_default());
    value
}

/// The storage and the tag in what the name of a table leads to.
pub(crate) fn named(value: &[u8]) -> Option<(u32, [u8; TAG_BYTES])> {
    let (storage, tag) = value.split_first_chunk()?;
    Some((u32::from_be_bytes(*storage), tag.try_into().ok()?))
}

/// What an index is described with: a number that no other has, and whether it is unique.
pub(crate) fn index_description(number: u64, unique: bool) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[u8::from(unique)]].concat()
}

/// What the name of an index leads to, as the value of a record: its table's tag, and how
/// it is described.
pub(crate) fn index_value(table: &Table, description: &[u8]) -> Value {
    [&tag(table).unwrap_or_default()[..], description].concat()
}

/// The tag of the table that an index is of, and whether it is unique, by what its name
/// leads to.
pub(crate) fn indexed(value: &[u8]) -> Option<([u8; TAG_BYTES], bool)> {
    let (tag, description) = value.split_first_chunk()?;
    Some((*tag, description.last() == Some(&1)))
}

/// What unique indexes are by: few enough that it is often taken.
pub(crate) fn column(value: &[u8]) -> u8 {
    // Values begin with a number of 8 bytes (`Client::unique`).
    (value[5] ^ value[7]) % 8
}

/// What kind of index is made, and its keys.
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

/// The key of a record in a storage.
pub(crate) fn record_key(storage: u32, record: u8) -> Vec<u8> {
    let mut key = vec![PREFIX];
    key.extend_from_slice(&storage.to_be_bytes());
    key.push(record);
    key
}

/// The storage that a key's record is in, if it is of one of these tables.
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
                // Somebody's handle, perhaps on something that is gone or not there yet.
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

/// What indexes refuse leaves the transaction as it was.
pub(super) fn unless_refused(written: Result<(), Error>) -> Result<(), Error> {
    match written {
        Err(Error::DuplicateIndexKey { .. } | Error::IndexNotAttached { .. }) => Ok(()),
        written => written,
    }
}
