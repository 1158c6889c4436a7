//! Errors of all calls, in one enum.
//!
//! Three families: *aborts* (run the transaction again; [`crate::Database::run`]
//! does so by itself), *errors of use* (correct the call; the transaction can go
//! on) and *ends* (the database is closed, the closure panicked).

use std::fmt;

pub use engine::Abort;
use interleave::Lost;

/// Error of a call. The module text of [`crate`] says which errors are retried.
///
/// The contents of every variant are one word. Results with this error are therefore returned in
/// two registers, which matters: every operation returns one through all levels of the application,
/// and reading it back from memory just written cost some five nanoseconds per level.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The transaction was aborted and nothing of it remains. The error is retryable;
    /// [`crate::Database::run`] retries by itself.
    #[error(transparent)]
    Abort(#[from] Abort),
    /// The transaction was aborted again and again; see
    /// [`crate::Options::retries_max`].
    #[error(transparent)]
    RetriesExhausted(#[from] Box<RetriesExhausted>),
    /// An insert met a record with the same key. The transaction can go on.
    #[error("a record with this key exists; use update or upsert to change it")]
    DuplicateKey,
    /// Another record has the same key in this unique index. The operation had no
    /// effect, and the transaction can go on.
    #[error("another record has the same key in the unique index {0:?}; change one of them")]
    DuplicateIndexKey(Text),
    /// The record's key in this index would be too long. The operation had no effect, and the
    /// transaction can go on.
    #[error(
        "the record's key in the index {0:?} is too long: at most {max} bytes are allowed, delimiters included",
        max = crate::KEY_BYTES_MAX
    )]
    IndexKeyTooLong(Text),
    /// The table has this index, which was not created again since the database was opened, and
    /// without which the table cannot be written. The transaction can go on.
    #[error(
        "the table cannot be written before its index {0:?} is there: since the database was opened, nobody has called create_index for it (or drop_index_named)"
    )]
    IndexNotAttached(Text),
    /// There is no index of this name.
    #[error("there is no index named {0:?}; create it first")]
    NoSuchIndex(Text),
    /// The index was dropped. The transaction can go on.
    #[error("the index was dropped; make it again, or read the table")]
    IndexNotReady,
    /// One record was asked for in an index that is not unique. The transaction can go
    /// on.
    #[error("several records may have this key; scan the index instead")]
    IndexNotUnique,
    /// The index was not built.
    #[error(transparent)]
    Index(#[from] Box<crate::IndexError>),
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
    /// The memory limit is reached, and, in a directory, records could not leave memory soon
    /// enough: indexes and open transactions fill it, or the device accepts no writes
    /// ([`crate::Stats::demotions_failed`]). The operation changed nothing. The transaction can go
    /// on (read, delete) or be rolled back. If a commit that writes more than a log buffer holds
    /// returns this error, the transaction was rolled back.
    #[error(
        "the memory limit is reached; delete records, write less in a transaction, or open the database with a larger memory_bytes_max; in a data directory records can leave memory, if its device has room"
    )]
    MemoryExhausted,
    /// The transaction was declared read-only. It can go on reading.
    #[error("the transaction was declared read-only; begin one that may write")]
    ReadOnly,
    /// A stored key or value does not decode as its type.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// There is a table of this name.
    #[error("a table named {0:?} exists; open it, or choose another name")]
    TableExists(Text),
    /// There is no table of this name.
    #[error("there is no table named {0:?}; create it first")]
    NoSuchTable(Text),
    /// The table was dropped, or its creation was not committed.
    #[error("the table {0:?} was dropped, or never came to be; open or create it by its name")]
    TableDropped(Text),
    /// The name of a table is longer than 1024 bytes. The transaction can go on.
    #[error(
        "the table's name has {bytes} bytes; at most {} are allowed",
        engine::NAME_BYTES_MAX
    )]
    NameTooLong {
        /// Bytes of the name.
        bytes: usize,
    },
    /// The table was created with other types.
    #[error(transparent)]
    WrongType(#[from] Box<WrongType>),
    /// The table belongs to another database.
    #[error("the table {0:?} belongs to another database; open it in this one")]
    ForeignTable(Text),
    /// The shared snapshot belongs to another database.
    #[error("the snapshot belongs to another database; share one of a transaction of this one")]
    ForeignSnapshot,
    /// The snapshot of a transaction that has written cannot be shared. The transaction can go on.
    #[error(
        "the transaction has written, and others would not see that at its snapshot; share the snapshot before the first write, or read in the transaction itself"
    )]
    WritesNotShared,
    /// The snapshot of a serializable transaction that was not declared read-only cannot be shared.
    /// The transaction can go on.
    #[error(
        "what others read at the snapshot would not be certified with this serializable transaction; declare it read-only, begin it at another isolation level, or read in the transaction itself"
    )]
    ReadsNotCertified,
    /// A field of [`crate::Options`] is out of range.
    #[error(transparent)]
    InvalidOption(#[from] Box<InvalidOption>),
    /// Another transaction holds the record, and the operation was not to wait
    /// ([`crate::IfLocked::Fail`]). The transaction can go on.
    #[error("another transaction has the record; wait for it, skip it, or try later")]
    Locked,
    /// The operation has waited for another transaction for
    /// [`crate::Options::lock_timeout`], and changed nothing. The transaction can go on.
    #[error(
        "waiting for another transaction took longer than the lock timeout; try again, or find out which transaction stays open for so long"
    )]
    LockTimeout,
    /// The savepoint was released or rolled back past, or is another transaction's. The transaction
    /// can go on.
    #[error("the savepoint is gone, released or rolled back past; make another one")]
    NoSuchSavepoint,
    /// Another operation of the transaction is under way. The transaction can go on.
    #[error(
        "an operation of the transaction is under way; await it before anything is done with savepoints"
    )]
    OperationUnderWay,
    /// The transaction was already committed or rolled back.
    #[error("the transaction has already ended; begin a new one")]
    Ended,
    /// The database is closed, or was closed while the transaction was open
    /// (which rolled it back).
    #[error("the database is closed; open it again")]
    Closed,
    /// The closure panicked; the transaction was rolled back. The text is the panic's message.
    #[error("the transaction panicked and was rolled back: {0}")]
    Panicked(Text),
    /// A blocking call was made on a worker thread, which would wait for
    /// itself.
    #[error("a worker thread cannot block on a transaction; await it, or block on another thread")]
    WouldBlockWorker,
    /// The operating system refused something (a thread, for example).
    #[error("the operating system refused: {0}")]
    System(#[from] std::io::Error),
    /// Writing to the device has failed, and no commit is acknowledged any more;
    /// [`crate::Database::failure`] tells why. Whether the transaction survives is unknown until
    /// the database is opened again.
    #[error(
        "writing to the device has failed, so nothing is acknowledged any more; look at the device, then open the database again: it recovers what is durable"
    )]
    Poisoned,
    /// The device has no room for the log. The transaction was rolled back.
    #[error(
        "the device has no room for the log, and the transaction was rolled back; free some space or take a checkpoint, and run it again"
    )]
    StorageFull,
    /// The transaction wrote more bytes than one transaction may, and was rolled back.
    #[error(
        "the transaction wrote {bytes} bytes, more than one may ({}), and was rolled back; split it",
        crate::TRANSACTION_BYTES_MAX
    )]
    TransactionTooLarge {
        /// Bytes of the transaction's log.
        bytes: usize,
    },
    /// The data directory could not be opened. Nothing in it was changed.
    #[error(transparent)]
    Open(#[from] Box<engine::OpenError>),
    /// No new checkpoint was taken; the one before still counts.
    #[error(transparent)]
    Checkpoint(#[from] Box<engine::CheckpointError>),
    /// No backup was made, or nothing was restored.
    #[error(transparent)]
    Backup(#[from] Box<engine::backup::BackupError>),
    /// Changes cannot be read from this position.
    #[error(transparent)]
    Changes(Box<engine::ChangesError>),
    /// The engine reported something this version of the interface does not
    /// know by name.
    #[error("{0}")]
    Engine(Box<engine::Error>),
    /// An error of the application, made by [`Error::application`]. Rolls the
    /// transaction back.
    #[error(transparent)]
    Application(ApplicationError),
}

/// A transaction was run as often as allowed and aborted each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the transaction was aborted {attempts} times, last because {last}")]
#[non_exhaustive]
pub struct RetriesExhausted {
    /// Number of attempts.
    pub attempts: u32,
    /// Reason of the last attempt's abort.
    pub last: Abort,
}

/// Text within an error: a `str`, one word wide.
#[derive(Clone, PartialEq, Eq, Hash)]
#[allow(clippy::redundant_allocation, reason = "results should fit registers")]
pub struct Text(Box<Box<str>>);

impl<T: Into<Box<str>>> From<T> for Text {
    fn from(text: T) -> Text {
        Text(Box::new(text.into()))
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        str::fmt(self, f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// An error of the application, one word wide. Its [`std::error::Error::source`]
/// is the error that was given to [`Error::application`].
#[derive(Debug)]
#[allow(clippy::redundant_allocation, reason = "results should fit registers")]
pub struct ApplicationError(Box<Box<dyn std::error::Error + Send + Sync>>);

impl ApplicationError {
    /// Returns the error that was given to [`Error::application`].
    pub fn into_inner(self) -> Box<dyn std::error::Error + Send + Sync> {
        *self.0
    }
}

impl std::ops::Deref for ApplicationError {
    type Target = dyn std::error::Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &**self.0
    }
}

impl fmt::Display for ApplicationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ApplicationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&**self.0)
    }
}

/// Results with [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Wraps an error of the application, to be returned from a transaction's
    /// closure. The transaction is rolled back, and not retried unless an abort
    /// is among the error's sources.
    pub fn application(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Application(ApplicationError(Box::new(error.into())))
    }

    /// Returns whether running the transaction again may succeed: true for aborts, and for
    /// application errors with an abort among their sources.
    pub fn is_retryable(&self) -> bool {
        self.abort().is_some()
    }

    /// Returns the abort behind this error, if it is retryable.
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
            engine::Error::IndexNotReady => Error::IndexNotReady,
            engine::Error::IndexNotUnique => Error::IndexNotUnique,
            engine::Error::KeyTooLong { bytes } => Error::KeyTooLong { bytes },
            engine::Error::ValueTooLong { bytes } => Error::ValueTooLong { bytes },
            engine::Error::MemoryExhausted => Error::MemoryExhausted,
            engine::Error::ReadOnly => Error::ReadOnly,
            engine::Error::ForeignSnapshot => Error::ForeignSnapshot,
            engine::Error::WritesNotShared => Error::WritesNotShared,
            engine::Error::ReadsNotCertified => Error::ReadsNotCertified,
            engine::Error::Locked => Error::Locked,
            engine::Error::LockTimeout => Error::LockTimeout,
            engine::Error::NoSuchSavepoint => Error::NoSuchSavepoint,
            engine::Error::OperationUnderWay => Error::OperationUnderWay,
            // The table changed between the check of the handle and the operation, on another
            // thread: the next attempt finds out whether it was dropped or truncated.
            engine::Error::TableDropped => Error::Abort(Abort::TableDropped),
            engine::Error::NameTooLong { bytes } => Error::NameTooLong { bytes },
            engine::Error::Ended => Error::Ended,
            engine::Error::Poisoned => Error::Poisoned,
            engine::Error::StorageFull => Error::StorageFull,
            engine::Error::TransactionTooLarge { bytes } => Error::TransactionTooLarge { bytes },
            other => Error::Engine(Box::new(other)),
        }
    }
}

impl From<engine::ChangesError> for Error {
    fn from(error: engine::ChangesError) -> Error {
        match error {
            // The session of its worker has ended.
            engine::ChangesError::Engine(engine::Error::Ended) => Error::Closed,
            engine::ChangesError::Engine(error) => error.into(),
            error => Error::Changes(Box::new(error)),
        }
    }
}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Error {
        match lost {
            Lost::Panicked(message) => Error::Panicked(message.into()),
            Lost::WouldBlockWorker => Error::WouldBlockWorker,
            // The only other reason is that the worker was shut down.
            _ => Error::Closed,
        }
    }
}

/// Stored bytes that do not decode as their type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stored bytes cannot be read: {0}")]
pub struct DecodeError(Text);

impl DecodeError {
    /// Returns an error with the given explanation, for codecs.
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
    /// Name of the field of [`crate::Options`].
    pub field: &'static str,
    /// Value of the field.
    pub value: String,
    /// Allowed values.
    pub range: String,
}

const _: () = assert!(
    size_of::<Error>() <= 16,
    "results are returned through all levels of an application, in registers"
);
