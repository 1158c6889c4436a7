//! Recovery: from a directory to a database in memory.
//!
//! | step | place |
//! | --- | --- |
//! | lock, manifest | [`Database::open`] |
//! | log files, and the part of them that counts | `logs.rs`, `scan.rs`, `analysis.rs` |
//! | loading checkpoint and log, in parallel, by every worker | [`Recovery::tasks`], `intake.rs`, `load.rs`, `install.rs` |
//! | a new incarnation begins | [`Recovery::finish`] |
//!
//! Nothing is written before the last step: a recovery that is interrupted before begins again, and finds the same. The
//! last step puts a new manifest in place, which says up to where the log of the ended incarnation counts, and names
//! the next incarnation.
//!
//! The log is read twice, but mostly only once in full: headers and claims tell which part of it counts (`scan.rs`),
//! and loading compares all checksums, before anything is written.
//!
//! Loading is order-independent: records are installed by key, the newest timestamp wins, deletions stay as tombstones
//! until they are collected as usual. Any worker may therefore load checkpoint and log files at any time
//! (`install.rs`). Tables are made as their numbers are met; the catalog, which is loaded like any table, has their
//! definitions (`catalog/restore.rs`). A worker has two files in memory at most, and the records of a block or chunk.

pub(crate) mod analysis;
mod error;
mod install;
mod intake;
mod load;
pub(crate) mod logs;
pub(crate) mod pieces;
pub(crate) mod scan;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use io::Directory;
use memory::Local;

pub use self::{error::OpenError, load::Loading};
use self::{logs::Logs, scan::LogFile};
use crate::{
    checkpoint,
    database::{Database, DatabaseConfig},
    device_room::DeviceRoom,
    log::{Log, LogConfig, Segments, segments::file_name},
    manifest::{self, Manifest, ManifestError, PartEntry},
    storage::Storage,
    timestamp::Timestamp,
};

/// Unit of work of a recovery: one file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Part(PartEntry),
    Log {
        file: LogFile,
        /// End of the last block that counts, in bytes.
        end: u64,
        /// Bounds of the transactions that count: newer than `newer_than`, not newer than `up_to`.
        newer_than: Timestamp,
        up_to: Timestamp,
    },
}

impl Item {
    /// Returns the number of bytes to read.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Item::Part(part) => part.bytes,
            Item::Log { end, .. } => *end,
        }
    }
}

/// Progress of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveryProgress {
    /// Bytes to read: checkpoint and log.
    pub bytes_total: u64,
    /// Bytes read and installed.
    pub bytes_done: u64,
    /// Records from the checkpoint that were installed, or found to be superseded.
    pub checkpoint_records: u64,
    /// Records from the log that were installed, or found to be superseded.
    pub log_records: u64,
}

/// Result of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Whether the directory was empty: a new database.
    pub is_new: bool,
    /// Records and bytes.
    pub progress: RecoveryProgress,
    /// Newest commit that was recovered.
    pub recovered_up_to: Timestamp,
    /// Time since the opening began.
    pub duration: Duration,
    /// The device's error, if there is no room for the manifest: nothing can be written until there is.
    pub no_space: Option<String>,
}

/// A database that is being recovered. See the module's doc.
#[derive(Debug)]
pub struct Recovery {
    database: Arc<Database>,
    log_config: LogConfig,
    /// Whether data that cannot be read is left out.
    salvage: bool,
    manifest: Manifest,
    is_new: bool,
    items: Mutex<VecDeque<Item>>,
    bytes_total: u64,
    /// Bytes to read that are of the log.
    log_bytes: u64,
    bytes_done: AtomicU64,
    checkpoint_records: AtomicU64,
    log_records: AtomicU64,
    failed: AtomicBool,
    failure: Mutex<Option<OpenError>>,
    started: Instant,
    recovered_up_to: Timestamp,
    segments: Mutex<Option<Segments>>,
    /// Log files that are of no use any more.
    blank: Vec<u64>,
    finished: AtomicBool,
}

/// Settings of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryConfig {
    /// Whether destroyed data is given up instead of refused: every lane of the log ends where something is destroyed,
    /// and transactions that depend on the rest are cut off. Parts of a checkpoint that cannot be read are left out,
    /// and so are records in cold files: each of them is read.
    pub salvage: bool,
}

