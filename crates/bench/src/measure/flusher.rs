//! Who writes the log, as a name in requests and results.

use serde::Serialize;

/// Who writes the log of a database in a directory: a property of the database, so those
/// that are compared each have one of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flusher {
    /// Each worker its own, between transactions.
    Workers,
    /// A thread for all of them, as other engines have it.
    Thread,
}

impl Flusher {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Workers, Self::Thread];

    /// The name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workers => "workers",
            Self::Thread => "thread",
        }
    }
}

impl std::str::FromStr for Flusher {
    type Err = commands::Error;

    fn from_str(text: &str) -> commands::Result<Self> {
        Self::ALL
            .into_iter()
            .find(|flusher| flusher.name() == text)
            .ok_or_else(|| {
                commands::Error::input(format!(
                    "`{text}` does not write logs; choose from {}",
                    Self::ALL.map(Self::name).join(", ")
                ))
            })
    }
}
