//! Tables: an index from keys to RIDs and an indirection array from RIDs to
//! version chains.

use std::sync::atomic::AtomicUsize;

use index::Tree;
use memory::{Exhausted, Local};

use crate::{indirection::IndirectionArray, version::HEADER_BYTES};

/// A table of byte keys and byte values.
pub struct Table {
    name: String,
    number: u32,
    pub(crate) index: Tree,
    pub(crate) records: IndirectionArray,
    /// Bytes of a recently written version: how much to prefetch before its
    /// length is known. A hint; relaxed.
    pub(crate) version_bytes_hint: AtomicUsize,
}

impl Table {
    pub(crate) fn new(local: &Local, name: &str, number: u32) -> Result<Table, Exhausted> {
        Ok(Table {
            name: name.to_owned(),
            number,
            index: Tree::new(local)?,
            records: IndirectionArray::new(),
            version_bytes_hint: AtomicUsize::new(HEADER_BYTES + 8),
        })
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table's number in its database, from 0.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
