//! Variants that are compared within one run: each combination of mode, isolation level, certifier,
//! durability and writer of the log.

use crate::measure::{Certifier, Durability, Flusher, Isolation};
use crate::mode::Mode;

/// One variant. Variants sort in the order of reports: by the first field first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variant {
    /// Condition for acknowledging transactions.
    pub durability: Durability,
    /// Writer of the log, if there is one.
    pub flusher: Option<Flusher>,
    /// Isolation level of the transactions.
    pub isolation: Isolation,
    /// Certifier of the transactions, if they are certified.
    pub certifier: Option<Certifier>,
    /// Execution of the transactions.
    pub mode: Mode,
}

impl Variant {
    /// Returns every combination, alternating the last field fastest. A certifier makes no
    /// difference to levels other than serializable, which therefore occur once.
    pub fn all(
        modes: &[Mode],
        isolations: &[Isolation],
        certifiers: &[Certifier],
        flushers: &[Flusher],
        durabilities: &[Durability],
    ) -> Vec<Self> {
        let logged = durabilities.iter().flat_map(|&durability| {
            let flushers: Vec<_> = match durability {
                Durability::Memory => vec![None],
                _ => flushers.iter().copied().map(Some).collect(),
            };
            flushers
                .into_iter()
                .map(move |flusher| (durability, flusher))
        });
        let logged: Vec<_> = logged.collect();
        let mut all = Vec::new();
        for &mode in modes {
            for &isolation in isolations {
                let certifiers: Vec<_> = match isolation {
                    Isolation::Serializable => certifiers.iter().copied().map(Some).collect(),
                    _ => vec![None],
                };
                for certifier in certifiers {
                    all.extend(logged.iter().map(|&(durability, flusher)| Self {
                        durability,
                        flusher,
                        isolation,
                        certifier,
                        mode,
                    }));
                }
            }
        }
        all
    }

    /// Returns the variant that ratios against the sequential mode refer to: this variant, executed
    /// sequentially.
    #[must_use]
    pub fn sequential(self) -> Self {
        Self {
            mode: Mode::Sequential,
            ..self
        }
    }

    /// Returns the variant that ratios against snapshot isolation refer to.
    #[must_use]
    pub fn on_snapshots(self) -> Self {
        Self {
            isolation: Isolation::Snapshot,
            certifier: None,
            ..self
        }
    }
}

/// Writes the mode, the isolation level unless it is the usual one, and, for a database in a
/// directory, the durability and the writer of the log, unless that is the workers.
impl std::fmt::Display for Variant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.mode.name())?;
        if self.isolation != Isolation::Snapshot {
            write!(formatter, " {}", self.isolation.name())?;
        }
        if let Some(certifier) = self.certifier {
            write!(formatter, " {}", certifier.name())?;
        }
        if self.durability != Durability::Memory {
            write!(formatter, " {}", self.durability.name())?;
        }
        if self.flusher == Some(Flusher::Thread) {
            write!(formatter, " flusher-thread")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_serializable_levels_differ_by_certifier() {
        let all = Variant::all(
            &[Mode::Sequential, Mode::Interleaved],
            &[Isolation::Snapshot, Isolation::Serializable],
            &Certifier::ALL,
            &Flusher::ALL,
            &[Durability::Memory],
        );
        let certifiers: Vec<_> = all.iter().map(|variant| variant.certifier).collect();
        let one = [None, Some(Certifier::Ssn), Some(Certifier::Validation)];
        assert_eq!(certifiers, [one, one].concat());
        assert!(all.contains(&all[4].sequential()));
        assert_eq!(all[5].on_snapshots(), all[3]);
    }
}
