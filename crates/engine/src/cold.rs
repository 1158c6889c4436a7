//! Records on the device: a table may be larger than memory.
//!
//! A record is *hot*, with its versions in memory, or *cold*: its only version is in a cold file, and its slot has
//! the address in that file. Index entries stay in memory.
//!
//! | subject | file |
//! | --- | --- |
//! | place of a record | `address.rs` |
//! | bytes of a file | `format.rs` |
//! | files, room in them, and their removal | `files.rs` |
//! | block on its way to a file | `block.rs` |
//! | reading of a record, once for all concurrent readers | `fetch.rs`, `buffers.rs` |
//! | records that leave memory | `demote.rs` |
//! | records that come back; records requested lately | `promote.rs`, `asked.rs` |
//! | room in memory, which decides when records leave; how much is free and is to be | `room.rs`, `stand.rs` |
//! | gathering of the versions that stay in memory | `evacuate.rs` |
//! | count of the live bytes of a file | `census.rs` |
//! | index nodes that name cold records only | `nodes.rs` |
//! | moving of live records out of a file before its removal | `compact.rs` |
//! | deletion of expired records | `expire.rs` |
//!
//! # Why no transaction sees the difference
//! *Demotion* takes a head that is committed, not newer than the horizon and no tombstone: every snapshot that is
//! open, or will be, sees this version and no other. *Promotion* puts a version with the same timestamp in the place
//! of the address. A reader that meets a cold slot therefore sees the version stored there. A transaction that saw
//! the version before and looks again recognises it by its timestamp (`session/dependencies.rs`). As long as a
//! transaction that has read a record is open, a cold slot holds the version that it read: an overwriting version
//! would be newer than the horizon.
//!
//! The memory of a demoted version is freed once all pins that were open are gone. Without a pin, a transaction
//! holds on to a committed version only as the predecessor of its own version, and its own version is the head then.
//!
//! # Readers' marks
//! The marks that certification leaves in versions (`transaction/certify.rs`) must survive. A version that leaves
//! memory hands its mark to the slot's *bound* ([`Bounds`]); a transaction that overwrites the record later obeys
//! the bound as it obeys the version's own mark:
//!
//! ```text
//!   T, which has read V          D, which demotes V         U, which overwrites V's copy
//!   mark V                       freeze the slot            ...
//!   fence                        fence                      fence
//!   look at the slot             raise the bound by V's     eta = max(mark of the copy,
//!   frozen or cold: raise the    mark                                 bound)
//!   bound, fence, look again     slot: V -> cold
//! ```
//! If T finds the slot as it was, D's look at V's mark comes after the freezing that T has not seen, and sees T's
//! mark. Otherwise T raises the bound itself, before it looks for overwriting transactions for the last time: T sees
//! U, or U sees the bound.

mod address;
mod asked;
mod block;
mod bounds;
mod buffers;
mod census;
mod compact;
mod demote;
mod evacuate;
mod expire;
mod fetch;
mod files;
pub(crate) mod format;
#[cfg(all(test, loom))]
mod loom_tests;
mod nodes;
mod promote;
mod room;
mod stand;

use std::{
    hint::spin_loop,
    sync::{Arc, OnceLock},
};

use io::{Directory, File};

pub(crate) use self::files::{file_name, file_number, locate, remove_others};
pub(crate) use self::{
    address::{ColdAddress, POSITION_UNIT},
    bounds::Bounds,
    buffers::ReadBuffers,
    fetch::{Fetched, Lent},
    files::POSITIONS_END,
    room::{Patience, RoomOwner, WaitingForRoom, session_bytes},
};
use self::{
    asked::Asked,
    compact::Compaction,
    demote::Hand,
    fetch::Reads,
    files::{ColdFile, ColdFiles, FILE_BYTES_MAX},
    stand::{Leaving, Wish},
};
pub use self::{compact::Compacted, demote::Demoted, nodes::ColdNodes};
use crate::{
    indirection::{Head, Slot},
    manifest::ColdFileEntry,
    sync::AtomicBool,
    timestamp::Timestamp,
    ttl::WallTime,
};

/// Returns the number of the file that has the record at `address`.
pub(crate) fn file_of(address: ColdAddress) -> u32 {
    locate(address.position()).0
}

/// Returns the address of the record of `slot`, if it is cold.
fn address_in(slot: &Slot) -> Option<ColdAddress> {
    // A frozen slot becomes cold, or hot again, in a moment. A demotion that freezes it later finds closed files
    // closed.
    while slot.is_frozen() {
        spin_loop();
    }
    match slot.head() {
        Head::Cold(address) => Some(address),
        Head::Unused | Head::Dead | Head::Version(_) => None,
    }
}

/// Cold records of a database.
pub(crate) struct ColdTier {
    files: ColdFiles,
    reads: Reads,
    pub(crate) bounds: Bounds,
    hand: Hand,
    /// Whether a session is moving versions together.
    is_evacuating: AtomicBool,
    /// Whether there is little room in memory.
    is_short: AtomicBool,
    asked: OnceLock<Asked>,
    compaction: Compaction,
    wish: Wish,
    leaving: Leaving,
}

