//! The catalog: the tables and indexes of a database.
//!
//! The catalog is two tables itself, [`OBJECTS`] and [`NAMES`]: multi-version, logged, checkpointed
//! and recovered like all others. An operation that creates, drops, truncates or renames a table
//! writes their records in an ordinary transaction, so the operation is atomic, isolated and
//! durable as that transaction is, can be mixed with other writes, and is undone with them.
//!
//! | part | place |
//! | --- | --- |
//! | records: keys and definitions | `definition.rs` |
//! | consistency of all records together | `view.rs` |
//! | the operations, as part of a transaction | `ddl.rs`; in a transaction of their own: `convenience.rs` |
//! | the operations on indexes | `indexes.rs`, `create_index.rs` |
//! | their effects besides writing records: at commit, at undo | `effects.rs` |
//! | their events for followers of the change stream | `event.rs`, `history.rs` |
//! | use of a table, from its creation to its end | `life.rs` |
//! | return of a table's memory | `graveyard.rs` |
//! | after recovery | `restore.rs` |
//! | tables of this process by number and name | this file |
//!
//! # Numbers
//! An *object* is a table or an index, named by an [`definition::ObjectKey`] for its whole life. A
//! table's records are in a *storage*, a [`Table`] with a number, by which log, checkpoint, undo
//! and garbage find it; the first storage has the number of the object. Truncating a table gives it
//! a new storage. No number is used twice, not even the number of an object that never came to be:
//! the next number is in the manifest, which is written when the database is opened and with every
//! checkpoint; numbers taken since are found in the log.
//!
//! # Conflicts
//! Two transactions that change the same object, or take the same name, meet at a record of the
//! catalog: the first updater wins, at every isolation level (read committed does not overwrite
//! newer records here). Between a transaction that drops or truncates a table and those that write
//! to it, the first to commit wins: neither waits for the other (`life.rs`).

mod convenience;
mod create_index;
mod ddl;
pub(crate) mod definition;
mod effects;
pub(crate) mod event;
mod graveyard;
mod history;
mod indexes;
mod life;
mod restore;
pub(crate) mod view;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};

use memory::{Exhausted, Local};

pub use self::{
    convenience::TableError,
    definition::NAME_BYTES_MAX,
    effects::{CommitNote, CommitObserver},
    event::{ChangedTable, TableEvent, TableEventKind},
    indexes::IndexDefinition,
};
pub(crate) use self::{
    effects::Effect,
    graveyard::{Digging, Grave},
    history::EventHistory,
    life::{LastDrop, Life, Stage},
};
use crate::{error::Error, table::Table};

/// Storage of the definitions, by object.
pub(crate) const OBJECTS: u32 = 0;
/// Storage of the names, each with its object.
pub(crate) const NAMES: u32 = 1;
/// First number that other objects can have.
pub(crate) const FIRST_NUMBER: u32 = 2;
/// Upper bound of the numbers of storages that are logged.
pub(crate) const NUMBERS_END: u32 = EVENTS;
/// Number under which events are written to the log; no storage has it (`event.rs`).
pub(crate) const EVENTS: u32 = (1 << 31) - 1;

/// Catalog that the sessions of a database share.
pub(crate) struct Catalog {
    pub(crate) objects: Arc<Table>,
    pub(crate) names: Arc<Table>,
    registry: RwLock<Registry>,
    next_number: AtomicU32,
    /// Held from before a transaction with [`Effect`]s takes its timestamp until the effects have
    /// taken place: effects take place in commit order.
    commits: Mutex<()>,
    pub(crate) last_drop: LastDrop,
    graveyard: Mutex<VecDeque<Grave>>,
    /// Number of graves in it, read as a hint without the latch.
    graves: AtomicUsize,
    /// Number of storages that went.
    gone: AtomicU64,
    /// Number of live storages of tables with a TTL (`ttl/collect.rs`).
    pub(crate) expiring: AtomicUsize,
    /// Whether a burial has moved the clock without a record in the log (`graveyard.rs`).
    pub(crate) owes_commit: AtomicBool,
    /// Events of tables, if there is a log.
    pub(crate) events: EventHistory,
}

#[derive(Default)]
struct Registry {
    /// Tables as of the newest commit.
    by_name: BTreeMap<String, Arc<Table>>,
    /// All storages in use, including those that are not committed yet, or dropped.
    by_number: BTreeMap<u32, Arc<Table>>,
}

impl Catalog {
    pub(crate) fn new(local: &Local) -> Result<Catalog, Exhausted> {
        let system = |number| {
            let table = Arc::new(Table::new(local, number)?);
            table.life.set(Stage::Live);
            Ok((number, table))
        };
        let (objects, names) = (system(OBJECTS)?, system(NAMES)?);
        let registry = Registry {
            by_number: BTreeMap::from([objects.clone(), names.clone()]),
            ..Registry::default()
        };
        Ok(Catalog {
            objects: objects.1,
            names: names.1,
            registry: RwLock::new(registry),
            next_number: AtomicU32::new(FIRST_NUMBER),
            commits: Mutex::default(),
            last_drop: LastDrop::new(),
            graveyard: Mutex::default(),
            graves: AtomicUsize::new(0),
            gone: AtomicU64::new(0),
            expiring: AtomicUsize::new(0),
            owes_commit: AtomicBool::new(false),
            events: EventHistory::default(),
        })
    }

