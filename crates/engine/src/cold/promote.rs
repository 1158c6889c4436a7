//! What comes back to memory.

use std::sync::Arc;

use interleave::Nested;
use memory::Exhausted;

use super::{ColdAddress, Fetched, Patience};
use crate::{
    error::Error,
    indirection::{Head, Slot},
    session::Session,
    version::Version,
};

impl Session {
    /// Reads a cold record, and makes it hot if there is room.
    ///
    /// # Errors
    /// [`Error::ColdRecord`].
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
    ) -> Nested<'s, Result<Arc<Fetched>, Error>> {
        Nested::new(async move {
            let tier = self
                .database
                .cold()
                .expect("who has cold records has a tier");
            let fetched = self.fetch(tier, address).await?;
            // Without room it is read where it is.
            let _ = self.promote(slot, &fetched);
            Ok(fetched)
        })
    }

    /// The same, for who needs the record in memory.
    ///
    /// # Errors
    /// [`Error::MemoryExhausted`], too.
    pub(crate) fn thaw_to_write<'s>(&'s self, slot: &'s Slot) -> Nested<'s, Result<(), Error>> {
        Nested::new(async move {
            let Head::Cold(address) = slot.head() else {
                return Ok(());
            };
            let fetched = self.thaw(slot, address).await?;
            let mut patience = Patience::default();
            while slot.head() == Head::Cold(address) && self.promote(slot, &fetched).is_err() {
                self.wait_for_room(&mut patience).await?;
            }
            Ok(())
        })
    }

    /// Makes a record hot that was fetched, unless somebody else has.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn promote(&self, slot: &Slot, fetched: &Fetched) -> Result<(), Exhausted> {
        let version = Version::restore(&self.memory, fetched.begin, Some(fetched.stored()))?;
        version.stamp(fetched.begin, fetched.successor);
        // It has to be asked for once more to stay.
        version.take_use();
        if slot.thaw(fetched.address, version) {
            self.counters.update(|stats| stats.promoted += 1);
        } else {
            // SAFETY: never published.
            unsafe { version.free(&self.memory, version.block_bytes()) };
        }
        Ok(())
    }
}
