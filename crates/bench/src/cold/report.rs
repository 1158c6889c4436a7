//! The results as people and programs read them.

use serde::Serialize;

use super::Cold;
use crate::report::{Format, Line as ChartLine, LineChart, csv, json, line_chart, table};
use commands::Result;

const LEGEND: &str = "\
Medians over the repeats; latencies are of all of them. storage: share of storage-bound transactions
offered. hot, cold: thousand in-memory and storage-bound transactions committed per second; ±: half
the range of both together. seq: times the sequential scheduler, both together; hot seq: in-memory
ones alone. vs 0: in-memory ones against the same scheduler without storage-bound ones. p50, p99:
microseconds from begin to commit. aborts: of storage-bound ones. kIOPS: thousand reads of cold
files per second; limit: of what the device does by itself at the best depth. depth: reads under way
at once on each worker. ok: every value was right, and no change was lost.
";

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a number cannot be written, which does not
/// happen.
pub fn report(format: Format, results: &[Cold]) -> Result<String> {
    match format {
        Format::Json => json::array(results),
        Format::Csv => csv::text(&results.iter().map(Line::of).collect::<Vec<_>>()),
        Format::Table => Ok(text(results)),
    }
}

/// A line of CSV: the fields of [`Cold`], flat.
#[derive(Serialize)]
struct Line {
    benchmark: &'static str,
    mode: &'static str,
    nesting: &'static str,
    storage_bound_percent: f64,
    read_only_percent: f64,
    workers: usize,
    in_flight: String,
    in_flight_effective: f64,
    cold_clients: u32,
    cold_slots: Option<u32>,
    visit_interval: Option<u32>,
    hot_records: u64,
    cold_records: u64,
    value_bytes: usize,
    durability: &'static str,
    seconds: f64,
    operations_per_second: f64,
    transactions_per_second: f64,
    transactions_per_second_min: f64,
    transactions_per_second_max: f64,
    hot_transactions_per_second: f64,
    hot_transactions_per_second_min: f64,
    hot_transactions_per_second_max: f64,
    cold_transactions_per_second: f64,
    cold_transactions_per_second_min: f64,
    cold_transactions_per_second_max: f64,
    times_sequential: Option<f64>,
    hot_times_sequential: Option<f64>,
    hot_times_in_memory: Option<f64>,
    latency_ns_p50: u64,
    latency_ns_p99: u64,
    hot_latency_ns_p50: u64,
    hot_latency_ns_p99: u64,
    cold_latency_ns_p50: u64,
    cold_latency_ns_p99: u64,
    aborts: u64,
    hot_aborts: u64,
    cold_aborts: u64,
    device_iops: f64,
    device_iops_limit: f64,
    device_iops_limit_depth: usize,
    device_iops_share: f64,
    device_depth: Option<f64>,
    cold_reads_per_access: Option<f64>,
    direct_io: bool,
    verified: bool,
}

impl Line {
    fn of(of: &Cold) -> Line {
        Line {
            benchmark: of.benchmark,
            mode: of.mode.name(),
            nesting: of.nesting.name(),
            storage_bound_percent: of.storage_bound_percent,
            read_only_percent: of.read_only_percent,
            workers: of.workers,
            in_flight: of.in_flight.to_string(),
            in_flight_effective: of.in_flight_effective,
            cold_clients: of.cold_clients,
            cold_slots: of.cold_slots,
            visit_interval: of.visit_interval,
            hot_records: of.hot_records,
            cold_records: of.cold_records,
            value_bytes: of.value_bytes,
            durability: of.durability.name(),
            seconds: of.seconds,
            operations_per_second: of.operations_per_second,
            transactions_per_second: of.transactions_per_second,
            transactions_per_second_min: of.transactions_per_second_spread.min,
            transactions_per_second_max: of.transactions_per_second_spread.max,
            hot_transactions_per_second: of.hot_transactions_per_second,
            hot_transactions_per_second_min: of.hot_transactions_per_second_spread.min,
            hot_transactions_per_second_max: of.hot_transactions_per_second_spread.max,
            cold_transactions_per_second: of.cold_transactions_per_second,
            cold_transactions_per_second_min: of.cold_transactions_per_second_spread.min,
            cold_transactions_per_second_max: of.cold_transactions_per_second_spread.max,
            times_sequential: of.times_sequential,
            hot_times_sequential: of.hot_times_sequential,
            hot_times_in_memory: of.hot_times_in_memory,
            latency_ns_p50: of.latency_ns.p50,
            latency_ns_p99: of.latency_ns.p99,
            hot_latency_ns_p50: of.hot_latency_ns.p50,
            hot_latency_ns_p99: of.hot_latency_ns.p99,
            cold_latency_ns_p50: of.cold_latency_ns.p50,
            cold_latency_ns_p99: of.cold_latency_ns.p99,
            aborts: of.aborts,
            hot_aborts: of.hot_aborts,
            cold_aborts: of.cold_aborts,
            device_iops: of.device_iops,
            device_iops_limit: of.device_iops_limit,
            device_iops_limit_depth: of.device_iops_limit_depth,
            device_iops_share: of.device_iops_share,
            device_depth: of.device_depth,
            cold_reads_per_access: of.cold_reads_per_access,
            direct_io: of.direct_io,
            verified: of.verified,
        }
    }
}

