//! Writers of the log, as names in requests and results.

use serde::Serialize;

/// Writer of the log of a database in a directory: a property of the database, so each that is
/// compared has a database of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flusher {
    /// Each worker writes its own log, between transactions.
    Workers,
    /// One thread writes the log of all workers, as in other engines.
    Thread,
}

impl Flusher {
    /// Both writers.
    pub const ALL: [Self; 2] = [Self::Workers, Self::Thread];

    /// Returns the name used on the command line and in results.
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
