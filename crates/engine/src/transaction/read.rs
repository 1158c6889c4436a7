//! Point reads.

use index::{NodeVersion, look_up};
use interleave::{Point, Policy, leaf};

use super::{Statement, Transaction, visibility::Look};
use crate::{
    error::Error,
    indirection::{Head, Rid, Slot},
    table::Table,
    ttl::{WallTime, Worth},
    version::Version,
};

/// Touches of nodes while the index is walked, at the depth of a lookup.
pub(crate) const INDEX_POINT: Point = Point::new("engine: index");

/// Way to find a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name<'k> {
    Key(&'k [u8]),
    /// By key, to be written or locked next.
    KeyToWrite(&'k [u8]),
    /// By RID, found at the snapshot of the read.
    Rid(Rid),
    /// By RID, to be written or locked next by its key.
    RidToWrite(Rid, &'k [u8]),
    /// By RID, with the record fetched into the cache already.
    Fetched(Rid),
}

impl Transaction {
    /// Reads the record under `key` in `table`: `read` is given the value, if there is one, while
    /// the value stays in place. Returns the result of `read`.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`]; [`Error::Abort`] and [`Error::Ended`] if the
    /// transaction is over.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    #[inline]
    pub fn get<P: Policy, R>(
        &self,
        table: &Table,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> R,
    ) -> impl Future<Output = Result<Option<R>, Error>> {
        self.get_worth::<P, R, false>(table, key, move |worth| read(worth.value))
    }

    /// Reads a record, as [`Transaction::get`] does, that is to be written or locked next as a row
    /// that this transaction has found ([`Transaction::modify_row`]): that write finds the record
    /// without another descent of the index.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    #[inline]
    pub fn find_row<P: Policy, R>(
        &self,
        table: &Table,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> R,
    ) -> impl Future<Output = Result<Option<R>, Error>> {
        self.get_worth::<P, R, true>(table, key, move |worth| read(worth.value))
    }

    /// Reads a record, as [`Transaction::get`] does; `read` is also given the expiry of the record,
    /// if the table has a TTL.
    ///
    /// # Errors
    /// Fails as [`Transaction::get`] does.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub fn get_until<P: Policy, R>(
        &self,
        table: &Table,
        key: &[u8],
        read: impl FnOnce(&[u8], Option<WallTime>) -> R,
    ) -> impl Future<Output = Result<Option<R>, Error>> {
        self.get_worth::<P, R, false>(table, key, move |worth| read(worth.value, worth.expires))
    }

    // Not an `async fn`: its future would keep each argument twice, as it was given and as a
    // variable, and copy it when it is first polled.
    #[inline]
    #[allow(clippy::manual_async_fn, reason = "see above")]
    fn get_worth<P: Policy, R, const TO_WRITE: bool>(
        &self,
        table: &Table,
        key: &[u8],
        read: impl FnOnce(Worth<'_>) -> R,
    ) -> impl Future<Output = Result<Option<R>, Error>> {
        async move {
            if key.len() > crate::KEY_BYTES_MAX {
                return Err(Error::KeyTooLong { bytes: key.len() });
            }
            let statement = self.statement(table)?;
            let reads = &self.context.reads;
            reads.set(reads.get() + 1);
            // Written in place: a result would be moved once per level.
            let (mut read, mut output) = (Some(read), None);
            let name = match TO_WRITE {
                true => Name::KeyToWrite(key),
                false => Name::Key(key),
            };
            let elsewhere = leaf!(
                P,
                statement.get_body(table, name, |worth| {
                    output = read.take().map(|read| read(worth));
                })
            );
            // A sibling under the same `join` may have aborted the transaction, and undone its
            // writes.
            self.check_open()?;
            if let Some(slot) = elsewhere {
                let mut show = |worth: Worth<'_>| output = read.take().map(|read| read(worth));
                let body = statement.get_elsewhere(table, Name::Key(key), slot, &mut show);
                body.await?;
            }
            Ok(output)
        }
    }
}

impl Statement<'_> {
    /// Shows `read` a record, if it is in memory. Returns its slot if the record may be elsewhere.
    #[inline(always)]
    #[allow(clippy::manual_async_fn, reason = "see `get`")]
    pub(super) fn get_body<'t, P: Policy>(
        &self,
        table: &'t Table,
        name: Name<'_>,
        read: impl FnOnce(Worth<'_>),
    ) -> impl Future<Output = Option<&'t Slot>> {
        async move {
            let transaction = self.transaction;
            let pin = transaction.session.memory.pin();
            let (rid, key, found_in) = match name {
                Name::Rid(rid) | Name::RidToWrite(rid, _) | Name::Fetched(rid) => {
                    (rid, &[][..], None)
                }
                Name::Key(key) | Name::KeyToWrite(key) => {
                    let mut lookup = table.index.lookup(&pin, key);
                    let Some(rid) = look_up!(P, INDEX_POINT, lookup) else {
                        transaction.note_absence(table, key, lookup.found_in());
                        return None;
                    };
                    (Rid(rid), key, lookup.found_in())
                }
            };
            let slot = table.records.slot(rid);
            let is_fetched = matches!(name, Name::Fetched(_));
            if !is_fetched {
                P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
            }
            let Some(head) = slot.version() else {
                return self.is_elsewhere(table, slot, key, found_in);
            };
            let bytes = table.prefetch_bytes();
            if !is_fetched {
                P::touch(Point::new("engine: version"), head.address(), bytes).await;
            }
            let snapshot = transaction.context.snapshot();
            let visible = match transaction.look(slot, head, snapshot) {
                Look::Over(visible) => visible,
                look => {
                    let further = transaction.look_further::<P>(slot, look, snapshot);
                    let Ok(visible) = further.await else {
                        return self.is_elsewhere(table, slot, key, found_in);
                    };
                    visible
                }
            };
            transaction.note(slot, visible);
            let stored = visible.as_ref().and_then(Version::payload_used);
            if stored.is_none() {
                transaction.note_absence(table, key, found_in);
            }
            let worth = stored.and_then(|stored| transaction.worth(table, stored));
            if let Some(worth) = worth {
                if let Name::KeyToWrite(key) | Name::RidToWrite(_, key) = name
                    && visible.is_some_and(Version::is_committed)
                {
                    let found = &transaction.context.found;
                    found.note(table.number(), key, snapshot, rid);
                }
                read(worth);
            }
            None
        }
    }

    /// Returns a slot that had no version in memory a moment ago, if its record is elsewhere.
    #[cold]
    fn is_elsewhere<'t>(
        &self,
        table: &Table,
        slot: &'t Slot,
        key: &[u8],
        found_in: Option<NodeVersion>,
    ) -> Option<&'t Slot> {
        match slot.head() {
            // A record with a version has just come back.
            Head::Cold(_) | Head::Version(_) => Some(slot),
            Head::Unused | Head::Dead => {
                self.transaction.note_absence(table, key, found_in);
                None
            }
        }
    }
}