impl ColdTier {
    /// Opens the cold tier of the database with the number `database` in `directory`, with its cold files.
    ///
    /// # Errors
    /// The directory's error on opening a cold file.
    pub(crate) fn new(
        directory: &Arc<dyn Directory>,
        database: u64,
        files: &[ColdFileEntry],
        config: ColdConfig,
    ) -> std::io::Result<ColdTier> {
        Ok(ColdTier {
            files: ColdFiles::open(directory, database, files, config.file_bytes())?,
            reads: Reads::default(),
            bounds: Bounds::new(),
            hand: Hand::default(),
            is_evacuating: AtomicBool::new(false),
            is_short: AtomicBool::new(false),
            asked: OnceLock::new(),
            compaction: Compaction::new(config),
            wish: Wish::default(),
            leaving: Leaving::default(),
        })
    }

    /// Returns a cold file, and how much of it is in use.
    pub(crate) fn file(&self, number: u32) -> Option<(Arc<dyn File>, ColdFileEntry)> {
        let file = self.files.file(number)?;
        let bytes = file.end();
        Some((file.file.clone(), ColdFileEntry { number, bytes }))
    }

    /// Returns how much of the device the cold files take up.
    pub(crate) fn usage(&self) -> ColdUsage {
        let all = self.files.all();
        ColdUsage {
            files: all.len() as u64,
            bytes: all.iter().map(|file| file.end()).sum(),
            live_bytes: all.iter().map(|file| file.live()).sum(),
            damaged_blocks: all.iter().map(|file| file.damaged_blocks()).sum(),
        }
    }

    fn file_at(&self, address: ColdAddress) -> Option<Arc<ColdFile>> {
        self.files.file(file_of(address))
    }

    /// Whether the record at `address` has left memory since the database was opened.
    pub(crate) fn is_recent(&self, address: ColdAddress) -> bool {
        self.file_at(address).is_some_and(|file| file.is_recent)
    }

    /// Whether there is a file with this address.
    pub(crate) fn has(&self, address: ColdAddress) -> bool {
        self.file_at(address).is_some()
    }

    /// Notes that the bytes at `position` could not be read: no record is to rely on the block any more.
    fn note_damage(&self, position: u64) {
        let (number, offset) = locate(position);
        let file = self.files.file(number);
        if file.is_some_and(|file| file.note_damage(offset)) {
            self.compaction.note_damage();
        }
    }

    /// Notes that the slot of a record of `table` names `address`, and that the record expires at `expiry`.
    fn note_expiry(&self, address: ColdAddress, table: u32, expiry: WallTime) {
        if let Some(file) = self.file_at(address) {
            self.files.note_expiry(&file, table, expiry);
        }
    }

    /// Whether a record may become cold at this address.
    fn is_open_at(&self, address: ColdAddress) -> bool {
        let (number, offset) = locate(address.position());
        let file = self.files.file(number);
        file.is_some_and(|file| file.takes_back(offset))
    }

    /// Acts on a new checkpoint: removes the files that are no longer needed, and returns how many. The current
    /// checkpoint refers to the files in `named`; the caller keeps other sessions from taking a checkpoint
    /// meanwhile.
    ///
    /// # Errors
    /// The directory's error.
    pub(crate) fn remove_emptied(
        &self,
        named: &[ColdFileEntry],
        horizon: Timestamp,
    ) -> std::io::Result<u64> {
        self.compaction.note_checkpoint();
        self.files.remove_emptied(named, horizon)
    }
}

/// Space on the device that records take up which have left memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColdUsage {
    /// Cold files.
    pub files: u64,
    /// Bytes written to cold files.
    pub bytes: u64,
    /// Bytes in use, approximately: all bytes written since the last count are taken to be in use.
    pub live_bytes: u64,
    /// Approximate number of blocks in which a read has failed since the database was opened: the device failed, or
    /// a checksum was wrong. `weft check` names every damaged record.
    pub damaged_blocks: u64,
}

/// Settings of the cold tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdConfig {
    /// Size of a cold file in bytes, 4 KiB to 64 MiB. Default 64 MiB.
    pub file_bytes: u64,
    /// Maximum percentage, 10 to 90, of the bytes of all cold files that may be dead: records that were overwritten,
    /// deleted or written elsewhere. Above it, files are *compacted*: their live records are written elsewhere, and
    /// the files are removed after the next checkpoint. Default 30.
    pub dead_percent_max: u8,
    /// Maximum bytes that compaction reads and writes per second, at least 1 MiB. Default 128 MiB.
    pub compaction_bytes_per_second_max: u64,
}

impl Default for ColdConfig {
    fn default() -> ColdConfig {
        ColdConfig {
            file_bytes: FILE_BYTES_MAX,
            dead_percent_max: 30,
            compaction_bytes_per_second_max: 128 << 20,
        }
    }
}

impl ColdConfig {
    fn file_bytes(&self) -> u64 {
        self.file_bytes.clamp(4 << 10, FILE_BYTES_MAX)
    }
}
