//! CSV: a line per mode and repeat, each carrying its whole configuration, so
//! that files of many runs can be joined.

use serde::Serialize;

use crate::limits::Limit;
use crate::measure::{Certifier, Flusher, Measurement, Spread, Summary};
use crate::runner::Outcome;
use commands::{Error, Result};

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
    records: Option<u64>,
    operations_per_transaction: Option<u32>,
    key_bytes: Option<usize>,
    value_bytes: Option<usize>,
    distribution: Option<&'a str>,
    theta: Option<f64>,
    isolation: &'a str,
    certifier: Option<&'a str>,
    read_only_declared: bool,
    durability: &'a str,
    flusher: Option<&'a str>,
    seconds: f64,
    transactions_per_second: f64,
    operations_per_second: f64,
    latency_ns_p50: u64,
    latency_ns_p99: u64,
    latency_ns_p999: u64,
    aborts: u64,
    aborts_per_transaction: f64,
    aborts_write_conflict: u64,
    aborts_snapshot_too_old: u64,
    aborts_not_serializable: u64,
    aborts_phantom: u64,
    aborts_deadlock: u64,
    verified: bool,
    unique_indexes: Option<u32>,
    secondary_indexes: Option<u32>,
    limit_lines_per_second: f64,
    lines_per_operation: Option<f64>,
    commit: Option<&'a str>,
    operations_per_second_median: f64,
    operations_per_second_min: f64,
    operations_per_second_max: f64,
    times_sequential: Option<f64>,
    times_snapshot: Option<f64>,
    aborts_times_sequential: Option<f64>,
}

/// Returns all measurements, repeat by repeat, with their mode's median and range.
pub(super) fn outcome(outcome: &Outcome) -> Result<String> {
    let mut lines = Vec::new();
    for (repeat, measurements) in outcome.repeats.iter().enumerate() {
        for measurement in measurements {
            let summary = outcome
                .summaries
                .iter()
                .find(|summary| summary.median.variant() == measurement.variant())
                .ok_or_else(|| Error::run("a mode was measured but not summarised"))?;
            lines.push(line(measurement, repeat + 1, summary));
        }
    }
    text(&lines)
}

/// Returns all measurements of many outcomes: each with further columns of its own before the
/// others.
///
/// # Errors
/// [`Error::Run`] when a measurement cannot be written as CSV.
pub fn outcomes<const N: usize>(
    columns: [&str; N],
    of: impl IntoIterator<Item = ([String; N], impl std::borrow::Borrow<Outcome>)>,
) -> Result<String> {
    let failed =
        |error: csv::Error| Error::run(format!("cannot write the results as CSV: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = Some(columns);
    for (fields, one) in of {
        let text = outcome(one.borrow())?;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        if let Some(columns) = header.take() {
            let others = reader.headers().map_err(failed)?;
            let all = columns.into_iter().chain(others);
            writer.write_record(all).map_err(failed)?;
        }
        for record in reader.records() {
            let record = record.map_err(failed)?;
            let own = fields.iter().map(String::as_str);
            let all = own.chain(&record);
            writer.write_record(all).map_err(failed)?;
        }
    }
    finished(writer)
}

/// Returns one line per limit.
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

fn line<'a>(of: &'a Measurement, repeat: usize, summary: &Summary) -> Line<'a> {
    let spread = summary.operations_per_second_spread;
    let median = |ratio: Option<Spread>| ratio.map(|ratio| ratio.median);
    Line {
        benchmark: of.benchmark,
        workload: &of.workload,
        mode: of.mode.name(),
        repeat,
        workers: of.workers,
        in_flight: of.in_flight.to_string(),
        in_flight_effective: of.in_flight_effective,
        records: of.shape.map(|shape| shape.records),
        operations_per_transaction: of.shape.map(|shape| shape.operations_per_transaction),
        key_bytes: of.shape.map(|shape| shape.key_bytes),
        value_bytes: of.shape.map(|shape| shape.value_bytes),
        distribution: of.shape.map(|shape| shape.distribution),
        theta: of.shape.and_then(|shape| shape.theta),
        isolation: of.isolation.name(),
        certifier: of.certifier.map(Certifier::name),
        read_only_declared: of.read_only_declared,
        durability: of.durability.name(),
        flusher: of.flusher.map(Flusher::name),
        seconds: of.seconds,
        transactions_per_second: of.transactions_per_second,
        operations_per_second: of.operations_per_second,
        latency_ns_p50: of.latency_ns.p50,
        latency_ns_p99: of.latency_ns.p99,
        latency_ns_p999: of.latency_ns.p999,
        aborts: of.aborts,
        aborts_per_transaction: of.aborts_per_transaction,
        aborts_write_conflict: of.aborts_by_reason.write_conflict,
        aborts_snapshot_too_old: of.aborts_by_reason.snapshot_too_old,
        aborts_not_serializable: of.aborts_by_reason.not_serializable,
        aborts_phantom: of.aborts_by_reason.phantom,
        aborts_deadlock: of.aborts_by_reason.deadlock,
        verified: of.verified,
        unique_indexes: of.shape.map(|shape| shape.unique_indexes),
        secondary_indexes: of.shape.map(|shape| shape.secondary_indexes),
        limit_lines_per_second: of.limit_lines_per_second,
        lines_per_operation: of.lines_per_operation,
        commit: of.commit,
        operations_per_second_median: spread.median,
        operations_per_second_min: spread.min,
        operations_per_second_max: spread.max,
        times_sequential: median(summary.times_sequential),
        times_snapshot: median(summary.times_snapshot),
        aborts_times_sequential: summary.aborts_times_sequential,
    }
}

/// Returns the lines under a header made of their fields' names.
///
/// # Errors
/// [`Error::Run`] when a line cannot be written as CSV.
pub fn text(lines: &[impl Serialize]) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::run(format!("cannot write the results as CSV: {error}"))
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.serialize(line).map_err(|error| failed(&error))?;
    }
    finished(writer)
}

/// Returns the text that was written.
fn finished(writer: csv::Writer<Vec<u8>>) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::run(format!("cannot write the results as CSV: {error}"))
    };
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}
