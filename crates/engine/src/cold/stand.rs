//! How much memory is free, and how much is to be: for writes, for any purpose, and for memory outside the database.

use std::sync::Arc;

use memory::{Arena, Exhausted};

use super::{ColdTier, asked::Asked};
use crate::{
    indirection::Slot,
    sync::{AtomicUsize, Ordering},
};

/// Minimum share of the limit that is to be free, in holes or not: one part of so many.
const FREE_PART: usize = 10;

/// Memory is short if no more is free than the minimum and one part of so many of it: the same room that demotion
/// makes.
const SHORT_PART: usize = 4;

/// Share of the limit that is free for any purpose: one part of so many. Versions do not get it: versions of
/// transactions that wait for room cannot move out of the way of the memory that they wait for.
const ROOM_PART: usize = 32;

/// Maximum share of the limit that is made free for waiting operations: one part of so many.
const WISH_PART: usize = 8;

/// Maximum share of the limit that is made free for memory outside the database: one part of so many.
const OUTSIDE_PART: usize = 4;

/// Bytes of versions that are on their way to the device.
#[derive(Default)]
pub(super) struct Leaving(AtomicUsize);

/// A part of the bytes of [`Leaving`], until dropped.
pub(super) struct OnItsWay<'l>(&'l Leaving, usize);

impl Leaving {
    pub(super) fn begin(&self, bytes: usize) -> OnItsWay<'_> {
        // Relaxed, here and elsewhere: nothing depends on the number.
        self.0.fetch_add(bytes, Ordering::Relaxed);
        OnItsWay(self, bytes)
    }

    fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed) as u64
    }
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

/// Bytes of room that are wanted.
#[derive(Default)]
pub(super) struct Wish(AtomicUsize);

impl Wish {
    /// Gives the wish up: an operation that finds too little room says so again.
    pub(super) fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// State of the memory.
pub(super) struct Stand {
    /// Bytes that are free, in holes or not.
    pub(super) available: u64,
    /// Whether more is in use than is to be, and not about to leave.
    pub(super) is_full: bool,
    /// Whether free memory is free in holes.
    pub(super) has_holes: bool,
}

impl ColdTier {
    /// Has the arena keep the share that is to be free for any purpose.
    ///
    /// # Errors
    /// [`Exhausted`] if the arena is too small for the table of requests.
    pub(crate) fn keep_room_in(&self, arena: &Arc<Arena>) -> Result<(), Exhausted> {
        arena.keep_from_versions(arena.limit_bytes() / ROOM_PART);
        let _ = self.asked.set(Asked::new(arena)?);
        Ok(())
    }

    /// Whether a record that was read had better become hot.
    pub(super) fn takes_in(&self, slot: &Slot) -> bool {
        // Relaxed: nothing depends on it.
        let is_short = self.is_short.load(Ordering::Relaxed);
        !is_short || self.asked.get().is_none_or(|asked| asked.again(slot))
    }

    /// Returns the state of the memory.
    pub(super) fn stand(&self, arena: &Arena) -> Stand {
        let usage = arena.usage();
        let (limit, room) = (arena.limit_bytes(), arena.room());
        // Memory that indexes have claimed and not used is for them alone. Versions in use in closing regions are to
        // move, and take as much elsewhere.
        let holes = usage
            .version_claimed_bytes
            .saturating_sub(usage.version_closing_bytes + usage.version_bytes);
        // Relaxed, here and elsewhere: nothing depends on it.
        let wish = self.wish.0.load(Ordering::Relaxed);
        if wish > 0 && room >= wish {
            self.wish.0.store(0, Ordering::Relaxed);
        }
        let wanted = wish.max(limit / ROOM_PART);
        let free = (limit / FREE_PART).max(wanted + limit / (2 * FREE_PART));
        let available = room as u64 + holes;
        let is_short = available < (free + free / SHORT_PART) as u64;
        self.is_short.store(is_short, Ordering::Relaxed);
        Stand {
            available,
            is_full: available + self.leaving.bytes() < free as u64,
            has_holes: room < wanted,
        }
    }

    /// Has records leave until `bytes` are free for memory outside the database, or a quarter of the limit is. Holes
    /// are of no use for it, and not all of them can be gathered: records leave for one half of them, too.
    pub(crate) fn want_room_outside(&self, arena: &Arena, bytes: usize) {
        let usage = arena.usage();
        let holes =
            usage.version_claimed_bytes - usage.version_bytes.min(usage.version_claimed_bytes);
        let missing = bytes.saturating_sub(arena.room());
        let bytes = bytes + missing.min(holes as usize / 2);
        let bytes = bytes.min(arena.limit_bytes() / OUTSIDE_PART);
        // Relaxed: nothing depends on it.
        self.wish.0.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Raises the room that is wanted, after an operation had too little: by more each time, since the need is unknown.
    pub(super) fn want_room(&self, arena: &Arena) {
        let limit = arena.limit_bytes();
        let more = arena.room() + limit / ROOM_PART;
        self.wish
            .0
            .fetch_max(more.min(limit / WISH_PART), Ordering::Relaxed);
    }
}
