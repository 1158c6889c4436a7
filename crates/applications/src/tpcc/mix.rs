//! Kinds of transactions, and their shares.

use std::fmt;
use std::str::FromStr;

use super::random::Random;
use crate::application::mix;
use commands::{Error, Result};

/// A kind of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
    Query2,
}

impl Kind {
    pub(super) const ALL: [Self; 6] = [
        Self::NewOrder,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
        Self::Query2,
    ];

    /// Names in results, in the order of [`ALL`](Self::ALL).
    pub(super) const NAMES: [&'static str; 6] = [
        "new-order",
        "payment",
        "order-status",
        "delivery",
        "stock-level",
        "query2",
    ];
}

/// Shares of the kinds of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mix {
    /// The standard's mix: 45 % NewOrder, 43 % Payment, 4 % of each other.
    #[default]
    Tpcc,
    /// Read only: half StockLevel, half OrderStatus (CoroBase, section 5.2).
    TpccCr,
    /// With a query: 10 % Query2, 40 % NewOrder, 38 % Payment, 4 % of each other
    /// (CoroBase, section 5.2).
    TpccCh,
}

impl Mix {
    /// Every mix.
    pub const ALL: [Self; 3] = [Self::Tpcc, Self::TpccCr, Self::TpccCh];

    /// Returns the name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tpcc => "tpcc",
            Self::TpccCr => "tpcc-cr",
            Self::TpccCh => "tpcc-ch",
        }
    }

    /// Returns the shares of the kinds, in percent.
    const fn shares(self) -> [u32; 6] {
        match self {
            Self::Tpcc => [45, 43, 4, 4, 4, 0],
            Self::TpccCr => [0, 0, 50, 0, 50, 0],
            Self::TpccCh => [40, 38, 4, 4, 4, 10],
        }
    }

    /// Draws a kind.
    pub(super) fn draw(self, random: &mut Random) -> Kind {
        let kinds = mix::Mix::of(&Kind::NAMES, self.shares());
        Kind::ALL[random.choose(&kinds)]
    }
}

const _: () = {
    let mixes = Mix::ALL;
    let mut mix = 0;
    while mix < mixes.len() {
        let [a, b, c, d, e, f] = mixes[mix].shares();
        assert!(a + b + c + d + e + f == 100);
        mix += 1;
    }
};

impl fmt::Display for Mix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Mix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|mix| mix.name() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::input(format!("`{text}` is not a mix; choose from {known}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_drawn_in_their_proportions() {
        const DRAWS: u32 = 100_000;
        for mix in Mix::ALL {
            let mut random = Random::new(7, 0);
            let mut drawn = [0_u32; 6];
            for _ in 0..DRAWS {
                drawn[mix.draw(&mut random) as usize] += 1;
            }
            for (count, share) in drawn.into_iter().zip(mix.shares()) {
                // The standard deviation is at most 158.
                let expected = share * DRAWS / 100;
                assert!(count.abs_diff(expected) < 800, "{mix}: {drawn:?}");
                assert_eq!(count == 0, share == 0, "{mix}: {drawn:?}");
            }
        }
    }

    #[test]
    fn names_round_trip() {
        for mix in Mix::ALL {
            assert_eq!(mix.name().parse::<Mix>().unwrap(), mix);
        }
        let error = "tpch".parse::<Mix>().unwrap_err().to_string();
        assert!(error.contains("tpcc-cr"), "{error}");
    }
}
