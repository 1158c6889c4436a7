//! What can go wrong, in one enum.
//!
//! Three families: *aborts* (run the transaction again; [`crate::Database::run`]
//! does so by itself), *errors of use* (correct the call; the transaction can go
//! on) and *ends* (the database is closed, the closure panicked).

use std::fmt;

pub use engine::Abort;
use interleave::Lost;

/// Why a call failed. See the module text of [`crate`] for who retries what.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The transaction was aborted and nothing of it remains. Retryable;
    /// [`crate::Database::run`] retries by itself.
    #[error(transparent)]
    Abort(#[from] Abort),
    /// The transaction was aborted again and again; see
    /// [`crate::Options::retries_max`].
    #[error("the transaction was aborted {attempts} times, last because {last}")]
    RetriesExhausted {
        /// How often it was run.
        attempts: u32,
        /// Why the last attempt was aborted.
        last: Abort,
    },
    /// An insert met a record with the same key. The transaction can go on.
    #[error("a record with this key exists; use update or upsert to change it")]
    DuplicateKey,
    /// The encoded key is longer than [`crate::KEY_BYTES_MAX`]. The transaction
    /// can go on.
    #[error(
        "the key has {bytes} bytes when encoded; at most {} are allowed",
        crate::KEY_BYTES_MAX
    )]
    KeyTooLong {
        /// Bytes of the encoded key.
        bytes: usize,
    },
    /// The encoded value is longer than [`crate::VALUE_BYTES_MAX`]. The
    /// transaction can go on.
    #[error(
        "the value has {bytes} bytes when encoded; at most {} are allowed",
        crate::VALUE_BYTES_MAX
    )]
    ValueTooLong {
        /// Bytes of the encoded value.
        bytes: usize,
    },
    /// The memory limit is reached; the operation changed nothing. The
    /// transaction can go on (read, delete) or be rolled back.
    #[error(
        "the memory limit is reached; delete records, or open the database with a larger memory_bytes_max"
    )]
    MemoryExhausted,
    /// A stored key or value is not what its type expects.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// There is a table of this name.
    #[error("a table named {0:?} exists; open it, or choose another name")]
    TableExists(String),
    /// There is no table of this name.
    #[error("there is no table named {0:?}; create it first")]
    NoSuchTable(String),
    /// The table was created with other types.
    #[error(transparent)]
    WrongType(#[from] Box<WrongType>),
    /// The table belongs to another database.
    #[error("the table {0:?} belongs to another database; open it in this one")]
    ForeignTable(String),
    /// A field of [`crate::Options`] is out of range.
    #[error(transparent)]
    InvalidOption(#[from] Box<InvalidOption>),
    /// The transaction was already committed or rolled back.
    #[error("the transaction has already ended; begin a new one")]
    Ended,
    /// The database is closed, or was closed while the transaction was open
    /// (which rolled it back).
    #[error("the database is closed; open it again")]
    Closed,
    /// The closure panicked; the transaction was rolled back. Holds the
    /// panic's message.
    #[error("the transaction panicked and was rolled back: {0}")]
    Panicked(String),
    /// A blocking call was made on a worker thread, which would wait for
    /// itself.
    #[error("a worker thread cannot block on a transaction; await it, or block on another thread")]
    WouldBlockWorker,
    /// The operating system refused something (a thread, for example).
    #[error("the operating system refused: {0}")]
    System(#[from] std::io::Error),
    /// The engine reported something this version of the interface does not
    /// know by name.
    #[error("{0}")]
    Engine(engine::Error),
    /// An error of the application, made by [`Error::application`]. Rolls the
    /// transaction back.
    #[error("{0}")]
    Application(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Results with [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Wraps an error of the application, to be returned from a transaction's
    /// closure. The transaction is rolled back, and not retried unless an abort
    /// is among the error's sources.
    pub fn application(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Application(error.into())
    }

    /// Whether running the transaction again may succeed: true for aborts, and
    /// for application errors with an abort among their sources.
    pub fn is_retryable(&self) -> bool {
        self.abort().is_some()
    }

    /// The abort behind this error, if it is retryable.
    pub fn abort(&self) -> Option<Abort> {
        match self {
            Error::Abort(abort) => Some(*abort),
            Error::Application(error) => abort_among_sources(&**error),
            _ => None,
        }
    }
}

fn abort_among_sources(error: &(dyn std::error::Error + 'static)) -> Option<Abort> {
    let mut error = Some(error);
    while let Some(current) = error {
        if let Some(ours) = current.downcast_ref::<Error>() {
            return ours.abort();
        }
        if let Some(abort) = current.downcast_ref::<Abort>() {
            return Some(*abort);
        }
        error = current.source();
    }
    None
}

impl From<engine::Error> for Error {
    #[inline]
    fn from(error: engine::Error) -> Error {
        match error {
            engine::Error::Abort(abort) => Error::Abort(abort),
            engine::Error::DuplicateKey => Error::DuplicateKey,
            engine::Error::KeyTooLong { bytes } => Error::KeyTooLong { bytes },
            engine::Error::ValueTooLong { bytes } => Error::ValueTooLong { bytes },
            engine::Error::MemoryExhausted => Error::MemoryExhausted,
            engine::Error::Ended => Error::Ended,
            other => Error::Engine(other),
        }
    }
}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Error {
        match lost {
            Lost::Panicked(message) => Error::Panicked(message),
            Lost::WouldBlockWorker => Error::WouldBlockWorker,
            // The only other reason: the worker was shut down.
            _ => Error::Closed,
        }
    }
}

/// Stored bytes that are not what a type expects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stored bytes cannot be read: {0}")]
pub struct DecodeError(Box<str>);

impl DecodeError {
    /// An error with the given explanation, for codecs.
    pub fn new(explanation: impl fmt::Display) -> DecodeError {
        DecodeError(explanation.to_string().into())
    }

    #[cold]
    pub(crate) fn length(type_name: &str, expected: usize, found: usize) -> DecodeError {
        DecodeError::new(format_args!(
            "a {type_name} has {expected} bytes, found {found}"
        ))
    }
}

/// A table was opened with types that it was not created with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the table {table:?} holds {found}, not {expected}; open it with the types it was created with"
)]
#[non_exhaustive]
pub struct WrongType {
    /// The table's name.
    pub table: String,
    /// The types asked for.
    pub expected: crate::TypeTag,
    /// The types the table was created with.
    pub found: crate::TypeTag,
}

/// An option that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the option {field} is {value}; it must be {range}")]
#[non_exhaustive]
pub struct InvalidOption {
    /// The field of [`crate::Options`].
    pub field: &'static str,
    /// What it was set to.
    pub value: String,
    /// What is allowed.
    pub range: String,
}

const _: () = assert!(
    size_of::<Error>() <= 32,
    "results travel through every transaction's frame"
);
