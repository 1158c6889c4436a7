//! `weft salvage`: makes a damaged directory sound, without the destroyed parts.

use std::path::{Path, PathBuf};

use engine::inspect::{self, CheckReport};
use weft::StorageOptions;

use crate::directory::{self, Showing};

const EXAMPLES: &str = "\
Example:
  weft check /var/lib/weft
  cp -a /var/lib/weft /mnt/copy
  weft salvage /var/lib/weft --yes";

/// Gives up the destroyed parts of a damaged data directory, for good.
///
/// Restore a backup instead if there is one: after a salvage the database may be in a state that it
/// never had before. A log file ends at its first damage, and every part of the log that depends on
/// the rest is cut off. The rest of a checkpoint file behind damage is left out. Records that had
/// left memory for a cold file and cannot be read there are left out too (each of them is read).
/// Records may therefore be missing or older than they were. The remaining records are written to a
/// new checkpoint, and the directory is sound again.
///
/// Copy the directory first. Does nothing if the directory is sound.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The data directory.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Confirm that the directory has been copied, and that its destroyed parts may be given up.
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

/// Opens the database with the remaining records and takes a checkpoint; returns the number of its
/// records.
fn salvage(path: &Path) -> commands::Result<u64> {
    let storage = StorageOptions {
        salvage: true,
        ..StorageOptions::default()
    };
    Ok(directory::checkpoint(path, storage, "loading what is left")?.records)
}
