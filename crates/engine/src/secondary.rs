//! Secondary indexes: derived tables from index keys to records.
//!
//! An index has an *entry table* that nobody opens by name. Each of its records, an
//! *entry*, maps an index key to the RID and the primary key of a record of the base
//! table, and carries the bytes that the index covers (`entry.rs`). Entries are
//! written by the transactions that write the base table, in the same operation
//! (`transaction/maintain.rs`), with the same versions, conflicts and undo. What the
//! sentinels of MOT (paper 004, section 2.1) do with states and reference counts is
//! done here by version chains; `docs/decisions/2026-11-22-secondary-indexes.md`
//! goes through its scenarios.
//!
//! | what | file |
//! | --- | --- |
//! | bytes of entries | `entry.rs` |
//! | which indexes a table's writers maintain | `list.rs` |
//! | entry tables by number | `derived.rs` |
//! | building while writers run | `build.rs`, `pace.rs` |
//! | comparing an index with its table | `check.rs` |
//!
//! # Invariants
//! 1. *Entries and records agree*: at each snapshot that may read an index, each
//!    live record has exactly the entries that its key and value give, and each live
//!    entry leads to a live record.
//! 2. *An entry's RID is its record's*: a reader that sees an entry at its snapshot
//!    sees the record there too, by 1. The record's RID is retired only when its
//!    deletion is older than the horizon, hence than every open snapshot: it cannot
//!    lead to another record.
//! 3. *Derived*: entries are neither logged nor checkpointed nor backed up. Who opens
//!    a database attaches the key functions again, which builds the indexes.

mod build;
mod check;
pub(crate) mod derived;
pub(crate) mod entry;
pub(crate) mod list;
mod pace;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering, fence},
    },
};

pub use self::{
    build::{BuildError, BuildProgress, BuildStep, IndexBuild},
    check::{IndexFlaw, IndexReport},
    entry::IndexKeys,
};
use crate::{catalog::Stage, database::Database, table::Table, timestamp::Timestamp};
use memory::{Exhausted, Local};

/// Gives the index keys of a record: called with its key and its value.
///
/// It must be a pure function: called again with the same record it must give the
/// same keys, or entries stay behind that lead astray. It may panic, which ends the
/// operation without effect.
pub type Extractor = Arc<dyn Fn(&[u8], &[u8], &mut IndexKeys) + Send + Sync>;

/// What kind of index it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// No two records may have the same index key. Default: they may.
    pub unique: bool,
    /// None of the index keys is the beginning of another, as with keys of fixed
    /// length. Entries of non-unique indexes are then shorter. Default: not known.
    pub prefix_free: bool,
}

/// Where an index stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexState {
    /// Writers maintain it, but it does not have all records yet.
    Building,
    /// It can be read.
    Ready,
    /// It is maintained no more: it was dropped, or could not be built.
    Dropped,
}

/// An index of a table. Cheap to clone.
#[derive(Clone)]
pub struct Index {
    pub(crate) base: Arc<Table>,
    pub(crate) core: Arc<IndexCore>,
}

/// An index as the writers of its table see it.
pub(crate) struct IndexCore {
    name: String,
    pub(crate) options: IndexOptions,
    pub(crate) extract: Extractor,
    pub(crate) entries: Arc<Table>,
    state: AtomicU8,
    /// Snapshots from here on may read it.
    ready_at: AtomicU64,
}

