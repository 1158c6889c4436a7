//! How a run of crashes can fail, and what a person needs to see it again.

use std::fmt;

use super::CrashParameters;
use crate::failure::Reason;

/// A failed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashFailure {
    /// The seed that shows it again.
    pub seed: u64,
    /// With these parameters.
    pub parameters: Box<CrashParameters>,
    /// What went wrong.
    pub reason: Reason,
}

impl fmt::Display for CrashFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CrashFailure {
            seed,
            parameters,
            reason,
        } = self;
        writeln!(f, "seed {seed}: {reason}")?;
        writeln!(f, "{parameters}")?;
        if **parameters == CrashParameters::default() {
            write!(
                f,
                "replay: cargo run -p sim --example simulate -- --preset crashes --first {seed} \
                 --seeds 1"
            )
        } else {
            write!(
                f,
                "replay: sim::run_crashes({seed}, &parameters) with these parameters"
            )
        }
    }
}

impl std::error::Error for CrashFailure {}
