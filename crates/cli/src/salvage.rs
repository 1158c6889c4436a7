//! `weft salvage`: brings a damaged directory into order, without what is destroyed.

use std::path::{Path, PathBuf};

use engine::inspect::{self, CheckReport};
use weft::StorageOptions;

use crate::directory::{self, Showing};

const EXAMPLES: &str = "\
Example:
  weft check /var/lib/weft
  cp -a /var/lib/weft /mnt/copy
  weft salvage /var/lib/weft --yes";

/// Gives up what is destroyed in a damaged data directory, for good.
///
/// Restore a backup instead if there is one: what is left after a salvage may be no
/// state that the database ever had. Log files end where something is destroyed, and
/// what depends on the rest is cut off; of checkpoint files, the rest behind the
/// damage is left out, and so are records that had left memory for a cold file and cannot be
/// read there (each of them is read), so records may be missing or older than they were. What
/// is left is written to a new checkpoint, and the directory is sound again.
///
/// Copy the directory first. Does nothing if the directory is sound.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The data directory.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// The directory has been copied, and what is destroyed may be given up.
    #[arg(long)]
    yes: bool,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let path = &self.directory;
        let before = check(path)?;
        if before.is_sound() {
            return commands::write_results("sound: there is nothing to salvage\n");
        }
        let damages: String = before
            .damages()
            .map(|finding| format!("{finding}\n"))
            .collect();
        if !self.yes {
            commands::write_results(&damages)?;
            return Err(commands::Error::input(format!(
                "salvage would give up for good what is destroyed in {0}; copy it first \
                 (cp -a {0} ELSEWHERE), then say --yes",
                path.display()
            )));
        }
        let records = salvage(path)?;
        let after = check(path)?;
        commands::write_results(&format!(
            "{damages}given up: what was destroyed in these {} places, and {} newer \
             transactions that were whole\nkept: {records} records\n",
            before.damages().count(),
            before.cut_off
        ))?;
        if after.is_sound() {
            Ok(())
        } else {
            Err(commands::Error::run(format!(
                "{} is still damaged; check it, and restore a backup",
                path.display()
            )))
        }
    }
}

fn check(path: &Path) -> commands::Result<CheckReport> {
    let directory = directory::existing(path)?;
    let mut showing = Showing::new("checking");
    let report = inspect::check(&directory, &mut |progress| {
        showing.show(progress.bytes_done, progress.bytes_total);
    });
    report.map_err(|error| directory::refused(path, &error))
}

/// Opens the database with what is left and takes a checkpoint: its records.
fn salvage(path: &Path) -> commands::Result<u64> {
    let storage = StorageOptions {
        salvage: true,
        ..StorageOptions::default()
    };
    Ok(directory::checkpoint(path, storage, "loading what is left")?.records)
}
