//! Settings of a database, checked when it is opened.

mod memory_limit;
mod storage;

use std::{path::PathBuf, time::Duration};

use interleave::{InFlight, Scheduling, WorkerConfig};

pub use self::storage::{StorageOptions, TRANSACTION_BYTES_MAX};
use crate::error::{Error, InvalidOption, Result};
pub use engine::{
    Certifier, Durability, Isolation, OnConflict, TableOptions, TransactionOptions, WallClock,
    WallTime,
};
pub use io::Backend;

const WORKERS_MAX: usize = 1024;
const MEMORY_BYTES_MIN: usize = 1 << 20;
const OPEN_TRANSACTIONS_MAX: usize = 1 << 16;

/// Settings of a database. Start from [`Options::default`] and change fields:
///
/// ```
/// let options = weft::Options { workers: 2, ..weft::Options::default() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Directory that keeps the data; made if it is missing. Default `None`: everything is in memory only, and gone
    /// when the database is closed.
    pub data_dir: Option<PathBuf>,
    /// Durability of transactions that do not choose one ([`crate::Transaction::set_durability`]): the condition for
    /// acknowledging a commit. Default `Synchronous`. Without effect in memory.
    pub durability: Durability,
    /// Settings of log, checkpoints and device. Without effect in memory.
    pub storage: StorageOptions,
    /// Number of worker threads. 1 to 1024; default: the number of cores this process may use.
    /// [`crate::Database::open_local`] starts none and ignores it. (A database that has grown to some 16 MiB has a
    /// further thread that touches the memory that it will need next.)
    pub workers: usize,
    /// Whether worker `i` stays on the i-th core that this process may use. Default: no. Pinning helps on machines that
    /// do nothing else.
    pub pin_workers: bool,
    /// Hard limit on memory for records, versions, indexes and log buffers, in
    /// bytes, at least 1 MiB more than the latter. Default `None`: 80 % of the memory this process may use
    /// (the machine's, or its control group's). Memory is taken as it is needed.
    pub memory_bytes_max: Option<usize>,
    /// Number of transactions that each worker keeps in flight to overlap cache misses. `Fixed(1)` to `Fixed(1024)`;
    /// default `Auto`: found while running.
    pub in_flight: InFlight,
    /// Moment when the next transaction takes the place of a finished one. Default `Pipelined`: at once.
    pub scheduling: Scheduling,
    /// Isolation of transactions that do not name one. Default `Serializable`.
    pub isolation: Isolation,
    /// Certifier of serializable transactions when they commit. Default `Ssn`.
    pub certifier: Certifier,
    /// Reaction of a write that meets a record which another open transaction has written or locked, in transactions
    /// that do not choose one ([`crate::Transaction::set_on_conflict`]). Default `Abort`: the transaction is run again,
    /// and after some attempts in vain waits in line all the same, so that none starves. `Wait` is better where
    /// conflicts are frequent or transactions long.
    pub on_conflict: OnConflict,
    /// Longest time that an operation waits for another transaction before it returns [`Error::LockTimeout`]. Default
    /// `None`: no limit. Deadlocks are found without it.
    pub lock_timeout: Option<Duration>,
    /// Clock by which records expire ([`crate::TableOptions::ttl`]). Default: the system's.
    pub wall_clock: WallClock,
    /// Number of times that a transaction is run again after aborts before [`Error::RetriesExhausted`]. Default 1000; 0
    /// never retries.
    pub retries_max: u32,
    /// Number of transactions open at once per worker, waiting ones included; more wait in a queue. 1 to 65,536,
    /// default 65,536.
    pub open_transactions_max: usize,
    /// Time for which a worker with nothing to do polls before it sleeps, in microseconds. Default 20. A longer time
    /// answers a first request sooner and uses more processor time.
    pub idle_spin_us: u32,
}

impl Default for Options {
    fn default() -> Options {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let worker = WorkerConfig::default();
        Options {
            data_dir: None,
            durability: Durability::default(),
            storage: StorageOptions::default(),
            workers: workers.min(WORKERS_MAX),
            pin_workers: false,
            memory_bytes_max: None,
            in_flight: worker.in_flight,
            scheduling: worker.scheduling,
            isolation: Isolation::default(),
            certifier: Certifier::default(),
            on_conflict: OnConflict::default(),
            lock_timeout: None,
            wall_clock: WallClock::system(),
            retries_max: 1000,
            open_transactions_max: OPEN_TRANSACTIONS_MAX,
            idle_spin_us: worker.idle_spin_us,
        }
    }
}

impl Options {
    /// Returns the memory limit in effect: [`Options::memory_bytes_max`] or its default on this machine.
    pub fn memory_bytes_effective(&self) -> usize {
        self.memory_bytes_max
            .unwrap_or_else(|| (memory_limit::usable_bytes() / 5 * 4).max(MEMORY_BYTES_MIN))
    }

    /// Returns the bytes of memory that this process may use: the machine's, or its control group's.
    pub fn memory_bytes_usable() -> usize {
        memory_limit::usable_bytes()
    }

    /// Returns the part of the options that concerns one worker.
    pub fn worker_config(&self) -> WorkerConfig {
        WorkerConfig {
            in_flight: self.in_flight,
            scheduling: self.scheduling,
            // In a directory, each worker has a task for its upkeep as well; a layer above may have one for its own.
            open_tasks_max: self.open_transactions_max + 2,
            idle_spin_us: self.idle_spin_us,
            ..WorkerConfig::default()
        }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        within("workers", self.workers, 1, WORKERS_MAX)?;
        self.validate_for(self.workers)
    }

    /// Checks the options as `validate` does, without the field that concerns threads.
    pub(crate) fn validate_local(&self) -> Result<()> {
        self.validate_for(1)
    }

    fn validate_for(&self, workers: usize) -> Result<()> {
        if let InFlight::Fixed(in_flight) = self.in_flight {
            within("in_flight", in_flight, 1, interleave::IN_FLIGHT_MAX)?;
        }
        if let Some(bytes) = self.memory_bytes_max {
            within("memory_bytes_max", bytes, MEMORY_BYTES_MIN, usize::MAX)?;
        }
        self.storage.validate()?;
        self.validate_log_buffers(workers)?;
        within(
            "open_transactions_max",
            self.open_transactions_max,
            1,
            OPEN_TRANSACTIONS_MAX,
        )
    }

    /// Checks that log buffers, which are part of the memory limit, leave some memory for records.
    fn validate_log_buffers(&self, workers: usize) -> Result<()> {
        let buffers = workers.saturating_mul(self.storage.log().session_bytes());
        let least = buffers.saturating_add(MEMORY_BYTES_MIN);
        let limit = self.memory_bytes_effective();
        if self.data_dir.is_none() || limit >= least {
            return Ok(());
        }
        Err(Error::from(Box::new(InvalidOption {
            field: "memory_bytes_max",
            value: limit.to_string(),
            range: format!(
                "at least {least} for {buffers} bytes of log buffers of {workers} worker(s); \
                 or make storage.log_buffer_bytes smaller"
            ),
        })))
    }
}

fn within(field: &'static str, value: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let range = if most == usize::MAX {
        format!("at least {least}")
    } else {
        format!("between {least} and {most}")
    };
    Err(Error::from(Box::new(InvalidOption {
        field,
        value: value.to_string(),
        range,
    })))
}
