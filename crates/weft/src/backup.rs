//! Backups: a directory that opens in the state that the database had at one moment.

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

/// Interval at which a checkpoint that another thread takes is checked for its end.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

impl Database {
    /// Copies the database to a new or empty directory, in its state at one moment between the call
    /// and its return: everything up to some timestamp, and nothing newer. Other transactions go on
    /// reading and writing. The copy then opens like any data directory, and is best kept unchanged
    /// and brought back with [`restore`].
    ///
    /// A worker takes a checkpoint first. The calling thread then copies it and the log behind it;
    /// meanwhile no other checkpoint is taken and no log file is used again, so the log may grow.
    /// If the backup fails the directory is left empty.
    ///
    /// # Errors
    /// [`Error::Backup`], [`Error::Checkpoint`], [`Error::Closed`]; [`Error::System`]
    /// if the directory cannot be made; [`Error::WouldBlockWorker`] on a worker's
    /// thread.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport> {
        self.backup_reporting(to, |_| ControlFlow::Continue(()))
    }

    /// Copies the database as [`Database::backup`] does, telling `progress` after each file;
    /// `Break` gives the backup up.
    ///
    /// # Errors
    /// Fails as [`Database::backup`] does.
    pub fn backup_reporting(
        &self,
        to: impl AsRef<Path>,
        progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport> {
        self.backup_in(&directory(to.as_ref())?, progress)
    }

    /// Copies the database as [`Database::backup_reporting`] does, to a directory of the caller's
    /// own making.
    ///
    /// # Errors
    /// Fails as [`Database::backup`] does.
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
    /// [`Error::Backup`], [`Error::Checkpoint`]; [`Error::System`] if the directory cannot be made;
    /// also fails as the type describes.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport> {
        let to = directory(to.as_ref())?;
        let go_on = &mut |_: &Progress| ControlFlow::Continue(());
        // A checkpoint that is under way goes on whenever this thread takes another.
        wait_for_others(|| {
            self.checkpoint()?;
            Ok(self.engine().backup(&to, go_on).map_err(Box::new)?)
        })
    }
}

/// Copies the backup `from` to the new or empty directory `to`, to be opened there. Any data
/// directory that is not open will do. It is checked first, every byte; if the check or the copy
/// fails the directory `to` is left empty.
///
/// # Errors
/// [`Error::Backup`]; [`Error::System`] if one of the directories cannot be opened.
pub fn restore(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<BackupReport> {
    restore_reporting(from, to, |_| ControlFlow::Continue(()))
}

/// Restores as [`restore`] does, telling `progress` after each file, of the check and then of the
/// copy; `Break` gives the restoration up.
///
/// # Errors
/// Fails as [`restore`] does.
pub fn restore_reporting(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<BackupReport> {
    // Opening the directory would make it.
    std::fs::metadata(&from)?;
    let (from, to) = (directory(from.as_ref())?, directory(to.as_ref())?);
    Ok(engine::backup::copy(&from, &to, &mut progress).map_err(Box::new)?)
}

fn directory(path: &Path) -> Result<Arc<dyn Directory>> {
    Ok(Arc::new(RealDirectory::open(path, Backend::Blocking)?))
}

/// Repeats `attempt` while another checkpoint or backup is under way.
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
