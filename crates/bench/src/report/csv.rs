//! CSV: a line per mode and repeat, each carrying its whole configuration, so
//! that files of many runs can be joined.

use serde::Serialize;

use crate::limits::Limit;
use crate::measure::Measurement;
use crate::runner::Outcome;
use crate::{Error, Result};

/// One line. Columns have the names of the JSON fields; nested ones are joined
/// by an underscore.
#[derive(Serialize)]
struct Line<'a> {
    benchmark: &'a str,
    workload: &'a str,
    mode: &'a str,
    repeat: usize,
    workers: usize,
    in_flight: String,
    in_flight_effective: Option<f64>,
    records: u64,
    operations_per_transaction: u32,
    key_bytes: usize,
    value_bytes: usize,
    distribution: &'a str,
    theta: Option<f64>,
    isolation: &'a str,
    durability: &'a str,
    seconds: f64,
    transactions_per_second: f64,
    operations_per_second: f64,
    latency_ns_p50: u64,
    latency_ns_p99: u64,
    latency_ns_p999: u64,
    aborts: u64,
    verified: bool,
    limit_lines_per_second: f64,
    lines_per_operation: Option<f64>,
    commit: Option<&'a str>,
    operations_per_second_median: f64,
    operations_per_second_min: f64,
    operations_per_second_max: f64,
}

/// All measurements, repeat by repeat, with their mode's median and range.
pub(super) fn outcome(outcome: &Outcome) -> Result<String> {
    let mut lines = Vec::new();
    for (repeat, measurements) in outcome.repeats.iter().enumerate() {
        for measurement in measurements {
            let summary = outcome
                .summaries
                .iter()
                .find(|summary| {
                    let median = &summary.median;
                    (median.durability, median.mode) == (measurement.durability, measurement.mode)
                })
                .ok_or_else(|| Error::run("a mode was measured but not summarised"))?;
            let spread = summary.operations_per_second_spread;
            lines.push(line(measurement, repeat + 1, spread));
        }
    }
    text(&lines)
}

/// One line per limit.
pub(super) fn limits(limits: &[Limit]) -> Result<String> {
    #[derive(Serialize)]
    struct Line<'a> {
        benchmark: &'a str,
        measure: &'a str,
        unit: &'a str,
        workers: usize,
        bytes: u64,
        median: f64,
        min: f64,
        max: f64,
    }
    let lines: Vec<Line<'_>> = limits
        .iter()
        .map(|limit| Line {
            benchmark: limit.benchmark,
            measure: &limit.measure,
            unit: limit.unit,
            workers: limit.workers,
            bytes: limit.bytes,
            median: limit.spread.median,
            min: limit.spread.min,
            max: limit.spread.max,
        })
        .collect();
    text(&lines)
}

fn line(of: &Measurement, repeat: usize, spread: crate::measure::Spread) -> Line<'_> {
    Line {
        benchmark: of.benchmark,
        workload: &of.workload,
        mode: of.mode.name(),
        repeat,
        workers: of.workers,
        in_flight: of.in_flight.to_string(),
        in_flight_effective: of.in_flight_effective,
        records: of.records,
        operations_per_transaction: of.operations_per_transaction,
        key_bytes: of.key_bytes,
        value_bytes: of.value_bytes,
        distribution: of.distribution,
        theta: of.theta,
        isolation: of.isolation.name(),
        durability: of.durability.name(),
        seconds: of.seconds,
        transactions_per_second: of.transactions_per_second,
        operations_per_second: of.operations_per_second,
        latency_ns_p50: of.latency_ns.p50,
        latency_ns_p99: of.latency_ns.p99,
        latency_ns_p999: of.latency_ns.p999,
        aborts: of.aborts,
        verified: of.verified,
        limit_lines_per_second: of.limit_lines_per_second,
        lines_per_operation: of.lines_per_operation,
        commit: of.commit,
        operations_per_second_median: spread.median,
        operations_per_second_min: spread.min,
        operations_per_second_max: spread.max,
    }
}

/// The lines under a header made of their fields' names.
///
/// # Errors
/// [`Error::Run`] when one cannot be written as CSV.
pub fn text(lines: &[impl Serialize]) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::run(format!("cannot write the results as CSV: {error}"))
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.serialize(line).map_err(|error| failed(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}
