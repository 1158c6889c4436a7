//! Progress of a build, outcome of a step, and reasons why there is no index.

use std::fmt;

use memory::Exhausted;

use crate::error::Error;

/// Progress of the build of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildProgress {
    /// Number of records that the index has.
    pub records_done: u64,
    /// Approximate number of records of the table: removed ones may be counted.
    pub records_estimate: u64,
    /// Number of batches given up because a writer was in the way.
    pub conflicts: u64,
}

/// Reason why there is no index. The index was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A table or index of this name exists.
    Exists,
    /// The catalog records an index of this name with another description, or one that is unique
    /// where this one is not, or the reverse.
    Different,
    /// The index was to be unique, and two records have this key.
    Duplicate {
        /// Index key.
        key: Box<[u8]>,
    },
    /// The index was dropped meanwhile.
    Dropped,
    /// The table belongs to another database, a key is too long, memory is exhausted,
    /// the database is closed.
    Engine(Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Exists => f.write_str(
                "there is a table or index of this name; use it, drop it, or choose another name",
            ),
            BuildError::Different => f.write_str(
                "the database has this index with other types, or unique where this one is not \
                 or the reverse; make it as it was, or drop it by its name first",
            ),
            BuildError::Duplicate { key } => write!(
                f,
                "the index cannot be unique, because two records have the key {:?}; change one \
                 of them, or make an index that is not unique",
                key.escape_ascii().to_string()
            ),
            BuildError::Dropped => f.write_str("the index was dropped while it was being built"),
            BuildError::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<Error> for BuildError {
    fn from(error: Error) -> BuildError {
        BuildError::Engine(error)
    }
}

impl From<Exhausted> for BuildError {
    fn from(_: Exhausted) -> BuildError {
        BuildError::Engine(Error::MemoryExhausted)
    }
}

/// Outcome of a step of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStep {
    /// Transactions that began before the index are still open, or other workers have the last pieces
    /// of a divided build.
    Waits,
    /// A writer was in the way: the batch is tried again by the next step.
    Conflict,
    /// Some records were read, or added.
    Advanced,
    /// The index is ready.
    Ready,
}
