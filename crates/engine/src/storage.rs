//! The storage of a database in a directory: manifest, log, checkpoints.

use std::{
    fmt,
    rc::Rc,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use io::{Action, Buffer, Directory, DirectoryLock, File, OpenMode, Port};

use crate::{
    checkpoint,
    checkpoint::CheckpointReport,
    cold::{self, ColdConfig, ColdTier},
    log::{Log, LogConfig, segments::sync_names},
    manifest::{self, Manifest},
    temporary,
};

/// Directory's side of a database.
pub(crate) struct Storage {
    directory: Arc<dyn Directory>,
    log_session_bytes: usize,
    manifest: Mutex<Manifest>,
    /// Log of the database, set once recovery has finished.
    log: OnceLock<Arc<Log>>,
    /// Whether the manifest on the device does not name this incarnation yet, for want of room.
    /// Nothing can be logged until it does.
    is_pending: AtomicBool,
    is_checkpointing: AtomicBool,
    next_checkpoint_file: AtomicU64,
    /// Files of superseded checkpoints, kept for the next one: to remove a file takes milliseconds
    /// where the system discards its blocks.
    spare_parts: Mutex<Vec<Spare>>,
    last_checkpoint: Mutex<LastCheckpoint>,
    lock: Mutex<Option<DirectoryLock>>,
    cold: Option<ColdTier>,
}

/// File of a superseded checkpoint.
#[derive(Clone, Copy, Debug)]
struct Spare {
    number: u64,
    bytes: u64,
}

struct LastCheckpoint {
    taken: Instant,
    /// Bytes of the log when the checkpoint was begun, including those that recovery found.
    log_bytes: u64,
    /// Bytes of the log that recovery found.
    recovered_bytes: u64,
    failure: Option<String>,
}

/// Guard of a checkpoint: while it lives, no other checkpoint is taken, and files stay as they are.
pub(crate) struct CheckpointGuard<'s>(&'s Storage);

impl Drop for CheckpointGuard<'_> {
    fn drop(&mut self) {
        self.0.is_checkpointing.store(false, Ordering::Release);
    }
}

impl Storage {
    /// Makes the storage in a locked directory with a manifest. It has a cold tier if `cold` is set
    /// or there are cold records.
    pub(crate) fn new(
        directory: Arc<dyn Directory>,
        log_config: &LogConfig,
        lock: DirectoryLock,
        manifest: Manifest,
        cold_config: Option<ColdConfig>,
    ) -> std::io::Result<Storage> {
        let cold_files = manifest.checkpoint.iter().flat_map(|c| &c.cold);
        let cold_files: Vec<_> = cold_files.copied().collect();
        cold::remove_others(&directory, &cold_files)?;
        temporary::remove_all(&directory)?;
        let cold_config = match cold_files.is_empty() {
            true => cold_config,
            false => Some(cold_config.unwrap_or_default()),
        };
        let cold = cold_config
            .map(|config| ColdTier::new(&directory, manifest.database, &cold_files, config))
            .transpose()?;
        let names = directory.list()?;
        let numbers = names
            .iter()
            .filter_map(|name| checkpoint::file_number(name));
        // The number of a missing part may not be used for another one: a part is removed by its
        // name.
        let parts = manifest.checkpoint.iter().flat_map(|c| &c.parts);
        let numbers = numbers.chain(parts.map(|part| part.file));
        let next_checkpoint_file = numbers.max().map_or(0, |number| number.saturating_add(1));
        Ok(Storage {
            directory,
            log_session_bytes: log_config.session_bytes(),
            manifest: Mutex::new(manifest),
            log: OnceLock::new(),
            is_pending: AtomicBool::new(true),
            is_checkpointing: AtomicBool::new(false),
            next_checkpoint_file: AtomicU64::new(next_checkpoint_file),
            spare_parts: Mutex::default(),
            last_checkpoint: Mutex::new(LastCheckpoint {
                taken: Instant::now(),
                log_bytes: 0,
                recovered_bytes: 0,
                failure: None,
            }),
            lock: Mutex::new(Some(lock)),
            cold,
        })
    }

    pub(crate) fn unlock(&self) {
        *self.lock.lock().unwrap_or_else(|e| e.into_inner()) = None;
    }

