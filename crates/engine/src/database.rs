//! State that all sessions share: memory, clock, catalog.

use std::{
    fmt,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use io::Directory;
use memory::{Arena, Epochs, Exhausted, LINE_BYTES, Local, Usage};

use crate::{
    catalog::{Catalog, CommitObserver},
    certifier::{Board, Certifier},
    checkpoint::CheckpointConfig,
    cold::{ColdConfig, ColdTier, ColdUsage},
    columns::BlockRoom,
    error::Error,
    help::Helpers,
    horizon::Horizon,
    locks::Locks,
    log::{Durability, Log},
    moves::Moves,
    secondary::derived::{DerivedTables, is_derived},
    session::Estate,
    stats::{LogStats, Published, TransactionStats},
    status::Statuses,
    storage::Storage,
    table::Table,
    timestamp::{SESSIONS_MAX, Timestamp},
    ttl::WallClock,
};

/// Size of a huge page: the pages of larger regions would not go back to the system sooner.
const REGION_BYTES_MAX: usize = 2 << 20;

/// Settings of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseConfig {
    /// Hard limit on memory for records, versions, indexes and log buffers, in
    /// bytes. At least 1 MiB.
    pub memory_bytes_max: usize,
    /// Durability of transactions that do not choose their own: the condition for the
    /// acknowledgement of their commits. Without effect in memory.
    pub durability: Durability,
    /// Times and speed of checkpoints. Without effect in memory.
    pub checkpoint: CheckpointConfig,
    /// Certification of serializable transactions.
    pub certifier: Certifier,
    /// Settings of the cold tier, to which records may leave memory; `None` if they may not.
    /// Without effect in memory. Cold records that are there when the database is opened stay in
    /// use without it.
    pub cold_tier: Option<ColdConfig>,
    /// Bytes of a region of memory: each serves versions of one size until it is empty, and the
    /// sparsest are emptied when a database with a cold tier needs room. The size is rounded to a
    /// multiple of 64 up to 2 MiB. `None`, the default, is best: a share of the limit. Other values
    /// are for simulations, whose databases are too small to leave regions of that size sparse.
    pub region_bytes: Option<usize>,
    /// Bytes that blocks of columns keep in memory; scans read others from the device. `None`, the default, is best: as
    /// many as there is ample room for, and, if records can leave memory, a quarter of the limit. Without effect in
    /// memory.
    pub block_bytes: Option<usize>,
}

impl DatabaseConfig {
    /// Returns the default settings, with a memory limit in bytes.
    pub fn with_memory(memory_bytes_max: usize) -> DatabaseConfig {
        DatabaseConfig {
            memory_bytes_max,
            durability: Durability::default(),
            checkpoint: CheckpointConfig::default(),
            certifier: Certifier::default(),
            cold_tier: None,
            region_bytes: None,
            block_bytes: None,
        }
    }
}

/// Shared side of a database. Transactions run in a [`crate::Session`].
pub struct Database {
    pub(crate) arena: Arc<Arena>,
    pub(crate) epochs: Arc<Epochs>,
    pub(crate) horizon: Horizon,
    pub(crate) statuses: Statuses,
    pub(crate) locks: Locks,
    pub(crate) moves: Moves,
    pub(crate) board: Board,
    config: DatabaseConfig,
    pub(crate) catalog: Catalog,
    pub(crate) derived: DerivedTables,
    session_numbers: Mutex<SessionNumbers>,
    stats: Mutex<Vec<Arc<Published>>>,
    pub(crate) closed: Arc<AtomicBool>,
    pub(crate) estate: Mutex<Estate>,
    pub(crate) has_estate: AtomicBool,
    storage: Option<Storage>,
    wall_clock: OnceLock<WallClock>,
    commit_observer: OnceLock<CommitObserver>,
    pub(crate) helpers: OnceLock<Helpers>,
    /// Whether a session is deleting expired records.
    pub(crate) has_walker: AtomicBool,
    pub(crate) block_room: BlockRoom,
}

#[derive(Default)]
struct SessionNumbers {
    next: u16,
    free: Vec<u16>,
}

