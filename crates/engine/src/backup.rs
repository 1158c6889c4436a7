//! Backups: a directory that opens as the database was at one moment.
//!
//! | what | where |
//! | --- | --- |
//! | of an open database, while others write | [`Database::backup`], `online.rs` |
//! | of a directory that is not open, and restoring | [`copy`], `offline.rs` |
//! | the directory that is written | `target.rs` |
//!
//! A backup has the checkpoint's parts, the cold files that they refer to, the log from there
//! on, and a manifest. The
//! log's files are cut behind the last block that counts; nothing else differs from
//! the original. The manifest says that the incarnation has ended: a `Cut` names the
//! timestamp up to which its log counts and the blocks that must be there. That is
//! what recovery itself writes down when it opens a directory, so it treats a backup
//! as any directory that was closed.
//!
//! # What an online backup has: everything up to F, and nothing newer
//! The steps, in this order, while a `CheckpointGuard` is held:
//! 1. `F` = the frontier.
//! 2. `D` = for every lane, its transactions that are on the device.
//! 3. `M` = the manifest, with a checkpoint of this incarnation.
//! 4. The parts of `M`'s checkpoint are copied, and the cold files up to where they were when
//!    it was taken. What they refer to was on the device then, and does not change.
//! 5. Of each lane, the blocks from the checkpoint's start up to the first `D` are
//!    copied. Fewer are an error.
//! 6. A manifest is written: `M` with `Cut { up_to: F, ends: the blocks copied }`.
//!
//! *Everything up to F.* Let `t <= F` be a commit. If `t <= begin`, the chunk with its
//! key has it or what replaced it, for every chunk's snapshot is `begin` or later. If
//! not, it is in a block from `starts` on (`checkpoint.rs`). The frontier rose to `F`
//! because a claim `(F, needed)` was satisfied: every lane had its first `needed`
//! transactions on the device, and `t` is among them (`log/frontier.rs`). A lane's
//! count is stored before the frontier that it satisfies, and loaded after it, so
//! `needed <= D`. Hence `t` is among the first `D` of its lane and is copied, or an
//! error says that it is not. The names of tables that it writes to are in `M`, since a
//! table is in the manifest before anybody can write to it, and `M` is read after `F`.
//!
//! *Nothing newer.* Recovery ignores what is newer than `up_to` in the log, and the
//! parts have nothing newer than the checkpoint's `end`, which the frontier had reached
//! when it was published, so that `end <= F`. (Tables have no timestamps: one that was
//! made since may be there, empty.)
//!
//! *Although others write.* What is copied does not change: parts are complete, and a
//! block on the device is not written again until its file is used again. That takes
//! a checkpoint to free it, and the guard keeps those away. A file that was free before
//! may be used again at any time. Whatever of it is read, old or new or half: its old
//! blocks end before the checkpoint's start, so they are not needed; its new blocks
//! were not on the device when `D` was read, so they are not counted. A block that is
//! being written lies behind the first `D` and is not looked at. And the log is read
//! with direct transfers, lest pages of half-written blocks stay in the system's
//! cache, where the next recovery might find them.
//!
//! *No half a backup.* The manifest comes last, after everything it names is durable.
//! A directory without one is refused by everybody, and what an error leaves is removed.

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

/// What a backup has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Everything up to here, and nothing newer.
    pub up_to: Timestamp,
    /// Files, the manifest not counted.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records in the checkpoint among them.
    pub checkpoint_records: u64,
}

/// Why there is no backup. The target has no manifest, and is no database.
#[derive(Debug)]
#[non_exhaustive]
pub enum BackupError {
    /// The database is in memory only.
    NoDirectory,
    /// The database has no checkpoint since it was opened; take one.
    NoCheckpoint,
    /// A checkpoint is being taken; try again.
    UnderWay,
    /// The database was closed meanwhile.
    Closed,
    /// The caller did not want to go on.
    Cancelled,
    /// There are files in the target.
    NotEmpty(String),
    /// The target is open, or cannot be locked.
    Target(OpenError),
    /// What is to be copied cannot be read, or is damaged.
    Source(OpenError),
    /// What is to be copied is damaged, in all the places that the report names.
    Damaged(Box<CheckReport>),
    /// The target's device refused something.
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

/// Told how far a copy is, and asked whether to go on.
pub type Watch<'w> = dyn FnMut(&Progress) -> ControlFlow<()> + 'w;

/// How far a copy is.
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

/// Copies the cold files that a checkpoint refers to, as far as it does. Others may write
/// behind that.
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

/// Reads a part of a checkpoint that is as it was written.
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
