//! Backups: a directory that opens as the database was at one moment.

use std::{ops::ControlFlow, path::Path, sync::Arc, time::Duration};

use engine::{
    CheckpointError,
    backup::{BackupError, BackupReport},
    inspect::Progress,
};
use io::{Backend, Directory, RealDirectory};

use crate::{
    database::Database,
    error::{Error, Result},
    local::LocalDatabase,
    thread::is_worker,
};

/// How often it is looked whether somebody else's checkpoint has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

impl Database {
    /// Copies the database to a new or empty directory, as it is at one moment between
    /// the call and its return: everything up to some timestamp, and nothing newer.
    /// Others go on reading and writing. What is there then opens like any data
    /// directory, and is best kept as it is and brought back with [`restore`].
    ///
    /// A worker takes a checkpoint first. The calling thread then copies it and the
    /// log behind it; meanwhile no other checkpoint is taken and no log file is used
    /// again, so the log may grow. If it fails the directory is left empty.
    ///
    /// # Errors
    /// [`Error::Backup`], [`Error::Checkpoint`], [`Error::Closed`]; [`Error::System`]
    /// if the directory cannot be made; [`Error::WouldBlockWorker`] on a worker's
    /// thread.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport> {
        self.backup_reporting(to, |_| ControlFlow::Continue(()))
    }

    /// As [`Database::backup`], telling `progress` after each file; `Break` gives the
    /// backup up.
    ///
    /// # Errors
    /// As for [`Database::backup`].
    pub fn backup_reporting(
        &self,
        to: impl AsRef<Path>,
        progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport> {
        self.backup_in(&directory(to.as_ref())?, progress)
    }

    /// As [`Database::backup_reporting`], to a directory of the caller's own making.
    ///
    /// # Errors
    /// As for [`Database::backup`].
    #[doc(hidden)]
    pub fn backup_in(
        &self,
        to: &Arc<dyn Directory>,
        mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport> {
        if is_worker() {
            return Err(Error::WouldBlockWorker);
        }
        let engine = &self.shared().engine;
        wait_for_others(|| self.checkpoint_blocking().map(drop))?;
        wait_for_others(|| Ok(engine.backup(to, &mut progress).map_err(Box::new)?))
    }
}

impl LocalDatabase {
    /// Copies the database to a new or empty directory. See [`Database::backup`].
    ///
    /// # Errors
    /// [`Error::Backup`], [`Error::Checkpoint`]; [`Error::System`] if the directory
    /// cannot be made; as for the type.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport> {
        let to = directory(to.as_ref())?;
        let go_on = &mut |_: &Progress| ControlFlow::Continue(());
        // One that is under way goes on whenever this thread takes another.
        wait_for_others(|| {
            self.checkpoint()?;
            Ok(self.engine().backup(&to, go_on).map_err(Box::new)?)
        })
    }
}

/// Copies the backup `from` to the new or empty directory `to`, to be opened there.
/// Any data directory that is not open will do. It is checked first, every byte; if it
/// fails the directory is left empty.
///
/// # Errors
/// [`Error::Backup`]; [`Error::System`] if one of the directories cannot be opened.
pub fn restore(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<BackupReport> {
    restore_reporting(from, to, |_| ControlFlow::Continue(()))
}

/// As [`restore`], telling `progress` after each file, of the check and then of the
/// copy; `Break` gives it up.
///
/// # Errors
/// As for [`restore`].
pub fn restore_reporting(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<BackupReport> {
    // Opening it would make it.
    std::fs::metadata(&from)?;
    let (from, to) = (directory(from.as_ref())?, directory(to.as_ref())?);
    Ok(engine::backup::copy(&from, &to, &mut progress).map_err(Box::new)?)
}

fn directory(path: &Path) -> Result<Arc<dyn Directory>> {
    Ok(Arc::new(RealDirectory::open(path, Backend::Blocking)?))
}

/// Does something again and again while a checkpoint is being taken.
fn wait_for_others<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match attempt() {
            Err(Error::Checkpoint(error)) if matches!(*error, CheckpointError::UnderWay) => {}
            Err(Error::Backup(error)) if matches!(*error, BackupError::UnderWay) => {}
            result => return result,
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}
