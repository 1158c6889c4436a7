//! Reactions of writers to each other, as names in requests and results.

use serde::Serialize;
use weft::OnConflict;

use commands::{Error, Result};

/// Reaction of a transaction that meets another's uncommitted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictPolicy {
    /// The transaction waits for the other's end.
    Wait,
    /// The transaction aborts, and is run again.
    Abort,
}

impl ConflictPolicy {
    /// Both reactions.
    pub const ALL: [Self; 2] = [Self::Wait, Self::Abort];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Abort => "abort",
        }
    }
}

impl From<ConflictPolicy> for OnConflict {
    fn from(policy: ConflictPolicy) -> OnConflict {
        match policy {
            ConflictPolicy::Wait => OnConflict::Wait,
            ConflictPolicy::Abort => OnConflict::Abort,
        }
    }
}

impl std::str::FromStr for ConflictPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.name() == text)
            .ok_or_else(|| Error::input(format!("`{text}` is not known; choose from wait, abort")))
    }
}
