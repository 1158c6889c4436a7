//! The engines by name, and what the driver asks of each.

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

    /// The name used on the command line and in results.
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

    /// Whether it reads past the system's cache and holds to the memory that it is given.
    pub(crate) fn is_bounded(self) -> bool {
        match self {
            Self::Weft => true,
            #[cfg(feature = "rocksdb")]
            Self::Rocksdb => true,
            Self::Redb | Self::Fjall | Self::Lmdb | Self::Sqlite => false,
        }
    }

    /// How the engine is set up for a durability: one line for people.
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

/// What an engine is set up for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'a> {
    /// The workload, the shapes of keys and values, Weft's workers.
    pub(crate) plan: &'a Plan,
    /// When commits are acknowledged.
    pub(crate) durability: Durability,
    /// Longest time from a relaxed commit to the device.
    pub(crate) window: Duration,
    /// Memory for a cache of the engine's own, where it has one.
    pub(crate) cache_bytes: u64,
    /// The same, if it is to be all the memory that the engine has.
    pub(crate) memory_bytes: Option<u64>,
    /// Clients of Weft, over all workers.
    pub(crate) weft_clients: usize,
    /// Most client threads at once.
    pub(crate) threads_max: usize,
    /// A directory of the engine's own.
    pub(crate) directory: &'a Path,
}

impl Setup<'_> {
    /// Bytes of all keys and values loaded.
    pub(crate) fn payload_bytes(&self) -> u64 {
        self.plan.records * (self.plan.key.bytes() + self.plan.value.bytes()) as u64
    }
}

/// A loaded store under measurement.
pub(crate) trait Engine {
    /// Loads the records of the plan at version 0 and makes the store as fast as it
    /// gets: compacted, in its caches.
    ///
    /// # Errors
    /// [`Error::Run`] when loading fails or what was loaded is not there.
    fn load(&mut self, step: &Step) -> Result<()>;

    /// Runs transactions from `threads` client threads for `run.duration` and
    /// verifies every answer.
    ///
    /// # Errors
    /// [`Error::Run`] for what is neither an abort (retried) nor a wrong answer
    /// (reported).
    fn run(&mut self, threads: usize, run: &Run) -> Result<RawRun>;

    /// Removes the records `added`, some of which may not be there.
    ///
    /// # Errors
    /// [`Error::Run`] when removing fails.
    fn restore(&mut self, added: Range<u64>) -> Result<()>;

    /// Waits until the engine has no work left from before, so that it does not do
    /// it while another one is measured. Not measured.
    ///
    /// # Errors
    /// [`Error::Run`] when the engine reports any.
    fn settle(&mut self) -> Result<()>;

    /// Whether exactly the records loaded are there, each value whole. Asked at the
    /// end, when nothing else runs.
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