impl IndexCore {
    fn new(
        name: &str,
        options: IndexOptions,
        extract: Extractor,
        entries: Arc<Table>,
    ) -> IndexCore {
        IndexCore {
            name: name.to_owned(),
            options,
            extract,
            entries,
            state: AtomicU8::new(IndexState::Building as u8),
            ready_at: AtomicU64::new(u64::MAX),
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.entries.number()
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

    pub(crate) fn set_ready(&self, at: Timestamp) {
        self.ready_at.store(at.0, Ordering::Relaxed);
        self.set_state(IndexState::Ready);
    }

    /// Whether the index has what a snapshot sees, being [`IndexState::Ready`].
    /// Builders insert the entries of older records with new timestamps.
    pub(crate) fn is_complete_for(&self, snapshot: Timestamp) -> bool {
        snapshot.0 >= self.ready_at.load(Ordering::Relaxed)
    }
}

impl Table {
    /// Gives an empty storage the indexes of the one whose place it takes. One that is
    /// being built is left to its builder, who will find that the table is gone, or be
    /// found by the commit ([`Table::has_indexes_of`]).
    pub(crate) fn copy_indexes(
        &self,
        from: &Table,
        database: &Database,
        local: &Local,
    ) -> Result<(), Exhausted> {
        let cores = from.indexes.current().unwrap_or_default().iter();
        for core in cores.filter(|core| core.state() == IndexState::Ready) {
            let entries = database
                .derived
                .create(local, &core.name, self.time_to_live())?;
            let extract = core.extract.clone();
            let copy = Arc::new(IndexCore::new(&core.name, core.options, extract, entries));
            copy.set_ready(Timestamp(0));
            self.indexes.add(&copy);
        }
        Ok(())
    }
}

impl Table {
    /// Whether it has the indexes that can be read of the storage whose place it takes:
    /// one may have become ready, or been dropped, since they were copied.
    ///
    /// ```text
    ///   commit of the truncation          builder
    ///   the old storage is Committing     the index is ready
    ///   fence(SeqCst)                     fence(SeqCst)
    ///   is an index ready?                is the storage Committing, or dropped?
    /// ```
    /// One of the two sees the other and fails.
    pub(crate) fn has_indexes_of(&self, old: &Table) -> bool {
        // Pairs with the fence in `is_ended_after_ready`.
        fence(Ordering::SeqCst);
        let names = |table: &Table| {
            let cores = table.indexes.current().unwrap_or_default().iter();
            let ready = cores.filter(|core| core.state() == IndexState::Ready);
            ready.map(|core| core.name.clone()).collect::<BTreeSet<_>>()
        };
        names(self) == names(old)
    }

    /// Whether the storage has ended, or is about to, for a builder that has just made an
    /// index of it ready.
    pub(crate) fn is_ended_after_ready(&self) -> bool {
        // Pairs with the fence in `has_indexes_of`.
        fence(Ordering::SeqCst);
        matches!(self.life.stage(), Stage::Committing | Stage::Dropped(_))
    }
}

impl Index {
    /// The index's name.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// The table it is of.
    pub fn table(&self) -> &Arc<Table> {
        &self.base
    }

    /// What kind of index it is.
    pub fn options(&self) -> IndexOptions {
        self.core.options
    }

    /// Names the index within the database, as in [`crate::Error::DuplicateIndexKey`].
    pub fn number(&self) -> u32 {
        self.core.number()
    }

    /// What has its place by now: itself, or the index of the same name after its table
    /// was truncated, if there is one.
    pub fn newest(&self) -> Option<Index> {
        let mut base = &self.base;
        while let Some(next) = base.successor() {
            base = next;
        }
        self.of(base)
    }

    /// The index of the same name of a storage of the same table.
    pub(crate) fn of(&self, base: &Arc<Table>) -> Option<Index> {
        if Arc::ptr_eq(base, &self.base) {
            return Some(self.clone());
        }
        let mut indexes = base.indexes().into_iter();
        indexes.find(|other| other.name() == self.name())
    }

    /// Where it stands.
    pub fn state(&self) -> IndexState {
        self.core.state()
    }
}

impl Table {
    /// The table's indexes, those under construction included, in the order of their
    /// making.
    pub fn indexes(self: &Arc<Self>) -> Vec<Index> {
        let cores = self.indexes.current().unwrap_or_default().iter();
        let index = |core: &Arc<IndexCore>| Index {
            base: self.clone(),
            core: core.clone(),
        };
        cores.map(index).collect()
    }
}

impl Table {
    /// The name of one of the table's indexes, by its number.
    pub fn index_name(&self, number: usize) -> Option<String> {
        let mut cores = self.indexes.current().unwrap_or_default().iter();
        let core = cores.find(|core| core.number() as usize == number)?;
        Some(core.name.clone())
    }
}

impl Database {
    /// Drops an index: writers maintain it no more, readers are refused. Whether it
    /// had not been dropped before.
    pub fn drop_index(&self, index: &Index) -> bool {
        index.core.set_state(IndexState::Dropped);
        let was_there = index.base.indexes.remove(index.number());
        if was_there {
            self.bury_entries(&index.core.entries, Timestamp(self.now().0 + 1));
        }
        was_there
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
