//! Secondary indexes: derived tables from index keys to records.
//!
//! An index has an *entry table* that is never opened by name. Each of its records, an *entry*,
//! maps an index key to the RID and the primary key of a record of the base table, and carries the
//! bytes that the index covers (`entry.rs`). Entries are written by the transactions that write the
//! base table, in the same operation (`transaction/maintain.rs`), with the same versions, conflicts
//! and undo. The sentinels of MOT (paper 004, section 2.1) use states and reference counts; here
//! version chains serve the same purpose. `docs/decisions/2026-11-22-secondary-indexes.md` goes
//! through the scenarios of MOT.
//!
//! | part | file |
//! | --- | --- |
//! | bytes of entries | `entry.rs` |
//! | indexes that a table's writers maintain | `list.rs` |
//! | entry tables by number | `derived.rs` |
//! | building while writers run | `build.rs`, `build/`, `reach.rs`, `pace.rs` |
//! | building within a transaction | `catalog/create_index.rs`, `fill.rs` |
//! | comparing an index with its table | `check.rs` |
//!
//! # Invariants
//! 1. *Entries and records agree*: at each snapshot that may read an index, each live record has
//!    exactly the entries that its key and value give, and each live entry leads to a live record.
//! 2. *An entry's RID is its record's*: a reader that sees an entry at its snapshot sees the record
//!    there too, by 1. The record's RID is retired only when its deletion is older than the
//!    horizon, hence than every open snapshot: the RID cannot lead to another record.
//! 3. *Derived*: entries are neither logged nor checkpointed nor backed up. A program that opens a
//!    database attaches the key functions again, which builds the indexes.
//! 4. *Recorded*: an index that can be read is in the catalog, by a transaction whose commit makes
//!    the index readable. As long as the index is there, no transaction writes the table without it
//!    (`list.rs`); the index is removed by a transaction again.

mod build;
mod check;
pub(crate) mod derived;
pub(crate) mod entry;
mod fill;
pub(crate) mod list;
#[cfg(all(test, loom))]
mod loom_tests;
mod pace;
mod reach;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};

use self::reach::Reach;
pub use self::{
    build::{BuildError, BuildProgress, BuildStep, IndexBuild},
    check::{IndexFlaw, IndexReport},
    entry::IndexKeys,
};
use crate::{
    catalog::definition::ObjectKey, database::Database, table::Table, timestamp::Timestamp,
};
use memory::{Exhausted, Local};

/// Function that gives the index keys of a record: called with the record's key and its value.
///
/// An extractor must be a pure function: called again with the same record it must give the same
/// keys, or wrong entries stay behind. An extractor may panic, which ends the operation without
/// effect.
pub type Extractor = Arc<dyn Fn(&[u8], &[u8], &mut IndexKeys) + Send + Sync>;

/// Kind of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// Whether no two records may have the same index key. Default: they may.
    pub unique: bool,
    /// Whether no index key is the beginning of another, as with keys of fixed length. Entries of
    /// non-unique indexes are then shorter. Default: not known.
    pub prefix_free: bool,
}

/// State of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexState {
    /// Writers maintain the index, but it does not have all records yet.
    Building,
    /// The index can be read.
    Ready,
    /// The index is maintained no more: it was dropped, or could not be built.
    Dropped,
}

/// Index of a table. Cheap to clone.
#[derive(Clone)]
pub struct Index {
    pub(crate) base: Arc<Table>,
    pub(crate) core: Arc<IndexCore>,
}

/// Index as the writers of its table see it.
pub(crate) struct IndexCore {
    /// Name, as of the newest commit.
    name: Mutex<Arc<str>>,
    /// Number in the catalog, shared by the indexes that take the place of this one when the table
    /// is truncated.
    pub(crate) catalog_number: u32,
    pub(crate) options: IndexOptions,
    pub(crate) extract: Extractor,
    pub(crate) entries: Arc<Table>,
    state: AtomicU8,
    /// Reach of the builder.
    reach: Reach,
    /// First snapshot that may read the index.
    ready_at: AtomicU64,
}

