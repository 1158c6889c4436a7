//! The report of a check.

use std::{ops::Range, time::Duration};

use crate::timestamp::Timestamp;

/// Report of [`crate::inspect::check`]. Displays as a page for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Directory that was checked.
    pub location: String,
    /// The database's number, chosen at random when it was made; 0 if the manifest
    /// cannot be read.
    pub database: u64,
    /// Number of openings of the database.
    pub incarnation: u64,
    /// Tables of the database, by number.
    pub tables: Vec<TableSummary>,
    /// Current checkpoint.
    pub checkpoint: Option<CheckpointSummary>,
    /// All files by name, including the missing ones.
    pub files: Vec<FileReport>,
    /// All damage, and everything else that is worth knowing.
    pub findings: Vec<Finding>,
    /// Timestamp up to which opening the database brings everything back; `None` if it would be
    /// refused.
    pub recovers_to: Option<Timestamp>,
    /// Timestamp up to which opening with salvage would bring back the rest, if a plain opening is
    /// refused and this one is possible.
    pub salvages_to: Option<Timestamp>,
    /// Number of whole transactions that are newer than that. They were not acknowledged to a
    /// client that waited for the device, and opening the database cuts them off.
    pub cut_off: u64,
}

impl CheckReport {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damages().next().is_none()
    }

    /// Returns all findings of damage.
    pub fn damages(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.severity == Severity::Damage)
    }

    /// Returns the bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Table, as a check found it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSummary {
    /// Number of the table in logs and checkpoints.
    pub number: u32,
    /// Name of the table.
    pub name: String,
    /// Lifetime of the table's records; `None` if they never expire.
    pub ttl: Option<Duration>,
    /// Number of the table's records in the checkpoint.
    pub checkpoint_records: u64,
    /// Indexes that the table had when the database was last open, by number. The table is not
    /// written without them.
    pub indexes: Vec<IndexSummary>,
}

/// Index, as the catalog records it. The directory does not have the index's entries: they are
/// derived from the table when the index is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexSummary {
    /// Number of the index in the catalog.
    pub number: u32,
    /// Name of the index.
    pub name: String,
    /// Whether at most one record has each key.
    pub unique: bool,
}

/// Current checkpoint, as the manifest has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointSummary {
    /// Number of the checkpoint among all of the database.
    pub number: u64,
    /// Incarnation that took the checkpoint.
    pub incarnation: u64,
    /// Timestamp up to which the checkpoint has everything.
    pub begin: Timestamp,
    /// Timestamp beyond which the checkpoint has nothing.
    pub end: Timestamp,
    /// Number of files.
    pub parts: u64,
    /// Number of records.
    pub records: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// File, as a check found it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileReport {
    /// Name of the file.
    pub name: String,
    /// Length of the file in bytes; 0 if it is missing.
    pub bytes: u64,
    /// End of the known content of the file, in bytes.
    pub used_bytes: u64,
    /// Content of the file.
    pub contents: Contents,
    /// State of the file.
    pub state: FileState,
}

/// Content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Contents {
    /// The manifest.
    Manifest,
    /// A part of the log.
    Log(LogContents),
    /// A part of a checkpoint.
    Part(PartContents),
    /// Cold records.
    Cold(ColdContents),
    /// Unknown content.
    Unknown,
}

/// Content of a cold file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColdContents {
    /// Number of records that the checkpoint refers to.
    pub records: u64,
}

/// Content of a log file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogContents {
    /// Opening of the database that wrote the file.
    pub incarnation: u64,
    /// Lane of the file: the worker that wrote it.
    pub lane: u32,
    /// Number of the file among those of the lane, from 0.
    pub ordinal: u64,
    /// Numbers of the blocks.
    pub blocks: Range<u64>,
    /// Number of transactions in the blocks.
    pub transactions: u64,
    /// Number of records that the transactions wrote or deleted.
    pub writes: u64,
    /// Timestamps of the first and the last transaction.
    pub timestamps: Option<(Timestamp, Timestamp)>,
}

/// Content of a checkpoint file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartContents {
    /// Table of the records.
    pub table: u32,
    /// Number of chunks.
    pub chunks: u32,
    /// Number of records in the chunks.
    pub records: u64,
    /// First and last snapshot of the chunks.
    pub snapshots: Option<(Timestamp, Timestamp)>,
}

/// Whether the database needs a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileState {
    /// The file is needed, and sound.
    Needed,
    /// The file is needed, and damaged.
    Damaged,
    /// The file is needed, and not there.
    Missing,
    /// The file is not needed any more, and is used again or removed.
    Superfluous,
    /// The file was left half made by an interruption. Opening the database removes it.
    Blank,
    /// The file is not of this database.
    Stranger,
}

impl FileState {
    /// Returns the name of the state, one word.
    pub fn name(self) -> &'static str {
        match self {
            FileState::Needed => "needed",
            FileState::Damaged => "damaged",
            FileState::Missing => "missing",
            FileState::Superfluous => "superfluous",
            FileState::Blank => "blank",
            FileState::Stranger => "stranger",
        }
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing, and harmless.
    Note,
    /// Something was lost or changed.
    Damage,
}

impl Severity {
    /// Returns the name of the severity, one word.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Damage => "damage",
        }
    }
}

/// Damage, or something worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Severity of the finding.
    pub severity: Severity,
    /// File that the finding is about.
    pub file: String,
    /// Offset in the file, in bytes, if the finding is about a place.
    pub offset: Option<u64>,
    /// Description of the finding.
    pub what: String,
    /// Advice for the owner of the directory.
    pub advice: String,
}
