//! Places in a list by record: [`ByRecord`].
//!
//! One table of places would be moved as a whole when it grows, and be freed in one go. Here are
//! many small tables, of which one grows, or is freed, at a time.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

/// Number of tables that share the places.
const SHARDS: usize = 256;
/// Approximate bytes of a place in a table, with the tag of free ones.
const PLACE_BYTES: usize = size_of::<(usize, usize)>() + 2;

/// Places in a list by the addresses of records' slots.
#[derive(Debug, Default)]
pub(super) struct ByRecord {
    /// Tables; none before first use, fewer than [`SHARDS`] while they are given back.
    shards: Vec<HashMap<usize, usize, FxBuildHasher>>,
}

impl ByRecord {
    /// Whether places are to be noted here.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        !self.shards.is_empty()
    }

    /// Begins to note places here.
    pub(super) fn begin(&mut self) {
        self.shards.resize_with(SHARDS, HashMap::default);
    }

    pub(super) fn get(&self, slot: usize) -> Option<usize> {
        self.shards.get(shard(slot))?.get(&slot).copied()
    }

    /// Notes the place of the record in `slot`, or that it has none.
    pub(super) fn set(&mut self, slot: usize, place: Option<usize>) {
        let Some(shard) = self.shards.get_mut(shard(slot)) else {
            return;
        };
        match place {
            Some(place) => shard.insert(slot, place),
            None => shard.remove(&slot),
        };
    }

    /// Returns the approximate bytes of the tables, including places that are gone.
    pub(super) fn bytes(&self) -> usize {
        let places = self.shards.iter().map(HashMap::capacity);
        places.sum::<usize>() * PLACE_BYTES
    }

    /// Forgets a part of the places, and gives back its memory. Returns whether there are more.
    pub(super) fn drop_part(&mut self) -> bool {
        self.shards.pop();
        self.is_used()
    }
}

fn shard(slot: usize) -> usize {
    // Slots are next to each other; their places in a table depend on the uppermost bits of this
    // product.
    slot.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24 & (SHARDS - 1)
}
