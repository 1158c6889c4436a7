//! The reach of the builder of an index, which decides whether a writer or the builder handles a
//! record.
//!
//! Writers need not maintain the part of an index that no reader can use yet, where the builder has
//! still to come by. *Within its reach* writers maintain the index; beyond it they leave it alone.
//!
//! ```text
//!   writer                             builder
//!   writes the record                  extends its reach over the record
//!   asks for the reach                 looks for uncommitted versions there
//!                                      waits for their makers, takes a snapshot, reads
//! ```
//! One of the two comes first to the latch of the reach. If the writer does, the builder finds its
//! version afterwards: if the version is uncommitted, the builder waits; if it is committed, the
//! builder reads it. Otherwise the writer finds the record within reach. A writer that writes a
//! record twice and finds it in reach the second time only is met by the builder in between, which
//! waits. (`loom_tests.rs`.)
//!
//! Unique indexes are within reach from the start, so that writers hear of duplicates rather than
//! the builder.

use std::ops::Bound;

use crate::{
    secondary::IndexOptions,
    sync::{Mutex, MutexGuard},
};

/// Extent of a builder's reach: see the module text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Records up to this key; `None`: no record.
    UpTo(Option<Vec<u8>>),
    All,
}

impl Extent {
    /// Returns the end, as that of a range.
    pub(super) fn end(&self) -> Bound<&[u8]> {
        match self {
            Extent::UpTo(Some(last)) => Bound::Included(last),
            Extent::UpTo(None) => Bound::Excluded(&[]),
            Extent::All => Bound::Unbounded,
        }
    }
}

/// Reach of a builder, in the order of the table's keys.
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

    /// Whether writers of a record with `key` maintain the index. To be asked after the record is
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

    /// Extends the reach. Then the builder looks for writers there.
    pub(super) fn extend(&self, extent: Extent) {
        *self.lock() = extent;
    }
}
