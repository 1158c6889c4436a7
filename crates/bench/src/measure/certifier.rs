//! Certifiers of serializable transactions, as names in requests and results.

use serde::Serialize;

/// Certifier of serializable transactions when they commit: a property of the database, so each
/// that is compared has a database of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certifier {
    /// The serial safety net.
    Ssn,
    /// Validation: every record that was read must still be current.
    Validation,
}

impl Certifier {
    /// Both certifiers.
    pub const ALL: [Self; 2] = [Self::Ssn, Self::Validation];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ssn => "ssn",
            Self::Validation => "validation",
        }
    }
}

impl From<Certifier> for weft::Certifier {
    fn from(certifier: Certifier) -> weft::Certifier {
        match certifier {
            Certifier::Ssn => weft::Certifier::Ssn,
            Certifier::Validation => weft::Certifier::Validation,
        }
    }
}

impl std::str::FromStr for Certifier {
    type Err = commands::Error;

    fn from_str(text: &str) -> commands::Result<Self> {
        Self::ALL
            .into_iter()
            .find(|certifier| certifier.name() == text)
            .ok_or_else(|| {
                commands::Error::input(format!(
                    "`{text}` is not a certifier; choose from {}",
                    Self::ALL.map(Self::name).join(", ")
                ))
            })
    }
}
