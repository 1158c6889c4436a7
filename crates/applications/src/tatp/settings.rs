//! Number of subscribers, and the choice of those in transactions.

use super::KINDS;
use crate::application::mix::Mix;
use commands::{Error, Result};

/// Largest number of subscribers.
const SUBSCRIBERS_MAX: u32 = 1_000_000_000;

/// Settings of [`Tatp`](super::Tatp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of subscribers. The default is the description's, 100,000.
    pub subscribers: u32,
    /// Shares of the kinds of transactions. The default is the description's: 35, 10, 35, 2, 14, 2
    /// and 2 %.
    pub mix: Mix<7>,
    /// Choice of the subscriber of a transaction. The default is the description's,
    /// [`NonUniform`](Choice::NonUniform).
    pub choice: Choice,
}

/// Ways to choose subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Some subscribers far more often than others: `NURand` of the description, whose A follows
    /// from the number of subscribers.
    NonUniform,
    /// Each subscriber as likely as any other.
    Uniform,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            subscribers: 100_000,
            mix: Mix::of(&KINDS, [35, 10, 35, 2, 14, 2, 2]),
            choice: Choice::NonUniform,
        }
    }
}

impl Settings {
    /// Reads a mix, as in `get_subscriber_data=80,update_location=20`.
    ///
    /// # Errors
    /// [`Error::Input`] that says which part to change.
    pub fn parse_mix(text: &str) -> Result<Mix<7>> {
        Mix::parse(&KINDS, text)
    }

    /// Checks that all values are in range.
    ///
    /// # Errors
    /// [`Error::Input`] that says which value to change.
    pub fn check(&self) -> Result<()> {
        if (1..=SUBSCRIBERS_MAX).contains(&self.subscribers) {
            return Ok(());
        }
        Err(Error::input(format!(
            "{} subscribers cannot be loaded; give 1 to {SUBSCRIBERS_MAX}",
            self.subscribers
        )))
    }
}