    #[inline]
    pub(crate) fn cold(&self) -> Option<&ColdTier> {
        self.cold.as_ref()
    }

    pub(crate) fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    /// Returns the memory that the log takes of each session.
    pub(crate) fn log_session_bytes(&self) -> usize {
        self.log_session_bytes
    }

    #[inline]
    pub(crate) fn log(&self) -> Option<&Arc<Log>> {
        self.log.get()
    }

    fn manifest(&self) -> MutexGuard<'_, Manifest> {
        self.manifest.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns a copy of the manifest.
    pub(crate) fn manifest_now(&self) -> Manifest {
        self.manifest().clone()
    }

    /// Returns the bytes of the current checkpoint.
    pub(crate) fn checkpoint_bytes(&self) -> u64 {
        let manifest = self.manifest();
        let parts = manifest.checkpoint.iter().flat_map(|c| &c.parts);
        parts.map(|part| part.bytes).sum()
    }

    /// Changes the manifest, durably. Blocks the thread for some device writes.
    pub(crate) fn change_manifest(
        &self,
        change: impl FnOnce(&mut Manifest),
    ) -> std::io::Result<()> {
        let mut manifest = self.manifest();
        let mut changed = manifest.clone();
        change(&mut changed);
        changed.store(&self.directory)?;
        *manifest = changed;
        self.is_pending.store(false, Ordering::Release);
        Ok(())
    }

    /// Changes the manifest like [`Storage::change_manifest`], but waits for the device without
    /// blocking the thread. `change` is called again if another session changes the manifest
    /// meanwhile. After an error either manifest may count.
    ///
    /// # Suspension
    /// Device waits.
    pub(crate) async fn change_manifest_beside(
        &self,
        port: &Rc<Port>,
        change: impl Fn(&mut Manifest),
    ) -> std::io::Result<()> {
        loop {
            let before = self.manifest().clone();
            let mut changed = before.clone();
            change(&mut changed);
            let file = changed.write(&self.directory, manifest::CHECKPOINT_NAME)?;
            let nothing = Buffer::with_capacity(0);
            let (_, synced) = port.begin(Action::Sync, &file, 0, nothing).await;
            synced?;
            let mut manifest = self.manifest();
            if *manifest != before {
                continue;
            }
            self.directory
                .rename(manifest::CHECKPOINT_NAME, manifest::NAME)?;
            *manifest = changed;
            break;
        }
        sync_names(port, &self.directory).await
    }