impl IndexCore {
    fn new(
        name: Arc<str>,
        catalog_number: u32,
        options: IndexOptions,
        extract: Extractor,
        entries: Arc<Table>,
    ) -> IndexCore {
        IndexCore {
            name: Mutex::new(name),
            catalog_number,
            options,
            extract,
            entries,
            state: AtomicU8::new(IndexState::Building as u8),
            reach: Reach::new(options),
            ready_at: AtomicU64::new(u64::MAX),
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.entries.number()
    }

    pub(crate) fn name(&self) -> Arc<str> {
        self.name.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    fn set_name(&self, name: &str) {
        *self.name.lock().unwrap_or_else(|e| e.into_inner()) = Arc::from(name);
    }

    pub(crate) fn state(&self) -> IndexState {
        // Acquire: pairs with the Release in `set_state`; `ready_at` came before.
        match self.state.load(Ordering::Acquire) {
            0 => IndexState::Building,
            1 => IndexState::Ready,
            _ => IndexState::Dropped,
        }
    }

    fn set_state(&self, state: IndexState) {
        // Release: pairs with the Acquire in `state`.
        self.state.store(state as u8, Ordering::Release);
    }

    /// Whether the writer of a record with `key` maintains the record's entries. The writer asks
    /// after it has written the record.
    #[inline]
    pub(crate) fn is_maintained_at(&self, key: &[u8]) -> bool {
        self.state() != IndexState::Building || self.reach.has(key)
    }

    pub(crate) fn set_ready(&self, at: Timestamp) {
        self.ready_at.store(at.0, Ordering::Relaxed);
        self.set_state(IndexState::Ready);
    }

    /// Whether an index that is [`IndexState::Ready`] has all entries that `snapshot` sees.
    /// Builders insert the entries of older records with new timestamps.
    pub(crate) fn is_complete_for(&self, snapshot: Timestamp) -> bool {
        snapshot.0 >= self.ready_at.load(Ordering::Relaxed)
    }
}

impl Table {
    /// Gives an empty storage the indexes of the storage `from`, whose place it takes. An index
    /// that is being built is left to its builder, which will find that the table is gone, or is
    /// found by the commit ([`Table::has_indexes_of`]).
    pub(crate) fn copy_indexes(
        &self,
        from: &Table,
        database: &Database,
        local: &Local,
    ) -> Result<(), Exhausted> {
        let cores = from.indexes.attached().iter();
        for core in cores.filter(|core| core.state() == IndexState::Ready) {
            let name = core.name();
            let entries = database.derived.create(local, &name, self.time_to_live())?;
            let (number, extract) = (core.catalog_number, core.extract.clone());
            let copy = Arc::new(IndexCore::new(name, number, core.options, extract, entries));
            copy.set_ready(Timestamp(0));
            self.indexes.add(&copy);
        }
        for missing in from.indexes.missing() {
            self.indexes.miss(missing.clone());
        }
        Ok(())
    }

    /// Whether the storage has the readable and missing indexes of the storage `old`, whose place
    /// it takes: an index may have become ready, or been dropped, since they were copied. To be
    /// called under the latch of commits with effects, under which indexes change.
    pub(crate) fn has_indexes_of(&self, old: &Table) -> bool {
        let numbers = |table: &Table| {
            let attached = table.indexes.attached().iter();
            let ready = attached.filter(|core| core.state() == IndexState::Ready);
            let missing = table.indexes.missing().iter();
            let ready: BTreeSet<_> = ready.map(|core| core.catalog_number).collect();
            let missing: BTreeSet<_> = missing.map(|missing| missing.number).collect();
            (ready, missing)
        };
        numbers(self) == numbers(old)
    }
}

impl Index {
    /// Returns the index's name, as of the newest commit; the last name, if the index was dropped.
    pub fn name(&self) -> Arc<str> {
        self.core.name()
    }

    /// Returns the table of the index.
    pub fn table(&self) -> &Arc<Table> {
        &self.base
    }

    /// Returns the kind of the index.
    pub fn options(&self) -> IndexOptions {
        self.core.options
    }

    /// Returns the number of the index within the database, as in
    /// [`crate::Error::DuplicateIndexKey`].
    pub fn number(&self) -> u32 {
        self.core.number()
    }

    /// Returns the key of the index in the catalog.
    pub(crate) fn key(&self) -> Option<ObjectKey> {
        Some(ObjectKey {
            index: self.core.catalog_number,
            ..self.base.object()?
        })
    }

    /// Returns the index that has this one's place by now: itself, or the index that took it when
    /// the table was truncated, if there is one.
    pub fn newest(&self) -> Option<Index> {
        let mut base = &self.base;
        while let Some(next) = base.successor() {
            base = next;
        }
        self.of(base)
    }

    /// Returns the same index in another storage of the same table.
    pub(crate) fn of(&self, base: &Arc<Table>) -> Option<Index> {
        if Arc::ptr_eq(base, &self.base) {
            return Some(self.clone());
        }
        let mut indexes = base.indexes().into_iter();
        indexes.find(|other| other.core.catalog_number == self.core.catalog_number)
    }

    /// Returns the state of the index.
    pub fn state(&self) -> IndexState {
        self.core.state()
    }
}

impl Table {
    /// Returns the table's indexes, those under construction included, in the order of their
    /// making.
    pub fn indexes(self: &Arc<Self>) -> Vec<Index> {
        let cores = self.indexes.attached().iter();
        let index = |core: &Arc<IndexCore>| Index {
            base: self.clone(),
            core: core.clone(),
        };
        cores.map(index).collect()
    }
}

impl Table {
    /// Returns the name of one of the table's indexes, by the `number` in an error.
    pub fn index_name(&self, number: usize) -> Option<Arc<str>> {
        let attached = self.indexes.attached().iter();
        let missing = self.indexes.missing().iter();
        let attached = attached.map(|core| (core.number(), core.name()));
        // Missing indexes have numbers of another range (`derived.rs`).
        let missing = missing.map(|missing| (missing.number, missing.name.clone()));
        let mut all = attached.chain(missing);
        all.find(|&(other, _)| other as usize == number)
            .map(|(_, name)| name)
    }
}

impl Database {
    /// Gives up an index that is still being built: writers maintain it no more. Returns whether it
    /// was being built.
    pub(crate) fn give_up_index(&self, index: &Index) -> bool {
        // The index does not become ready meanwhile.
        let _commits = self.catalog.lock_commits();
        let was_building = index.state() == IndexState::Building;
        if was_building {
            self.end_index(&index.base, &index.core);
        }
        was_building
    }

    /// Ends the index of this number in the catalog, attached or missing.
    pub(crate) fn end_indexes_of(&self, base: &Table, catalog_number: u32) {
        for core in base.indexes.attached() {
            if core.catalog_number == catalog_number {
                self.end_index(base, core);
            }
        }
        base.indexes.miss_no_more(catalog_number);
    }

    /// Ends an index: writers maintain it no more, readers are refused. To be called under the
    /// latch of commits.
    fn end_index(&self, base: &Table, core: &IndexCore) {
        core.set_state(IndexState::Dropped);
        if base.indexes.remove(core.number()) {
            self.bury_entries(&core.entries, Timestamp(self.now().0 + 1));
        }
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("name", &self.name())
            .field("table", &self.base.name())
            .field("options", &self.options())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
