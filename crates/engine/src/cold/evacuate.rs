//! Moving of versions, which turns scattered free memory into regions that are free as a whole.
//!
//! Versions that were demoted or overwritten leave holes that only versions of the same size fit
//! into. The sparsest regions of the arena are closed (`memory`, `region.rs`), and the versions
//! left in them are copied elsewhere, slot by slot. Only the head of a record moves, committed and
//! unmarked: older versions, uncommitted ones and tombstones are freed without that, or can move,
//! sooner or later.
//!
//! A moved version is the same to every reader: it has the same timestamp, payload, predecessor and
//! successor. It moves as a record becomes cold (`cold.rs`): its slot is frozen, the readers' mark
//! copied after a fence, and only then the copy takes its place; a reader that marks the version
//! meanwhile finds the slot frozen, or another version there, and marks again.

use std::rc::Rc;

use memory::Exhausted;

use crate::{
    indirection::{Rid, Slot},
    session::Session,
    sync::{Ordering, fence},
    transaction::Isolation,
    version::Version,
};

/// Slots that are looked at under one pin.
const SLOTS_PER_PIN: u64 = 4096;

impl Session {
    /// Moves the versions in closing regions elsewhere, in all tables, once around, as far as there
    /// is room.
    ///
    /// # Suspension
    /// Yields to other tasks now and then.
    pub(super) async fn evacuate(self: &Rc<Self>) {
        let database = &*self.database;
        let tables = database.catalog.live_tables().into_iter();
        let numbers = tables.map(|table| table.number());
        for number in numbers.chain(database.derived.numbers()) {
            let mut next = Some(0);
            while let Some(first) = next {
                // A pin alone does not keep a head that is overwritten meanwhile: it is freed
                // once the horizon has passed, which an idle session does not hold back.
                let Ok(snapshot) = self.begin(Isolation::Snapshot) else {
                    return;
                };
                let evacuated = self.evacuate_slots(number, first);
                snapshot.release();
                match evacuated {
                    Ok(further) => next = further,
                    Err(Exhausted) => return,
                }
                interleave::yield_now().await;
            }
        }
    }

    /// Moves the versions of some slots of the table with this `number`, from slot `first` on.
    /// Returns the slot to go on at.
    fn evacuate_slots(&self, number: u32, first: u64) -> Result<Option<u64>, Exhausted> {
        // While the transaction is open, a table that is found stays (`catalog/graveyard.rs`).
        let _pin = self.memory.pin();
        let Some(table) = self.database.table_by_number(number) else {
            return Ok(None);
        };
        let all = table.records.taken();
        let end = all.min(first + SLOTS_PER_PIN);
        for rid in first..end {
            let slot = table.records.slot(Rid(rid));
            if let Some(head) = slot.settled_version()
                && self.database.arena.is_closing(head.block())
            {
                self.evacuate_head(slot, head)?;
            }
        }
        Ok((end < all).then_some(end))
    }

    fn evacuate_head(&self, slot: &Slot, head: Version) -> Result<(), Exhausted> {
        if !head.is_committed() || head.is_tombstone() {
            return Ok(());
        }
        let copy = head.copy(&self.memory)?;
        if !slot.freeze(head) {
            // SAFETY: never published.
            unsafe { copy.free(&self.memory, copy.block_bytes()) };
            return Ok(());
        }
        // Pairs with the fence of a reader that has marked the version: `cold.rs`.
        fence(Ordering::SeqCst);
        copy.take_mark(head);
        slot.unfreeze(copy);
        // SAFETY: unlinked, by us alone.
        unsafe { head.retire(&self.memory) };
        self.counters.update(|stats| stats.moved += 1);
        Ok(())
    }
}
