//! Isolation levels: which anomalies they forbid.

use std::{fmt, str::FromStr};

use crate::anomaly::{Anomaly, Cycle, Order};

/// An isolation level, without the orders that clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Adya's PL-2: no G0, no G1.
    ReadCommitted,
    /// Snapshot isolation: also no lost update and no cycle without two adjacent
    /// anti-dependencies.
    Snapshot,
    /// Adya's PL-3: no cycle.
    Serializable,
}

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Anomalies forbidden among dependencies.
    pub isolation: Isolation,
    /// Whether cycles that need process or real-time order are forbidden too: then
    /// each transaction sees at least what had been acknowledged when it began.
    pub strict: bool,
}

impl Level {
    /// Returns the level without strictness.
    pub const fn of(isolation: Isolation) -> Level {
        Level {
            isolation,
            strict: false,
        }
    }

    /// Returns the level with strictness.
    pub const fn strict(isolation: Isolation) -> Level {
        Level {
            isolation,
            strict: true,
        }
    }

    /// Returns whether the level forbids an anomaly.
    pub fn forbids(self, anomaly: Anomaly) -> bool {
        match anomaly {
            Anomaly::Cycle(_, order) if order != Order::None && !self.strict => false,
            Anomaly::Cycle(Cycle::G0 | Cycle::G1c, _) => true,
            Anomaly::Cycle(Cycle::GSingle | Cycle::GNonadjacent, _) | Anomaly::LostUpdate => {
                self.isolation >= Isolation::Snapshot
            }
            Anomaly::Cycle(Cycle::G2Item | Cycle::G2, _) => {
                self.isolation >= Isolation::Serializable
            }
            Anomaly::Internal
            | Anomaly::Garbage
            | Anomaly::DuplicateElement
            | Anomaly::IncompatibleOrder
            | Anomaly::G1a
            | Anomaly::DirtyUpdate
            | Anomaly::G1b => true,
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Isolation::ReadCommitted => "read-committed",
            Isolation::Snapshot => "snapshot",
            Isolation::Serializable => "serializable",
        })
    }
}

impl FromStr for Isolation {
    type Err = String;

    fn from_str(text: &str) -> Result<Isolation, String> {
        [
            Isolation::ReadCommitted,
            Isolation::Snapshot,
            Isolation::Serializable,
        ]
        .into_iter()
        .find(|level| level.to_string() == text)
        .ok_or_else(|| format!("{text:?} is none of read-committed, snapshot, serializable"))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strict = if self.strict { "strict " } else { "" };
        write!(f, "{strict}{}", self.isolation)
    }
}
