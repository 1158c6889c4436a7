//! The directory that a backup is written to.

use std::sync::Arc;

use io::{Directory, DirectoryLock, OpenMode};

use crate::{
    backup::{BackupError, BackupReport},
    inspect::lock,
    manifest::{self, Manifest},
};

/// Bytes written at once.
const WRITE_BYTES: usize = 1 << 20;

/// An empty directory that becomes a database when it is [finished](Target::finish).
/// Dropped before, it is emptied.
pub(super) struct Target {
    directory: Arc<dyn Directory>,
    made: Vec<String>,
    report: BackupReport,
    is_finished: bool,
    _lock: DirectoryLock,
}

impl Target {
    /// Locks an empty directory for a backup.
    ///
    /// # Errors
    /// [`BackupError::NotEmpty`]; [`BackupError::Target`] if the directory cannot be locked;
    /// [`BackupError::Device`] if it cannot be listed.
    pub(super) fn begin(directory: &Arc<dyn Directory>) -> Result<Target, BackupError> {
        let lock = lock(directory).map_err(BackupError::Target)?;
        let names = directory.list().map_err(BackupError::Device)?;
        if !names.is_empty() {
            return Err(BackupError::NotEmpty(directory.location()));
        }
        Ok(Target {
            directory: directory.clone(),
            made: Vec::new(),
            report: BackupReport::default(),
            is_finished: false,
            _lock: lock,
        })
    }

    /// Writes a file; all but its name is durable.
    pub(super) fn write(&mut self, name: String, bytes: &[u8]) -> Result<(), BackupError> {
        self.made.push(name);
        let name = &self.made[self.made.len() - 1];
        let file = self.directory.open(name, OpenMode::Create, false);
        let file = file.map_err(BackupError::Device)?;
        let mut offset = 0;
        for piece in bytes.chunks(WRITE_BYTES) {
            file.write_at(piece, offset).map_err(BackupError::Device)?;
            offset += piece.len() as u64;
        }
        file.sync().map_err(BackupError::Device)?;
        self.report.files += 1;
        self.report.bytes += offset;
        Ok(())
    }

    /// Makes the directory a database: from now on it counts.
    pub(super) fn finish(mut self, manifest: &Manifest) -> Result<BackupReport, BackupError> {
        self.directory.sync().map_err(BackupError::Device)?;
        manifest
            .store(&self.directory)
            .map_err(BackupError::Device)?;
        self.is_finished = true;
        let parts = manifest.checkpoint.iter().flat_map(|c| &c.parts);
        let mut report = self.report;
        report.checkpoint_records = parts.map(|part| part.records).sum();
        Ok(report)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        // The manifest first: without it the other files are no database. Files that cannot be
        // removed stay, and are refused.
        for name in [manifest::NAME, manifest::NEXT_NAME] {
            let _ = self.directory.remove(name);
        }
        for name in &self.made {
            let _ = self.directory.remove(name);
        }
        let _ = self.directory.sync();
    }
}