impl Database {
    /// Makes an empty database in memory.
    ///
    /// # Errors
    /// [`Exhausted`] if the system refuses the address space.
    pub fn new(config: DatabaseConfig) -> Result<Arc<Database>, Exhausted> {
        Database::with_storage(config, None)
    }

    pub(crate) fn with_storage(
        config: DatabaseConfig,
        storage: Option<Storage>,
    ) -> Result<Arc<Database>, Exhausted> {
        let region_bytes = config.region_bytes;
        let region_bytes = region_bytes.map(|bytes| bytes.clamp(1, REGION_BYTES_MAX));
        let arena = Arena::with_regions(
            config.memory_bytes_max.max(1 << 20),
            region_bytes.map(|bytes| bytes.next_multiple_of(LINE_BYTES)),
        )?;
        if let Some(cold) = storage.as_ref().and_then(Storage::cold) {
            cold.keep_room_in(&arena)?;
        }
        let epochs = Epochs::new();
        Ok(Arc::new(Database {
            catalog: Catalog::new(&Local::new(&arena, &epochs))?,
            locks: Locks::new(|| arena.reserve(0).ok()),
            moves: Moves::default(),
            arena,
            epochs,
            horizon: Horizon::new(),
            statuses: Statuses::new(),
            board: Board::new(),
            config,
            derived: DerivedTables::default(),
            session_numbers: Mutex::default(),
            stats: Mutex::default(),
            closed: Arc::new(AtomicBool::new(false)),
            estate: Mutex::default(),
            has_estate: AtomicBool::new(false),
            storage,
            wall_clock: OnceLock::new(),
            commit_observer: OnceLock::new(),
            helpers: OnceLock::new(),
            has_walker: AtomicBool::new(false),
            block_room: BlockRoom::default(),
        }))
    }

    /// Returns the durability of transactions that do not choose their own.
    pub fn durability(&self) -> Durability {
        self.config.durability
    }

    /// Returns the certifier of serializable transactions.
    pub fn certifier(&self) -> Certifier {
        self.config.certifier
    }

    pub(crate) fn checkpoint_config(&self) -> &CheckpointConfig {
        &self.config.checkpoint
    }

    /// Returns the storage in a directory; `None` in memory.
    pub(crate) fn storage(&self) -> Option<&Storage> {
        self.storage.as_ref()
    }

    /// Returns the bytes that blocks of columns keep in memory, if the settings say.
    pub(crate) fn block_memory(&self) -> Option<usize> {
        self.config.block_bytes
    }

    /// Returns the cold tier, if there may be cold records.
    #[inline]
    pub(crate) fn cold(&self) -> Option<&ColdTier> {
        self.storage.as_ref()?.cold()
    }

    /// Returns the directory, if the database is in one.
    pub fn directory(&self) -> Option<&Arc<dyn Directory>> {
        self.storage.as_ref().map(Storage::directory)
    }

    /// Returns the log, once recovery has finished.
    #[inline]
    pub(crate) fn log(&self) -> Option<&Arc<Log>> {
        self.storage.as_ref()?.log()
    }

    /// Returns the timestamp up to which everything is durable. `None` in memory.
    pub fn durable_up_to(&self) -> Option<Timestamp> {
        self.log().map(|log| log.frontier.reached())
    }

    /// Returns the error of the device, if it has failed and no commit is acknowledged any more.
    pub fn failure(&self) -> Option<&str> {
        self.log()?.failure()
    }

    /// Returns the error of the last checkpoint that was due, if it failed.
    pub fn checkpoint_failure(&self) -> Option<String> {
        self.storage.as_ref()?.checkpoint_failure()
    }

    /// Returns the counters of the log. Zeros in memory.
    pub fn log_stats(&self) -> LogStats {
        self.log()
            .map(|log| log.counters.read())
            .unwrap_or_default()
    }

