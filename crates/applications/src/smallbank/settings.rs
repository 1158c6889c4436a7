//! Size of a bank, and transactions of its customers.

use super::KINDS;
use crate::application::mix::Mix;
use commands::{Error, Result};

/// Largest number of accounts: the sum of all money still fits.
const ACCOUNTS_MAX: u64 = 1_000_000_000;

/// Settings of [`SmallBank`](super::SmallBank).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Customers, each with an account, savings and checking; from 2. Default 1,000,000,
    /// H-Store's.
    pub accounts: u64,
    /// Shares of the kinds of transactions. The default is H-Store's: 25 % payments and 15 % of
    /// each other kind.
    pub mix: Mix<6>,
    /// Customers at which accesses concentrate. By default `None`: each customer is as likely as
    /// any other.
    pub hotspot: Option<Hotspot>,
    /// Whether balances and checks record what they have seen. By default they do not.
    pub statements: bool,
}

/// The first customers, to which a share of all accesses goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hotspot {
    /// Share of the accesses, from 0 to 1. The others go to the other customers.
    pub share: f64,
    /// Number of the customers, from 1 to all but one.
    pub accounts: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            accounts: 1_000_000,
            mix: Mix::of(&KINDS, [15, 15, 15, 15, 15, 25]),
            hotspot: None,
            statements: false,
        }
    }
}

impl Settings {
    /// Reads a mix, as in `balance=60,write_check=40`.
    ///
    /// # Errors
    /// [`Error::Input`] that says which part to change.
    pub fn parse_mix(text: &str) -> Result<Mix<6>> {
        Mix::parse(&KINDS, text)
    }

    /// Checks that all values are in range.
    ///
    /// # Errors
    /// [`Error::Input`] that says which value to change.
    pub fn check(&self) -> Result<()> {
        if !(2..=ACCOUNTS_MAX).contains(&self.accounts) {
            return Err(Error::input(format!(
                "{} accounts are no bank to measure; give 2 to {ACCOUNTS_MAX}",
                self.accounts
            )));
        }
        let Some(Hotspot { share, accounts }) = self.hotspot else {
            return Ok(());
        };
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::input(format!(
                "the hotspot's share {share} is out of range; give a number from 0 to 1"
            )));
        }
        if !(1..self.accounts).contains(&accounts) {
            return Err(Error::input(format!(
                "a hotspot of {accounts} accounts is none among {}; give 1 to {}",
                self.accounts,
                self.accounts - 1
            )));
        }
        Ok(())
    }
}
