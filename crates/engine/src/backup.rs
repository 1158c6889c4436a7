//! Backups: a directory that opens as the database was at one moment.
//!
//! | subject | function and file |
//! | --- | --- |
//! | backup of an open database, while others write | [`Database::backup`], `online.rs` |
//! | backup of a directory that is not open, and restoring | [`copy`], `offline.rs` |
//! | directory that is written | `target.rs` |
//!
//! A backup has the checkpoint's parts, the cold files that they refer to, the log from there on,
//! and a manifest. The log's files are cut behind the last block that counts; nothing else differs
//! from the original. The manifest says that the incarnation has ended: a `Cut` names the timestamp
//! up to which its log counts and the blocks that must be there. Recovery itself writes such a cut
//! when it opens a directory, and treats a backup as any directory that was closed.
//!
//! # Content of an online backup: everything up to F, and nothing newer
//! The steps, in this order, while a `CheckpointGuard` is held:
//! 1. `F` = the frontier.
//! 2. `D` = for every lane, its transactions that are on the device.
//! 3. `M` = the manifest, with a checkpoint of this incarnation.
//! 4. The parts of `M`'s checkpoint are copied, and the cold files up to where they were when it
//!    was taken. The records that the parts refer to were on the device then, and do not change.
//! 5. The blocks of each lane from the checkpoint's start up to the first `D` are copied. Finding
//!    fewer is an error.
//! 6. A manifest is written: `M` with `Cut { up_to: F, ends: the blocks copied }`.
//!
//! *Everything up to F.* Let `t <= F` be a commit. If `t <= begin`, the chunk with its key has the
//! commit's version or a newer one, for every chunk's snapshot is `begin` or later. If not, the
//! commit is in a block from `starts` on (`checkpoint.rs`). The frontier rose to `F` because a
//! claim `(F, needed)` was satisfied: every lane had its first `needed` transactions on the device,
//! and `t` is among them (`log/frontier.rs`). A lane's count is stored before the frontier that it
//! satisfies, and loaded after it, so `needed <= D`. Hence `t` is among the first `D` of its lane
//! and is copied, or the backup fails with an error. The definitions of the tables that it writes
//! to are records of the catalog, copied like any others: a definition commits before the writes to
//! its table, or with them.
//!
//! *Nothing newer.* Recovery ignores transactions newer than `up_to` in the log, and the parts have
//! nothing newer than the checkpoint's `end`, which the frontier had reached when it was published,
//! so that `end <= F`.
//!
//! *Although others write.* The copied bytes do not change: parts are complete, and a block on the
//! device is not written again until its file is used again. Only a checkpoint frees a file, and
//! the guard keeps checkpoints away. A file that was free before may be used again at any time.
//! Whether its old bytes are read, its new ones, or half of each: its old blocks end before the
//! checkpoint's start and are not needed; its new blocks were not on the device when `D` was read
//! and are not counted. A block that is being written lies behind the first `D` and is not looked
//! at. And the log is read with direct transfers, lest pages of half-written blocks stay in the
//! system's cache, where the next recovery might find them.
//!
//! *No half a backup.* The manifest comes last, after everything it names is durable. A directory
//! without a manifest is refused by every opening, and files that an error leaves are removed.

mod offline;
mod online;
mod target;

use std::{fmt, ops::ControlFlow, sync::Arc};

use io::Directory;

pub use self::offline::copy;
use self::target::Target;
#[cfg(doc)]
use crate::{Database, manifest::Cut, storage::CheckpointGuard};
use crate::{
    checkpoint::{CheckpointError, format::Chunk},
    cold,
    inspect::{CheckReport, Progress},
    manifest::{CheckpointEntry, PartEntry},
    recovery::{OpenError, pieces::read_file},
    timestamp::Timestamp,
};

/// Content of a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Timestamp up to which the backup has everything, and beyond which it has nothing.
    pub up_to: Timestamp,
    /// Number of files, without the manifest.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Records in the checkpoint's files.
    pub checkpoint_records: u64,
}

