//! Access to data directories for the commands on them: they are opened if they exist, with
//! progress, and errors name the directory.

use std::path::Path;
use std::sync::Arc;

use commands::progress::{Progress, Step};
use engine::OpenError;
use io::{Backend, Directory, RealDirectory};
use weft::{CheckpointReport, Database, Options, StorageOptions};

/// Opens the directory `path`, which must exist; opening a database would make it.
pub(crate) fn existing(path: &Path) -> commands::Result<Arc<dyn Directory>> {
    if !path.is_dir() {
        return Err(commands::Error::input(format!(
            "{} is no directory; name the data directory of a database",
            path.display()
        )));
    }
    let directory = RealDirectory::open(path, Backend::Blocking);
    let directory = directory.map_err(|error| commands::Error::input(error.to_string()))?;
    Ok(Arc::new(directory))
}

/// Opens the database in a directory, takes a checkpoint and closes it.
pub(crate) fn checkpoint(
    path: &Path,
    storage: StorageOptions,
    loading: &'static str,
) -> commands::Result<CheckpointReport> {
    let failed = |error: weft::Error| commands::Error::run(error.to_string());
    let options = Options {
        data_dir: Some(path.to_owned()),
        storage,
        ..Options::default()
    };
    let mut showing = Showing::new(loading);
    let db = Database::open_reporting(options, |progress| {
        showing.show(progress.bytes_done, progress.bytes_total);
    });
    drop(showing);
    let db = db.map_err(failed)?;
    Progress::stderr().note("taking a checkpoint");
    let taken = db.checkpoint_blocking().map_err(failed)?;
    db.close();
    Ok(taken)
}

/// Returns the error for a directory that cannot even be looked at.
pub(crate) fn refused(path: &Path, error: &OpenError) -> commands::Error {
    let path = path.display().to_string();
    let error = error.to_string();
    if error.contains(&path) {
        commands::Error::input(error)
    } else {
        commands::Error::input(format!("{path}: {error}"))
    }
}

/// Shows the progress of an operation, which reports totals.
pub(crate) struct Showing {
    name: &'static str,
    step: Option<Step>,
    shown: u64,
}

impl Showing {
    /// Returns the display of an operation that is about to begin.
    pub(crate) fn new(name: &'static str) -> Showing {
        Showing {
            name,
            step: None,
            shown: 0,
        }
    }

    /// Shows that `done` of `total` units are done.
    pub(crate) fn show(&mut self, done: u64, total: u64) {
        let step = self
            .step
            .get_or_insert_with(|| Progress::stderr().step(self.name, total));
        step.advance(done.saturating_sub(self.shown));
        self.shown = done;
    }
}
