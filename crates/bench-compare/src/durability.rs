//! When a commit is acknowledged, as asked of every engine alike.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bench::Error;

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Once it is on the device: after an `fsync`, `fdatasync` or the like.
    Synchronous,
    /// Before that; the device follows within this time.
    Relaxed(Duration),
    /// Before that; nothing is promised.
    None,
}

impl Durability {
    const NAMES: [&str; 3] = ["synchronous", "relaxed", "none"];

    /// The name used on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Relaxed(_) => "relaxed",
            Self::None => "none",
        }
    }

    /// The same kind with a window of that length, where the kind has one.
    pub(crate) fn with_window(self, window: Duration) -> Self {
        match self {
            Self::Relaxed(_) => Self::Relaxed(window),
            other => other,
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relaxed(window) => write!(formatter, "relaxed ({} ms)", window.as_millis()),
            other => formatter.pad(other.name()),
        }
    }
}

impl FromStr for Durability {
    type Err = Error;

    fn from_str(text: &str) -> bench::Result<Self> {
        match text {
            "synchronous" => Ok(Self::Synchronous),
            "relaxed" => Ok(Self::Relaxed(Duration::ZERO)),
            "none" => Ok(Self::None),
            _ => Err(Error::input(format!(
                "`{text}` is not a durability; choose from {}",
                Self::NAMES.join(", ")
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in Durability::NAMES {
            assert_eq!(name.parse::<Durability>().unwrap().name(), name);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "eventual".parse::<Durability>().unwrap_err().to_string();
        assert!(
            error.contains("eventual") && error.contains("relaxed"),
            "{error}"
        );
    }
}
