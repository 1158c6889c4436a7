//! The results as people and programs read them.

use serde::Serialize;

use super::{BeyondMemory, Direction, Mode};
use crate::report::{Format, Line as ChartLine, LineChart, csv, json, line_chart, table};
use commands::Result;

const LEGEND: &str = "\
Medians over the repeats; latencies are of all of them. set: bytes of the working set's records
against memory. kop/s, ktx/s: thousand records accessed, and transactions committed, per second; ±:
half the range. of mem: against the database whose memory holds everything. p50, p99: microseconds
from begin to commit. cold: reads that went to the device for each access. kIOPS: thousand reads of
cold files per second; limit: of what the device does by itself at the best depth. depth: reads
under way at once on each worker. resident: most memory of the process that is the database's,
against the ceiling. files: bytes of cold files against those of all records. ok: every value was
right, and no change was lost.
";

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a number cannot be written, which does not
/// happen.
pub fn report(format: Format, results: &[BeyondMemory]) -> Result<String> {
    match format {
        Format::Json => json::array(results),
        Format::Csv => csv::text(&results.iter().map(Line::of).collect::<Vec<_>>()),
        Format::Table => Ok(text(results)),
    }
}

/// A line of CSV: the fields of [`BeyondMemory`], flat.
#[derive(Serialize)]
struct Line {
    benchmark: &'static str,
    mode: &'static str,
    direction: &'static str,
    working_set: f64,
    working_set_records: u64,
    records: u64,
    record_bytes: u64,
    memory_bytes: u64,
    value_bytes: usize,
    distribution: &'static str,
    theta: Option<f64>,
    read_percent: f64,
    accesses: u32,
    workers: usize,
    in_flight: String,
    in_flight_effective: f64,
    durability: &'static str,
    seconds: f64,
    operations_per_second: f64,
    transactions_per_second: f64,
    transactions_per_second_min: f64,
    transactions_per_second_max: f64,
    times_in_memory: Option<f64>,
    latency_ns_p50: u64,
    latency_ns_p99: u64,
    aborts: u64,
    cold_read_share: f64,
    device_iops: f64,
    device_iops_limit: Option<f64>,
    device_iops_share: Option<f64>,
    device_depth: Option<f64>,
    resident_bytes: Option<u64>,
    resident_of_memory: Option<f64>,
    cold_nodes_share: Option<f64>,
    cold_records_share: Option<f64>,
    cold_file_bytes: u64,
    cold_file_bytes_of_records: f64,
    direct_io: Option<bool>,
    verified: bool,
}

impl Line {
    fn of(of: &BeyondMemory) -> Line {
        Line {
            benchmark: of.benchmark,
            mode: of.mode.name(),
            direction: of.direction.name(),
            working_set: of.working_set,
            working_set_records: of.working_set_records,
            records: of.records,
            record_bytes: of.record_bytes,
            memory_bytes: of.memory_bytes,
            value_bytes: of.value_bytes,
            distribution: of.distribution,
            theta: of.theta,
            read_percent: of.read_percent,
            accesses: of.accesses,
            workers: of.workers,
            in_flight: of.in_flight.to_string(),
            in_flight_effective: of.in_flight_effective,
            durability: of.durability.name(),
            seconds: of.seconds,
            operations_per_second: of.operations_per_second,
            transactions_per_second: of.transactions_per_second,
            transactions_per_second_min: of.transactions_per_second_spread.min,
            transactions_per_second_max: of.transactions_per_second_spread.max,
            times_in_memory: of.times_in_memory,
            latency_ns_p50: of.latency_ns.p50,
            latency_ns_p99: of.latency_ns.p99,
            aborts: of.aborts,
            cold_read_share: of.cold_read_share,
            device_iops: of.device_iops,
            device_iops_limit: of.device_iops_limit,
            device_iops_share: of.device_iops_share,
            device_depth: of.device_depth,
            resident_bytes: of.resident_bytes,
            resident_of_memory: of.resident_of_memory,
            cold_nodes_share: of.cold_nodes_share,
            cold_records_share: of.cold_records_share,
            cold_file_bytes: of.cold_file_bytes,
            cold_file_bytes_of_records: of.cold_file_bytes_of_records,
            direct_io: of.direct_io,
            verified: of.verified,
        }
    }
}

fn text(results: &[BeyondMemory]) -> String {
    let mut rows = table::table(&[
        "database",
        "direction",
        "set",
        "kop/s",
        "ktx/s",
        "±",
        "of mem",
        "p50",
        "p99",
        "cold",
        "kIOPS",
        "limit",
        "depth",
        "resident",
        "files",
        "ok",
    ]);
    for result in results {
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
        let thousand = |rate: f64| format!("{:.1}", rate / 1e3);
        let ratio = |ratio: Option<f64>| ratio.map_or_else(String::new, |it| format!("{it:.2}"));
        let percent = |share: Option<f64>| {
            share.map_or_else(String::new, |it| format!("{:.1} %", it * 100.0))
        };
        rows.add_row([
            result.mode.name().to_owned(),
            result.direction.name().to_owned(),
            result.working_set.to_string(),
            thousand(result.operations_per_second),
            thousand(result.transactions_per_second),
            table::spread(&result.transactions_per_second_spread),
            ratio(result.times_in_memory),
            micros(result.latency_ns.p50),
            micros(result.latency_ns.p99),
            percent(Some(result.cold_read_share)),
            thousand(result.device_iops),
            percent(result.device_iops_share),
            ratio(result.device_depth),
            percent(result.resident_of_memory),
            ratio(Some(result.cold_file_bytes_of_records)),
            if result.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 2);
    format!("{rows}\n{LEGEND}")
}

/// Draws operations per second of each database in each direction against the working set.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when there is nothing to draw.
pub fn chart(title: &str, results: &[BeyondMemory]) -> Result<String> {
    let mut sets: Vec<f64> = Vec::new();
    for result in results {
        if !sets.contains(&result.working_set) {
            sets.push(result.working_set);
        }
    }
    sets.sort_by(f64::total_cmp);
    let mut lines = Vec::new();
    for mode in [Mode::AllInMemory, Mode::BeyondMemory] {
        for direction in [Direction::Growing, Direction::Shrinking] {
            let mut own = results
                .iter()
                .filter(|one| one.mode == mode && one.direction == direction)
                .peekable();
            if own.peek().is_none() {
                continue;
            }
            let own: Vec<_> = own.collect();
            let values = sets.iter().map(|set| {
                let result = own.iter().find(|one| one.working_set == *set)?;
                let thousands = 1e-3 * f64::from(result.accesses);
                Some(result.transactions_per_second_spread.scaled(thousands))
            });
            lines.push(ChartLine {
                name: format!("{}, {}", mode.name(), direction.name()),
                values: values.collect(),
            });
        }
    }
    line_chart(&LineChart {
        title: title.to_owned(),
        x_title: "working set / memory".to_owned(),
        x_labels: sets.iter().map(f64::to_string).collect(),
        y_title: "thousand operations per second".to_owned(),
        lines,
    })
}
