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
    indirection::IndirectionArray,
    locks::Gate,
    secondary::list::Indexes,
    version::HEADER_BYTES,
};

/// Lines of a version beyond this are left to the hardware's own prefetcher.
const PREFETCH_BYTES_MAX: usize = 4096;

/// A table of byte keys and byte values; strictly, its storage: truncating the table
/// gives it another.
///
/// Holding one keeps nothing in the database: when the table was dropped, transactions
/// that begin later say [`crate::Error::TableDropped`].
pub struct Table {
    /// Where its nodes live; tells which database it belongs to.
    arena: Arc<Arena>,
    pub(crate) life: Life,
    /// By which the table is locked as a whole.
    pub(crate) gate: Arc<Gate>,
    number: u32,
    pub(crate) index: Tree,
    pub(crate) records: IndirectionArray,
    /// What its writers maintain besides.
    pub(crate) indexes: Indexes,
    /// Bytes of a recently written version. A hint; relaxed.
    version_bytes_hint: AtomicUsize,
    /// 0: records do not expire (`ttl.rs`).
    pub(crate) ttl_micros: AtomicU64,
    label: OnceLock<Label>,
    /// As of the newest commit.
    name: Mutex<Arc<str>>,
    /// The storage that took its place when the table was truncated.
    successor: OnceLock<Arc<Table>>,
}

/// What a storage is of.
struct Label {
    object: ObjectKey,
    description: Vec<u8>,
}

impl Table {
    /// An empty one that is being created.
    pub(crate) fn new(local: &Local, number: u32) -> Result<Table, Exhausted> {
        Table::with_gate(local, number, Arc::new(Gate::new(number)))
    }

    /// One that is to take the place of another, whose gate it shares.
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
            indexes: Indexes::default(),
            version_bytes_hint: AtomicUsize::new(HEADER_BYTES + 8),
            ttl_micros: AtomicU64::new(0),
        })
    }

    /// How much of a version to ask for before its length is known.
    #[inline(always)]
    pub(crate) fn prefetch_bytes(&self) -> usize {
        let hint = self.version_bytes_hint.load(Ordering::Relaxed);
        hint.min(PREFETCH_BYTES_MAX)
    }

    /// Notes what a version needs that was just made. Most tables' are of one size: their
    /// line stays with all workers as long as nobody writes to it.
    #[inline(always)]
    pub(crate) fn note_version_bytes(&self, bytes: usize) {
        if self.version_bytes_hint.load(Ordering::Relaxed) != bytes {
            self.version_bytes_hint.store(bytes, Ordering::Relaxed);
        }
    }

    /// The table's name, as of the newest commit; its last one, if it was dropped.
    pub fn name(&self) -> Arc<str> {
        self.name.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    pub(crate) fn set_name(&self, name: &str) {
        *self.name.lock().unwrap_or_else(|e| e.into_inner()) = Arc::from(name);
    }

    /// What it was described with when it was created.
    pub fn description(&self) -> &[u8] {
        self.label.get().map_or(&[], |label| &label.description)
    }

    /// Says what it is of. Once.
    pub(crate) fn describe(&self, object: ObjectKey, description: Vec<u8>) {
        let known = self.label.set(Label {
            object,
            description,
        });
        debug_assert!(known.is_ok(), "a storage is of one table");
    }

    /// Whether another storage is or was of the same table.
    pub fn is_same_table(&self, other: &Table) -> bool {
        Arc::ptr_eq(&self.arena, &other.arena)
            && self.object().is_some()
            && self.object() == other.object()
    }

    /// Whether whoever begins now may use it.
    #[inline(always)]
    pub fn is_live(&self) -> bool {
        self.life.is_live()
    }

    pub(crate) fn successor(&self) -> Option<&Arc<Table>> {
        self.successor.get()
    }

    /// The storage and those that took its place, one after the other.
    pub(crate) fn with_successors(&self) -> impl Iterator<Item = &Table> {
        std::iter::successors(Some(self), |table| Some(&**table.successor()?))
    }

    /// The number of the table that this is the storage of, which the table keeps when it
    /// is truncated: [`crate::ChangedTable::number`].
    pub fn object_number(&self) -> u32 {
        self.object().map_or(self.number, |object| object.table)
    }

    /// What it is of, once that is known.
    pub(crate) fn object(&self) -> Option<ObjectKey> {
        Some(self.label.get()?.object)
    }

    /// Before it is dropped.
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

    /// How many records there are at most, those included that were removed and whose place was
    /// not taken again: a number for planners.
    pub fn records_estimate(&self) -> u64 {
        self.records.taken()
    }

    /// The storage's number in its database, which no other ever has.
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
