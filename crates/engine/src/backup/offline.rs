//! Copy of a directory that is not open.

use std::{collections::BTreeSet, ops::ControlFlow, sync::Arc};

use io::Directory;

use crate::{
    backup::{BackupError, BackupReport, Watch, Watched, copy_cold, read_part, target::Target},
    checkpoint,
    inspect::{self, Progress},
    log::segments,
    manifest::{Manifest, ManifestError},
    recovery::{Item, OpenError, RecoveryConfig, logs::Logs, pieces::read_file},
};

/// Copies the database in a directory that is not open to an empty directory: makes a backup, or
/// restores one. Every byte is checked first ([`inspect::check`]); superfluous files are left out.
/// `watch` is called after each file, for the check and then for the copy.
///
/// # Errors
/// [`BackupError::Damaged`], [`BackupError::NotEmpty`],
/// [`BackupError::Cancelled`]; [`BackupError::Source`] if the original is open or holds
/// no database; [`BackupError::Target`] and [`BackupError::Device`] if the copy cannot
/// be written.
pub fn copy(
    from: &Arc<dyn Directory>,
    to: &Arc<dyn Directory>,
    watch: &mut Watch<'_>,
) -> Result<BackupReport, BackupError> {
    let _lock = inspect::lock(from).map_err(BackupError::Source)?;
    let mut target = Target::begin(to)?;
    let mut is_cancelled = false;
    let mut checked = 0;
    let report = inspect::check_locked(from, &mut |progress| {
        // The copy goes through as many bytes again.
        checked = progress.bytes_total;
        let both = Progress {
            bytes_total: progress.bytes_total * 2,
            ..*progress
        };
        is_cancelled |= watch(&both) == ControlFlow::Break(());
    });
    let report = report.map_err(BackupError::Source)?;
    if is_cancelled {
        return Err(BackupError::Cancelled);
    }
    if !report.is_sound() {
        return Err(BackupError::Damaged(Box::new(report)));
    }
    let source = |error: OpenError| BackupError::Source(error);
    let mut manifest = load(from).map_err(source)?;
    let logs = Logs::read(from, &manifest, RecoveryConfig::default()).map_err(source)?;
    let parts = manifest.checkpoint.iter().flat_map(|c| &c.parts);
    let items: Vec<Item> = parts
        .map(|&part| Item::Part(part))
        .chain(logs.items)
        .collect();
    let cold = manifest.checkpoint.iter().flat_map(|c| &c.cold);
    let cold = cold.map(|file| file.bytes);
    let bytes: u64 = items.iter().map(Item::bytes).chain(cold).sum();
    let mut watched = Watched {
        progress: Progress {
            bytes_total: checked + bytes,
            bytes_done: checked,
        },
        watch,
    };
    copy_cold(
        from,
        manifest.checkpoint.as_ref(),
        &mut target,
        &mut watched,
    )?;
    let mut lanes = BTreeSet::new();
    for item in &items {
        match *item {
            Item::Part(part) => {
                let bytes = read_part(from, manifest.database, part)?;
                target.write(checkpoint::file_name(part.file), &bytes)?;
            }
            Item::Log { file, end, .. } => {
                let name = segments::file_name(file.number);
                let bytes = read_file(from, &name, end).map_err(|e| source(e.into()))?;
                target.write(name, &bytes)?;
                lanes.insert((file.header.incarnation, file.header.lane));
            }
        }
        watched.advance(item.bytes())?;
    }
    // The manifest is the one that opening the directory would write: all incarnations have ended.
    // Lanes whose files are all superfluous have no files in the copy, and are not missed.
    manifest.cuts = logs.cuts;
    for cut in &mut manifest.cuts {
        let incarnation = cut.incarnation;
        cut.ends
            .retain(|&(lane, _)| lanes.contains(&(incarnation, lane)));
    }
    manifest.incarnation += 1;
    manifest.forget_history();
    let report = target.finish(&manifest)?;
    Ok(BackupReport {
        up_to: logs.reached,
        ..report
    })
}

fn load(directory: &Arc<dyn Directory>) -> Result<Manifest, OpenError> {
    match Manifest::load(directory) {
        Ok(Some(manifest)) => Ok(manifest),
        Ok(None) => Err(OpenError::NoDatabase(directory.location())),
        Err(ManifestError::Io(error)) => Err(error.into()),
        Err(ManifestError::Flaw(flaw)) => Err(OpenError::corrupt(
            crate::manifest::NAME.to_owned(),
            0,
            flaw,
        )),
    }
}
