//! The engines by name, and the interface that the driver uses.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use bench::measure::Durability;
use bench::plan::Plan;
use bench::subject::{RawRun, Run};
use commands::progress::Step;
use commands::{Error, Result};

use crate::peer::PeerEngine;
use crate::{ours, peers};

/// An engine that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Weft,
    Redb,
    Fjall,
    Lmdb,
    #[cfg(feature = "rocksdb")]
    Rocksdb,
    Sqlite,
}

impl Name {
    /// Every engine of this build, Weft first.
    pub(crate) const ALL: &[Self] = &[
        Self::Weft,
        Self::Redb,
        Self::Fjall,
        Self::Lmdb,
        #[cfg(feature = "rocksdb")]
        Self::Rocksdb,
        Self::Sqlite,
    ];

    /// Returns the name used on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Weft => "weft",
            Self::Redb => "redb",
            Self::Fjall => "fjall",
            Self::Lmdb => "lmdb",
            #[cfg(feature = "rocksdb")]
            Self::Rocksdb => "rocksdb",
            Self::Sqlite => "sqlite",
        }
    }

    /// Returns whether the engine reads past the system's cache and keeps to the memory that it is
    /// given.
    pub(crate) fn is_bounded(self) -> bool {
        match self {
            Self::Weft => true,
            #[cfg(feature = "rocksdb")]
            Self::Rocksdb => true,
            Self::Redb | Self::Fjall | Self::Lmdb | Self::Sqlite => false,
        }
    }

    /// Describes the engine's set-up for a durability: one line for people.
    pub(crate) fn description(self, setup: &Setup<'_>) -> String {
        match self {
            Self::Weft => ours::description(setup),
            Self::Redb => peers::redb::description(setup),
            Self::Fjall => peers::fjall::description(setup),
            Self::Lmdb => peers::lmdb::description(setup),
            #[cfg(feature = "rocksdb")]
            Self::Rocksdb => peers::rocksdb::description(setup),
            Self::Sqlite => peers::sqlite::description(setup),
        }
    }

    /// Opens an empty store in `setup.directory`, which exists and is empty.
    ///
    /// # Errors
    /// [`Error::Run`] when the engine refuses; [`Error::Input`] when it was compiled
    /// in an unfair way.
    pub(crate) fn open<'a>(self, setup: &Setup<'a>) -> Result<Box<dyn Engine + 'a>> {
        Ok(match self {
            Self::Weft => Box::new(ours::open(setup)?),
            Self::Redb => Box::new(PeerEngine::new(peers::redb::Redb::open(setup)?, setup)),
            Self::Fjall => Box::new(PeerEngine::new(peers::fjall::Fjall::open(setup)?, setup)),
            Self::Lmdb => Box::new(PeerEngine::new(peers::lmdb::Lmdb::open(setup)?, setup)),
            #[cfg(feature = "rocksdb")]
            Self::Rocksdb => Box::new(PeerEngine::new(
                peers::rocksdb::RocksDb::open(setup)?,
                setup,
            )),
            Self::Sqlite => Box::new(PeerEngine::new(peers::sqlite::Sqlite::open(setup)?, setup)),
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if cfg!(not(feature = "rocksdb")) && text == "rocksdb" {
            return Err(Error::input(
                "this program was built without RocksDB; build it with its default features",
            ));
        }
        let found = Self::ALL.iter().find(|engine| engine.name() == text);
        found.copied().ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|engine| engine.name()).collect();
            Error::input(format!(
                "`{text}` is not an engine; choose from {}",
                known.join(", ")
            ))
        })
    }
}

/// Set-up of an engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'a> {
    /// Plan: the workload, the shapes of keys and values, Weft's workers.
    pub(crate) plan: &'a Plan,
    /// Durability of commits.
    pub(crate) durability: Durability,
    /// Longest time from a relaxed commit to the device.
    pub(crate) window: Duration,
    /// Memory for a cache of the engine's own, where it has one.
    pub(crate) cache_bytes: u64,
    /// All the memory that the engine may have, where it is limited.
    pub(crate) memory_bytes: Option<u64>,
    /// Clients of Weft, over all workers.
    pub(crate) weft_clients: usize,
    /// Most client threads at once.
    pub(crate) threads_max: usize,
    /// Directory of the engine's own.
    pub(crate) directory: &'a Path,
}

impl Setup<'_> {
    /// Returns the bytes of all keys and values loaded.
    pub(crate) fn payload_bytes(&self) -> u64 {
        self.plan.records * (self.plan.key.bytes() + self.plan.value.bytes()) as u64
    }
}

/// A loaded store under measurement.
pub(crate) trait Engine {
    /// Loads the records of the plan at version 0 and makes the store as fast as it gets:
    /// compacted, in its caches.
    ///
    /// # Errors
    /// [`Error::Run`] when loading fails or a loaded record is missing.
    fn load(&mut self, step: &Step) -> Result<()>;

    /// Runs transactions from `threads` client threads for `run.duration` and
    /// verifies every answer.
    ///
    /// # Errors
    /// [`Error::Run`] for any error but an abort (retried) or a wrong answer (reported).
    fn run(&mut self, threads: usize, run: &Run) -> Result<RawRun>;

    /// Removes the records `added`, some of which may not be there.
    ///
    /// # Errors
    /// [`Error::Run`] when removing fails.
    fn restore(&mut self, added: Range<u64>) -> Result<()>;

    /// Waits until the engine has no work left, so that it does none while another engine is
    /// measured. The wait is not measured.
    ///
    /// # Errors
    /// [`Error::Run`] when the engine reports an error.
    fn settle(&mut self) -> Result<()>;

    /// Returns whether exactly the loaded records are there, each value whole. Called at the end,
    /// when nothing else runs.
    ///
    /// # Errors
    /// [`Error::Run`] when reading fails.
    fn audit(&mut self) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for engine in Name::ALL {
            assert_eq!(engine.name().parse::<Name>().unwrap(), *engine);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "leveldb".parse::<Name>().unwrap_err().to_string();
        assert!(
            error.contains("leveldb") && error.contains("sqlite"),
            "{error}"
        );
    }
}
