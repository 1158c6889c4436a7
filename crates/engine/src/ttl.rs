//! Tables whose records expire: their *time to live* (TTL) is part of the table's
//! definition.
//!
//! | subject | file |
//! | --- | --- |
//! | value that a reader sees of a stored value | `ttl.rs` |
//! | wall clock, real or set by hand | `ttl/clock.rs` |
//! | deletion of expired records, a few at a time | `ttl/collect.rs` |
//!
//! ```text
//!  stored value:  expiry, 8 bytes | value        expiry: microseconds since 1970
//! ```
//! An index entry of such a table is stored in the same form, with the expiry of its record. The
//! expiry is part of the payload: versions, log, checkpoints, recovery and change stream carry it
//! without knowing. Tables without a TTL have values alone; tables with a TTL cost them one branch.
//!
//! # Invariants
//! 1. *One present*: a transaction reads the wall clock once, when it first needs it; under read
//!    committed each operation does. All its reads are as of then, and its writes expire a TTL
//!    later.
//! 2. *One place*: [`Transaction::worth`] decides what a reader sees of a version, and
//!    [`Transaction::is_expired`] whether the version stands in the way of a write. Both take an
//!    expired record for absent.
//! 3. *Entries expire with their record*, and at no other time: an entry is written again when its
//!    record's expiry changes (`transaction/maintain.rs`). Reads by index and reads of the table
//!    therefore agree without asking each other.
//!
//! An expired record is a record all the same until it is deleted: it has its entries, and
//! transactions that write it conflict. A claim of a unique index key that meets an expired
//! record's entry deletes that record first, with all its entries. Passing over it would leave two
//! records with one unique key, both of them visible to a transaction with an earlier present.
//!
//! For certification, the passing of time is no write, and makes no dependency. An expired version
//! that a transaction passed over was read, like a visible one: a transaction that replaces it
//! comes later. Two transactions with different presents are ordered by their writes.
//!
//! A wall clock that goes back makes records come back, as long as they were not deleted.

mod clock;
mod collect;

use std::{num::NonZeroU64, sync::atomic::Ordering, time::Duration};

pub use self::clock::{WallClock, WallTime};
pub(crate) use self::collect::{EXPIRED_MAX, Walk};
use crate::{error::Error, table::Table, transaction::Transaction};

pub(crate) const EXPIRY_BYTES: usize = 8;

/// Options of a new table besides its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TableOptions {
    /// Time that records live after they were last written; after that they are absent, and deleted
    /// some time. In whole microseconds, at least one. It cannot be changed. Default `None`: for
    /// ever.
    pub ttl: Option<Duration>,
}

/// Lifetime of the records of a table, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ttl(NonZeroU64);

impl Ttl {
    pub(crate) fn of_micros(micros: u64) -> Option<Ttl> {
        NonZeroU64::new(micros).map(Ttl)
    }

    pub(crate) fn of(duration: Duration) -> Ttl {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Ttl(NonZeroU64::new(micros).unwrap_or(NonZeroU64::MIN))
    }

    pub(crate) fn micros(self) -> u64 {
        self.0.get()
    }
}

/// Value and expiry of a version that is not absent to a reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth<'v> {
    pub(crate) value: &'v [u8],
    pub(crate) expires: Option<WallTime>,
}

/// Splits stored bytes into expiry and value. Bytes that are too few to have an expiry, in a
/// salvaged database perhaps, never expire.
pub(crate) fn split(stored: &[u8]) -> (WallTime, &[u8]) {
    match stored.split_first_chunk() {
        Some((expiry, value)) => (WallTime(u64::from_le_bytes(*expiry)), value),
        None => (WallTime::NEVER, stored),
    }
}

/// Appends the expiry that precedes a value to `out`, or nothing.
pub(crate) fn put_expiry(out: &mut Vec<u8>, expiry: Option<WallTime>) {
    if let Some(expiry) = expiry {
        out.extend_from_slice(&expiry.0.to_le_bytes());
    }
}

impl Table {
    /// Returns the time that records live after they were last written. `None`: for ever.
    pub fn ttl(&self) -> Option<Duration> {
        self.time_to_live()
            .map(|ttl| Duration::from_micros(ttl.micros()))
    }

    /// Returns the table's TTL. Relaxed: it is set before other sessions know the table.
    #[inline(always)]
    pub(crate) fn time_to_live(&self) -> Option<Ttl> {
        Ttl::of_micros(self.ttl_micros.load(Ordering::Relaxed))
    }

