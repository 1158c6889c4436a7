//! Promotion: how records come back to memory.

use std::pin::pin;

use interleave::{Nested, Wait, noting};
use io::Priority;
use memory::Exhausted;

use super::{ColdAddress, Fetched, Lent, Patience};
use crate::{
    error::Error,
    indirection::{Head, Slot},
    session::Session,
    transaction::Transaction,
    version::Version,
};

impl Session {
    /// Reads a cold record, and makes it hot if there is room, and the record is worth it.
    ///
    /// # Errors
    /// [`Error::ColdRecord`]; [`Abort::ReadRefused`](crate::Abort::ReadRefused), with which the
    /// transaction has yet to be aborted.
    ///
    /// # Suspension
    /// A device wait.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub(crate) fn thaw<'s>(
        &'s self,
        slot: &'s Slot,
        address: ColdAddress,
        priority: Priority,
    ) -> Nested<'s, Result<Lent<'s>, Error>> {
        Nested::new(async move {
            let tier = self
                .database
                .cold()
                .expect("a database with cold records has a cold tier");
            let fetch = pin!(self.fetch(tier, address, priority));
            let fetched = noting(Wait::Device, fetch).await?;
            self.promote_if_worth_it(slot, &fetched);
            Ok(fetched)
        })
    }

    /// Makes a fetched record hot, if there is room for a record that is requested so often.
    /// Otherwise it stays cold.
    pub(crate) fn promote_if_worth_it(&self, slot: &Slot, fetched: &Fetched) {
        let tier = self.database.cold();
        if tier.is_some_and(|tier| tier.takes_in(slot)) {
            let _ = self.promote(slot, fetched);
        }
    }

    /// Makes a fetched record hot, unless another session has done so.
    ///
    /// # Errors
    /// [`Exhausted`] without room in memory.
    pub(crate) fn promote(&self, slot: &Slot, fetched: &Fetched) -> Result<(), Exhausted> {
        let (begin, address) = (fetched.begin, fetched.address);
        let position = address.position();
        let version = Version::restore_copy(&self.memory, begin, fetched.stored(), position);
        // Free memory may be free in holes for versions of other sizes.
        let version = version.inspect_err(|_| self.call_for_room())?;
        version.stamp(begin, fetched.successor);
        if slot.thaw(address, version) {
            self.counters.update(|stats| stats.promoted += 1);
        } else {
            // SAFETY: never published.
            unsafe { version.free(&self.memory, version.block_bytes()) };
        }
        Ok(())
    }
}

impl Transaction {
    /// Makes a cold record hot, for a caller that needs it in memory; see [`Session::thaw`].
    ///
    /// # Errors
    /// [`Error::ColdRecord`], [`Error::MemoryExhausted`];
    /// [`Abort::ReadRefused`](crate::Abort::ReadRefused), and the transaction is aborted.
    ///
    /// # Suspension
    /// A device wait.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
    pub(crate) fn thaw_to_write<'s>(&'s self, slot: &'s Slot) -> Nested<'s, Result<(), Error>> {
        Nested::new(async move {
            let Head::Cold(address) = slot.head() else {
                return Ok(());
            };
            let thawed = self.session().thaw(slot, address, self.priority()).await;
            let fetched = self.fetched(thawed)?;
            let mut patience = Patience::default();
            while slot.head() == Head::Cold(address)
                && self.session().promote(slot, &fetched).is_err()
            {
                self.wait_for_room(&mut patience).await?;
            }
            Ok(())
        })
    }
}
