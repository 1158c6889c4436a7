//! Errors of operations, in three families: aborts (retry), errors of use (correct the call), and
//! lack of memory.

use std::fmt;

use memory::Exhausted;

/// Abort: the transaction cannot go on, and nothing of it remains. The caller may run it again.
///
/// An abort is a word wide: errors that hold an abort or another word fit the same register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
#[non_exhaustive]
pub enum Abort {
    /// Another open transaction has written the record first, or has it locked.
    WriteConflict,
    /// A transaction that committed after this one's snapshot has written the record, and the
    /// snapshot could not move there: this transaction has read something that has changed since,
    /// or more than is noted.
    SnapshotTooOld,
    /// The transaction would have had to wait for a transaction that waits for it.
    Deadlock,
    /// Other transactions changed the records that this transaction read in a way that no serial
    /// order of all transactions allows. (Serializable only.)
    NotSerializable,
    /// Records came or went in a range that this transaction read, or where it looked for a key.
    /// (Serializable only.)
    Phantom,
    /// There is no memory to remember the reads of this transaction. (Serializable only.)
    TooMuchRead,
    /// A table that this transaction has written to was dropped or truncated before
    /// it committed.
    TableDropped,
    /// A record is not in memory, and as many reads of this worker are under way as its scheduling
    /// allows ([`interleave::Scheduling::DualQueue`] only: under other schedulings the read waits).
    ReadRefused,
    /// Memory is short, and this transaction has made room: for a transaction that has waited for
    /// room longer, or by letting go of its snapshot.
    OutOfRoom,
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Abort::WriteConflict => {
                "another open transaction has written or locked this record; \
                 run the transaction again"
            }
            Abort::SnapshotTooOld => {
                "the record was changed after this transaction began, which has read something \
                 before; run the transaction again"
            }
            Abort::Deadlock => {
                "transactions wait for each other in a circle, and this one gave way; run it \
                 again, and let all lock records in the same order to avoid this"
            }
            Abort::NotSerializable => {
                "what this transaction read was changed by others, and no serial order allows \
                 that; run the transaction again"
            }
            Abort::TooMuchRead => {
                "the memory limit is reached, and what this transaction has read cannot be \
                 remembered; declare it read-only, or run it again when there is more memory"
            }
            Abort::Phantom => {
                "records came or went in a range that this transaction read; run the \
                  transaction again"
            }
            Abort::ReadRefused => {
                "a record is not in memory, and too many are being read; run the transaction again"
            }
            Abort::OutOfRoom => {
                "memory is short, and this transaction gave way to others; run it again, and if \
                 that happens often, write less at once or open the database with a larger \
                 memory limit"
            }
            Abort::TableDropped => {
                "a table that this transaction has written to was dropped or truncated; run the \
                 transaction again"
            }
        })
    }
}

impl std::error::Error for Abort {}