/// Reason why there is no backup. The target has no manifest, and is no database.
#[derive(Debug)]
#[non_exhaustive]
pub enum BackupError {
    /// The database is in memory only.
    NoDirectory,
    /// The database has no checkpoint since it was opened; the caller should take one.
    NoCheckpoint,
    /// A checkpoint is being taken; the caller may try again.
    UnderWay,
    /// The database was closed meanwhile.
    Closed,
    /// The caller did not want to go on.
    Cancelled,
    /// There are files in the target.
    NotEmpty(String),
    /// The target is open, or cannot be locked.
    Target(OpenError),
    /// A file to be copied cannot be read, or is damaged.
    Source(OpenError),
    /// The directory to be copied is damaged, in all the places that the report names.
    Damaged(Box<CheckReport>),
    /// The error of the target's device.
    Device(std::io::Error),
    /// There is no fresh checkpoint.
    Checkpoint(CheckpointError),
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackupError::NoDirectory => {
                f.write_str("the database is in memory only; open it in a directory")
            }
            BackupError::NoCheckpoint => f.write_str(
                "the database has no checkpoint since it was opened; take one, then back it up",
            ),
            BackupError::UnderWay => {
                f.write_str("a checkpoint is being taken; wait until it is finished")
            }
            BackupError::Closed => {
                f.write_str("the database was closed meanwhile; open it and begin again")
            }
            BackupError::Cancelled => f.write_str("the copy was given up on request"),
            BackupError::NotEmpty(location) => write!(
                f,
                "{location} has files in it, and nothing is overwritten; name a new or empty \
                 directory"
            ),
            BackupError::Target(error) => write!(f, "the target: {error}"),
            BackupError::Source(error) => error.fmt(f),
            BackupError::Damaged(report) => {
                write!(
                    f,
                    "{} is damaged and was not copied; check it for advice",
                    report.location
                )?;
                report
                    .damages()
                    .take(1)
                    .try_for_each(|finding| write!(f, " ({}: {})", finding.file, finding.what))
            }
            BackupError::Device(error) => write!(
                f,
                "the target's device refused: {error}; free some space or name another directory"
            ),
            BackupError::Checkpoint(error) => write!(f, "the checkpoint before it: {error}"),
        }
    }
}

impl std::error::Error for BackupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BackupError::Target(error) | BackupError::Source(error) => Some(error),
            BackupError::Device(error) => Some(error),
            BackupError::Checkpoint(error) => Some(error),
            _ => None,
        }
    }
}

/// Callback that is told the progress of a copy, and returns whether to go on.
pub type Watch<'w> = dyn FnMut(&Progress) -> ControlFlow<()> + 'w;

/// Progress of a copy, with its callback.
struct Watched<'w> {
    progress: Progress,
    watch: &'w mut Watch<'w>,
}

impl Watched<'_> {
    fn advance(&mut self, bytes: u64) -> Result<(), BackupError> {
        self.progress.bytes_done += bytes;
        match (self.watch)(&self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(BackupError::Cancelled),
        }
    }
}

/// Copies the cold files that a checkpoint refers to, as far as it does. Sessions may write behind
/// that.
fn copy_cold(
    from: &Arc<dyn Directory>,
    checkpoint: Option<&CheckpointEntry>,
    target: &mut Target,
    watched: &mut Watched<'_>,
) -> Result<(), BackupError> {
    for file in checkpoint.iter().flat_map(|checkpoint| &checkpoint.cold) {
        let name = cold::file_name(file.number);
        let bytes = read_file(from, &name, file.bytes)
            .map_err(|error| BackupError::Source(error.into()))?;
        if (bytes.len() as u64) < file.bytes {
            let flaw = crate::log::format::Flaw::Absent;
            let error = OpenError::corrupt(name, bytes.len() as u64, flaw);
            return Err(BackupError::Source(error));
        }
        target.write(name, &bytes)?;
        watched.advance(file.bytes)?;
    }
    Ok(())
}

/// Reads a part of a checkpoint, and checks that it is as it was written.
fn read_part(
    directory: &Arc<dyn Directory>,
    database: u64,
    part: PartEntry,
) -> Result<Vec<u8>, BackupError> {
    let name = crate::checkpoint::file_name(part.file);
    let damaged = |offset: usize, flaw| {
        BackupError::Source(OpenError::corrupt(name.clone(), offset as u64, flaw))
    };
    let bytes = read_file(directory, &name, part.bytes)
        .map_err(|error| BackupError::Source(error.into()))?;
    let (mut offset, mut records) = (0, 0);
    while offset < bytes.len() {
        let chunk = Chunk::decode(&bytes[offset..]).map_err(|flaw| damaged(offset, flaw))?;
        if (chunk.header.database, chunk.header.part) != (database, part.file) {
            return Err(damaged(offset, crate::log::format::Flaw::Nonsense));
        }
        records += u64::from(chunk.header.records);
        offset += chunk.file_bytes();
    }
    if (bytes.len() as u64, records) != (part.bytes, part.records) {
        return Err(damaged(bytes.len(), crate::log::format::Flaw::Absent));
    }
    Ok(bytes)
}
