//! Memory for blocks: which of them are kept there, and which leave.
//!
//! Blocks only make scans faster. While [`AMPLE_PART`] of the memory limit is free, all columns of all blocks stay in
//! memory. Otherwise a block is written to the device when it is built, and scans read its columns from there. Where
//! records can leave memory, too, blocks have a *share* of the memory whatever is free: a quarter. The database's
//! settings may name a share, which is all that blocks have then.
//!
//! A column that a scan has read is kept if there is room in the share, and never takes the place of another one: a
//! scan of more than fits would otherwise find nothing of what it has read the last time. Columns that no scan has
//! wanted for [`AGING`] leave, if others could not be kept.
//!
//! When less than [`SHORT_PART`] of the limit is free and blocks have more than their share, columns that are on the
//! device leave memory, and blocks that are not there go: the next scans build them anew, on the device. The
//! housekeeping of each session looks after that, so writers find room long before there is none. Statements may have
//! what is free but for an eighth. When the log needs the room on the device, all blocks that are there go, and their
//! file with them.
//!
//! Bounds: a look takes [`CHUNKS_PER_LOOK`] chunks of one table at most, and passes by [`TABLES_PER_LOOK`] tables.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    ChunkId,
    device::BlockFile,
    frozen::{BlockBytes, Relieved},
};
use crate::{database::Database, session::Session};

/// Part of the memory limit that is free if there is room for all blocks.
const AMPLE_PART: usize = 2;

/// Part of the memory limit that is free if it is not short.
const SHORT_PART: usize = 3;

/// Part of the memory limit that blocks may have whatever is free.
const SHARE_PART: usize = 4;

/// Part of the memory limit that is free if a column is kept: half of what the cold tier keeps free, or so.
const FREE_PART: usize = 20;

/// Time in which a column that is kept is wanted, if others wait for its place.
const AGING: Duration = Duration::from_secs(30);

/// Number of chunks that are relieved in one look: the memory of each column is given back to the system.
const CHUNKS_PER_LOOK: u64 = 8;

/// Number of tables that are passed by in one look.
const TABLES_PER_LOOK: usize = 64;

/// Blocks of a database, as far as memory is concerned.
#[derive(Default)]
pub(crate) struct BlockRoom {
    /// Whether a column could not be kept since the last round for unused ones.
    is_wished: AtomicBool,
    round: Mutex<Round>,
    bytes: Arc<BlockBytes>,
    /// File for blocks, once one was written.
    pub(super) file: Mutex<Option<Arc<BlockFile>>>,
}

/// A round of looks at the blocks of all tables.
#[derive(Default)]
struct Round {
    /// Columns that leave in the round that is under way.
    mode: Option<Relieved>,
    /// Table, by its number, and chunk at which the next look goes on.
    hand: (u32, ChunkId),
    /// Time of the last look for unused columns, and at the room on the device, by the clock of the session that
    /// looked.
    aged: Duration,
}

impl BlockRoom {
    pub(super) fn bytes(&self) -> &Arc<BlockBytes> {
        &self.bytes
    }
}

impl Database {
    /// Returns whether `bytes` more of blocks may stay in memory without being written to the device.
    pub(crate) fn has_ample_room(&self, bytes: usize) -> bool {
        let is_bounded = self.block_memory().is_some() && self.log().is_some();
        let free = self.arena.limit_bytes() / AMPLE_PART;
        !is_bounded && self.arena.room() >= bytes.saturating_add(free)
    }

    /// Returns whether a block may be built: it is kept in memory, or written to the device.
    pub(crate) fn may_build_blocks(&self) -> bool {
        self.log().is_some() || self.has_ample_room(0)
    }

    /// Returns whether a column of `bytes` bytes, which is on the device, is kept in memory as well.
    pub(crate) fn may_keep_column(&self, bytes: usize) -> bool {
        let may_keep = self.has_ample_room(bytes)
            || self.is_within_share(bytes)
                && self.arena.room() >= bytes.saturating_add(self.arena.limit_bytes() / FREE_PART);
        if !may_keep {
            self.block_room.is_wished.store(true, Ordering::Relaxed);
        }
        may_keep
    }

