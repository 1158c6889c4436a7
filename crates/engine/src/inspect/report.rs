//! What a check found.

use std::{ops::Range, time::Duration};

use crate::timestamp::Timestamp;

/// What [`crate::inspect::check`] found. Displays as a page for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Which directory.
    pub location: String,
    /// The database's number, chosen at random when it was made; 0 if the manifest
    /// cannot be read.
    pub database: u64,
    /// How often it was opened.
    pub incarnation: u64,
    /// Its tables, by number.
    pub tables: Vec<TableSummary>,
    /// The checkpoint that counts.
    pub checkpoint: Option<CheckpointSummary>,
    /// What is where: all files by name, the missing ones included.
    pub files: Vec<FileReport>,
    /// All that is wrong or worth knowing.
    pub findings: Vec<Finding>,
    /// Opening the database brings back everything up to here. `None`: opening it
    /// would be refused.
    pub recovers_to: Option<Timestamp>,
    /// Opening it with salvage would bring back what is left of everything up to
    /// here, if opening it is refused and this is possible.
    pub salvages_to: Option<Timestamp>,
    /// Whole transactions that are newer than that. They were acknowledged to nobody
    /// that waited for the device, and opening the database cuts them off.
    pub cut_off: u64,
}

impl CheckReport {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damages().next().is_none()
    }

    /// All that is damaged.
    pub fn damages(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.severity == Severity::Damage)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSummary {
    /// Its number in logs and checkpoints.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// How long its records live. `None`: for ever.
    pub ttl: Option<Duration>,
    /// Records in the checkpoint.
    pub checkpoint_records: u64,
    /// The indexes that it had when the database was open last, by number. Without them
    /// nobody writes it.
    pub indexes: Vec<IndexSummary>,
}

/// An index, as the catalog records it. Its entries are nowhere in the directory: they
/// are derived from the table when the index is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexSummary {
    /// Its number in the catalog.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// At most one record has each key.
    pub unique: bool,
}

/// The checkpoint that counts, as the manifest has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointSummary {
    /// Counts the checkpoints of the database.
    pub number: u64,
    /// The incarnation that took it.
    pub incarnation: u64,
    /// It has everything up to here.
    pub begin: Timestamp,
    /// It has nothing newer than this.
    pub end: Timestamp,
    /// Its files.
    pub parts: u64,
    /// Their records.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileReport {
    /// Its name.
    pub name: String,
    /// Its length; 0 if it is missing.
    pub bytes: u64,
    /// Bytes up to the end of what was found in it.
    pub used_bytes: u64,
    /// What was found in it.
    pub contents: Contents,
    /// Whether it counts.
    pub state: FileState,
}

/// What was found in a file.
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
    /// Nothing that is known.
    Unknown,
}

/// What was found in a cold file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColdContents {
    /// Records that the checkpoint refers to.
    pub records: u64,
}

/// What was found in a log file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogContents {
    /// Which opening of the database wrote it.
    pub incarnation: u64,
    /// Which of its workers.
    pub lane: u32,
    /// Which of that worker's files, from 0.
    pub ordinal: u64,
    /// The numbers of its blocks.
    pub blocks: Range<u64>,
    /// Transactions in them.
    pub transactions: u64,
    /// Records that these wrote or deleted.
    pub writes: u64,
    /// The timestamps of the first and the last of them.
    pub timestamps: Option<(Timestamp, Timestamp)>,
}

/// What was found in a checkpoint file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartContents {
    /// The table that its records are of.
    pub table: u32,
    /// Chunks.
    pub chunks: u32,
    /// Records in them.
    pub records: u64,
    /// The first and the last snapshot they are of.
    pub snapshots: Option<(Timestamp, Timestamp)>,
}

/// Whether a file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileState {
    /// It is needed, and sound.
    Needed,
    /// It is needed, and damaged.
    Damaged,
    /// It is needed, and not there.
    Missing,
    /// Nothing in it is needed any more. It is used again or removed.
    Superfluous,
    /// Left half made by an interruption. Opening the database removes it.
    Blank,
    /// Not a file of this database.
    Stranger,
}

impl FileState {
    /// Its name, one word.
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

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing; harms nobody.
    Note,
    /// Something was lost or changed.
    Damage,
}

impl Severity {
    /// Its name, one word.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Damage => "damage",
        }
    }
}

/// Something that is wrong or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// In which file.
    pub file: String,
    /// Where in it, in bytes, if it is about a place.
    pub offset: Option<u64>,
    /// What it is.
    pub what: String,
    /// What to do about it.
    pub advice: String,
}
