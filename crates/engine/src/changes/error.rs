//! Errors of change streams.

use std::fmt;

use crate::{error::Error, log::segments::NotKept, recovery::OpenError, timestamp::Timestamp};

/// Reason why changes cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChangesError {
    /// The database is in memory only: it has no log that could be read, and only the tables have
    /// its commits.
    InMemory,
    /// Needed log was given up: a checkpoint superseded it, and there was more of it than
    /// [`crate::LogConfig::change_retention_bytes`].
    NotKept {
        /// Position of the reader.
        position: Timestamp,
        /// Oldest position from which a reader can go on.
        oldest: Timestamp,
    },
    /// No commit ever reached the position: it is of another database, or of commits that were not
    /// durable when this one crashed.
    Unreached {
        /// Position at which the reader was to begin.
        position: Timestamp,
        /// Newest commit.
        newest: Timestamp,
    },
    /// The log is damaged.
    Damaged(OpenError),
    /// The device's error. Calling again may succeed.
    Device(std::io::Error),
    /// The database is closed or poisoned, or its memory exhausted.
    Engine(Error),
}

impl ChangesError {
    pub(super) fn not_kept(position: Timestamp, not_kept: NotKept) -> ChangesError {
        ChangesError::NotKept {
            position,
            oldest: not_kept.oldest,
        }
    }
}

impl fmt::Display for ChangesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangesError::InMemory => f.write_str(
                "the database is in memory only, so it has no log to read changes from; open it \
                 in a directory",
            ),
            ChangesError::NotKept { position, oldest } => write!(
                f,
                "the changes after position {} are not kept any more, those after {} are; copy \
                 the tables in one transaction, then go on from its snapshot, or keep more with \
                 change_retention_bytes",
                position.0, oldest.0
            ),
            ChangesError::Unreached { position, newest } => write!(
                f,
                "nothing was committed at position {} yet, the newest commit is {}: it is of \
                 another database, or of commits that a crash has taken back; copy the tables \
                 and go on from there",
                position.0, newest.0
            ),
            ChangesError::Damaged(error) => error.fmt(f),
            ChangesError::Device(error) => write!(f, "the device refused: {error}"),
            ChangesError::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ChangesError {}

impl From<std::io::Error> for ChangesError {
    fn from(error: std::io::Error) -> ChangesError {
        ChangesError::Device(error)
    }
}

impl From<Error> for ChangesError {
    fn from(error: Error) -> ChangesError {
        ChangesError::Engine(error)
    }
}