    fn registry(&self) -> RwLockReadGuard<'_, Registry> {
        self.registry.read().unwrap_or_else(|e| e.into_inner())
    }

    fn registry_mut(&self) -> RwLockWriteGuard<'_, Registry> {
        self.registry.write().unwrap_or_else(|e| e.into_inner())
    }

    pub(crate) fn lock_commits(&self) -> MutexGuard<'_, ()> {
        self.commits.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the table named `name`, as of the newest commit.
    pub(crate) fn by_name(&self, name: &str) -> Option<Arc<Table>> {
        self.registry().by_name.get(name).cloned()
    }

    /// Returns the names of all tables, in order, as of the newest commit.
    pub(crate) fn table_names(&self) -> Vec<String> {
        self.registry().by_name.keys().cloned().collect()
    }

    /// Whether a table has this name, or an index, including missing indexes and those under
    /// construction, as of the newest commit.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        let registry = self.registry();
        let mut indexes = registry.by_name.values().map(|table| &table.indexes);
        registry.by_name.contains_key(name) || indexes.any(|indexes| indexes.has(name))
    }

    /// Returns the storage of this number, unless it went.
    pub(crate) fn by_number(&self, number: u32) -> Option<Arc<Table>> {
        self.registry().by_number.get(&number).cloned()
    }

    /// Returns the live storage with the smallest number, from the number `from` on, whose records
    /// expire.
    pub(crate) fn next_expiring(&self, from: u32) -> Option<Arc<Table>> {
        let registry = self.registry();
        let mut tables = registry.by_number.range(from..).map(|(_, table)| table);
        tables
            .find(|table| table.life.is_live() && table.time_to_live().is_some())
            .cloned()
    }

    /// Returns at most `most` storages with numbers from `from` on, in order, in whatever stage.
    pub(crate) fn storages_from(&self, from: u32, most: usize) -> Vec<Arc<Table>> {
        let registry = self.registry();
        let storages = registry.by_number.range(from..).map(|(_, table)| table);
        storages.take(most).cloned().collect()
    }

    /// Returns the storages with records that were committed up to now and count, by number, the
    /// catalog's own last.
    pub(crate) fn live_tables(&self) -> Vec<Arc<Table>> {
        // No transaction is in the middle of a commit meanwhile.
        let _commits = self.lock_commits();
        let registry = self.registry();
        let others = registry.by_number.range(FIRST_NUMBER..);
        let own = registry.by_number.range(..FIRST_NUMBER);
        let all = others.chain(own).map(|(_, table)| table);
        all.filter(|table| matches!(table.life.stage(), Stage::Live | Stage::Dropping))
            .cloned()
            .collect()
    }

    /// Takes a number that no storage has had.
    pub(crate) fn take_number(&self) -> Result<u32, Error> {
        let next = |number: u32| (number < NUMBERS_END).then_some(number + 1);
        let taken = self
            .next_number
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        taken.map_err(|_| Error::TableNumbersExhausted)
    }

    /// Returns the smallest number above all that storages have had.
    pub(crate) fn next_number(&self) -> u32 {
        self.next_number.load(Ordering::Relaxed)
    }

    /// Marks all numbers below `below` as taken.
    pub(crate) fn skip_numbers(&self, below: u32) {
        self.next_number.fetch_max(below, Ordering::Relaxed);
    }

    /// Makes a new storage that only its maker can use, possibly in the place of another. The
    /// storage is registered: undo and garbage find it from now on.
    fn new_storage(
        &self,
        number: u32,
        in_place_of: Option<&Table>,
        local: &Local,
    ) -> Result<Arc<Table>, Exhausted> {
        let table = Arc::new(match in_place_of {
            None => Table::new(local, number)?,
            Some(old) => Table::with_gate(local, number, old.gate.clone())?,
        });
        let mut registry = self.registry_mut();
        registry.by_number.insert(number, table.clone());
        Ok(table)
    }

    /// Returns the storage of this number, and makes it if there is none: while records are
    /// recovered.
    pub(crate) fn storage_of(&self, number: u32, local: &Local) -> Result<Arc<Table>, Exhausted> {
        if let Some(table) = self.by_number(number) {
            return Ok(table);
        }
        let mut registry = self.registry_mut();
        // Another thread may have made the storage meanwhile.
        if let Some(table) = registry.by_number.get(&number) {
            return Ok(table.clone());
        }
        let table = Arc::new(Table::new(local, number)?);
        table.life.set(Stage::Live);
        registry.by_number.insert(number, table.clone());
        self.skip_numbers(number + 1);
        Ok(table)
    }

    /// Returns the number of storages that went so far.
    pub(crate) fn gone(&self) -> u64 {
        self.gone.load(Ordering::Relaxed)
    }
}
