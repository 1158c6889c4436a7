//! Records that expire, in a database whose power fails.
//!
//! The history has the writes only: what is there depends on a clock that it does not know.
//! Readers hold what they find against the clock themselves. After a crash, what has not
//! expired must be there, and the rest must not (`crashes/ledger.rs`). So the clock never
//! goes back here: nobody could say whether a record that has come back was deleted.

use std::time::Duration;

use engine::{Error, WallTime};
use interleave::Policy;

use super::{Mood, tables::unless_refused};
use crate::client::Client;

/// First byte of the keys.
const PREFIX: u8 = b'x';

/// The name of the table, and its tag.
pub(crate) const TABLE: &str = "expiring";
pub(crate) const TAG: u64 = 0;

/// How long records live.
pub(crate) const TTL: Duration = Duration::from_micros(20_000);

/// Bytes of a value: a number of its own, and when it expires.
pub(crate) const VALUE_BYTES: usize = 16;

const KEYS: usize = 6;

/// Whether a key is that of a record that expires.
pub(crate) fn is_expiring(key: &[u8]) -> bool {
    key.first() == Some(&PREFIX)
}

/// A value with a number of its own, written when the clock says `present`.
pub(crate) fn value(number: u64, present: WallTime) -> Vec<u8> {
    let expiry = present.0 + TTL.as_micros() as u64;
    [number.to_be_bytes(), expiry.to_be_bytes()].concat()
}

/// When a value expires.
pub(crate) fn expiry(value: &[u8]) -> WallTime {
    let expiry = value.last_chunk().expect("values have an expiry");
    WallTime(u64::from_be_bytes(*expiry))
}

/// Whether a record, of whatever table, has expired.
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
