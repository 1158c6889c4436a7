//! A sample of a table's records, for planners.
//!
//! Records are found by their RIDs, which are independent of their keys and values: places drawn at
//! random are a uniform sample of the records, at the price of as many point reads without the walk
//! through the index, however large the table is.
//!
//! The sample is no answer of a transaction: nothing is noted for certification, and records are
//! not counted as used. Records on the device are counted and not read.

use std::cell::RefCell;

use interleave::{Grouped, Point, Policy, Prefetching, run_inline, together, yield_now};

use super::{Statement, Transaction, visibility::Look};
use crate::{
    error::Error,
    indirection::{Head, Rid},
    table::Table,
    version::Version,
};

/// Number of places of a group, as many as the keys of a group of reads.
const GROUP_PLACES: usize = 64;

impl Transaction {
    /// Shows `visit` the values of the records at `places` of `table`. Places are below
    /// [`Table::records_estimate`]; places beyond have no records. Only records that the
    /// transaction sees and that are in memory are shown. Returns the number of places that have a
    /// record, shown or not: some records may be another transaction's, not committed yet.
    ///
    /// # Errors
    /// [`Error::Abort`] and [`Error::Ended`] if the transaction is over.
    ///
    /// # Suspension
    /// Memory waits, never while `visit` runs.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub async fn sample<P: Policy>(
        &self,
        table: &Table,
        places: impl ExactSizeIterator<Item = u64>,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<usize, Error> {
        let statement = self.statement(table)?;
        // Places below this bound have their slots.
        let taken = table.records.taken();
        let mut places = places;
        let mut occupied = 0;
        while places.len() > 0 {
            let group = places.by_ref().take(GROUP_PLACES);
            let group = group.filter(|place| *place < taken);
            if !P::MAY_SUSPEND {
                occupied += statement.sample_group::<P>(table, group, &mut visit);
            } else if P::suspends() {
                occupied += statement.sample_group::<Grouped>(table, group, &mut visit);
                yield_now().await;
            } else {
                occupied += statement.sample_group::<Prefetching>(table, group, &mut visit);
            }
        }
        self.check_open()?;
        Ok(occupied)
    }
}

impl Statement<'_> {
    fn sample_group<P: Policy>(
        &self,
        table: &Table,
        places: impl Iterator<Item = u64>,
        visit: impl FnMut(&[u8]),
    ) -> usize {
        // All bodies share it. No body suspends while it borrows it, so one borrow is open at a
        // time.
        let visit = &RefCell::new(visit);
        let bodies = places.map(|place| async move {
            self.sample_body::<P>(table, Rid(place), |value| (visit.borrow_mut())(value))
                .await
        });
        let mut occupied = 0;
        run_inline(together::<P, _>(bodies, |is_occupied| {
            occupied += usize::from(is_occupied);
        }));
        occupied
    }

    /// Whether there is a record. Shows `visit` the record if it is seen.
    async fn sample_body<P: Policy>(
        &self,
        table: &Table,
        rid: Rid,
        visit: impl FnOnce(&[u8]),
    ) -> bool {
        let transaction = self.transaction;
        let _pin = transaction.session.memory.pin();
        let slot = table.records.slot(rid);
        P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
        let head = match slot.head() {
            Head::Version(head) => head,
            Head::Cold(_) => return true,
            Head::Unused | Head::Dead => return false,
        };
        let bytes = table.prefetch_bytes();
        P::touch(Point::new("engine: version"), head.address(), bytes).await;
        let snapshot = transaction.context.snapshot();
        let visible = match transaction.look(slot, head, snapshot) {
            Look::Over(visible) => visible,
            look => match transaction.look_further::<P>(slot, look, snapshot).await {
                Ok(visible) => visible,
                Err(_cold) => return true,
            },
        };
        // No version is seen: the record is newer than the snapshot, or not committed.
        let Some(visible) = visible else {
            return true;
        };
        let stored = Version::payload(&visible);
        match stored.and_then(|stored| transaction.worth(table, stored)) {
            Some(worth) => {
                visit(worth.value);
                true
            }
            None => false,
        }
    }
}