/// Returns the name of a scheduler, with its other settings if they vary in `results`.
fn name(of: &Cold, results: &[Cold]) -> String {
    let mut name = of.mode.name().to_owned();
    if results.iter().any(|other| other.nesting != of.nesting) {
        name += &format!(", {}", of.nesting.name());
    }
    // A scheduler with one transaction under way at a time has no other settings.
    if !of.mode.is_concurrent() {
        return name;
    }
    let differs = |is_other: fn(&Cold, &Cold) -> bool| {
        let mut same = results.iter().filter(|other| other.mode == of.mode);
        same.any(|other| is_other(of, other))
    };
    if differs(|one, other| one.in_flight != other.in_flight) {
        name += &format!(", {} in flight", of.in_flight);
    }
    if differs(|one, other| one.cold_clients != other.cold_clients) {
        name += &format!(", {} clients", of.cold_clients);
    }
    if differs(|one, other| one.cold_slots != other.cold_slots)
        && let Some(slots) = of.cold_slots
    {
        name += &format!(", {slots} slots");
    }
    if differs(|one, other| one.visit_interval != other.visit_interval)
        && let Some(interval) = of.visit_interval
    {
        name += &format!(", every {interval}");
    }
    name
}

fn text(results: &[Cold]) -> String {
    let mut rows = table::table(&[
        "scheduler",
        "storage",
        "hot",
        "cold",
        "±",
        "seq",
        "hot seq",
        "vs 0",
        "hot p50",
        "p99",
        "cold p50",
        "p99",
        "aborts",
        "kIOPS",
        "limit",
        "depth",
        "ok",
    ]);
    for result in results {
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
        let thousand = |rate: f64| format!("{:.1}", rate / 1e3);
        let ratio = |ratio: Option<f64>| ratio.map_or_else(String::new, |it| format!("{it:.2}"));
        rows.add_row([
            name(result, results),
            format!("{} %", result.storage_bound_percent),
            thousand(result.hot_transactions_per_second),
            thousand(result.cold_transactions_per_second),
            table::spread(&result.transactions_per_second_spread),
            ratio(result.times_sequential),
            ratio(result.hot_times_sequential),
            ratio(result.hot_times_in_memory),
            micros(result.hot_latency_ns.p50),
            micros(result.hot_latency_ns.p99),
            micros(result.cold_latency_ns.p50),
            micros(result.cold_latency_ns.p99),
            result.cold_aborts.to_string(),
            thousand(result.device_iops),
            format!("{:.0} %", result.device_iops_share * 100.0),
            ratio(result.device_depth),
            if result.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 1);
    format!("{rows}\n{LEGEND}")
}

/// Draws in-memory and storage-bound transactions per second of each scheduler against the offered
/// share of the latter.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when there is nothing to draw.
pub fn chart(title: &str, results: &[Cold]) -> Result<String> {
    let mut percents: Vec<f64> = Vec::new();
    let mut names = Vec::new();
    for result in results {
        if !percents.contains(&result.storage_bound_percent) {
            percents.push(result.storage_bound_percent);
        }
        let name = name(result, results);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    percents.sort_by(f64::total_cmp);
    let find = |of: &str, percent: f64| {
        results.iter().find(move |result| {
            name(result, results) == of && result.storage_bound_percent == percent
        })
    };
    let mut lines = Vec::new();
    for name in &names {
        for (kind, is_hot) in [("in memory", true), ("storage-bound", false)] {
            let values = percents.iter().map(|&percent| {
                let result = find(name, percent)?;
                Some(match is_hot {
                    true => result.hot_transactions_per_second_spread.scaled(1e-3),
                    false => result.cold_transactions_per_second_spread.scaled(1e-3),
                })
            });
            lines.push(ChartLine {
                name: format!("{name}, {kind}"),
                values: values.collect(),
            });
        }
    }
    line_chart(&LineChart {
        title: title.to_owned(),
        x_title: "storage-bound transactions offered, %".to_owned(),
        x_labels: percents.iter().map(f64::to_string).collect(),
        y_title: "thousand transactions per second".to_owned(),
        lines,
    })
}