    /// Begins the incarnation that the log is of. Without room on the device, the incarnation
    /// begins once there is room, and the device's error is returned. Recovery has found
    /// `recovered_bytes` of log.
    pub(crate) fn begin_incarnation(
        &self,
        manifest: Manifest,
        log: Log,
        recovered_bytes: u64,
    ) -> std::io::Result<Option<String>> {
        *self.manifest() = manifest;
        self.last_checkpoint().recovered_bytes = recovered_bytes;
        log.room.note_checkpoint(self.checkpoint_bytes());
        let begun = self.change_manifest(|_| {});
        // A session finds the log only now.
        let _ = self.log.set(Arc::new(log));
        match begun {
            Ok(()) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                Ok(Some(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    /// Makes sure that the incarnation has begun, before anything is logged.
    ///
    /// # Errors
    /// The device's error: there is still no room.
    #[inline]
    pub(crate) fn check_begun(&self) -> std::io::Result<()> {
        if self.is_pending.load(Ordering::Acquire) {
            self.change_manifest(|_| {})?;
        }
        Ok(())
    }

    /// Keeps other sessions from taking a checkpoint, and files from being freed. Returns `None` if
    /// that is done already.
    pub(crate) fn begin_checkpoint(&self) -> Option<CheckpointGuard<'_>> {
        let under_way = self.is_checkpointing.swap(true, Ordering::AcqRel);
        // Lazily: dropping a guard that was not granted would end the other checkpoint's guard.
        (!under_way).then(|| CheckpointGuard(self))
    }

    fn spare_parts(&self) -> MutexGuard<'_, Vec<Spare>> {
        self.spare_parts.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Makes a file for a part of a checkpoint, under a number that no file had before: the number
    /// tells the remains of an earlier use apart. A file of an earlier checkpoint is used again
    /// only if it has at most `bytes_max` bytes: the rest of a larger one would be wasted.
    pub(crate) fn begin_checkpoint_file(
        &self,
        bytes_max: u64,
    ) -> std::io::Result<(u64, Arc<dyn File>)> {
        let number = self.next_checkpoint_file.fetch_add(1, Ordering::Relaxed);
        let name = checkpoint::file_name(number);
        loop {
            let Some(spare) = self.take_spare(bytes_max) else {
                let file = self.directory.open(&name, OpenMode::Create, true)?;
                return Ok((number, file));
            };
            match self
                .directory
                .rename(&checkpoint::file_name(spare.number), &name)
            {
                // The file was lost before, if the database was salvaged.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                renamed => {
                    renamed?;
                    let file = self.directory.open(&name, OpenMode::Write, true)?;
                    return Ok((number, file));
                }
            }
        }
    }

    /// Takes back files of a superseded checkpoint: at most `keep` of all such files are kept for
    /// the next one, if the device has as much room again.
    pub(crate) fn retire_checkpoint_files(
        &self,
        files: impl Iterator<Item = u64>,
        keep: usize,
    ) -> std::io::Result<()> {
        let mut spares = self.spare_parts();
        for number in files {
            let name = checkpoint::file_name(number);
            match self.directory.open(&name, OpenMode::Read, false) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                opened => {
                    let bytes = opened?.length()?;
                    spares.push(Spare { number, bytes });
                }
            }
        }
        let room = self.directory.free_bytes()?;
        let keep = keep.min((room / checkpoint::PART_BYTES) as usize);
        let removed = self.remove_spares(&mut spares, keep);
        self.note_spares(&spares);
        removed
    }

    fn remove_spares(&self, spares: &mut Vec<Spare>, keep: usize) -> std::io::Result<()> {
        while spares.len() > keep {
            let Some(surplus) = spares.pop() else { break };
            match self
                .directory
                .remove(&checkpoint::file_name(surplus.number))
            {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    fn take_spare(&self, bytes_max: u64) -> Option<Spare> {
        let mut spares = self.spare_parts();
        let at = spares.iter().rposition(|spare| spare.bytes <= bytes_max)?;
        let spare = spares.remove(at);
        self.note_spares(&spares);
        Some(spare)
    }

    fn note_spares(&self, spares: &[Spare]) {
        if let Some(log) = self.log() {
            log.room
                .note_spares(spares.iter().map(|spare| spare.bytes).sum());
        }
    }

    /// Removes files that are kept to be used again, if a checkpoint needs their room.
    pub(crate) fn make_room_for_checkpoint(&self, log: &Log) -> std::io::Result<()> {
        if !log.room.is_short_for_checkpoint(log.segments.room()) {
            return Ok(());
        }
        log.segments.give_back(|| true)?;
        let mut spares = self.spare_parts();
        let removed = self.remove_spares(&mut spares, 0);
        self.note_spares(&spares);
        removed
    }

    fn last_checkpoint(&self) -> MutexGuard<'_, LastCheckpoint> {
        self.last_checkpoint
            .lock()
            .unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the bytes logged, including those that recovery found, and the time passed since the
    /// last attempt at a checkpoint.
    pub(crate) fn since_checkpoint(&self, log: &Log) -> (u64, Duration) {
        let last = self.last_checkpoint();
        let bytes = last.recovered_bytes + log.counters.bytes();
        (bytes - last.log_bytes, last.taken.elapsed())
    }

    /// Notes that a checkpoint begins, `log_bytes` into the log.
    pub(crate) fn note_begin(&self, log_bytes: u64) {
        let mut last = self.last_checkpoint();
        last.taken = Instant::now();
        last.log_bytes = last.recovered_bytes + log_bytes;
    }

    /// Notes how a checkpoint ended that no task waits for.
    pub(crate) fn note_end(&self, end: &Result<CheckpointReport, checkpoint::CheckpointError>) {
        let mut last = self.last_checkpoint();
        last.failure = match end {
            Ok(_) | Err(checkpoint::CheckpointError::UnderWay) => None,
            Err(error) => Some(error.to_string()),
        };
    }

    /// Returns the error of the last checkpoint by time or size, if it failed.
    pub(crate) fn checkpoint_failure(&self) -> Option<String> {
        self.last_checkpoint().failure.clone()
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("directory", &self.directory)
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}
