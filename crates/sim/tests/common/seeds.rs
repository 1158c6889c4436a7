//! What the simulation's tests share: which seeds they run.

use sim::{Parameters, Report, run_many};

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Runs `seeds` seeds (`WEFT_SIM_SEEDS` overrides, `WEFT_SIM_FIRST` is the first),
/// panics with what a person needs to see a failure again.
pub(crate) fn survive(seeds: u64, parameters: &Parameters) -> Report {
    let seeds = from_environment("WEFT_SIM_SEEDS").unwrap_or(seeds);
    let first = from_environment("WEFT_SIM_FIRST").unwrap_or(1);
    run_many(first, seeds, parameters, |_, _| {}).unwrap_or_else(|failure| panic!("{failure}"))
}
