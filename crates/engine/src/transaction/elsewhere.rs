//! Reads of records that are not in memory.
//!
//! Those that are go their way without a trace of this: who finds none in memory says so, in
//! a word, and comes here.

use interleave::{Nested, Prefetching, run_inline};

use super::{Statement, Transaction, read::Name};
use crate::{
    cold::{Fetched, Patience},
    error::{Abort, Error},
    indirection::{Head, Slot},
    session::Seen,
    table::Table,
    timestamp::{Begin, Timestamp},
    ttl::Worth,
};

impl Statement<'_> {
    /// Shows `read` the record that was not in `slot` a moment ago.
    ///
    /// # Errors
    /// [`Error::ColdRecord`]; the transaction is over.
    ///
    /// # Suspension
    /// Device waits.
    pub(super) fn get_elsewhere<'s>(
        &'s self,
        table: &'s Table,
        name: Name<'s>,
        mut slot: &'s Slot,
        read: &'s mut dyn FnMut(Worth<'_>),
    ) -> Nested<'s, Result<(), Error>> {
        Nested::new(async move {
            let transaction = self.transaction;
            loop {
                if let Head::Cold(address) = slot.head() {
                    let priority = transaction.priority();
                    let thawed = transaction.session.thaw(slot, address, priority).await;
                    let fetched = transaction.fetched(thawed)?;
                    // A sibling under the same `join` may have aborted it.
                    transaction.check_open()?;
                    if self.show_fetched(table, slot, &fetched, &mut *read) {
                        return Ok(());
                    }
                } else {
                    let body = self.get_body::<Prefetching>(table, name, &mut *read);
                    match run_inline(body) {
                        Some(elsewhere) => slot = elsewhere,
                        None => return Ok(()),
                    }
                }
            }
        })
    }

    /// Shows `read` what was fetched of a record, if that is what the record still is: for a
    /// transaction that found it cold then.
    pub(super) fn show_fetched(
        &self,
        table: &Table,
        slot: &Slot,
        fetched: &Fetched,
        read: impl FnOnce(Worth<'_>),
    ) -> bool {
        let transaction = self.transaction;
        let _pin = transaction.session.memory.pin();
        let is_it = match slot.head() {
            Head::Cold(address) => address == fetched.address,
            Head::Version(version) => version.begin() == Begin::Committed(fetched.begin),
            Head::Unused | Head::Dead => false,
        };
        if is_it {
            transaction.note_cold(slot, fetched.begin);
            if let Some(worth) = transaction.worth(table, fetched.stored()) {
                read(worth);
            }
        }
        is_it
    }
}

impl Transaction {
    /// Waits until there may be room in memory, for an operation that found none; one that has waited for long
    /// enough is told at once.
    ///
    /// # Errors
    /// [`Error::MemoryExhausted`]: it cannot wait, or has waited long enough, which is soon if the
    /// transaction is the first in line and has much of memory itself. [`Abort::OutOfRoom`]: the transaction is over.
    pub(crate) async fn wait_for_room(&self, patience: &mut Patience) -> Result<(), Error> {
        if self.context.passes_over_cold.get() {
            return Err(Error::MemoryExhausted);
        }
        // One beside it may have ended the transaction meanwhile.
        self.check_open()?;
        let has_much = self.session.has_much(&self.context);
        let holds_back = self.snapshot() < self.session.database.now();
        match patience.is_over(self.session.clock().now(), has_much, holds_back) {
            true if has_much && patience.is_first() => return Err(Error::MemoryExhausted),
            true => return Err(self.doom(Abort::OutOfRoom)),
            false => {}
        }
        let owner = &self.context.room_owner;
        self.session.wait_for_room(owner, patience).await?;
        self.check_open()
    }

    /// Notes that a read has found a cold record, committed at `at`.
    pub(super) fn note_cold(&self, slot: &Slot, at: Timestamp) {
        self.saw(at);
        let dependencies = &self.context.dependencies;
        if dependencies.is_active() && (!dependencies.is_full() || self.may_remember_reads()) {
            let is_tombstone = false;
            dependencies.saw(slot, Some(Seen { at, is_tombstone }));
        }
    }
}
