//! Point reads.

use std::sync::atomic::Ordering;

use index::Step;
use interleave::{Point, Policy, leaf};

use super::{Statement, Transaction};
use crate::{
    error::Error,
    indirection::{Head, Rid},
    table::Table,
};

/// While the index is walked. One point for all of it: lookups of different
/// transactions then go on together.
pub(super) const INDEX_POINT: Point = Point("engine: index");

/// Lines beyond this are left to the hardware's own prefetcher.
const PREFETCH_BYTES_MAX: usize = 4096;

impl Table {
    /// How much of a version to ask for before its length is known.
    #[inline(always)]
    pub(crate) fn prefetch_bytes(&self) -> usize {
        self.version_bytes_hint
            .load(Ordering::Relaxed)
            .min(PREFETCH_BYTES_MAX)
    }
}

impl Transaction {
    /// Reads a record: `read` is given the value, if there is one, while it
    /// stays in place; what it returns is returned.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`]; [`Error::Abort`] and [`Error::Ended`] if the
    /// transaction is over.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    #[inline]
    pub async fn get<P: Policy, R>(
        &self,
        table: &Table,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        if key.len() > crate::KEY_BYTES_MAX {
            return Err(Error::KeyTooLong { bytes: key.len() });
        }
        let statement = self.statement(table)?;
        self.reads.set(self.reads.get() + 1);
        let mut output = None;
        leaf!(
            P,
            statement.get_body(table, key, |value| output = Some(read(value)))
        );
        // A sibling under the same `join` may have aborted the transaction, and
        // taken its writes back.
        self.check_open()?;
        Ok(output)
    }
}

impl Statement<'_> {
    #[inline(always)]
    pub(super) async fn get_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        read: impl FnOnce(&[u8]),
    ) -> Option<()> {
        let transaction = self.transaction;
        let pin = transaction.session.memory.pin();
        let mut lookup = table.index.lookup(&pin, key);
        let rid = loop {
            match lookup.step() {
                Step::Touch(address, bytes) => P::touch(INDEX_POINT, address, bytes).await,
                Step::Done(rid) => break rid?,
            }
        };
        let slot = table.records.slot(Rid(rid));
        P::touch(Point("engine: slot"), slot, size_of_val(slot)).await;
        let Head::Version(version) = slot.head() else {
            return None;
        };
        P::touch(
            Point("engine: version"),
            version.address(),
            table.prefetch_bytes(),
        )
        .await;
        let version = transaction
            .visible::<P>(slot, version, transaction.context.snapshot())
            .await?;
        version.payload().map(read)
    }
}
