//! Looking at a data directory without opening the database in it: what is where,
//! is it sound, what do the logs say.
//!
//! | what | where |
//! | --- | --- |
//! | [`check`]: every checksum and cross reference | here, `manifest.rs`, `parts.rs`, `cold.rs`, `logs.rs`, `catalog.rs` |
//! | what it found, for people and programs | `report.rs`, `display.rs` |
//! | [`dump`]: blocks, transactions and writes of the log, one by one | `dump.rs` |
//! | the blocks of one log file, for both | `blocks.rs` |
//!
//! Nothing is changed, except that the lock file is made where there is none: the
//! directory is locked, so what is looked at stands still.
//!
//! # Against recovery
//! Recovery refuses at the first thing that is wrong; whoever has a damaged directory
//! wants to know all of them. So [`check`] goes on after each, and looks at more:
//! whether every transaction can be decoded, keys ascend, and numbers that are written
//! twice agree. Whether the database would open, and with what, it does not judge by
//! itself: it asks recovery's own analysis of the log, so that the two cannot disagree.
//!
//! One file at a time is in memory.

mod blocks;
mod catalog;
mod cold;
mod display;
mod dump;
mod logs;
mod manifest;
mod parts;
mod report;

use std::sync::Arc;

use io::{Directory, DirectoryLock, OpenMode};

pub(crate) use self::blocks::Blocks;
pub use self::{
    dump::{DumpEntry, DumpSelection, Fate, dump},
    report::{
        CheckReport, CheckpointSummary, ColdContents, Contents, FileReport, FileState, Finding,
        IndexSummary, LogContents, PartContents, Severity, TableSummary,
    },
};
use crate::{
    catalog::view::CatalogView,
    checkpoint,
    log::{format::Flaw, segments},
    manifest::{CHECKPOINT_NAME, NAME, NEXT_NAME},
    recovery::OpenError,
};

/// How far something is that goes through files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes to go through.
    pub bytes_total: u64,
    /// Bytes gone through.
    pub bytes_done: u64,
}

/// Whether there is a database in a directory: opening one makes it.
///
/// # Errors
/// If the directory cannot be listed.
pub fn is_database(directory: &Arc<dyn Directory>) -> std::io::Result<bool> {
    Ok(directory.list()?.iter().any(|name| name == NAME))
}

/// Adds up what was gone through, and tells.
pub(crate) struct Meter<'p> {
    progress: Progress,
    tell: &'p mut dyn FnMut(&Progress),
}

impl<'p> Meter<'p> {
    pub(crate) fn new(bytes_total: u64, tell: &'p mut dyn FnMut(&Progress)) -> Meter<'p> {
        let progress = Progress {
            bytes_total,
            bytes_done: 0,
        };
        Meter { progress, tell }
    }

    pub(crate) fn advance(&mut self, bytes: u64) {
        self.progress.bytes_done += bytes;
        (self.tell)(&self.progress);
    }
}

/// Verifies every checksum and cross reference of the data directory, and says what
/// is where. Calls `progress` after every file.
///
/// # Errors
/// [`OpenError::Locked`] if the directory is open elsewhere,
/// [`OpenError::NoDatabase`] if there is none in it, [`OpenError::Io`] if it cannot
/// be listed. What is wrong with the files is in the report.
pub fn check(
    directory: &Arc<dyn Directory>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<CheckReport, OpenError> {
    let _lock = lock(directory)?;
    check_locked(directory, progress)
}

/// As [`check`], for whoever holds the lock.
pub(crate) fn check_locked(
    directory: &Arc<dyn Directory>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<CheckReport, OpenError> {
    let mut files = Vec::new();
    for name in directory.list()? {
        let bytes = length(directory, &name)?;
        files.push((name, bytes));
    }
    if !files.iter().any(|(name, _)| is_ours(name)) {
        return Err(OpenError::NoDatabase(directory.location()));
    }
    let total = files.iter().map(|(_, bytes)| bytes).sum();
    let mut inspection = Inspection {
        directory,
        report: CheckReport {
            location: directory.location(),
            ..CheckReport::default()
        },
        meter: Meter::new(total, progress),
        catalog: CatalogView::default(),
        cold: cold::ColdFiles::default(),
    };
    let manifest = inspection.check_manifest(&files);
    inspection.check_parts(&files, manifest.as_ref());
    inspection.note_cold_files(&files, manifest.as_ref());
    inspection.check_logs(&files, manifest.as_ref());
    for (name, bytes) in &files {
        if !is_ours(name) {
            inspection.note_other(name, *bytes);
        }
    }
    let mut report = inspection.report;
    report.files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(report)
}

/// Locks a directory as opening the database does.
pub(crate) fn lock(directory: &Arc<dyn Directory>) -> Result<DirectoryLock, OpenError> {
    directory.lock().map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => OpenError::Locked(directory.location()),
        _ => OpenError::from(error),
    })
}

fn length(directory: &Arc<dyn Directory>, name: &str) -> std::io::Result<u64> {
    directory.open(name, OpenMode::Read, false)?.length()
}

/// Whether the name is one that we give to files that count.
pub(crate) fn is_ours(name: &str) -> bool {
    name == NAME
        || segments::file_number(name).is_some()
        || checkpoint::file_number(name).is_some()
        || crate::cold::file_number(name).is_some()
}

/// A check under way.
struct Inspection<'d> {
    directory: &'d Arc<dyn Directory>,
    report: CheckReport,
    meter: Meter<'d>,
    /// What checkpoint and log say of the catalog, as far as it counts.
    catalog: CatalogView,
    cold: cold::ColdFiles,
}

