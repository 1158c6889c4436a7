//! Records on the device: a table may be larger than memory.
//!
//! A record is *hot*, with its versions in memory, or *cold*: its only version is in a cold
//! file, and its slot has the address there. Index entries stay in memory.
//!
//! | what | file |
//! | --- | --- |
//! | where a record is | `address.rs` |
//! | the bytes of a file | `format.rs` |
//! | files, room in them, and their end | `files.rs` |
//! | a block on its way to one | `block.rs` |
//! | reading a record, once for all who want it | `fetch.rs`, `buffers.rs` |
//! | what leaves memory, and how | `demote.rs` |
//! | what comes back, and who was asked for lately | `promote.rs`, `asked.rs` |
//! | when: room in memory | `room.rs` |
//! | how what stays is moved together | `evacuate.rs` |
//! | what is live in a file | `census.rs` |
//! | nodes of indexes that are about cold records only | `nodes.rs` |
//! | how what is live leaves a file, so that it can go | `compact.rs` |
//! | how what has expired is deleted | `expire.rs` |
//!
//! # Why nobody sees the difference
//! *Demotion* takes a head that is committed, not newer than the horizon and no tombstone:
//! every snapshot that is open, or will be, sees this version and no other. *Promotion* puts
//! a version with the same timestamp in the place of the address. So whoever meets a cold
//! slot sees the version that is there; whoever has seen the version before, and looks again,
//! knows it by its timestamp (`session/dependencies.rs`); and as long as a transaction that
//! has read a record is open, a cold slot holds what it has read: an overwriting version
//! would be newer than the horizon.
//!
//! The memory of a demoted version is free when the pins are gone that were open: without a
//! pin nobody holds on to a committed version but as the predecessor of one's own, which is
//! the head then.
//!
//! # Marks of readers
//! that certification leaves in versions (`transaction/certify.rs`) must survive. What leaves
//! memory hands its mark to the slot's *bound* ([`Bounds`]), which counts for whoever
//! overwrites the record later, as the version's own does:
//!
//! ```text
//!   T, which has read V          D, which demotes V         U, which overwrites V's copy
//!   mark V                       freeze the slot            ...
//!   fence                        fence                      fence
//!   look at the slot             raise the bound by V's     eta = max(mark of the copy,
//!   frozen or cold: raise the    mark                                 bound)
//!   bound, fence, look again     slot: V -> cold
//! ```
//! If T finds the slot as it was, D's look at V's mark comes after the freezing that T has not
//! seen, and sees T's mark. Else T raises the bound itself, before its last look at who
//! overwrites: U is then either seen by T, or sees the bound.

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
    room::{Leaving, Wish},
};
pub use self::{compact::Compacted, demote::Demoted, nodes::ColdNodes};
use crate::{
    indirection::{Head, Slot},
    manifest::ColdFileEntry,
    sync::AtomicBool,
    timestamp::Timestamp,
    ttl::WallTime,
};

/// The number of the file that has a record.
pub(crate) fn file_of(address: ColdAddress) -> u32 {
    locate(address.position()).0
}

/// Where the record is, if it is cold.
fn address_in(slot: &Slot) -> Option<ColdAddress> {
    // It becomes cold, or does not, in a moment. Whoever freezes it later finds closed files
    // closed.
    while slot.is_frozen() {
        spin_loop();
    }
    match slot.head() {
        Head::Cold(address) => Some(address),
        Head::Unused | Head::Dead | Head::Version(_) => None,
    }
}

/// The cold records of a database.
pub(crate) struct ColdTier {
    files: ColdFiles,
    reads: Reads,
    pub(crate) bounds: Bounds,
    hand: Hand,
    /// A session moves versions together.
    is_evacuating: AtomicBool,
    /// There is little room in memory.
    is_short: AtomicBool,
    asked: OnceLock<Asked>,
    compaction: Compaction,
    wish: Wish,
    leaving: Leaving,
}

impl ColdTier {
    /// Of the database with this number, in its directory, where there are these cold files.
    ///
    /// # Errors
    /// What the directory says to one of them.
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

    /// A cold file, and how much of it is in use.
    pub(crate) fn file(&self, number: u32) -> Option<(Arc<dyn File>, ColdFileEntry)> {
        let file = self.files.file(number)?;
        let bytes = file.end();
        Some((file.file.clone(), ColdFileEntry { number, bytes }))
    }

    /// What the files take up.
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

    /// Whether a record has left memory since the database was opened.
    pub(crate) fn is_recent(&self, address: ColdAddress) -> bool {
        self.file_at(address).is_some_and(|file| file.is_recent)
    }

    /// Whether there is a file with this address.
    pub(crate) fn has(&self, address: ColdAddress) -> bool {
        self.file_at(address).is_some()
    }

    /// What is at this position could not be read: no record is to rely on the block any more.
    fn note_damage(&self, position: u64) {
        let (number, offset) = locate(position);
        let file = self.files.file(number);
        if file.is_some_and(|file| file.note_damage(offset)) {
            self.compaction.note_damage();
        }
    }

    /// The slot of a record of a table says that it is at `address`; it expires then.
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

    /// A checkpoint was taken: removes files that nobody needs any more, while the caller keeps others from taking a
    /// checkpoint: the one that counts refers to `named`. How many.
    ///
    /// # Errors
    /// What the directory says.
    pub(crate) fn remove_emptied(
        &self,
        named: &[ColdFileEntry],
        horizon: Timestamp,
    ) -> std::io::Result<u64> {
        self.compaction.note_checkpoint();
        self.files.remove_emptied(named, horizon)
    }
}

/// What records that have left memory take up on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColdUsage {
    /// Cold files.
    pub files: u64,
    /// Bytes that were written to them.
    pub bytes: u64,
    /// Bytes of them that are of use, about: what has come since they were last counted is.
    pub live_bytes: u64,
    /// Blocks, about, in which something could not be read since the database was opened: the
    /// device failed, or a checksum was wrong. `weft check` names all of it.
    pub damaged_blocks: u64,
}

/// Settings of the cold tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdConfig {
    /// Bytes of a cold file, 4 KiB to 64 MiB. Default 64 MiB.
    pub file_bytes: u64,
    /// Of the bytes of all cold files, so many percent may be records that were overwritten,
    /// deleted or written elsewhere, 10 to 90. If there are more, files are *compacted*: what
    /// is left in them is written elsewhere, and they are removed after the next checkpoint.
    /// Default 30.
    pub dead_percent_max: u8,
    /// Bytes that compaction reads and writes per second, at most, at least 1 MiB. Default 128 MiB.
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
