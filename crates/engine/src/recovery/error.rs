//! Reasons why a directory could not be opened.

use std::fmt;

use crate::{cold, error::Error, log::format::Flaw, timestamp::Timestamp};

/// Reason why a directory could not be opened. Nothing in it was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The device's error.
    Io(std::io::Error),
    /// The directory is open in another process, or in another database of this process.
    Locked(String),
    /// There is no database in the directory, and the caller does not want one to be made.
    NoDatabase(String),
    /// There are log or checkpoint files, but no manifest.
    NoManifest(String),
    /// A file differs from its original content.
    Corrupt {
        /// The file's name.
        file: String,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Kind of the damage.
        reason: String,
    },
    /// A file was written by a version of the program that this version does not know.
    UnknownVersion {
        /// The file's name.
        file: String,
        /// Its format version.
        version: u16,
    },
    /// Transactions that were durable are missing.
    Lost {
        /// Lane of the log.
        lane: u32,
        /// Number of transactions or blocks that were durable.
        durable: u64,
        /// Number of transactions or blocks that are there.
        found: u64,
    },
    /// The log ends before a moment at which it was durable.
    EndsEarly {
        /// Newest commit up to which the log is complete.
        log: Timestamp,
        /// Newest commit of which the checkpoint may have something.
        checkpoint: Timestamp,
    },
    /// The catalog of tables does not agree with itself.
    Catalog(String),
    /// The records do not fit into the memory limit.
    MemoryExhausted,
}

impl OpenError {
    pub(crate) fn corrupt(file: String, offset: u64, flaw: Flaw) -> OpenError {
        match flaw {
            Flaw::Version(version) => OpenError::UnknownVersion { file, version },
            flaw => OpenError::Corrupt {
                file,
                offset,
                reason: flaw.to_string(),
            },
        }
    }
}

impl From<Error> for OpenError {
    /// Converts the error with which the installing of a record ended.
    fn from(error: Error) -> OpenError {
        match error {
            Error::ColdRecord { position, .. } => {
                let (file, offset) = cold::locate(position as u64);
                OpenError::corrupt(cold::file_name(file), offset, Flaw::Checksum)
            }
            _ => OpenError::MemoryExhausted,
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io(error) => write!(f, "the device refused: {error}"),
            OpenError::Locked(location) => write!(
                f,
                "{location} is open elsewhere; close it there first, or choose another directory"
            ),
            OpenError::NoDatabase(location) => write!(
                f,
                "there is no database in {location}; name another directory"
            ),
            OpenError::NoManifest(file) => write!(
                f,
                "there is {file} but no MANIFEST; restore a backup, or name another directory"
            ),
            OpenError::Corrupt {
                file,
                offset,
                reason,
            } => write!(
                f,
                "{file} is damaged at byte {offset}: {reason}; restore a backup, or copy the \
                 directory and salvage what comes before the damage"
            ),
            OpenError::UnknownVersion { file, version } => write!(
                f,
                "{file} has format version {version}, which this program does not know; use the \
                 version of Weft that wrote it"
            ),
            OpenError::Lost {
                lane,
                durable,
                found,
            } => write!(
                f,
                "lane {lane} of the log ends after {found}, but {durable} were durable; restore \
                 the missing log files or a backup, or copy the directory and salvage the rest"
            ),
            OpenError::EndsEarly { log, checkpoint } => write!(
                f,
                "the log files end at commit {}, but were durable up to {}, which the checkpoint \
                 needs; restore a backup, or copy the directory and salvage the rest",
                log.0, checkpoint.0
            ),
            OpenError::Catalog(what) => write!(
                f,
                "{what}; restore a backup, or copy the directory and salvage the rest"
            ),
            OpenError::MemoryExhausted => f.write_str(
                "the records do not fit into the memory limit; open the database with a higher \
                 one",
            ),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> OpenError {
        OpenError::Io(error)
    }
}
