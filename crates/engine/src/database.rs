//! What all sessions share: memory, clock, catalog.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use memory::{Arena, Epochs, Exhausted, Local, Usage};

use crate::{
    horizon::Horizon,
    session::Estate,
    stats::{Published, TransactionStats},
    status::Statuses,
    table::Table,
    timestamp::{SESSIONS_MAX, Timestamp},
};

/// Settings of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseConfig {
    /// Hard limit on memory for records, versions and indexes, in bytes. At
    /// least 1 MiB.
    pub memory_bytes_max: usize,
}

/// Why a table could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// There is a table of this name.
    Exists(String),
    /// The memory limit is reached.
    MemoryExhausted,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Exists(name) => {
                write!(
                    f,
                    "a table named {name:?} exists; open it, or choose another name"
                )
            }
            TableError::MemoryExhausted => Exhausted.fmt(f),
        }
    }
}

impl std::error::Error for TableError {}

/// The shared side of a database. Transactions run in a [`crate::Session`].
pub struct Database {
    pub(crate) arena: Arc<Arena>,
    pub(crate) epochs: Arc<Epochs>,
    pub(crate) horizon: Horizon,
    pub(crate) statuses: Statuses,
    tables: RwLock<Tables>,
    session_numbers: Mutex<SessionNumbers>,
    stats: Mutex<Vec<Arc<Published>>>,
    closed: AtomicBool,
    pub(crate) estate: Mutex<Estate>,
    pub(crate) has_estate: AtomicBool,
}

#[derive(Default)]
struct Tables {
    by_name: BTreeMap<String, Arc<Table>>,
    by_number: Vec<Arc<Table>>,
}

#[derive(Default)]
struct SessionNumbers {
    next: u16,
    free: Vec<u16>,
}

impl Database {
    /// An empty database.
    ///
    /// # Errors
    /// [`Exhausted`] if the system refuses the address space.
    pub fn new(config: DatabaseConfig) -> Result<Arc<Database>, Exhausted> {
        Ok(Arc::new(Database {
            arena: Arena::new(config.memory_bytes_max.max(1 << 20))?,
            epochs: Epochs::new(),
            horizon: Horizon::new(),
            statuses: Statuses::new(),
            tables: RwLock::default(),
            session_numbers: Mutex::default(),
            stats: Mutex::default(),
            closed: AtomicBool::new(false),
            estate: Mutex::default(),
            has_estate: AtomicBool::new(false),
        }))
    }

    /// Makes a table.
    ///
    /// # Errors
    /// [`TableError::Exists`], [`TableError::MemoryExhausted`].
    pub fn create_table(&self, name: &str) -> Result<Arc<Table>, TableError> {
        let mut tables = self.tables.write().unwrap_or_else(|e| e.into_inner());
        if tables.by_name.contains_key(name) {
            return Err(TableError::Exists(name.to_owned()));
        }
        let local = Local::new(&self.arena, &self.epochs);
        let number = tables.by_number.len() as u32;
        let table =
            Table::new(&local, name, number).map_err(|Exhausted| TableError::MemoryExhausted)?;
        let table = Arc::new(table);
        tables.by_name.insert(name.to_owned(), table.clone());
        tables.by_number.push(table.clone());
        Ok(table)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        let tables = self.tables.read().unwrap_or_else(|e| e.into_inner());
        tables.by_name.get(name).cloned()
    }

    /// Names of all tables, in order.
    pub fn table_names(&self) -> Vec<String> {
        let tables = self.tables.read().unwrap_or_else(|e| e.into_inner());
        tables.by_name.keys().cloned().collect()
    }

    pub(crate) fn table_by_number(&self, number: u32) -> Option<Arc<Table>> {
        let tables = self.tables.read().unwrap_or_else(|e| e.into_inner());
        tables.by_number.get(number as usize).cloned()
    }

    /// The newest commit timestamp.
    pub fn now(&self) -> Timestamp {
        self.horizon.now()
    }

    /// No snapshot is older than this; history before it is being collected.
    pub fn horizon(&self) -> Timestamp {
        self.horizon.horizon()
    }

    /// Memory by purpose.
    pub fn memory(&self) -> Usage {
        self.arena.usage()
    }

    /// The arena, for measurements on the same memory.
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Counters of all sessions, those that have ended included.
    pub fn stats(&self) -> TransactionStats {
        let all = self.stats.lock().unwrap_or_else(|e| e.into_inner());
        let mut sum = TransactionStats::default();
        for published in all.iter() {
            sum.merge(&published.read());
        }
        sum
    }

    /// Refuses transactions from now on.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Whether [`Database::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// A number for a new session; `None` when 4096 exist.
    pub(crate) fn take_session_number(&self) -> Option<u16> {
        let mut numbers = self
            .session_numbers
            .lock()
            .unwrap_or_else(|e| e.into_inner());
        if let Some(number) = numbers.free.pop() {
            return Some(number);
        }
        let number = numbers.next;
        if usize::from(number) >= SESSIONS_MAX {
            return None;
        }
        numbers.next += 1;
        Some(number)
    }

    pub(crate) fn return_session_number(&self, number: u16) {
        self.session_numbers
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .free
            .push(number);
    }

    pub(crate) fn register_stats(&self) -> Arc<Published> {
        let mut all = self.stats.lock().unwrap_or_else(|e| e.into_inner());
        // Fold what ended sessions left into one entry.
        let (ended, live): (Vec<_>, Vec<_>) =
            all.drain(..).partition(|p| Arc::strong_count(p) == 1);
        *all = live;
        if !ended.is_empty() {
            let mut sum = TransactionStats::default();
            for published in ended {
                sum.merge(&published.read());
            }
            let folded = Arc::new(Published::default());
            folded.publish(&sum);
            all.push(folded);
        }
        let published = Arc::new(Published::default());
        all.push(published.clone());
        published
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("tables", &self.table_names())
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}
