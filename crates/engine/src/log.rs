//! The log: redo records of all commits, per session, group by group.
//!
//! The log holds what transactions wrote, never what they overwrote (redo-only):
//! uncommitted changes do not reach the device, so recovery undoes nothing (paper 001
//! sections 2.1 and 5). Deviations: a lane and a file per session instead of a
//! shared log buffer; the frontier is found by counts, not by log sequence numbers;
//! nothing holds the clock and nobody's idleness holds the frontier back.
//!
//! | what | where |
//! | --- | --- |
//! | bytes of blocks and transactions | `format.rs` |
//! | up to where everything is durable, and why that is right | `frontier.rs` |
//! | a session's buffers, group commit, waiting commits | `lane.rs`, `waiters.rs` |
//! | files, written ahead and used again | `segments.rs` |
//!
//! # Durability
//! All transactions are logged, at whatever level: what recovery brings back is
//! always a prefix of the commit order. The level tells only what an acknowledgement
//! waits for.
//!
//! # Failure
//! When a write or sync fails nobody knows what is on the device, and a later sync
//! that succeeds proves nothing. The log is *poisoned*: nothing is acknowledged any
//! more, every operation says so, and only opening the database again helps.

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

/// What the acknowledgement of a commit waits for. Without a directory, a database
/// keeps nothing and nothing waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Everything that the transaction wrote and saw is on the device.
    #[default]
    Synchronous,
    /// Nothing. Its writes are on their way to the device within
    /// [`LogConfig::relaxed_window`].
    Relaxed,
    /// Nothing. Its writes go to the device when there is reason to write: the
    /// buffer is half full, the worker sleeps, somebody waits for what depends on
    /// them.
    None,
}

/// Settings of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// How long a commit may wait for others to join its block, while the worker
    /// has other things to do. Default 400 microseconds.
    pub group_commit_window: Duration,
    /// How long a relaxed commit may stay in memory. Default 10 milliseconds.
    pub relaxed_window: Duration,
    /// Bytes of each of the two buffers of a session, at least 4096; they are part of
    /// the database's memory limit. Default 1 MiB.
    pub buffer_bytes: usize,
    /// Bytes of a log file, at least 1 MiB. Default 32 MiB.
    pub segment_bytes: u64,
    /// Bytes of the largest transaction in the log. Default 1 GiB, at most 2 GiB.
    pub transaction_bytes_max: usize,
    /// Bytes of log files, at most, that are kept for change streams although a
    /// checkpoint has made them superfluous. Default 0: none.
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

/// What all lanes share.
pub(crate) struct Log {
    pub(crate) config: LogConfig,
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) database: u64,
    /// Counts the openings of the database; blocks of earlier ones are told apart.
    pub(crate) incarnation: u64,
    pub(crate) frontier: Frontier,
    pub(crate) segments: Segments,
    pub(crate) room: DeviceRoom,
    pub(crate) counters: LogCounters,
    clock: Arc<Clock>,
    is_poisoned: AtomicBool,
    /// The database's: no transaction begins any more.
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

    /// The newest timestamp. SeqCst: see `frontier.rs`.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(self.clock.load(Ordering::SeqCst))
    }

    #[inline]
    pub(crate) fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }

    /// # Errors
    /// [`Error::Poisoned`].
    #[inline]
    pub(crate) fn check_sound(&self) -> Result<(), Error> {
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        Ok(())
    }

    /// Acknowledges nothing from now on.
    pub(crate) fn poison(&self, reason: &str) {
        // The first reason counts.
        let _ = self.poison.set(reason.to_owned());
        self.is_poisoned.store(true, Ordering::Release);
        self.closed
            .store(true, std::sync::atomic::Ordering::Release);
        self.frontier.rouse_waiting();
    }

    /// Why the log is poisoned, if it is.
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
