//! Shares of an application's kinds of transactions.

use std::fmt;

use bench::distribution::{Rng, below};
use commands::{Error, Result};

/// The weights of `N` kinds of transactions. A kind's share is its weight in their sum,
/// which is above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix<const N: usize> {
    kinds: &'static [&'static str; N],
    weights: [u32; N],
}

impl<const N: usize> Mix<N> {
    /// Returns the mix of `weights`, which are not all 0, for the kinds of these names.
    pub(crate) const fn of(kinds: &'static [&'static str; N], weights: [u32; N]) -> Self {
        Self { kinds, weights }
    }

    /// Reads `kind=weight,kind=weight`. Kinds that are not named have the weight 0.
    ///
    /// # Errors
    /// [`Error::Input`] that says which part to change.
    pub(crate) fn parse(kinds: &'static [&'static str; N], text: &str) -> Result<Self> {
        let mut mix = Self::of(kinds, [0; N]);
        for part in text.split(',') {
            let Some((name, weight)) = part.split_once('=') else {
                return Err(Error::input(format!(
                    "`{part}` is no part of a mix; write kind=weight, as in {}=100",
                    kinds[0]
                )));
            };
            let name = name.trim();
            let Some(kind) = kinds.iter().position(|&kind| kind == name) else {
                return Err(Error::input(format!(
                    "`{name}` is no kind of transaction; choose from {}",
                    kinds.join(", ")
                )));
            };
            mix.weights[kind] = weight.trim().parse().map_err(|_| {
                Error::input(format!(
                    "`{weight}` is no weight of {name}; give a whole number from 0 to {}",
                    u32::MAX
                ))
            })?;
        }
        match mix.total() {
            0 => Err(Error::input(format!(
                "the mix `{text}` has no transactions; give at least one kind a weight above 0"
            ))),
            _ => Ok(mix),
        }
    }

    fn total(&self) -> u64 {
        self.weights.iter().map(|&weight| u64::from(weight)).sum()
    }

    /// Draws the kind of the next transaction.
    #[inline]
    pub(crate) fn choose(&self, rng: &mut Rng) -> usize {
        let mut drawn = below(rng, self.total());
        for (kind, &weight) in self.weights.iter().enumerate() {
            match drawn.checked_sub(u64::from(weight)) {
                Some(left) => drawn = left,
                None => return kind,
            }
        }
        unreachable!("what was drawn is below the sum of the weights")
    }
}

impl<const N: usize> fmt::Display for Mix<N> {
    /// Writes the mix in the form that `parse` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (kind, weight) in self.kinds.iter().zip(&self.weights) {
            if *weight > 0 {
                write!(f, "{separator}{kind}={weight}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::distribution::rng;

    const KINDS: [&str; 3] = ["read", "write", "erase"];

    #[test]
    fn kinds_come_as_often_as_their_weights_say() {
        let mix = Mix::parse(&KINDS, "write=30, read=10").unwrap();
        let mut rng = rng(1, 1);
        let mut counts = [0_u32; 3];
        for _ in 0..40_000 {
            counts[mix.choose(&mut rng)] += 1;
        }
        assert!((9_500..10_500).contains(&counts[0]), "{counts:?}");
        assert_eq!(counts[0] + counts[1], 40_000);
        assert_eq!(mix.to_string(), "read=10,write=30");
        assert_eq!(Mix::parse(&KINDS, &mix.to_string()).unwrap(), mix);
    }

    #[test]
    fn what_is_no_mix_is_refused_by_name() {
        for (text, named) in [
            ("", "kind=weight"),
            ("read", "`read`"),
            ("seek=1", "read, write, erase"),
            ("read=many", "`many`"),
            ("read=-1", "`-1`"),
            ("read=0", "above 0"),
        ] {
            let error = Mix::parse(&KINDS, text).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