impl Database {
    /// Opens the database in `directory`, or makes one. The caller then runs the [`Recovery::tasks`] on some workers,
    /// and calls [`Recovery::finish`].
    ///
    /// # Errors
    /// See [`OpenError`]; nothing was changed.
    pub fn open(
        config: DatabaseConfig,
        log_config: LogConfig,
        recovery_config: RecoveryConfig,
        directory: Arc<dyn Directory>,
    ) -> Result<Arc<Recovery>, OpenError> {
        let started = Instant::now();
        let lock = directory.lock().map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => OpenError::Locked(directory.location()),
            _ => OpenError::from(error),
        })?;
        let loaded = Manifest::load(&directory).map_err(|error| match error {
            ManifestError::Io(error) => OpenError::from(error),
            ManifestError::Flaw(flaw) => OpenError::corrupt(manifest::NAME.to_owned(), 0, flaw),
        })?;
        let is_new = loaded.is_none();
        let manifest = match loaded {
            Some(manifest) => manifest,
            None => {
                refuse_strangers(&directory)?;
                Manifest {
                    database: random_number(),
                    ..Manifest::default()
                }
            }
        };
        let logs = Logs::read_ahead(&directory, &manifest, recovery_config)?;
        let storage = Storage::new(
            directory.clone(),
            &log_config,
            lock,
            manifest.clone(),
            config.cold_tier,
        )?;
        let database = Database::with_storage(config, Some(storage))
            .map_err(|_| OpenError::MemoryExhausted)?;
        let parts = manifest.checkpoint.iter().flat_map(|c| &c.parts);
        let items: VecDeque<Item> = parts
            .map(|&part| Item::Part(part))
            .chain(logs.items)
            .collect();
        let is_log = |item: &&Item| matches!(item, Item::Log { .. });
        let log_bytes = items.iter().filter(is_log).map(Item::bytes).sum();
        let bytes_total = items.iter().map(Item::bytes).sum();
        let mut manifest = manifest;
        if !is_new {
            manifest.cuts = logs.cuts;
        }
        manifest.incarnation += 1;
        manifest.history.begin_at(logs.segments.oldest);
        let segments = Segments::new(directory.clone(), logs.segments);
        Ok(Arc::new(Recovery {
            database,
            log_config,
            salvage: recovery_config.salvage,
            manifest,
            is_new,
            items: Mutex::new(items),
            bytes_total,
            log_bytes,
            bytes_done: AtomicU64::new(0),
            checkpoint_records: AtomicU64::new(0),
            log_records: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            failure: Mutex::default(),
            started,
            recovered_up_to: logs.reached,
            segments: Mutex::new(Some(segments)),
            blank: logs.blank,
            finished: AtomicBool::new(false),
        }))
    }
}

/// Refuses a directory without a manifest that is not empty: foreign files are not to be mixed with the database's own,
/// and log files without a manifest mean that the manifest was lost.
fn refuse_strangers(directory: &Arc<dyn Directory>) -> Result<(), OpenError> {
    let names = directory.list()?;
    let ours = |name: &str| {
        let kinds = ["log-", "checkpoint-", "cold-"];
        kinds.iter().any(|kind| name.starts_with(kind))
    };
    match names.into_iter().find(|name| ours(name)) {
        Some(name) => Err(OpenError::NoManifest(name)),
        None => Ok(()),
    }
}

/// Returns a number that most likely no other database has.
fn random_number() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library keys the hasher at random, per process and instance.
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u64(0);
    hasher.finish()
}

impl Recovery {
    /// Returns the database; sessions can be made, transactions not yet.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Returns the progress of the recovery.
    pub fn progress(&self) -> RecoveryProgress {
        RecoveryProgress {
            bytes_total: self.bytes_total,
            bytes_done: self.bytes_done.load(Ordering::Relaxed),
            checkpoint_records: self.checkpoint_records.load(Ordering::Relaxed),
            log_records: self.log_records.load(Ordering::Relaxed),
        }
    }

    fn next_item(&self) -> Option<Item> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        self.items
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .pop_front()
    }

    /// Gives up; the first error is kept.
    fn fail(&self, error: OpenError) {
        self.failed.store(true, Ordering::Relaxed);
        self.failure().get_or_insert(error);
    }

    fn failure(&self) -> MutexGuard<'_, Option<OpenError>> {
        self.failure.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Begins the new incarnation, once all tasks have ended: from now on
    /// transactions can be run.
    ///
    /// # Errors
    /// The first error of the tasks, or the device's error in writing the manifest. Nothing was changed then.
    ///
    /// # Panics
    /// If it has finished before.
    pub fn finish(&self) -> Result<RecoveryReport, OpenError> {
        if let Some(error) = self.failure().take() {
            return Err(error);
        }
        assert!(
            !self.finished.swap(true, Ordering::AcqRel),
            "finished twice"
        );
        let database = &self.database;
        let storage = database.storage().expect("opened in a directory");
        let directory = storage.directory().clone();
        let local = Local::new(&database.arena, &database.epochs);
        let catalog = &database.catalog;
        catalog.restore(&local, self.manifest.next_table, self.salvage)?;
        let history = &self.manifest.history;
        catalog
            .events
            .restore(history.events.clone(), history.oldest);
        let manifest = Manifest {
            next_table: catalog.next_number(),
            ..self.manifest.clone()
        };
        database
            .horizon
            .clock
            .store(self.recovered_up_to.0, Ordering::SeqCst);
        self.tidy(&directory);
        let segments = self
            .segments
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .take()
            .expect("finished once");
        let room = DeviceRoom::new(directory.clone(), database.arena.clone());
        // Files that are free to be used again are worth less than a manifest. If giving them back fails, the manifest
        // may fit all the same.
        let _ = segments.give_back(|| room.is_full());
        let log = Log::new(
            self.log_config,
            directory,
            self.manifest.database,
            self.manifest.incarnation,
            database.horizon.clock.clone(),
            (segments, room),
            database.closed.clone(),
        );
        let no_space = storage.begin_incarnation(manifest, log, self.log_bytes)?;
        Ok(RecoveryReport {
            is_new: self.is_new,
            progress: self.progress(),
            recovered_up_to: self.recovered_up_to,
            duration: self.started.elapsed(),
            no_space,
        })
    }

    /// Removes files that an interruption left over. Files that cannot be removed stay.
    fn tidy(&self, directory: &Arc<dyn Directory>) {
        for &number in &self.blank {
            let _ = directory.remove(&file_name(number));
        }
        let needed = |file| {
            let parts = self.manifest.checkpoint.iter().flat_map(|c| &c.parts);
            parts.into_iter().any(|part| part.file == file)
        };
        for name in directory.list().unwrap_or_default() {
            if checkpoint::file_number(&name).is_some_and(|file| !needed(file)) {
                let _ = directory.remove(&name);
            }
        }
    }
}
