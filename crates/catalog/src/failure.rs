//! Conversion of the engine's errors to those that clients see.

use engine::{Abort, Error};
use types::{SqlError, SqlState};

use super::Table;

/// Converts an engine's error about which nothing more is known.
pub fn from_engine(error: Error) -> SqlError {
    let (state, message) = match error {
        Error::Abort(Abort::Deadlock) => (SqlState::DEADLOCK_DETECTED, "deadlock detected"),
        Error::Abort(Abort::NotSerializable | Abort::Phantom) => (
            SqlState::SERIALIZATION_FAILURE,
            "could not serialize access due to read/write dependencies among transactions",
        ),
        Error::Abort(Abort::TooMuchRead) => {
            let message = "out of memory for what the transaction has read";
            return SqlError::new(SqlState::OUT_OF_MEMORY, message).hint(
                "Read less in one transaction, use REPEATABLE READ, or start the server with \
                 more memory (--memory).",
            );
        }
        Error::Abort(Abort::OutOfRoom) => {
            let message = "could not serialize access: memory is short, and this transaction \
                           made room for others";
            return SqlError::new(SqlState::SERIALIZATION_FAILURE, message).hint(
                "Run it again, in smaller transactions if it writes much; or start the server \
                 with more memory (--memory).",
            );
        }
        Error::TableDropped | Error::Abort(Abort::TableDropped) => (
            SqlState::SERIALIZATION_FAILURE,
            "could not serialize access: a table was dropped or truncated meanwhile",
        ),
        Error::Abort(_) => (
            SqlState::SERIALIZATION_FAILURE,
            "could not serialize access due to concurrent update",
        ),
        Error::Locked => (
            SqlState::LOCK_NOT_AVAILABLE,
            "could not obtain lock on row or relation",
        ),
        Error::LockTimeout => (
            SqlState::LOCK_NOT_AVAILABLE,
            "canceling statement due to lock timeout",
        ),
        Error::MemoryExhausted => {
            return SqlError::new(SqlState::OUT_OF_MEMORY, "out of memory").hint(
                "Write less in one transaction, delete rows or drop tables, or start the server \
                 with more memory (--memory).",
            );
        }
        Error::StorageFull => {
            return SqlError::new(SqlState::DISK_FULL, "no space left on device").hint(
                "Delete rows, truncate or drop tables, which works also now; or give the device \
                 that has the data directory more room. What is left of it is kept for the next \
                 checkpoint.",
            );
        }
        Error::ReadOnly => (
            SqlState::READ_ONLY_SQL_TRANSACTION,
            "cannot execute statement in a read-only transaction",
        ),
        Error::Poisoned => (SqlState::IO_ERROR, "the database's device has failed"),
        Error::Ended => (SqlState::ADMIN_SHUTDOWN, "the transaction has ended"),
        Error::ValueTooLong { bytes } => {
            let most = engine::VALUE_BYTES_MAX;
            let message = format!("row is too big: size {bytes}, maximum size {most}");
            return SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
        }
        Error::TransactionTooLarge { .. } => {
            return SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, error.to_string());
        }
        other => return SqlError::new(SqlState::INTERNAL_ERROR, other.to_string()),
    };
    SqlError::new(state, message)
}

/// Converts an engine's error of a write to a table: 23505 with the constraint's name, or as
/// [`from_engine`]. The caller, which has the row, adds the detail.
pub fn write_failed(table: &Table, error: Error) -> SqlError {
    let primary_key = || table.primary_key.as_ref().map(|key| &*key.name);
    let of_number = |number: usize| {
        let mut indexes = table.indexes.iter();
        let index = indexes.find(|index| {
            let handle = index.handle.as_ref();
            handle.is_some_and(|handle| handle.number() as usize == number)
        });
        index.map(|index| &*index.name)
    };
    let constraint = match error {
        Error::DuplicateKey => primary_key(),
        Error::DuplicateIndexKey { index } => of_number(index),
        other => return from_engine(other),
    };
    let constraint = constraint.unwrap_or_default();
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    SqlError::new(SqlState::UNIQUE_VIOLATION, message)
        .table(&table.name)
        .constraint(constraint)
}