    /// Returns whether blocks have at most their share with `bytes` more.
    fn is_within_share(&self, bytes: usize) -> bool {
        let kept = self.block_room.bytes.kept();
        let share = match (self.block_memory(), self.cold()) {
            (Some(bytes), _) => bytes,
            (None, Some(_)) => self.arena.limit_bytes() / SHARE_PART,
            (None, None) => 0,
        };
        kept.saturating_add(bytes) <= share
    }

    /// Returns the bytes of blocks of columns: of those columns that are in memory, and of all.
    pub fn block_bytes(&self) -> (usize, usize) {
        let bytes = &self.block_room.bytes;
        (bytes.kept(), bytes.all())
    }
}

impl Session {
    /// Lets some columns leave memory if it is short, or others wait for their places, and gives up blocks on the
    /// device if the log needs their room: a part of the housekeeping.
    pub(crate) fn look_after_blocks(&self) {
        let (database, arena) = (&self.database, &self.database.arena);
        let room = &database.block_room;
        if room.bytes.all() == 0 {
            return;
        }
        // Another session looks.
        let Ok(mut round) = room.round.try_lock() else {
            return;
        };
        let is_short = arena.room() < arena.limit_bytes() / SHORT_PART;
        let must_leave = is_short && !database.is_within_share(0);
        let mode = match round.mode {
            Some(Relieved::Written) => Relieved::Written,
            // A round for want of memory ends with the want, and any other gives way to it.
            Some(Relieved::Unused) if !must_leave => Relieved::Unused,
            Some(Relieved::All) if must_leave => Relieved::All,
            _ => match self.begin_round(&mut round, must_leave) {
                Some(mode) => mode,
                None => return,
            },
        };
        let (number, chunk) = round.hand;
        // Whatever their stage: old readers of a storage in its grave find all records in their slots.
        let tables = database.catalog.storages_from(number, TABLES_PER_LOOK);
        let Some(last) = tables.last().map(|table| table.number()) else {
            round.mode = None;
            if mode == Relieved::Written {
                // The file goes with the last reader of its blocks.
                *room.file.lock().unwrap_or_else(|e| e.into_inner()) = None;
            }
            return;
        };
        round.hand = (last + 1, ChunkId(0));
        if let Some(table) = tables.iter().find(|table| table.chunks.may_have_blocks()) {
            let from = match table.number() == number {
                true => chunk,
                false => ChunkId(0),
            };
            let next = table
                .chunks
                .each_block(from, CHUNKS_PER_LOOK, |chunk, block| {
                    match (block.place(), mode) {
                        (None, Relieved::All) | (Some(_), Relieved::Written) => {
                            chunk.release(&self.memory);
                        }
                        _ => block.relieve(mode),
                    }
                });
            round.hand = match next {
                Some(next) => (table.number(), next),
                None => (table.number() + 1, ChunkId(0)),
            };
        }
    }

    /// Begins a round of looks, if there is a reason for one. Returns its mode.
    fn begin_round(&self, round: &mut Round, must_leave: bool) -> Option<Relieved> {
        let (database, now) = (&self.database, self.clock().now());
        let room = &database.block_room;
        round.mode = None;
        if must_leave {
            round.mode = Some(Relieved::All);
        } else if now.abs_diff(round.aged) >= AGING {
            round.aged = now;
            let has_file = room.file.lock().is_ok_and(|file| file.is_some());
            if has_file && database.check_room_beside_log(0).is_err() {
                round.mode = Some(Relieved::Written);
            // Relaxed: a look that comes too early is followed by another.
            } else if room.is_wished.swap(false, Ordering::Relaxed) {
                round.mode = Some(Relieved::Unused);
            }
        }
        round.hand = (0, ChunkId(0));
        round.mode
    }
}
