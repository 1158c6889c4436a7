//! How far the builder of an index has come, which decides whose business a record is.
//!
//! Writers need not maintain what nobody can read yet, where the builder has still to
//! come by. *Within its reach* writers maintain the index; beyond it they leave it alone.
//!
//! ```text
//!   writer                             builder
//!   writes the record                  extends its reach over the record
//!   asks for the reach                 looks who has uncommitted versions there
//!                                      waits for their end, takes a snapshot, reads
//! ```
//! One of the two comes first to the latch of the reach. If the writer does, the builder
//! finds its version afterwards: uncommitted, and then waits, or committed, and then reads
//! it. Else the writer finds the record within reach. Who writes a record twice and finds
//! it in reach the second time only is met by the builder in between, who waits.
//! (`loom_tests.rs`.)
//!
//! Unique indexes are within reach from the start, so that writers hear of duplicates
//! rather than the builder.

use std::ops::Bound;

use crate::{
    secondary::IndexOptions,
    sync::{Mutex, MutexGuard},
};

/// See the module text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Records up to this key; `None`: no record.
    UpTo(Option<Vec<u8>>),
    All,
}

impl Extent {
    /// Where it ends, as that of a range.
    pub(super) fn end(&self) -> Bound<&[u8]> {
        match self {
            Extent::UpTo(Some(last)) => Bound::Included(last),
            Extent::UpTo(None) => Bound::Excluded(&[]),
            Extent::All => Bound::Unbounded,
        }
    }
}

/// The builder's reach, in the order of the table's keys.
pub(crate) struct Reach(Mutex<Extent>);

impl Reach {
    pub(super) fn new(options: IndexOptions) -> Reach {
        Reach(Mutex::new(match options.unique {
            true => Extent::All,
            false => Extent::UpTo(None),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Extent> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether writers of a record maintain the index. To be asked after the record is
    /// written.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        match &*self.lock() {
            Extent::All => true,
            Extent::UpTo(last) => last.as_ref().is_some_and(|last| key <= &last[..]),
        }
    }

    pub(super) fn extent(&self) -> Extent {
        self.lock().clone()
    }

    /// Extends it. Then the builder looks who is writing there.
    pub(super) fn extend(&self, extent: Extent) {
        *self.lock() = extent;
    }
}
