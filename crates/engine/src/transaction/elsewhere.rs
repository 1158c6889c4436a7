//! Reads of records that are not in memory. Reads of records in memory carry no trace of them: a
//! read that does not find its record in memory reports the record's slot and continues here.

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
    /// [`Error::ColdRecord`]; the error of a transaction that is over.
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
                    // A sibling under the same `join` may have aborted the transaction.
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

    /// Shows `read` what was fetched of a record, unless the record has changed since. Returns
    /// whether the record is unchanged.
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
    /// Waits until there may be room in memory, for an operation that found none. An operation
    /// whose `patience` is over fails at once.
    ///
    /// # Errors
    /// [`Error::MemoryExhausted`] if the transaction cannot wait or has waited long enough, which
    /// is soon if it is the first in line and has much of memory itself. [`Abort::OutOfRoom`]: the
    /// transaction is over.
    pub(crate) async fn wait_for_room(&self, patience: &mut Patience) -> Result<(), Error> {
        if self.context.passes_over_cold.get() || self.context.fails_without_room.get() {
            return Err(Error::MemoryExhausted);
        }
        // A sibling operation may have ended the transaction meanwhile.
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