    pub(crate) fn set_ttl(&self, ttl: Option<Ttl>) {
        let micros = ttl.map_or(0, Ttl::micros);
        self.ttl_micros.store(micros, Ordering::Relaxed);
    }

    /// Splits a stored value into its expiry, if the table has a TTL, and the value.
    #[inline(always)]
    pub(crate) fn split<'v>(&self, stored: &'v [u8]) -> (Option<WallTime>, &'v [u8]) {
        if self.time_to_live().is_none() {
            return (None, stored);
        }
        let (expiry, value) = split(stored);
        (Some(expiry), value)
    }
}

impl Transaction {
    /// Returns the wall clock's time for this transaction, or, under read committed, for its
    /// current operation.
    pub fn present(&self) -> WallTime {
        let context = self.context();
        if context.present.get() == WallTime::UNKNOWN {
            let now = self.session().database().wall_clock().now();
            context.present.set(now);
        }
        context.present.get()
    }

    /// Has the transaction read stored values with their expiries, whether they have expired or
    /// not: for callers that copy records or compare them.
    pub(crate) fn read_stored(&self) {
        self.context().reads_stored.set(true);
    }

    /// Returns the value that a stored value of `table` has for this transaction; `None` if it has
    /// expired.
    #[inline(always)]
    pub(crate) fn worth<'v>(&self, table: &Table, stored: &'v [u8]) -> Option<Worth<'v>> {
        if table.time_to_live().is_none() {
            let (value, expires) = (stored, None);
            return Some(Worth { value, expires });
        }
        self.worth_now(stored)
    }

    #[inline(never)]
    fn worth_now<'v>(&self, stored: &'v [u8]) -> Option<Worth<'v>> {
        let (expiry, value) = split(stored);
        let expires = Some(expiry);
        if self.context().reads_stored.get() {
            let value = stored;
            return Some(Worth { value, expires });
        }
        (expiry > self.present()).then_some(Worth { value, expires })
    }

    /// Whether a stored value of `table` has expired.
    #[inline(always)]
    pub(crate) fn is_expired(&self, table: &Table, stored: &[u8]) -> bool {
        table.time_to_live().is_some() && split(stored).0 <= self.present()
    }

    /// Returns the stored form of a value that is written now; it is put together in `room` if the
    /// value expires.
    ///
    /// # Errors
    /// [`Error::ValueTooLong`].
    #[inline(always)]
    pub(crate) fn to_store<'v>(
        &self,
        table: &Table,
        value: &'v [u8],
        room: &'v mut Vec<u8>,
    ) -> Result<&'v [u8], Error> {
        match table.time_to_live() {
            None => Ok(value),
            Some(ttl) => self.to_store_until(self.present().after(ttl), value, room),
        }
    }

    #[cold]
    fn to_store_until<'v>(
        &self,
        expiry: WallTime,
        value: &[u8],
        room: &'v mut Vec<u8>,
    ) -> Result<&'v [u8], Error> {
        if value.len() > crate::VALUE_BYTES_MAX - EXPIRY_BYTES {
            return Err(Error::ValueTooLong { bytes: value.len() });
        }
        room.reserve_exact(EXPIRY_BYTES + value.len());
        put_expiry(room, Some(expiry));
        room.extend_from_slice(value);
        Ok(room)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_stored_value_splits_into_its_parts() {
        let mut stored = Vec::new();
        put_expiry(&mut stored, Some(WallTime(7)));
        stored.extend_from_slice(b"value");
        assert_eq!(split(&stored), (WallTime(7), &b"value"[..]));
        assert_eq!(split(&stored[..EXPIRY_BYTES]), (WallTime(7), &b""[..]));
        assert_eq!(split(b"short"), (WallTime::NEVER, &b"short"[..]));
    }

    #[test]
    fn a_time_to_live_is_at_least_a_microsecond() {
        for (duration, micros) in [
            (Duration::ZERO, 1),
            (Duration::from_nanos(999), 1),
            (Duration::from_millis(3), 3000),
            (Duration::MAX, u64::MAX),
        ] {
            assert_eq!(Ttl::of(duration).micros(), micros);
        }
        assert_eq!(WallTime(5).after(Ttl::of(Duration::MAX)), WallTime::NEVER);
    }
}
