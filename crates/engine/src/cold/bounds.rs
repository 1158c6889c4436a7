//! What readers have left at records whose versions have left memory.

use crate::{
    indirection::Slot,
    sync::{AtomicU64, Ordering},
    timestamp::Timestamp,
};

/// Slots that share a bound, on average: in a database of many records, many. A bound that is
/// another's, too, can only abort a transaction too many.
const BOUNDS: usize = 1 << 16;

/// For every slot the newest commit of a transaction that has read its record, as far as a
/// version that is gone was marked with it, or a later one. See `cold.rs`.
pub(crate) struct Bounds(Box<[AtomicU64]>);

impl Bounds {
    pub(super) fn new() -> Bounds {
        Bounds((0..BOUNDS).map(|_| AtomicU64::new(0)).collect())
    }

    fn of(&self, slot: &Slot) -> &AtomicU64 {
        &self.0[(slot.hash() >> (u64::BITS - BOUNDS.ilog2())) as usize]
    }

    /// Notes a reader that commits at `at`; whether that was news.
    pub(crate) fn raise(&self, slot: &Slot, at: Timestamp) -> bool {
        // Relaxed: the fences of `cold.rs` order it.
        self.of(slot).fetch_max(at.0, Ordering::Relaxed) < at.0
    }

    /// The newest reader.
    pub(crate) fn latest(&self, slot: &Slot) -> Timestamp {
        // Relaxed: the caller's fence orders it.
        Timestamp(self.of(slot).load(Ordering::Relaxed))
    }
}
