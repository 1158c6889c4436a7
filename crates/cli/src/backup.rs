//! `weft backup` and `weft restore`: copies of a data directory that is not open.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use engine::OpenError;
use engine::backup::{self, BackupError};
use io::{Backend, RealDirectory};

use crate::directory::{self, Showing};

const BACKUP_EXAMPLES: &str = "\
Examples:
  weft backup /var/lib/weft /mnt/backup/monday
  weft check /mnt/backup/monday";

const RESTORE_EXAMPLES: &str = "\
Examples:
  weft restore /mnt/backup/monday /var/lib/weft
  weft check /var/lib/weft";

/// Copies a database that is not open to a new or empty directory.
///
/// The original is checked first, every byte; a damaged original is not copied. The manifest of the
/// copy is written last, so an interrupted copy is no database.
///
/// A database that is open is backed up from within its program, while transactions go on:
/// `weft::Database::backup`.
#[derive(Debug, clap::Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub(crate) struct Backup {
    /// The data directory.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Directory of the copy; made if it is missing.
    #[arg(value_name = "TO")]
    to: PathBuf,
}

/// Copies a backup to a new or empty directory, to be opened there.
///
/// The backup is checked first, every byte, and stays as it is. Nothing is
/// overwritten: move a damaged data directory away before.
#[derive(Debug, clap::Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub(crate) struct Restore {
    /// The backup.
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// The new data directory; made if it is missing.
    #[arg(value_name = "TO")]
    to: PathBuf,
}

impl Backup {
    pub(crate) fn run(self) -> commands::Result<()> {
        copy(&self.directory, &self.to, "backing up")
    }
}

impl Restore {
    pub(crate) fn run(self) -> commands::Result<()> {
        copy(&self.from, &self.to, "restoring")
    }
}

fn copy(from: &Path, to: &Path, name: &'static str) -> commands::Result<()> {
    let source = directory::existing(from)?;
    let target = RealDirectory::open(to, Backend::Blocking);
    let target = target.map_err(|error| commands::Error::input(error.to_string()))?;
    let mut showing = Showing::new(name);
    let copied = backup::copy(
        &source,
        &(std::sync::Arc::new(target) as _),
        &mut |progress| {
            showing.show(progress.bytes_done, progress.bytes_total);
            ControlFlow::Continue(())
        },
    );
    drop(showing);
    let report = copied.map_err(|error| refused(from, to, &error))?;
    commands::write_results(&format!(
        "{} has everything up to timestamp {}: {} bytes in {} files, {} records in the \
         checkpoint\n",
        to.display(),
        report.up_to.0,
        report.bytes,
        report.files,
        report.checkpoint_records
    ))
}

fn refused(from: &Path, to: &Path, error: &BackupError) -> commands::Error {
    match error {
        BackupError::Source(error @ (OpenError::Locked(_) | OpenError::NoDatabase(_))) => {
            directory::refused(from, error)
        }
        BackupError::Target(error) => directory::refused(to, error),
        BackupError::NotEmpty(_) => commands::Error::input(error.to_string()),
        _ => commands::Error::run(error.to_string()),
    }
}
