//! CSV: a line per engine, number of threads and repeat, each with all fields that are needed to
//! join files of many runs.

use bench::report::csv;
use commands::Result;
use serde::Serialize;

use crate::results::{Comparison, Facts, Sample};

/// The part of a line that comes from its run.
#[derive(Serialize)]
struct Found {
    engine: &'static str,
    threads: usize,
    repeat: u32,
    seconds: f64,
    transactions_per_second: f64,
    operations_per_second: f64,
    latency_ns_p50: u64,
    latency_ns_p99: u64,
    latency_ns_p999: u64,
    aborts: u64,
    verified: bool,
    weft_times: Option<f64>,
    device_syncs_per_second: Option<f64>,
}

impl Found {
    fn new(comparison: &Comparison, sample: &Sample) -> Self {
        let rates = &comparison.device_syncs_per_second;
        Self {
            engine: sample.engine.name(),
            threads: sample.threads,
            repeat: sample.repeat + 1,
            seconds: sample.seconds,
            transactions_per_second: sample.transactions_per_second,
            operations_per_second: sample.operations_per_second,
            latency_ns_p50: sample.latency_ns.p50,
            latency_ns_p99: sample.latency_ns.p99,
            latency_ns_p999: sample.latency_ns.p999,
            aborts: sample.aborts,
            verified: sample.verified,
            weft_times: comparison.weft_times(sample),
            device_syncs_per_second: rates.get(sample.repeat as usize).copied(),
        }
    }
}

/// Returns all runs, in the order they took place.
pub(super) fn lines(comparisons: &[Comparison]) -> Result<String> {
    let lines: Vec<(&Facts, Found)> = comparisons
        .iter()
        .flat_map(|comparison| {
            let samples = comparison.samples.iter();
            samples.map(move |sample| (&comparison.facts, Found::new(comparison, sample)))
        })
        .collect();
    csv::text(&lines)
}
