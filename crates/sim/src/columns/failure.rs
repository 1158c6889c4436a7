//! How a run of a column can fail, and what a person needs to see it again.

use std::fmt;

use super::ColumnParameters;
use crate::failure::Reason;

/// A failed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFailure {
    /// The seed that shows it again.
    pub seed: u64,
    /// With these parameters.
    pub parameters: ColumnParameters,
    /// What went wrong.
    pub reason: Reason,
}

impl fmt::Display for ColumnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ColumnFailure {
            seed,
            parameters,
            reason,
        } = self;
        writeln!(f, "seed {seed}: {reason}")?;
        writeln!(f, "{parameters}")?;
        if *parameters == ColumnParameters::default() {
            write!(
                f,
                "replay: cargo run -p sim --example simulate -- --preset columns --first {seed} \
                 --seeds 1"
            )
        } else {
            write!(
                f,
                "replay: sim::run_columns({seed}, &parameters) with these parameters"
            )
        }
    }
}

impl std::error::Error for ColumnFailure {}
