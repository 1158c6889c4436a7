//! The catalog: which tables and indexes there are.
//!
//! It is two tables itself, [`OBJECTS`] and [`NAMES`]: multi-version, logged,
//! checkpointed and recovered like all others. What creates, drops, truncates or
//! renames a table writes their records in an ordinary transaction, so it is atomic,
//! isolated and durable as that is, can be mixed with other writes, and is undone
//! with them.
//!
//! | what | where |
//! | --- | --- |
//! | records: keys and definitions | `definition.rs` |
//! | what all records together must be | `view.rs` |
//! | the operations, as part of a transaction | `ddl.rs`; as one of their own: `convenience.rs` |
//! | the same of indexes | `indexes.rs`, `create_index.rs` |
//! | what they do besides writing records: at commit, at undo | `effects.rs` |
//! | what they tell those who follow the change stream | `event.rs`, `history.rs` |
//! | who may use a table, from its creation to its end | `life.rs` |
//! | how its memory comes back | `graveyard.rs` |
//! | after recovery | `restore.rs` |
//! | tables of this process by number and name | here |
//!
//! # Numbers
//! An *object* is a table or an index, named by an [`definition::ObjectKey`] for its whole life. A
//! table's records are in a *storage*, a [`Table`] with a number, which log, checkpoint,
//! undo and garbage go by; the first has that of the object. To truncate is to take a new storage.
//! No number is used twice, also not by what never came to be: the next one is in the
//! manifest, which is written when the database is opened and with every checkpoint;
//! what was taken since is found in the log.
//!
//! # Which conflicts
//! Two transactions that change the same object, or take the same name, meet at a
//! record of the catalog: the first updater wins, at every isolation level (read
//! committed does not overwrite what is newer here). Between a transaction that drops or
//! truncates a table and those that write to it, the first to commit wins: no one
//! waits for the other (`life.rs`).

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

/// The storage of the definitions, by object.
pub(crate) const OBJECTS: u32 = 0;
/// The storage of the names: to which object each belongs.
pub(crate) const NAMES: u32 = 1;
/// The first number that others can have.
pub(crate) const FIRST_NUMBER: u32 = 2;
/// Numbers of storages that are logged are below this.
pub(crate) const NUMBERS_END: u32 = EVENTS;
/// No storage: events are written to the log under this number (`event.rs`).
pub(crate) const EVENTS: u32 = (1 << 31) - 1;

/// What the sessions of a database share of its catalog.
pub(crate) struct Catalog {
    pub(crate) objects: Arc<Table>,
    pub(crate) names: Arc<Table>,
    registry: RwLock<Registry>,
    next_number: AtomicU32,
    /// Held from before a transaction with [`Effect`]s takes its timestamp until they
    /// have taken place: they take place in commit order.
    commits: Mutex<()>,
    pub(crate) last_drop: LastDrop,
    graveyard: Mutex<VecDeque<Grave>>,
    /// How many are in it, so that nobody need look.
    graves: AtomicUsize,
    /// Storages that went.
    gone: AtomicU64,
    /// Live storages of tables with a TTL (`ttl/collect.rs`).
    pub(crate) expiring: AtomicUsize,
    /// A burial has moved the clock, and the log does not know (`graveyard.rs`).
    pub(crate) owes_commit: AtomicBool,
    /// If there is a log.
    pub(crate) events: EventHistory,
}

#[derive(Default)]
struct Registry {
    /// As of the newest commit.
    by_name: BTreeMap<String, Arc<Table>>,
    /// All that anybody may need: also those that are not committed yet, or dropped.
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

    /// The table of this name, as of the newest commit.
    pub(crate) fn by_name(&self, name: &str) -> Option<Arc<Table>> {
        self.registry().by_name.get(name).cloned()
    }

    /// Names of all tables, in order, as of the newest commit.
    pub(crate) fn table_names(&self) -> Vec<String> {
        self.registry().by_name.keys().cloned().collect()
    }

    /// Whether a table has this name, or an index, be it missing or under construction, as
    /// of the newest commit.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        let registry = self.registry();
        let mut indexes = registry.by_name.values().map(|table| &table.indexes);
        registry.by_name.contains_key(name) || indexes.any(|indexes| indexes.has(name))
    }

    /// The storage of this number, unless it went.
    pub(crate) fn by_number(&self, number: u32) -> Option<Arc<Table>> {
        self.registry().by_number.get(&number).cloned()
    }

    /// The live storage with the smallest number from the given one on whose records
    /// expire.
    pub(crate) fn next_expiring(&self, from: u32) -> Option<Arc<Table>> {
        let registry = self.registry();
        let mut tables = registry.by_number.range(from..).map(|(_, table)| table);
        tables
            .find(|table| table.life.is_live() && table.time_to_live().is_some())
            .cloned()
    }

    /// The storages with records that were committed up to now and count, by number, the
    /// catalog's own last.
    pub(crate) fn live_tables(&self) -> Vec<Arc<Table>> {
        // Nobody is in the middle of a commit meanwhile.
        let _commits = self.lock_commits();
        let registry = self.registry();
        let others = registry.by_number.range(FIRST_NUMBER..);
        let own = registry.by_number.range(..FIRST_NUMBER);
        let all = others.chain(own).map(|(_, table)| table);
        all.filter(|table| matches!(table.life.stage(), Stage::Live | Stage::Dropping))
            .cloned()
            .collect()
    }

    /// A number that no storage has had.
    pub(crate) fn take_number(&self) -> Result<u32, Error> {
        let next = |number: u32| (number < NUMBERS_END).then_some(number + 1);
        let taken = self
            .next_number
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        taken.map_err(|_| Error::TableNumbersExhausted)
    }

    /// The number that no storage has had, nor any above it.
    pub(crate) fn next_number(&self) -> u32 {
        self.next_number.load(Ordering::Relaxed)
    }

    /// Numbers below this are taken.
    pub(crate) fn skip_numbers(&self, below: u32) {
        self.next_number.fetch_max(below, Ordering::Relaxed);
    }

    /// A new storage that only its maker can use, be it to take another's place. It is registered: undo and garbage
    /// find it from now on.
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

    /// The storage of this number, made if there is none: while records are recovered.
    pub(crate) fn storage_of(&self, number: u32, local: &Local) -> Result<Arc<Table>, Exhausted> {
        if let Some(table) = self.by_number(number) {
            return Ok(table);
        }
        let mut registry = self.registry_mut();
        // Somebody else may have made it meanwhile.
        if let Some(table) = registry.by_number.get(&number) {
            return Ok(table.clone());
        }
        let table = Arc::new(Table::new(local, number)?);
        table.life.set(Stage::Live);
        registry.by_number.insert(number, table.clone());
        self.skip_numbers(number + 1);
        Ok(table)
    }

    /// Storages that went so far.
    pub(crate) fn gone(&self) -> u64 {
        self.gone.load(Ordering::Relaxed)
    }
}
