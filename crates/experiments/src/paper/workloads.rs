//! Requests of experiments to the key-value workload, and to TPC-C.

use super::Axis;
use super::planned::Tpcc;
use applications::application;
use applications::tpcc::{Mix, Settings};
use bench::comparison::Asked;
use bench::distribution::Distribution;
use bench::measure::ConflictPolicy;
use bench::plan::{Options, RECORDS_DEFAULT};
use bench::workload::Workload;
use commands::Result;

/// Axis of the papers' numbers of threads, on a small machine.
pub(super) const WORKERS: Axis = Axis {
    name: "workers",
    title: "workers",
    values: &[1.0, 2.0],
};

/// Returns a built-in workload on a table of the usual size, on one worker.
pub(super) fn ycsb(workload: &str) -> Result<Options> {
    Ok(Options {
        records: Some(RECORDS_DEFAULT),
        ..Options::of(Workload::named_or_file(workload)?)
    })
}

/// Returns a built-in workload on a table of the usual size, on `workers` workers.
pub(super) fn on_workers(workload: &str, workers: f64) -> Result<Options> {
    let mut options = ycsb(workload)?;
    options.asked.workers = workers as u64;
    Ok(options)
}

/// Returns a built-in workload with few hot records, spread over a table of the usual size.
pub(super) fn skewed(workload: &str, theta: f64) -> Result<Options> {
    let scrambled = Distribution::Scrambled { theta };
    Ok(Options {
        distribution: Some(scrambled.name().to_owned()),
        theta: Some(theta),
        ..ycsb(workload)?
    })
}

/// Warehouses of TPC-C: two gigabytes.
const WAREHOUSES: u16 = 20;

/// Returns a mix of TPC-C's transactions on a database of the usual size, on `workers` workers.
/// Transactions that meet wait for each other.
pub(super) fn tpcc(mix: Mix, workers: f64) -> Tpcc {
    Tpcc {
        settings: Settings::standard(mix, WAREHOUSES),
        options: application::plan::Options {
            asked: Asked {
                workers: workers as u64,
                ..Asked::default()
            },
            check_while_running: false,
            on_conflict: ConflictPolicy::Wait,
            offered: None,
        },
    }
}
