//! Parameters of a run, besides its seed.

use std::fmt;

use engine::Certifier;

use crate::failure::{Replay, describe};

/// Isolation levels of a run's transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// Snapshot isolation only.
    Snapshot,
    /// Read committed only.
    ReadCommitted,
    /// A random level for each transaction (transfers always take a snapshot).
    Mixed,
    /// Serializable only, by this certifier.
    Serializable(Certifier),
}

impl Levels {
    /// Returns the certifier of the database.
    pub(crate) fn certifier(self) -> Certifier {
        match self {
            Levels::Serializable(certifier) => certifier,
            _ => Certifier::default(),
        }
    }
}

/// Chances of faults, in tenths of a percent unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Panic at a suspension point, per 100,000 points passed.
    pub panic_per_100_000: u32,
    /// Cancellation of a task, per step of the simulation.
    pub cancel: u32,
    /// Replacement of a worker, which is dropped with all its tasks, per step, in
    /// 100,000ths.
    pub restart_per_100_000: u32,
    /// Rollback of a transaction at its end.
    pub rollback: u32,
    /// Parking of a transaction between two operations.
    pub park: u32,
    /// Abandoning of a write in the middle.
    pub abandon: u32,
    /// Running of two operations of a transaction at once.
    pub join: u32,
}

impl Faults {
    /// No faults.
    pub const NONE: Faults = Faults {
        panic_per_100_000: 0,
        cancel: 0,
        restart_per_100_000: 0,
        rollback: 0,
        park: 0,
        abandon: 0,
        join: 0,
    };

    /// All kinds of faults.
    pub const ALL: Faults = Faults {
        panic_per_100_000: 120,
        cancel: 1,
        restart_per_100_000: 15,
        rollback: 60,
        park: 60,
        abandon: 60,
        join: 100,
    };
}

/// A bug put into the harness on purpose, which the checkers must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Some transactions read at a newer snapshot than theirs.
    LateRead,
    /// Some transactions lose their upserts.
    DropWrite,
    /// Two writers' commit timestamps are exchanged in the history.
    SwapCommits,
    /// One transaction's snapshot is made older in the history.
    AgeSnapshot,
    /// Serializable transactions are not certified.
    NotCertified,
    /// A record that no history knows of is inserted at the end.
    HiddenRecord,
    /// The disk loses data that was written durably, and synced.
    SkipSync,
    /// The disk loses names that were synced.
    LoseDirectorySync,
    /// Recovery does not verify the log's checksums.
    SkipChecksum,
    /// Some transactions are acknowledged as soon as others see them.
    EarlyAcknowledgement,
    /// The follower of the change stream misses some transactions.
    ForgetChange,
    /// The follower sets out from one transaction too early.
    RepeatChange,
    /// Some reads find a record although it has expired.
    ReadExpired,
    /// The indexes made are not recorded in the history.
    HiddenIndex,
    /// The clock of a recovered database is late by a time to live.
    LateClock,
}

/// Everything that, with a seed, determines a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Transactions begun.
    pub transactions: u64,
    /// Maximum workers; a run has 1 to this many.
    pub workers_max: usize,
    /// Maximum tasks in flight per worker; each has 2 to this many.
    pub in_flight_max: usize,
    /// Isolation levels.
    pub levels: Levels,
    /// Lists that are appended to.
    pub lists: usize,
    /// Bank accounts.
    pub accounts: usize,
    /// Keys that come and go.
    pub presence_keys: usize,
    /// Registers.
    pub registers: usize,
    /// Weights of the workloads: append, bank, presence, register, groups.
    pub mix: [u32; 5],
    /// Indexes that are built beside the transactions.
    pub indexes: usize,
    /// Tasks that use a table whose records expire, beside the transactions. Needs
    /// indexes.
    pub expiring: usize,
    /// Faults.
    pub faults: Faults,
    /// Transactions per mille that wait for others, lock records that they read and
    /// return to savepoints. The others abort at conflicts.
    pub waits: u32,
    /// Memory limit of the database, in bytes. Below
    /// [`Parameters::AMPLE_MEMORY_BYTES`] operations may find memory exhausted.
    pub memory_bytes_max: usize,
    /// A bug to plant.
    pub planted: Option<Planted>,
}

impl Parameters {
    /// Enough memory for every run of at most some ten thousand transactions.
    pub const AMPLE_MEMORY_BYTES: usize = 64 << 20;

    /// Returns whether operations may find memory exhausted.
    pub(crate) fn memory_is_scarce(&self) -> bool {
        self.memory_bytes_max < Self::AMPLE_MEMORY_BYTES
    }
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            transactions: 150,
            workers_max: 4,
            in_flight_max: 8,
            levels: Levels::Snapshot,
            lists: 4,
            accounts: 8,
            presence_keys: 120,
            registers: 6,
            mix: [3, 2, 4, 2, 0],
            indexes: 0,
            expiring: 0,
            faults: Faults::NONE,
            waits: 0,
            memory_bytes_max: Parameters::AMPLE_MEMORY_BYTES,
            planted: None,
        }
    }
}

/// Names of parameter sets on the example's command line.
pub const PRESETS: [&str; 12] = [
    "snapshot",
    "read-committed",
    "mixed",
    "faults",
    "waiting",
    "scarce",
    "ssn",
    "validation",
    "groups",
    "indexes",
    "indexes-waiting",
    "indexes-ssn",
];

impl Parameters {
    /// Returns the parameter set of a name of [`PRESETS`].
    pub fn preset(name: &str) -> Option<Parameters> {
        let default = Parameters::default();
        let faulty = Parameters {
            levels: Levels::Mixed,
            faults: Faults::ALL,
            ..default
        };
        // No operations of one transaction at once: a read that overlaps with a
        // write of its own transaction may see it and then find it taken back, which
        // checkers of histories cannot tell from a lost write.
        let indexed = Parameters {
            indexes: 4,
            presence_keys: 30,
            faults: Faults {
                join: 0,
                ..faulty.faults
            },
            ..faulty
        };
        // A mix that can have cycles, most of whose operations the cycle checker is
        // told of.
        let groups = Parameters {
            mix: [1, 1, 1, 1, 12],
            faults: Faults {
                park: 60,
                rollback: 60,
                cancel: 1,
                panic_per_100_000: 120,
                ..Faults::NONE
            },
            waits: 300,
            ..default
        };
        Some(match name {
            "groups" => groups,
            "ssn" => Parameters {
                levels: Levels::Serializable(Certifier::Ssn),
                ..groups
            },
            "validation" => Parameters {
                levels: Levels::Serializable(Certifier::Validation),
                ..groups
            },
            "snapshot" => default,
            "read-committed" => Parameters {
                levels: Levels::ReadCommitted,
                ..default
            },
            "mixed" => Parameters {
                levels: Levels::Mixed,
                ..default
            },
            "faults" => faulty,
            "waiting" => Parameters {
                waits: 800,
                registers: 4,
                ..faulty
            },
            "indexes" => indexed,
            "indexes-waiting" => Parameters {
                waits: 800,
                registers: 4,
                ..indexed
            },
            "indexes-ssn" => Parameters {
                indexes: indexed.indexes,
                levels: Levels::Serializable(Certifier::Ssn),
                ..groups
            },
            "scarce" => Parameters {
                memory_bytes_max: 1 << 20,
                ..faulty
            },
            _ => return None,
        })
    }
}

impl Replay for Parameters {
    const RUN: &'static str = "run";

    fn preset_name(&self) -> Option<&'static str> {
        PRESETS
            .into_iter()
            .find(|name| Parameters::preset(name).as_ref() == Some(self))
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(self, f)
    }
}
