//! Tables that come and go, and records in several of them at once: a transaction is
//! whole in all of them, and in the catalog, or in none.
//!
//! In the history the catalog consists of records as well: under [`CATALOG`] and the
//! number of a name, the number of the storage that the table of this name has. A
//! record of such a table has the number of its storage in its key: whoever truncates
//! the table or drops it makes these keys unreachable (`check/tables.rs`).

use engine::Error;
use interleave::Policy;

use super::Mood;
use crate::client::Client;

/// First byte of the keys; the number of the storage follows, big-endian.
pub(crate) const PREFIX: u8 = b't';

/// First byte of the keys of names.
pub(crate) const CATALOG: u8 = b'u';

/// Names of tables.
const NAMES: usize = 4;

/// Records per table.
const RECORDS: usize = 5;

/// The name of a number.
pub(crate) fn table_name(name: u8) -> String {
    format!("further {name}")
}

/// What all tables of this workload are described with.
pub(crate) const DESCRIPTION: &[u8] = b"a table that comes and goes";

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
        match mood.dice.weighted(&[3, 1, 1, 1, 6, 2]) {
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
            2 => drop(client.delete::<P>(&key).await?),
            _ => {
                let value = client.value(mood.padding());
                client.upsert::<P>(&key, &value).await?;
            }
        }
        mood.pause().await;
    }
    Ok(())
}
