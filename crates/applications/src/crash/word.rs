//! Messages of a child, a line each.

use std::fmt;
use std::str::FromStr;

/// Number of transactions of a kind that a client has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) client: u32,
    /// Index of the kind in [`KINDS`](crate::application::Application::KINDS).
    pub(super) kind: u32,
    pub(super) number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The child begins to open the database.
    Opening,
    /// The child has found an entry in the ledger.
    Found(Entry),
    /// The child has opened the database and sent all that is in the ledger; clients begin.
    Working,
    /// A transaction was acknowledged.
    Done(Entry),
    /// A checkpoint begins.
    Checkpoint,
    /// A checkpoint has ended.
    Checkpointed,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, entry) = match self {
            Self::Opening => ("opening", None),
            Self::Found(entry) => ("found", Some(entry)),
            Self::Working => ("working", None),
            Self::Done(entry) => ("done", Some(entry)),
            Self::Checkpoint => ("checkpoint", None),
            Self::Checkpointed => ("checkpointed", None),
        };
        f.write_str(name)?;
        match entry {
            None => Ok(()),
            Some(Entry {
                client,
                kind,
                number,
            }) => write!(f, " {client} {kind} {number}"),
        }
    }
}

impl FromStr for Word {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut parts = line.split(' ');
        let name = parts.next();
        let mut entry = || {
            Some(Entry {
                client: parts.next()?.parse().ok()?,
                kind: parts.next()?.parse().ok()?,
                number: parts.next()?.parse().ok()?,
            })
        };
        let word = match name {
            Some("opening") => Some(Self::Opening),
            Some("found") => entry().map(Self::Found),
            Some("working") => Some(Self::Working),
            Some("done") => entry().map(Self::Done),
            Some("checkpoint") => Some(Self::Checkpoint),
            Some("checkpointed") => Some(Self::Checkpointed),
            _ => None,
        };
        word.ok_or_else(|| format!("a child says {line:?}"))
    }
}