/// Reason why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The transaction was aborted. Retryable; every later operation of this transaction returns
    /// the same error.
    Abort(Abort),
    /// An insert met a record with the same key. The transaction can go on.
    DuplicateKey,
    /// Another record has the same key in a unique index. The operation had no
    /// effect, and the transaction can go on.
    DuplicateIndexKey {
        /// Number of the index: see [`crate::Index::number`].
        index: usize,
    },
    /// A key of an index is too long: with the bytes that the index adds to it, it is longer than
    /// [`crate::KEY_BYTES_MAX`]. The operation had no effect, and the transaction can go on.
    IndexKeyTooLong {
        /// Number of the index: see [`crate::Index::number`].
        index: usize,
    },
    /// The table has an index that was not attached since the database was opened, and the table
    /// cannot be written without it. The transaction can go on.
    IndexNotAttached {
        /// Number of the index: see [`crate::Table::index_name`].
        index: usize,
    },
    /// The index is still being built, or was dropped. The transaction can go on.
    IndexNotReady,
    /// A single record was requested from an index that is not unique. The transaction can go on.
    IndexNotUnique,
    /// The key is longer than [`crate::KEY_BYTES_MAX`]. The transaction can go on.
    KeyTooLong {
        /// Bytes of the key.
        bytes: usize,
    },
    /// The value is longer than [`crate::VALUE_BYTES_MAX`]. The transaction can
    /// go on.
    ValueTooLong {
        /// Bytes of the value.
        bytes: usize,
    },
    /// The memory limit is reached: nothing was changed by this operation, and
    /// the transaction can go on (reading, deleting) or be rolled back.
    MemoryExhausted,
    /// The table belongs to another database. The transaction can go on.
    ForeignTable,
    /// The shared snapshot belongs to another database.
    ForeignSnapshot,
    /// The snapshot of a transaction that has written cannot be shared, because others would not
    /// see its writes. The transaction can go on.
    WritesNotShared,
    /// The snapshot of a serializable transaction that was not declared read-only cannot be shared,
    /// because reads of others would not be certified with it. The transaction can go on.
    ReadsNotCertified,
    /// Another transaction has written or locked the record, and the operation was not
    /// to wait. The transaction can go on.
    Locked,
    /// The operation has waited for another transaction as long as it may, and changed
    /// nothing. The transaction can go on.
    LockTimeout,
    /// The savepoint is gone: it was released, or an earlier one was released or rolled back to; or
    /// it belongs to another transaction. The transaction can go on.
    NoSuchSavepoint,
    /// An operation of the transaction is under way (under a `join`), and a savepoint
    /// would cut it in two. The transaction can go on.
    OperationUnderWay,
    /// The transaction was declared read-only, and can go on reading.
    ReadOnly,
    /// The table was dropped, or truncated, or its creation did not commit. The
    /// transaction can go on.
    TableDropped,
    /// A table or index of this name exists already. The transaction can go on.
    TableExists,
    /// There is no table or index of this name. The transaction can go on.
    NoSuchTable,
    /// The name of a table or index is longer than [`crate::NAME_BYTES_MAX`]. The
    /// transaction can go on.
    NameTooLong {
        /// Bytes of the name.
        bytes: usize,
    },
    /// More than two thousand million tables were created or truncated.
    TableNumbersExhausted,
    /// The transaction was already committed or rolled back.
    Ended,
    /// Writing to the device has failed: no commit is acknowledged any more. Whether the
    /// transaction survives is unknown until the database is opened again.
    Poisoned,
    /// There is no room on the device for the transaction's log beside the next checkpoint; the
    /// transaction was rolled back. Run again later, with more room, it can commit. Transactions
    /// that delete more than they write, or drop or truncate tables, may use the room that is kept
    /// for the checkpoint.
    StorageFull,
    /// A record on the device could not be read, or was damaged. The transaction can go on with
    /// other records.
    ColdRecord {
        /// Position of the record, in bytes from the start of the first cold file.
        position: usize,
        /// Whether the record was damaged; otherwise the device has failed.
        is_damaged: bool,
    },
    /// The transaction's log is larger than
    /// [`crate::LogConfig::transaction_bytes_max`]; it was rolled back.
    TransactionTooLarge {
        /// Bytes of its log.
        bytes: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Abort(abort) => abort.fmt(f),
            Error::DuplicateKey => {
                f.write_str("a record with this key exists; use update or upsert to change it")
            }
            Error::DuplicateIndexKey { .. } => f.write_str(
                "another record has the same key in a unique index; change the record, or the \
                 other one first",
            ),
            Error::IndexKeyTooLong { .. } => write!(
                f,
                "the record's key in an index is too long: at most {} bytes are allowed, \
                 delimiters included",
                crate::KEY_BYTES_MAX
            ),
            Error::IndexNotAttached { .. } => f.write_str(
                "the table cannot be written, because an index of it was not attached since the \
                 database was opened; create it again, as it was, or drop it",
            ),
            Error::IndexNotReady => f.write_str(
                "the index is still being built, or was dropped; wait until it is ready, or read \
                 the table",
            ),
            Error::IndexNotUnique => {
                f.write_str("several records may have this key; scan the index instead")
            }
            Error::KeyTooLong { bytes } => write!(
                f,
                "the key has {bytes} bytes; at most {} are allowed",
                crate::KEY_BYTES_MAX
            ),
            Error::ValueTooLong { bytes } => write!(
                f,
                "the value has {bytes} bytes; at most {} are allowed",
                crate::VALUE_BYTES_MAX
            ),
            Error::MemoryExhausted => Exhausted.fmt(f),
            Error::ForeignTable => {
                f.write_str("the table belongs to another database; open it in this one")
            }
            Error::ForeignSnapshot => f.write_str(
                "the snapshot belongs to another database; share one of a transaction of this one",
            ),
            Error::WritesNotShared => f.write_str(
                "the transaction has written, and others would not see that at its snapshot; share \
                 the snapshot before the first write, or read in the transaction itself",
            ),
            Error::ReadsNotCertified => f.write_str(
                "what others read at the snapshot would not be certified with this serializable \
                 transaction; declare it read-only, begin it at another isolation level, or read in \
                 the transaction itself",
            ),
            Error::Locked => f.write_str(
                "another transaction has the record; wait for it, skip it, or try later",
            ),
            Error::LockTimeout => f.write_str(
                "waiting for another transaction took longer than the lock timeout; try again, \
                 or find out which transaction stays open for so long",
            ),
            Error::NoSuchSavepoint => {
                f.write_str("the savepoint is gone, released or rolled back past; make another one")
            }
            Error::OperationUnderWay => f.write_str(
                "an operation of the transaction is under way; await it before anything is \
                 done with savepoints",
            ),
            Error::ReadOnly => {
                f.write_str("the transaction was declared read-only; begin one that may write")
            }
            Error::TableDropped => {
                f.write_str("the table is not there any more; open it again by its name")
            }
            Error::TableExists => {
                f.write_str("a table or index of this name exists; choose another name")
            }
            Error::NoSuchTable => f.write_str("there is no table or index of this name"),
            Error::NameTooLong { bytes } => write!(
                f,
                "the name has {bytes} bytes; at most {} are allowed",
                crate::NAME_BYTES_MAX
            ),
            Error::TableNumbersExhausted => f.write_str(
                "no number is left for another table; copy the tables to a new database",
            ),
            Error::Ended => f.write_str("the transaction has already ended; begin a new one"),
            Error::Poisoned => f.write_str(
                "writing to the device has failed, so nothing is acknowledged any more; \
                 look at the device, then open the database again: it recovers what is durable",
            ),
            Error::StorageFull => f.write_str(
                "the device has no room for the log beside the next checkpoint, and the transaction \
                 was rolled back; delete records, truncate or drop tables, or give the device more \
                 room, and run it again",
            ),
            Error::ColdRecord {
                position,
                is_damaged,
            } => {
                let (file, offset) = crate::cold::locate(*position as u64);
                let file = crate::cold::file_name(file);
                match is_damaged {
                    true => write!(
                        f,
                        "the record at byte {offset} of {file} is damaged; check the database's \
                         directory, and restore a backup"
                    ),
                    false => write!(
                        f,
                        "the record at byte {offset} of {file} could not be read; look at the \
                         device, and run the transaction again"
                    ),
                }
            }
            Error::TransactionTooLarge { bytes } => write!(
                f,
                "the transaction wrote {bytes} bytes, more than one may, and was rolled back; \
                 split it",
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<Exhausted> for Error {
    fn from(_: Exhausted) -> Error {
        Error::MemoryExhausted
    }
}

impl From<Abort> for Error {
    fn from(abort: Abort) -> Error {
        Error::Abort(abort)
    }
}
