//! What experiments ask of the key-value workload.

use super::Axis;
use crate::Result;
use crate::distribution::Distribution;
use crate::plan::{Options, RECORDS_DEFAULT};
use crate::workload::Workload;

/// The threads of the papers, on a small machine.
pub(super) const WORKERS: Axis = Axis {
    name: "workers",
    title: "workers",
    values: &[1.0, 2.0],
};

/// A built-in workload on a table of the usual size, on one worker.
pub(super) fn ycsb(workload: &str) -> Result<Options> {
    Ok(Options {
        records: Some(RECORDS_DEFAULT),
        ..Options::of(Workload::named_or_file(workload)?)
    })
}

/// The same on so many workers.
pub(super) fn on_workers(workload: &str, workers: f64) -> Result<Options> {
    let mut options = ycsb(workload)?;
    options.asked.workers = workers as u64;
    Ok(options)
}

/// The same with few hot records, spread over the table.
pub(super) fn skewed(workload: &str, theta: f64) -> Result<Options> {
    let scrambled = Distribution::Scrambled { theta };
    Ok(Options {
        distribution: Some(scrambled.name().to_owned()),
        theta: Some(theta),
        ..ycsb(workload)?
    })
}
