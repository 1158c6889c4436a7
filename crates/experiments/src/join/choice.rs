//! Names of the command line, written out in a trait: macros would hide them.

use std::str::FromStr;

use serde::Serialize;

use commands::{Error, Result};

/// Returns the one of `all` whose name is given; `what` is the word for the kind of thing.
///
/// # Errors
/// [`Error::Input`] that lists the names.
pub(super) fn named<T: Copy>(
    what: &str,
    text: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T> {
    let one = all.iter().copied().find(|&one| name(one) == text);
    one.ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|&one| name(one)).collect();
        let names = names.join(", ");
        Error::input(format!("`{text}` is not {what}; choose from {names}"))
    })
}

/// Types of the keys of sorted arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// Integers of 32 bits.
    Int,
    /// Strings of 15 characters, in 16 bytes.
    String15,
}

impl Keys {
    /// Every type of keys.
    pub const ALL: [Self; 2] = [Self::Int, Self::String15];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::String15 => "string15",
        }
    }

    /// Returns the bytes of a key in an array.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Int => 4,
            Self::String15 => 16,
        }
    }
}

impl FromStr for Keys {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        named("a kind of keys", text, &Self::ALL, Self::name)
    }
}