impl Inspection<'_> {
    /// Something is wrong.
    fn damage(&mut self, file: &str, offset: u64, what: impl Into<String>, advice: &str) {
        self.report.findings.push(Finding {
            severity: Severity::Damage,
            file: file.to_owned(),
            offset: Some(offset),
            what: what.into(),
            advice: advice.to_owned(),
        });
    }

    /// Something is wrong with bytes that were read.
    fn flaw(&mut self, file: &str, offset: u64, flaw: Flaw) {
        let advice = match flaw {
            Flaw::Version(_) => USE_THE_OTHER_VERSION,
            _ => RESTORE_OR_SALVAGE,
        };
        self.damage(file, offset, flaw.to_string(), advice);
    }

    /// Something that is worth knowing but harms nobody.
    fn note(&mut self, file: &str, offset: Option<u64>, what: impl Into<String>, advice: &str) {
        self.report.findings.push(Finding {
            severity: Severity::Note,
            file: file.to_owned(),
            offset,
            what: what.into(),
            advice: advice.to_owned(),
        });
    }

    fn note_other(&mut self, name: &str, bytes: u64) {
        let state = if [NEXT_NAME, CHECKPOINT_NAME].contains(&name) {
            FileState::Superfluous
        } else {
            self.note(name, None, "this is no file of a database", LEAVE_OR_MOVE);
            FileState::Stranger
        };
        self.report.files.push(FileReport {
            name: name.to_owned(),
            bytes,
            used_bytes: 0,
            contents: Contents::Unknown,
            state,
        });
    }

    /// Reads a file; if that fails, says so.
    fn read(&mut self, name: &str, bytes: u64) -> Option<Vec<u8>> {
        let read = crate::recovery::pieces::read_file(self.directory, name, bytes);
        self.meter.advance(bytes);
        match read {
            Ok(read) => Some(read),
            Err(error) => {
                self.damage(
                    name,
                    0,
                    format!("the device refused: {error}"),
                    LOOK_AT_THE_DEVICE,
                );
                None
            }
        }
    }

    /// A file that cannot be understood at all.
    fn unreadable(&mut self, name: &str, bytes: u64, state: FileState) {
        self.report.files.push(FileReport {
            name: name.to_owned(),
            bytes,
            used_bytes: 0,
            contents: Contents::Unknown,
            state,
        });
    }
}

const RESTORE_OR_SALVAGE: &str =
    "restore a backup, or copy the directory and salvage what comes before the damage";
const RESTORE_OR_PUT_BACK: &str = "put the file back if it was moved, else restore a backup, or copy the directory and salvage \
     the rest";
const USE_THE_OTHER_VERSION: &str = "use the version of Weft that wrote it";
const LOOK_AT_THE_DEVICE: &str = "look at the device, copy what can be read, or restore a backup";
const LEAVE_OR_MOVE: &str = "Weft does not touch it; move it elsewhere if it is in the way";
