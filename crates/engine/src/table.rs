//! Tables: an index from keys to RIDs and an indirection array from RIDs to
//! version chains.

use std::sync::{Arc, atomic::AtomicUsize};

use index::Tree;
use memory::{Arena, Exhausted, Local};

use crate::{indirection::IndirectionArray, secondary::list::Indexes, version::HEADER_BYTES};

/// A table of byte keys and byte values.
pub struct Table {
    name: String,
    number: u32,
    description: Vec<u8>,
    /// Where its nodes live; tells which database it belongs to.
    arena: Arc<Arena>,
    pub(crate) index: Tree,
    pub(crate) records: IndirectionArray,
    /// What its writers maintain besides.
    pub(crate) indexes: Indexes,
    /// Bytes of a recently written version: how much to prefetch before its
    /// length is known. A hint; relaxed.
    pub(crate) version_bytes_hint: AtomicUsize,
}

impl Table {
    pub(crate) fn new(
        local: &Local,
        name: &str,
        number: u32,
        description: &[u8],
    ) -> Result<Table, Exhausted> {
        Ok(Table {
            description: description.to_vec(),
            name: name.to_owned(),
            number,
            arena: local.arena(),
            index: Tree::new(local)?,
            records: IndirectionArray::new(),
            indexes: Indexes::default(),
            version_bytes_hint: AtomicUsize::new(HEADER_BYTES + 8),
        })
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it was described with when it was created.
    pub fn description(&self) -> &[u8] {
        &self.description
    }

    /// Whether the table belongs to the database with this arena. The address
    /// compared cannot be another database's while the table keeps it.
    #[inline(always)]
    pub(crate) fn is_in(&self, arena: &Arc<Arena>) -> bool {
        Arc::ptr_eq(&self.arena, arena)
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
