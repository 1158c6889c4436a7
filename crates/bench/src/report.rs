//! Results as people and programs read them. Every form is a string, which the caller writes.

use std::str::FromStr;

use crate::limits::Limit;
use crate::runner::Outcome;
use commands::{Error, Result};

mod chart;
pub mod csv;
pub mod json;
mod line_chart;
pub mod table;

pub use chart::chart;
pub use line_chart::{Line, LineChart, line_chart};

/// Forms of results on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// One line per mode and repeat.
    Csv,
    /// One array of objects, one per mode.
    Json,
}

impl Format {
    /// Every form's name.
    pub const NAMES: [&str; 3] = ["table", "csv", "json"];

    /// Returns a run's results in this form, with a newline at the end.
    ///
    /// # Errors
    /// [`Error::Run`] when a number cannot be written, which does not happen.
    pub fn outcome(self, outcome: &Outcome) -> Result<String> {
        match self {
            Self::Table => Ok(table::outcome(&outcome.summaries)),
            Self::Csv => csv::outcome(outcome),
            Self::Json => json::array(&outcome.summaries),
        }
    }

    /// Returns the machine's limits in this form, with a newline at the end.
    ///
    /// # Errors
    /// [`Error::Run`] when a number cannot be written, which does not happen.
    pub fn limits(self, limits: &[Limit]) -> Result<String> {
        match self {
            Self::Table => Ok(table::limits(limits)),
            Self::Csv => csv::limits(limits),
            Self::Json => json::array(limits),
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "table" => Ok(Self::Table),
            "csv" => Ok(Self::Csv),
            "json" => Ok(Self::Json),
            _ => Err(Error::input(format!(
                "`{text}` is not a format; choose from {}",
                Self::NAMES.join(", ")
            ))),
        }
    }
}

#[cfg(test)]
pub(crate) mod example;
#[cfg(test)]
mod tests;
