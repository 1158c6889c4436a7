//! `weft checkpoint`: shortens the log that the next opening has to read.

use std::path::PathBuf;

use engine::OpenError;
use engine::inspect;
use weft::StorageOptions;

use crate::directory;

const EXAMPLES: &str = "\
Example:
  weft checkpoint /var/lib/weft
  weft check /var/lib/weft";

/// Takes a checkpoint of a database that is not open. Its log is not needed any more: the next
/// opening reads only the checkpoint.
///
/// The log's files are free afterwards, to be used again; files beyond the number that is kept are
/// removed. A database that is open takes checkpoints by itself, by time and by bytes logged, and
/// at any moment by `weft::Database::checkpoint`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The data directory.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let path = &self.directory;
        let existing = directory::existing(path)?;
        let is_there = inspect::is_database(&existing);
        if !is_there.map_err(|error| directory::refused(path, &OpenError::Io(error)))? {
            let nothing = OpenError::NoDatabase(path.display().to_string());
            return Err(directory::refused(path, &nothing));
        }
        drop(existing);
        let taken = directory::checkpoint(path, StorageOptions::default(), "loading")?;
        commands::write_results(&format!(
            "{} records in {} files, {} bytes; {} log files freed\n",
            taken.records, taken.parts, taken.bytes, taken.log_files_freed
        ))
    }
}
