//! The choice of seeds for the simulation's tests.

use sim::{Parameters, Report, run_many};

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Runs `seeds` seeds (`WEFT_SIM_SEEDS` overrides, `WEFT_SIM_FIRST` is the first),
/// and panics with the data needed to repeat a failure.
pub(crate) fn survive(seeds: u64, parameters: &Parameters) -> Report {
    let seeds = from_environment("WEFT_SIM_SEEDS").unwrap_or(seeds);
    let first = from_environment("WEFT_SIM_FIRST").unwrap_or(1);
    run_many(first, seeds, parameters, |_, _| {}).unwrap_or_else(|failure| panic!("{failure}"))
}
