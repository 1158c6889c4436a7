//! Records on the device: a table may be larger than memory.
//!
//! A record is *hot*, with its versions in memory, or *cold*: its only version is in a cold
//! file, and its slot has the address there. Index entries stay in memory.
//!
//! | what | file |
//! | --- | --- |
//! | where a record is | `address.rs` |
//! | the bytes of a file | `format.rs` |
//! | files, and room in them | `files.rs` |
//! | reading a record, once for all who want it | `fetch.rs` |
//! | what leaves memory, and how | `demote.rs` |
//! | what comes back | `promote.rs` |
//! | when: room in memory | `room.rs` |
//! | how what stays is moved together | `evacuate.rs` |
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
mod bounds;
mod demote;
mod evacuate;
mod fetch;
mod files;
pub(crate) mod format;
#[cfg(all(test, loom))]
mod loom_tests;
mod promote;
mod room;

use std::sync::Arc;

use io::{Directory, File};

pub use self::demote::Demoted;
pub(crate) use self::files::{file_name, file_number, locate, remove_others};
pub(crate) use self::{
    address::ColdAddress,
    bounds::Bounds,
    fetch::Fetched,
    room::{Patience, WaitingForRoom},
};
use self::{
    demote::Hand,
    fetch::Reads,
    files::ColdFiles,
    room::{Leaving, Wish},
};
use crate::{manifest::ColdFileEntry, sync::AtomicBool};

/// The number of the file that has a record.
pub(crate) fn file_of(address: ColdAddress) -> u32 {
    locate(address.position()).0
}

/// The cold records of a database.
pub(crate) struct ColdTier {
    files: ColdFiles,
    reads: Reads,
    pub(crate) bounds: Bounds,
    hand: Hand,
    /// A session moves versions together.
    is_evacuating: AtomicBool,
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
    ) -> std::io::Result<ColdTier> {
        Ok(ColdTier {
            files: ColdFiles::open(directory, database, files)?,
            reads: Reads::default(),
            bounds: Bounds::new(),
            hand: Hand::default(),
            is_evacuating: AtomicBool::new(false),
            wish: Wish::default(),
            leaving: Leaving::default(),
        })
    }

    /// A cold file, and how much of it is in use.
    pub(crate) fn file(&self, number: u32) -> Option<(Arc<dyn File>, ColdFileEntry)> {
        let bytes = self.files.end_of(number);
        Some((self.files.file(number)?, ColdFileEntry { number, bytes }))
    }

    /// Whether a record has left memory since the database was opened.
    pub(crate) fn is_recent(&self, address: ColdAddress) -> bool {
        address.position() >= self.files.first
    }

    /// Whether there is a file with this address.
    pub(crate) fn has(&self, address: ColdAddress) -> bool {
        self.files.file(file_of(address)).is_some()
    }
}
