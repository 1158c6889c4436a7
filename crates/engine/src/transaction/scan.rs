//! Ordered scans.
//!
//! A scan goes border node by border node. The records of one node are fetched
//! together: first all their slots are prefetched, then all the versions, so that
//! a node of fifteen records costs two waits, not thirty.

use std::ops::{Bound, ControlFlow};

use index::{Batch, Direction};
use interleave::{Point, Policy, leaf};

use super::{Statement, Transaction, visibility::Look};
use crate::{
    error::Error,
    indirection::{Head, Rid},
    table::Table,
    version::Version,
};

/// Border nodes visited under one pin.
const NODES_PER_PIN: usize = 64;

impl Transaction {
    /// Visits the records between two keys in order, the transaction's own
    /// writes included, until `visit` breaks. Returns the number visited.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`]; [`Error::Abort`] and [`Error::Ended`] if the
    /// transaction is over.
    ///
    /// # Suspension
    /// Memory waits. Dropping the future is harmless.
    pub async fn scan<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        let visit = |key: &[u8], _: Rid, value: &[u8]| visit(key, value);
        self.scan_records::<P>(table, range, direction, visit).await
    }

    /// As [`Transaction::scan`], with RIDs.
    pub(crate) async fn scan_records<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        visit: impl FnMut(&[u8], Rid, &[u8]) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        check_range(range)?;
        let statement = self.statement(table)?;
        let scanned = leaf!(P, statement.scan_body(table, range, direction, visit));
        let total = &self.context.scanned;
        total.set(total.get() + scanned);
        self.check_open()?;
        Ok(scanned)
    }
}

pub(super) fn check_range(range: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<(), Error> {
    for bound in [range.0, range.1] {
        if let Bound::Included(key) | Bound::Excluded(key) = bound
            && key.len() > crate::KEY_BYTES_MAX
        {
            return Err(Error::KeyTooLong { bytes: key.len() });
        }
    }
    Ok(())
}

impl Statement<'_> {
    #[inline(always)]
    pub(super) async fn scan_body<P: Policy>(
        &self,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        mut visit: impl FnMut(&[u8], Rid, &[u8]) -> ControlFlow<()>,
    ) -> u64 {
        let transaction = self.transaction;
        transaction.note_scan();
        let session = &*transaction.session;
        let mut batch = session.batches.lend();
        let mut scan = table.index.scan(range, direction);
        let mut scanned = 0;
        loop {
            let pin = session.memory.pin();
            for _ in 0..NODES_PER_PIN {
                let tracker = transaction.tracker(table);
                if !scan.next_observed::<P, _>(&pin, &mut batch, tracker).await {
                    transaction.note_scanned(table, range, direction, None);
                    return scanned;
                }
                let flow = self
                    .visit_batch::<P>(table, &batch, &mut visit, &mut scanned)
                    .await;
                if let ControlFlow::Break(at) = flow {
                    let (last, _) = batch.get(at);
                    transaction.note_scanned(table, range, direction, Some(last));
                    return scanned;
                }
            }
            // Long scans must not hold reclamation back: the pin goes, and the
            // scan finds its way again if the epoch has moved on.
        }
    }

    /// Visits the records of a batch, until `visit` breaks: at which of them.
    #[inline(always)]
    async fn visit_batch<P: Policy>(
        &self,
        table: &Table,
        batch: &Batch,
        visit: &mut impl FnMut(&[u8], Rid, &[u8]) -> ControlFlow<()>,
        scanned: &mut u64,
    ) -> ControlFlow<usize> {
        if P::MAY_SUSPEND || P::PREFETCHES {
            let rids = batch.iter().map(|(_, rid)| Rid(rid));
            self.fetch_records::<P>(table, rids).await;
        }
        let transaction = self.transaction;
        let snapshot = transaction.context.snapshot();
        for (at, (key, rid)) in batch.iter().enumerate() {
            let rid = Rid(rid);
            let slot = table.records.slot(rid);
            let Head::Version(head) = slot.head() else {
                continue;
            };
            let visible = match transaction.look(slot, head, snapshot) {
                Look::Over(visible) => visible,
                Look::Further(older) => transaction.look_further::<P>(slot, older, snapshot).await,
            };
            transaction.note(slot, visible);
            let Some(version) = visible else { continue };
            let stored = version.payload();
            if let Some(worth) = stored.and_then(|stored| transaction.worth(table, stored)) {
                *scanned += 1;
                if visit(key, rid, worth.value).is_break() {
                    return ControlFlow::Break(at);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Brings the slots and newest versions of some records into the cache.
    #[inline(always)]
    pub(super) async fn fetch_records<P: Policy>(
        &self,
        table: &Table,
        rids: impl Iterator<Item = Rid> + Clone,
    ) {
        let mut last: *const u8 = std::ptr::null();
        for rid in rids.clone() {
            last = std::ptr::from_ref(table.records.slot(rid)).cast();
            P::prefetch(last, 8);
        }
        P::touch(Point::new("engine: slots of a batch"), last, 8).await;
        let mut newest: Option<Version> = None;
        let bytes = table.prefetch_bytes();
        for rid in rids {
            if let Head::Version(version) = table.records.slot(rid).head() {
                P::prefetch(version.address(), bytes);
                newest = Some(version);
            }
        }
        if let Some(version) = newest {
            P::touch(
                Point::new("engine: versions of a batch"),
                version.address(),
                8,
            )
            .await;
        }
    }
}
