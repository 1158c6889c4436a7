//! Settings of a data directory.

use std::time::Duration;

use engine::{CheckpointConfig, ColdConfig, LogConfig};
use io::Backend;

use super::within;
use crate::error::Result;

const BUFFER_BYTES_MIN: usize = 4096;
const SEGMENT_BYTES_MIN: usize = 1 << 20;
const RATE_MIN: usize = 1 << 20;
const WINDOW_US_MAX: usize = 1_000_000;

/// Most bytes of a transaction in the log.
pub const TRANSACTION_BYTES_MAX: usize = 1 << 30;

/// Settings of log, checkpoints and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageOptions {
    /// Way in which transfers reach the device. Default `Auto`: io_uring, or blocking calls where
    /// it is forbidden; [`crate::Database::storage_backend`] tells which.
    pub backend: Backend,
    /// Longest time that a commit waits for others to share a write with, while its worker has
    /// other things to do, in microseconds. 0 to 1,000,000; default
    /// 200. A longer wait means fewer writes and slower answers.
    pub group_commit_us: u32,
    /// Longest time that a [`crate::Durability::Relaxed`] commit stays in memory, in microseconds,
    /// before it is on its way to the device. 0 to 1,000,000; default 10,000.
    pub relaxed_us: u32,
    /// Bytes of each of a worker's two log buffers, which are part of
    /// [`crate::Options::memory_bytes_max`]; at least 4096, default 1 MiB. For a larger
    /// transaction, a buffer grows for as long as it is needed.
    pub log_buffer_bytes: usize,
    /// Bytes of a log file; at least 1 MiB, default 32 MiB. Each worker has one to
    /// three.
    pub log_segment_bytes: usize,
    /// Bytes of log after which a checkpoint is taken. Default 1 GiB; 0: never. A larger number
    /// means fewer checkpoints and a longer recovery.
    pub checkpoint_log_bytes: u64,
    /// Time after which a checkpoint is taken, if anything was written. Default 10
    /// minutes; zero: never.
    pub checkpoint_interval: Duration,
    /// Most bytes that a checkpoint writes per second; at least 1 MiB, default 256 MiB.
    pub checkpoint_bytes_per_second_max: usize,
    /// Most bytes of log files that are kept for change streams ([`crate::Database::changes`])
    /// although a checkpoint has made them superfluous. Default 0: none, so a stream must keep up
    /// with checkpoints.
    pub change_retention_bytes: u64,
    /// Whether records may leave memory for files of the directory when it runs short, and come
    /// back when they are accessed: tables may be larger than [`crate::Options::memory_bytes_max`],
    /// their indexes not. A write that finds no room then waits for it, up to ten seconds. Records
    /// that have left memory stay in use when the database is opened without this option. Default:
    /// yes.
    pub cold_tier: bool,
    /// Bytes that blocks of columns, by which tables are scanned, keep in memory; others are read from the device by
    /// each scan. Default `None`: as many as there is ample room for, and, with [`StorageOptions::cold_tier`], at least
    /// a quarter of [`crate::Options::memory_bytes_max`].
    pub block_memory_bytes: Option<usize>,
    /// Most bytes that are read and written per second to make files smaller of which little is
    /// still of use, at least 1 MiB. Default 128 MiB.
    pub compaction_bytes_per_second_max: usize,
    /// Whether a damaged directory is opened with the data before the damage, instead of being
    /// refused. Copy the directory first: the data after the damage is given up for good. Default:
    /// no.
    pub salvage: bool,
}

impl Default for StorageOptions {
    fn default() -> StorageOptions {
        let log = LogConfig::default();
        let checkpoint = CheckpointConfig::default();
        let cold = ColdConfig::default();
        StorageOptions {
            backend: Backend::Auto,
            group_commit_us: log.group_commit_window.as_micros() as u32,
            relaxed_us: log.relaxed_window.as_micros() as u32,
            log_buffer_bytes: log.buffer_bytes,
            log_segment_bytes: log.segment_bytes as usize,
            checkpoint_log_bytes: checkpoint.log_bytes_max,
            checkpoint_interval: checkpoint.interval,
            checkpoint_bytes_per_second_max: checkpoint.bytes_per_second_max as usize,
            change_retention_bytes: log.change_retention_bytes,
            cold_tier: true,
            block_memory_bytes: None,
            compaction_bytes_per_second_max: cold.compaction_bytes_per_second_max as usize,
            salvage: false,
        }
    }
}

impl StorageOptions {
    pub(super) fn validate(&self) -> Result<()> {
        let group_commit_us = self.group_commit_us as usize;
        within("storage.group_commit_us", group_commit_us, 0, WINDOW_US_MAX)?;
        within(
            "storage.relaxed_us",
            self.relaxed_us as usize,
            0,
            WINDOW_US_MAX,
        )?;
        within(
            "storage.log_buffer_bytes",
            self.log_buffer_bytes,
            BUFFER_BYTES_MIN,
            TRANSACTION_BYTES_MAX,
        )?;
        within(
            "storage.log_segment_bytes",
            self.log_segment_bytes,
            SEGMENT_BYTES_MIN,
            usize::MAX,
        )?;
        within(
            "storage.checkpoint_bytes_per_second_max",
            self.checkpoint_bytes_per_second_max,
            RATE_MIN,
            usize::MAX,
        )?;
        within(
            "storage.compaction_bytes_per_second_max",
            self.compaction_bytes_per_second_max,
            RATE_MIN,
            usize::MAX,
        )
    }

    pub(crate) fn log(&self) -> LogConfig {
        LogConfig {
            group_commit_window: Duration::from_micros(self.group_commit_us.into()),
            relaxed_window: Duration::from_micros(self.relaxed_us.into()),
            buffer_bytes: self.log_buffer_bytes,
            segment_bytes: self.log_segment_bytes as u64,
            transaction_bytes_max: TRANSACTION_BYTES_MAX,
            change_retention_bytes: self.change_retention_bytes,
        }
    }

    pub(crate) fn cold(&self) -> Option<ColdConfig> {
        self.cold_tier.then(|| ColdConfig {
            compaction_bytes_per_second_max: self.compaction_bytes_per_second_max as u64,
            ..ColdConfig::default()
        })
    }

    pub(crate) fn checkpoint(&self) -> CheckpointConfig {
        CheckpointConfig {
            log_bytes_max: self.checkpoint_log_bytes,
            interval: self.checkpoint_interval,
            bytes_per_second_max: self.checkpoint_bytes_per_second_max as u64,
        }
    }
}
