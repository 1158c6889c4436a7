//! Inspection of a data directory without opening the database in it: its files, their soundness, and the content of
//! the logs.
//!
//! | function or subject | file |
//! | --- | --- |
//! | [`check`]: every checksum and cross reference | `inspect.rs`, `manifest.rs`, `parts.rs`, `cold.rs`, `logs.rs`, `catalog.rs` |
//! | findings of a check, for people and programs | `report.rs`, `display.rs` |
//! | [`dump`]: blocks, transactions and writes of the log, one by one | `dump.rs` |
//! | blocks of one log file, for both functions | `blocks.rs` |
//!
//! An inspection changes nothing, except that the lock file is made if there is none: the directory is locked, and its
//! files stand still.
//!
//! # Against recovery
//! Recovery refuses at the first damage that it finds; the owner of a damaged directory wants to know all damage.
//! [`check`] therefore goes on after each finding, and checks more: that every transaction can be decoded, that keys
//! ascend, and that numbers which are written twice agree. [`check`] does not judge by itself whether the database
//! would open, and with which transactions: it asks recovery's own analysis of the log, and the two cannot disagree.
//!
//! Only one file at a time is in memory.

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

/// Progress of an operation that goes through files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes to go through.
    pub bytes_total: u64,
    /// Bytes gone through.
    pub bytes_done: u64,
}

/// Whether there is a database in a directory; opening a directory without one makes it.
///
/// # Errors
/// If the directory cannot be listed.
pub fn is_database(directory: &Arc<dyn Directory>) -> std::io::Result<bool> {
    Ok(directory.list()?.iter().any(|name| name == NAME))
}

/// Counter of the bytes gone through, which reports the progress.
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

/// Verifies every checksum and cross reference of the data directory, and reports its content. Calls `progress` after
/// every file.
///
/// # Errors
/// [`OpenError::Locked`] if the directory is open elsewhere, [`OpenError::NoDatabase`] if there is none in it,
/// [`OpenError::Io`] if it cannot be listed. Damage to the files is in the report.
pub fn check(
    directory: &Arc<dyn Directory>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<CheckReport, OpenError> {
    let _lock = lock(directory)?;
    check_locked(directory, progress)
}

/// Checks a directory as [`check`] does, for a caller that holds the lock.
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

/// Whether the name is one that the database gives to its files.
pub(crate) fn is_ours(name: &str) -> bool {
    name == NAME
        || segments::file_number(name).is_some()
        || checkpoint::file_number(name).is_some()
        || crate::cold::file_number(name).is_some()
        || crate::temporary::is_temporary(name)
}

/// State of a check.
struct Inspection<'d> {
    directory: &'d Arc<dyn Directory>,
    report: CheckReport,
    meter: Meter<'d>,
    /// Catalog as checkpoint and log have it, as far as they count.
    catalog: CatalogView,
    cold: cold::ColdFiles,
}

impl Inspection<'_> {
    /// Reports damage.
    fn damage(&mut self, file: &str, offset: u64, what: impl Into<String>, advice: &str) {
        self.report.findings.push(Finding {
            severity: Severity::Damage,
            file: file.to_owned(),
            offset: Some(offset),
            what: what.into(),
            advice: advice.to_owned(),
        });
    }

    /// Reports a flaw of bytes that were read.
    fn flaw(&mut self, file: &str, offset: u64, flaw: Flaw) {
        let advice = match flaw {
            Flaw::Version(_) => USE_THE_OTHER_VERSION,
            _ => RESTORE_OR_SALVAGE,
        };
        self.damage(file, offset, flaw.to_string(), advice);
    }

    /// Reports something that is worth knowing but harmless.
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

    /// Reads a file; reports a failure.
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

    /// Reports a file that cannot be understood at all.
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