    /// Checks that transactions may write.
    ///
    /// # Errors
    /// [`Error::StorageFull`] if the manifest could not be stored for want of room,
    /// and still cannot; [`Error::Poisoned`] if it cannot for another reason.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        let Some(storage) = &self.storage else {
            return Ok(());
        };
        storage.check_begun().map_err(|error| {
            if error.kind() == std::io::ErrorKind::StorageFull {
                return Error::StorageFull;
            }
            if let Some(log) = storage.log() {
                log.poison(&format!("storing the manifest failed: {error}"));
            }
            Error::Poisoned
        })
    }

    pub(crate) fn why_closed(&self) -> Error {
        match self.failure() {
            Some(_) => Error::Poisoned,
            None => Error::Ended,
        }
    }

    /// Returns the clock that records expire by: the system's, if it was not set.
    pub fn wall_clock(&self) -> &WallClock {
        self.wall_clock.get_or_init(WallClock::system)
    }

    /// Sets the clock that records expire by. Returns false if it is too late: the clock was set or
    /// used before.
    pub fn set_wall_clock(&self, clock: WallClock) -> bool {
        self.wall_clock.set(clock).is_ok()
    }

    /// Registers an observer of the notes that transactions make for their commits
    /// ([`crate::Transaction::note_for_commit`]). Returns false if there is an observer already.
    pub fn observe_commits(&self, observer: CommitObserver) -> bool {
        self.commit_observer.set(observer).is_ok()
    }

    pub(crate) fn commit_observer(&self) -> Option<&CommitObserver> {
        self.commit_observer.get()
    }

    /// Returns the table of this name, as of the newest commit. For a transaction's view, see
    /// [`crate::Transaction::open_table`].
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        self.catalog.by_name(name)
    }

    /// Returns the names of all tables, in order, as of the newest commit.
    pub fn table_names(&self) -> Vec<String> {
        self.catalog.table_names()
    }

    pub(crate) fn table_by_number(&self, number: u32) -> Option<Arc<Table>> {
        if is_derived(number) {
            return self.derived.get(number);
        }
        self.catalog.by_number(number)
    }

    /// Returns how much of the device the cold records take up.
    pub fn cold_usage(&self) -> ColdUsage {
        self.cold().map(ColdTier::usage).unwrap_or_default()
    }

    /// Returns the newest commit timestamp.
    pub fn now(&self) -> Timestamp {
        self.horizon.now()
    }

    /// Returns the horizon: no snapshot is older, and history before it is being collected.
    pub fn horizon(&self) -> Timestamp {
        self.horizon.horizon()
    }

    /// Returns the memory in use, by purpose.
    pub fn memory(&self) -> Usage {
        self.arena.usage()
    }

    /// Sets `bytes` of the memory limit aside for memory outside the database, if at least
    /// `leaving` bytes of the limit are left for records then. [`Database::give_memory_back`] gives
    /// them back.
    ///
    /// # Errors
    /// [`Exhausted`] if they do not fit.
    pub fn set_memory_aside(&self, bytes: usize, leaving: usize) -> Result<(), Exhausted> {
        self.arena.set_aside(bytes, leaving)
    }

    /// Counts `bytes` outside the database that are in use already, regardless of the memory limit.
    pub fn charge_memory(&self, bytes: usize) {
        self.arena.charge(bytes);
    }

    /// Takes back `bytes` that were set aside or charged.
    pub fn give_memory_back(&self, bytes: usize) {
        self.arena.give_back(bytes);
    }

    /// Returns whether records can leave memory.
    pub fn can_records_leave(&self) -> bool {
        self.cold().is_some()
    }

    /// Has records leave memory until `bytes` of the limit are free, or a quarter of it is: the housekeeping of
    /// sessions sees to it. Returns false if records cannot leave.
    pub fn want_memory_room(&self, bytes: usize) -> bool {
        let tier = self.cold();
        tier.inspect(|tier| tier.want_room_outside(&self.arena, bytes))
            .is_some()
    }

    /// Returns the bytes of the memory limit that are still free.
    pub fn memory_room(&self) -> usize {
        self.arena.room()
    }

    /// Returns the memory limit, in bytes.
    pub fn memory_limit(&self) -> usize {
        self.arena.limit_bytes()
    }

    /// Returns the arena, for measurements on the same memory.
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Returns the counters of all sessions, including those that have ended.
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

    /// Lets another database or process open the directory. All sessions must have ended.
    pub fn leave_directory(&self) {
        if let Some(storage) = &self.storage {
            storage.unlock();
        }
    }

    /// Whether [`Database::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Takes a number for a new session; `None` when 4096 exist.
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
        // Fold the counters of ended sessions into one entry.
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
