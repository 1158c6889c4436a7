//! Records that expire, in a database whose power fails.
//!
//! The history has the writes only: the records present depend on a clock that it does not
//! know. Readers compare the records that they find with the clock themselves. After a
//! crash, unexpired records must be there, and the rest must not (`crashes/ledger.rs`). The
//! clock therefore never goes back here: it could not be decided whether a record that has
//! come back was deleted.

use std::time::Duration;

use engine::{Error, WallTime};
use interleave::Policy;

use super::{Mood, tables::unless_refused};
use crate::client::Client;

/// First byte of the keys.
const PREFIX: u8 = b'x';

/// Name of the table, and its tag.
pub(crate) const TABLE: &str = "expiring";
pub(crate) const TAG: u64 = 0;

/// Time for which records live.
pub(crate) const TTL: Duration = Duration::from_micros(20_000);

/// Bytes of a value: a unique number, and its expiry.
pub(crate) const VALUE_BYTES: usize = 16;

const KEYS: usize = 6;

/// Returns whether a key belongs to a record that expires.
pub(crate) fn is_expiring(key: &[u8]) -> bool {
    key.first() == Some(&PREFIX)
}

/// Returns a value with a unique number, written when the clock says `present`.
pub(crate) fn value(number: u64, present: WallTime) -> Vec<u8> {
    let expiry = present.0 + TTL.as_micros() as u64;
    [number.to_be_bytes(), expiry.to_be_bytes()].concat()
}

/// Returns the expiry of a value.
pub(crate) fn expiry(value: &[u8]) -> WallTime {
    let expiry = value.last_chunk().expect("values have an expiry");
    WallTime(u64::from_be_bytes(*expiry))
}

/// Returns whether a record, of any table, has expired.
pub(crate) fn has_expired(key: &[u8], value: &[u8], now: WallTime) -> bool {
    is_expiring(key) && expiry(value) <= now
}

pub(super) async fn operate<P: Policy>(
    client: &Client<'_>,
    mood: &mut Mood<'_>,
) -> Result<(), Error> {
    for _ in 0..mood.dice.between(1, 3) {
        let key = [PREFIX, mood.dice.below(KEYS) as u8];
        match mood.dice.below(6) {
            0 | 1 => client.get_expiring::<P>(&key).await?,
            2 => unless_refused(client.delete_expiring::<P>(&key).await)?,
            _ => unless_refused(client.upsert_expiring::<P>(&key).await)?,
        }
        mood.pause().await;
    }
    Ok(())
}
