//! Tables: an index from keys to RIDs and an indirection array from RIDs to
//! version chains.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use index::Tree;
use memory::{Arena, Exhausted, Local};

use crate::{
    catalog::{Life, definition::ObjectKey},
    columns::{Chunks, FrozenBlock},
    indirection::IndirectionArray,
    locks::Gate,
    secondary::list::Indexes,
    version::HEADER_BYTES,
};

/// Bytes of a version that are prefetched; the lines beyond are left to the hardware's own
/// prefetcher.
const PREFETCH_BYTES_MAX: usize = 4096;

/// Table of byte keys and byte values; strictly, a storage of the table: truncating the table gives
/// it another storage.
///
/// Holding a `Table` keeps nothing in the database: after the table was dropped, operations of
/// transactions that begin later fail with [`crate::Error::TableDropped`].
pub struct Table {
    /// Arena of the table's nodes; identifies the database that the table belongs to.
    arena: Arc<Arena>,
    pub(crate) life: Life,
    /// Gate for locks of the table as a whole.
    pub(crate) gate: Arc<Gate>,
    number: u32,
    pub(crate) index: Tree,
    pub(crate) records: IndirectionArray,
    /// Blocks of columns beside the records.
    pub(crate) chunks: Chunks<FrozenBlock>,
    /// Indexes that writers of the table maintain.
    pub(crate) indexes: Indexes,
    /// Bytes of a recently written version. A hint; relaxed.
    version_bytes_hint: AtomicUsize,
    /// Lifetime of records in microseconds; 0 if they do not expire (`ttl.rs`).
    pub(crate) ttl_micros: AtomicU64,
    label: OnceLock<Label>,
    /// Name as of the newest commit.
    name: Mutex<Arc<str>>,
    /// Storage that took this one's place when the table was truncated.
    successor: OnceLock<Arc<Table>>,
}

/// Object that a storage belongs to, and its description.
struct Label {
    object: ObjectKey,
    description: Vec<u8>,
}

impl Table {
    /// Makes an empty storage for a table that is being created.
    pub(crate) fn new(local: &Local, number: u32) -> Result<Table, Exhausted> {
        Table::with_gate(local, number, Arc::new(Gate::new(number)))
    }

    /// Makes an empty storage that is to take the place of another, whose gate it shares.
    pub(crate) fn with_gate(
        local: &Local,
        number: u32,
        gate: Arc<Gate>,
    ) -> Result<Table, Exhausted> {
        Ok(Table {
            gate,
            label: OnceLock::new(),
            name: Mutex::new(Arc::from("")),
            successor: OnceLock::new(),
            life: Life::new(),
            number,
            arena: local.arena(),
            index: Tree::new(local)?,
            records: IndirectionArray::new(),
            chunks: Chunks::new(),
            indexes: Indexes::default(),
            version_bytes_hint: AtomicUsize::new(HEADER_BYTES + 8),
            ttl_micros: AtomicU64::new(0),
        })
    }

    /// Returns how many bytes of a version to prefetch before its length is known.
    #[inline(always)]
    pub(crate) fn prefetch_bytes(&self) -> usize {
        let hint = self.version_bytes_hint.load(Ordering::Relaxed);
        hint.min(PREFETCH_BYTES_MAX)
    }

    /// Notes the size of a version that was just made. The versions of most tables have one size:
    /// the hint's cache line stays shared by all workers as long as none writes to it.
    #[inline(always)]
    pub(crate) fn note_version_bytes(&self, bytes: usize) {
        if self.version_bytes_hint.load(Ordering::Relaxed) != bytes {
            self.version_bytes_hint.store(bytes, Ordering::Relaxed);
        }
    }

    /// Returns the table's name, as of the newest commit; its last name, if it was dropped.
    pub fn name(&self) -> Arc<str> {
        self.name.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    pub(crate) fn set_name(&self, name: &str) {
        *self.name.lock().unwrap_or_else(|e| e.into_inner()) = Arc::from(name);
    }

    /// Returns the description with which the table was created.
    pub fn description(&self) -> &[u8] {
        self.label.get().map_or(&[], |label| &label.description)
    }

    /// Sets the object that the storage belongs to, once.
    pub(crate) fn describe(&self, object: ObjectKey, description: Vec<u8>) {
        let known = self.label.set(Label {
            object,
            description,
        });
        debug_assert!(known.is_ok(), "a storage is of one table");
    }

    /// Whether `other` is or was a storage of the same table.
    pub fn is_same_table(&self, other: &Table) -> bool {
        Arc::ptr_eq(&self.arena, &other.arena)
            && self.object().is_some()
            && self.object() == other.object()
    }

    /// Whether transactions that begin now may use the table.
    #[inline(always)]
    pub fn is_live(&self) -> bool {
        self.life.is_live()
    }

    pub(crate) fn successor(&self) -> Option<&Arc<Table>> {
        self.successor.get()
    }

    /// Returns the storage and its successors, one after the other.
    pub(crate) fn with_successors(&self) -> impl Iterator<Item = &Table> {
        std::iter::successors(Some(self), |table| Some(&**table.successor()?))
    }

    /// Returns the number of the table that this is the storage of, which the table keeps when it
    /// is truncated: [`crate::ChangedTable::number`].
    pub fn object_number(&self) -> u32 {
        self.object().map_or(self.number, |object| object.table)
    }

    /// Returns the object that the storage belongs to, once it is known.
    pub(crate) fn object(&self) -> Option<ObjectKey> {
        Some(self.label.get()?.object)
    }

    /// Sets the storage that takes this one's place, before this one is dropped.
    pub(crate) fn set_successor(&self, successor: Arc<Table>) {
        let known = self.successor.set(successor);
        debug_assert!(known.is_ok(), "a storage is dropped once");
    }

    /// Whether the table belongs to the database with this arena. The address
    /// compared cannot be another database's while the table keeps it.
    #[inline(always)]
    pub(crate) fn is_in(&self, arena: &Arc<Arena>) -> bool {
        Arc::ptr_eq(&self.arena, arena)
    }

    /// Returns the maximum number of records: it includes removed records whose place was not taken
    /// again. For planners.
    pub fn records_estimate(&self) -> u64 {
        self.records.taken()
    }

    /// Returns the storage's number, which is unique in its database for ever.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name())
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
