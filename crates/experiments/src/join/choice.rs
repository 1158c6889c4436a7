//! Names of the command line: macros would hide them, a trait keeps them together.

use std::str::FromStr;

use serde::Serialize;

use commands::{Error, Result};

/// One of `all` by its name; `what` is what they are.
///
/// # Errors
/// [`Error::Input`] that names them.
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

/// What keys of sorted arrays are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// Integers of 32 bits.
    Int,
    /// Strings of 15 characters, in 16 bytes.
    String15,
}

impl Keys {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Int, Self::String15];

    /// The name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::String15 => "string15",
        }
    }

    /// Bytes of one in an array.
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
