//! Memory for blocks: what records, indexes and statements leave.
//!
//! A block only makes scans faster. It is built if [`BUILD_PART`] of the memory limit is free besides, and blocks are
//! taken away, some at a time, as soon as less than [`SHORT_PART`] is: the housekeeping of each session looks after
//! that, so writers find room again long before there is none. Statements may have what is free but for an eighth: half
//! of the limit is more than their shares.
//!
//! Bounds: a look takes [`CHUNKS_PER_LOOK`] chunks of one table at most, and passes by [`TABLES_PER_LOOK`] tables.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use memory::{Arena, Exhausted};

use super::ChunkId;
use crate::session::Session;

/// Part of the memory limit that is left free when a block is built.
const BUILD_PART: usize = 2;

/// Part of the memory limit that is free if it is not short.
const SHORT_PART: usize = 3;

/// Number of chunks whose blocks are taken away in one look: the memory of each is given back to the system.
const CHUNKS_PER_LOOK: u64 = 8;

/// Number of tables that are passed by in one look.
const TABLES_PER_LOOK: usize = 64;

/// Blocks of a database, as far as memory is concerned.
#[derive(Default)]
pub(crate) struct BlockRoom {
    /// Whether a block was built since the last round of looks began. Set after the block was published, and cleared
    /// before the first table is looked at: a block that a round misses begins another.
    are_built: AtomicBool,
    /// Whether a round of looks is under way.
    is_round: AtomicBool,
    /// Table, by its number, and chunk at which the next look goes on.
    hand: Mutex<(u32, ChunkId)>,
}

impl BlockRoom {
    /// Tells whether a block of `bytes` bytes may be built.
    ///
    /// # Errors
    /// [`Exhausted`] if too little memory would be left.
    pub(crate) fn check(&self, arena: &Arena, bytes: usize) -> Result<(), Exhausted> {
        match arena.room() >= bytes.saturating_add(arena.limit_bytes() / BUILD_PART) {
            true => Ok(()),
            false => Err(Exhausted),
        }
    }

    /// Notes that a block was built, after it was published.
    pub(crate) fn built(&self) {
        // Release: a look that finds it finds the block.
        self.are_built.store(true, Ordering::Release);
    }

    fn is_empty(&self) -> bool {
        // Relaxed: a look that comes too early is followed by another.
        !self.are_built.load(Ordering::Relaxed) && !self.is_round.load(Ordering::Relaxed)
    }
}

impl Session {
    /// Takes some blocks away if memory is short: a part of the housekeeping.
    pub(crate) fn look_after_blocks(&self) {
        let (database, arena) = (&self.database, &self.database.arena);
        let room = &database.block_room;
        if room.is_empty() || arena.room() >= arena.limit_bytes() / SHORT_PART {
            return;
        }
        // Another session looks.
        let Ok(mut hand) = room.hand.try_lock() else {
            return;
        };
        if !room.is_round.swap(true, Ordering::Relaxed) {
            // Acquire: pairs with the Release of the builder.
            room.are_built.swap(false, Ordering::Acquire);
            *hand = (0, ChunkId(0));
        }
        let (number, chunk) = *hand;
        // Whatever their stage: old readers of a storage in its grave find all records in their slots.
        let tables = database.catalog.storages_from(number, TABLES_PER_LOOK);
        let Some(last) = tables.last().map(|table| table.number()) else {
            room.is_round.store(false, Ordering::Relaxed);
            return;
        };
        *hand = (last + 1, ChunkId(0));
        if let Some(table) = tables.iter().find(|table| table.chunks.may_have_blocks()) {
            let from = match table.number() == number {
                true => chunk,
                false => ChunkId(0),
            };
            let next = table
                .chunks
                .drop_blocks(from, CHUNKS_PER_LOOK, &self.memory);
            *hand = match next {
                Some(next) => (table.number(), next),
                None => (table.number() + 1, ChunkId(0)),
            };
        }
    }
}
