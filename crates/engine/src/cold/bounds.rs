//! Marks that readers have left at records whose versions have left memory.

use crate::{
    indirection::Slot,
    sync::{AtomicU64, Ordering},
    timestamp::Timestamp,
};

/// Number of bounds: in a database of many records, many slots share one. A bound shared with
/// another slot can only abort a transaction that could have committed.
const BOUNDS: usize = 1 << 16;

/// For every slot a commit timestamp not older than the newest mark of a reader in a version that
/// is gone. See `cold.rs`.
pub(crate) struct Bounds(Box<[AtomicU64]>);

impl Bounds {
    pub(super) fn new() -> Bounds {
        Bounds((0..BOUNDS).map(|_| AtomicU64::new(0)).collect())
    }

    fn of(&self, slot: &Slot) -> &AtomicU64 {
        &self.0[(slot.hash() >> (u64::BITS - BOUNDS.ilog2())) as usize]
    }

    /// Notes a reader that commits at `at`; returns whether it raised the bound.
    pub(crate) fn raise(&self, slot: &Slot, at: Timestamp) -> bool {
        // Relaxed: the fences of `cold.rs` order it.
        self.of(slot).fetch_max(at.0, Ordering::Relaxed) < at.0
    }

    /// Returns the commit timestamp of the newest reader.
    pub(crate) fn latest(&self, slot: &Slot) -> Timestamp {
        // Relaxed: the caller's fence orders it.
        Timestamp(self.of(slot).load(Ordering::Relaxed))
    }
}
