//! The log: redo records of all commits, per session, group by group.
//!
//! The log holds the writes of transactions, never the overwritten values (redo-only): uncommitted
//! changes do not reach the device, and recovery undoes nothing (paper 001 sections 2.1 and 5).
//! Deviations: a lane and a file per session instead of a shared log buffer; the frontier is found
//! by counts, not by log sequence numbers; nothing holds the clock, and no idle session holds the
//! frontier back.
//!
//! | subject | file |
//! | --- | --- |
//! | format of blocks and transactions | `format.rs` |
//! | durable frontier, and why it is right | `frontier.rs` |
//! | a session's buffers, group commit, waiting commits | `lane.rs`, `waiters.rs` |
//! | files, written ahead and used again | `segments.rs` |
//!
//! # Durability
//! All transactions are logged, at every level: recovery always brings back a prefix of the commit
//! order. The level decides only what an acknowledgement waits for.
//!
//! # Failure
//! When a write or sync fails, the content of the device is unknown, and a later sync that succeeds
//! proves nothing. The log is *poisoned*: no commit is acknowledged any more, every operation fails
//! with [`Error::Poisoned`], and only opening the database again helps.

mod bell;
pub(crate) mod format;
mod frontier;
mod lane;
pub(crate) mod segments;
mod wait;
mod waiters;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use io::Directory;

pub use self::wait::Durable;
pub(crate) use self::{
    bell::{Bell, Listening},
    frontier::{Frontier, Sealed},
    lane::{LaneWriter, LargeTransaction, Moment, Resting},
    segments::Segments,
};
use crate::{
    device_room::DeviceRoom,
    error::Error,
    horizon::Clock,
    stats::LogCounters,
    sync::{AtomicBool, Ordering},
    timestamp::{SESSIONS_MAX, Timestamp},
};

/// Condition for the acknowledgement of a commit. Without a directory, a database keeps nothing,
/// and no commit waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// The commit waits until everything that the transaction wrote and saw is on the device.
    #[default]
    Synchronous,
    /// The commit does not wait. Its writes are on their way to the device within
    /// [`LogConfig::relaxed_window`].
    Relaxed,
    /// The commit does not wait. Its writes go to the device when there is reason to write: the
    /// buffer is half full, the worker sleeps, or another commit that depends on them waits.
    None,
}

/// Settings of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// Longest time that a commit waits for others to join its block, while the worker has other
    /// things to do. Default 400 microseconds.
    pub group_commit_window: Duration,
    /// Longest time that a relaxed commit stays in memory. Default 10 milliseconds.
    pub relaxed_window: Duration,
    /// Size in bytes of each of the two buffers of a session, at least 4096; they are part of the
    /// database's memory limit. Default 1 MiB.
    pub buffer_bytes: usize,
    /// Size of a log file in bytes, at least 1 MiB. Default 32 MiB.
    pub segment_bytes: u64,
    /// Maximum bytes of a transaction in the log. Default 1 GiB, at most 2 GiB.
    pub transaction_bytes_max: usize,
    /// Maximum bytes of log files that are kept for change streams although a checkpoint has made
    /// them superfluous. Default 0: none.
    pub change_retention_bytes: u64,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            group_commit_window: Duration::from_micros(400),
            relaxed_window: Duration::from_millis(10),
            buffer_bytes: 1 << 20,
            segment_bytes: 32 << 20,
            transaction_bytes_max: 1 << 30,
            change_retention_bytes: 0,
        }
    }
}

/// State that all lanes share.
pub(crate) struct Log {
    pub(crate) config: LogConfig,
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) database: u64,
    /// Number of the current opening of the database; it tells blocks of earlier openings apart.
    pub(crate) incarnation: u64,
    pub(crate) frontier: Frontier,
    pub(crate) segments: Segments,
    pub(crate) room: DeviceRoom,
    pub(crate) counters: LogCounters,
    clock: Arc<Clock>,
    is_poisoned: AtomicBool,
    /// Flag shared with the database: no transaction begins any more.
    closed: Arc<std::sync::atomic::AtomicBool>,
    poison: OnceLock<String>,
    resting: Mutex<BTreeMap<usize, Resting>>,
}

impl Log {
    pub(crate) fn new(
        config: LogConfig,
        directory: Arc<dyn Directory>,
        database: u64,
        incarnation: u64,
        clock: Arc<Clock>,
        (segments, room): (Segments, DeviceRoom),
        closed: Arc<std::sync::atomic::AtomicBool>,
    ) -> Log {
        let now = Timestamp(clock.load(Ordering::SeqCst));
        Log {
            config,
            directory,
            database,
            incarnation,
            frontier: Frontier::new(now, SESSIONS_MAX),
            segments,
            room,
            counters: LogCounters::default(),
            clock,
            is_poisoned: AtomicBool::new(false),
            closed,
            poison: OnceLock::new(),
            resting: Mutex::default(),
        }
    }

    /// Returns the newest timestamp. SeqCst: see `frontier.rs`.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(self.clock.load(Ordering::SeqCst))
    }

    #[inline]
    pub(crate) fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }

    /// Checks that the log is not poisoned.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    #[inline]
    pub(crate) fn check_sound(&self) -> Result<(), Error> {
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        Ok(())
    }

    /// Poisons the log: no commit is acknowledged from now on.
    pub(crate) fn poison(&self, reason: &str) {
        // The first reason counts.
        let _ = self.poison.set(reason.to_owned());
        self.is_poisoned.store(true, Ordering::Release);
        self.closed
            .store(true, std::sync::atomic::Ordering::Release);
        self.frontier.rouse_waiting();
    }

    /// Returns the reason why the log is poisoned, if it is.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.poison.get().map(String::as_str)
    }

    fn take_resting(&self, lane: usize) -> Resting {
        let mut resting = self.resting.lock().unwrap_or_else(|e| e.into_inner());
        resting.remove(&lane).unwrap_or_default()
    }

    fn leave_resting(&self, lane: usize, left: Resting) {
        let mut resting = self.resting.lock().unwrap_or_else(|e| e.into_inner());
        resting.insert(lane, left);
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("incarnation", &self.incarnation)
            .field("reached", &self.frontier.reached())
            .field("failure", &self.failure())
            .finish_non_exhaustive()
    }
}
