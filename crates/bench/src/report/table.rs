//! A table for a terminal, and under it what its columns mean.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle, presets};

use crate::limits::Limit;
use crate::measure::{Durability, Measurement, Spread, Summary};
use crate::number::bytes_text;
use crate::runner::STOLEN;
use crate::subject::{DEVICE_P50, DEVICE_P99, LOG_BLOCKS, LOG_BYTES};

/// Lines above and below the header and at the end, none between rows.
const STYLE: TableStyle = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());

/// Stolen time below this is not worth a line.
const STOLEN_NOTED: f64 = 0.02;

const LEGEND: &str = "\
Medians over the repeats. ns/op: time per operation and worker. ±: half the range of Mops/s. x seq:
operations per second against sequential, taken within each repeat. limit: cache lines touched as
a share of the random independent lines this machine loads on as many threads. p50 to p99.9: time
of a transaction in microseconds. ok: every answer was verified.
";

/// One row per mode.
pub(super) fn outcome(summaries: &[Summary]) -> String {
    let mut table = table(&[
        "mode", "ktxn/s", "Mops/s", "±", "ns/op", "x seq", "limit", "p50", "p99", "p99.9",
        "aborts", "ok",
    ]);
    for summary in summaries {
        let median = &summary.median;
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
        table.add_row([
            variant(median),
            format!("{:.1}", median.transactions_per_second / 1e3),
            format!("{:.3}", median.operations_per_second / 1e6),
            spread(&summary.operations_per_second_spread),
            format!("{:.0}", median.operation_ns()),
            summary
                .times_sequential
                .map_or("-".into(), |ratio| format!("{:.2}", ratio.median)),
            summary
                .limit_share
                .map_or("-".into(), |share| format!("{:.0} %", share * 100.0)),
            micros(median.latency_ns.p50),
            micros(median.latency_ns.p99),
            micros(median.latency_ns.p999),
            median.aborts.to_string(),
            if median.verified {
                "yes".into()
            } else {
                "WRONG".into()
            },
        ]);
    }
    align(&mut table, 1);
    let limits: Vec<f64> = summaries
        .iter()
        .map(|summary| summary.median.limit_lines_per_second)
        .collect();
    let limit = match limits.as_slice() {
        [] => String::new(),
        limits => {
            let median = Spread::of(limits).median;
            format!(
                "Machine limit: {:.1} million lines per second.\n",
                median / 1e6
            )
        }
    };
    format!(
        "{table}\n{limit}{}{}{LEGEND}",
        device(summaries),
        host(summaries)
    )
}

/// What else may have decided the figures.
fn host(summaries: &[Summary]) -> String {
    let stolen = summaries
        .iter()
        .filter_map(|summary| summary.median.extra.get(STOLEN).copied())
        .fold(0.0, f64::max);
    if stolen < STOLEN_NOTED {
        return String::new();
    }
    format!(
        "Host: up to {:.0} % of the processors' time was taken by others while a row was \
         measured; waits of milliseconds are theirs.\n",
        stolen * 100.0
    )
}

/// What the log cost, and what the device does by itself.
fn device(summaries: &[Summary]) -> String {
    let known = |name: &str| {
        let values: Vec<f64> = summaries
            .iter()
            .filter(|summary| summary.median.durability != Durability::Memory)
            .filter_map(|summary| summary.median.extra.get(name).copied())
            .filter(|value| value.is_finite() && *value > 0.0)
            .collect();
        (!values.is_empty()).then(|| Spread::of(&values).median)
    };
    let mut text = String::new();
    if let (Some(p50), Some(p99)) = (known(DEVICE_P50), known(DEVICE_P99)) {
        text += &format!(
            "Device: one durable write of 4 KiB takes {:.0} us (p50) to {:.0} us (p99).\n",
            p50 / 1e3,
            p99 / 1e3
        );
    }
    if let (Some(bytes), Some(blocks)) = (known(LOG_BYTES), known(LOG_BLOCKS)) {
        text += &format!(
            "Log: {bytes:.0} bytes per record written, {blocks:.0} writes to the device per \
             second.\n"
        );
    }
    text
}

/// The mode and, for a database in a directory, the durability.
fn variant(of: &Measurement) -> String {
    match of.durability {
        Durability::Memory => of.mode.name().to_owned(),
        durability => format!("{} {}", of.mode.name(), durability.name()),
    }
}

/// One row per limit.
pub(super) fn limits(limits: &[Limit]) -> String {
    let mut table = table(&["limit", "threads", "memory", "median", "min", "max", "±"]);
    for limit in limits {
        let Spread { median, min, max } = limit.spread;
        let number = |value: f64| match limit.unit {
            "lines/s" => format!("{:.1} M {}", value / 1e6, limit.unit),
            "reads/s" => format!("{:.1} k {}", value / 1e3, limit.unit),
            unit => format!("{value:.1} {unit}"),
        };
        let memory = if limit.bytes == 0 {
            "-".into()
        } else {
            bytes_text(limit.bytes)
        };
        table.add_row([
            limit.measure.clone(),
            limit.workers.to_string(),
            memory,
            number(median),
            number(min),
            number(max),
            spread(&limit.spread),
        ]);
    }
    align(&mut table, 1);
    format!("{table}\n")
}

/// Half the range as a share of the median, in percent.
pub fn spread(spread: &Spread) -> String {
    format!("{:.0} %", spread.relative() * 100.0)
}

/// An empty table with these columns, in the form all of them have.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(header.iter().map(Cell::new));
    table
}

/// Sets the columns from this one on to the right, as numbers are.
pub fn align(table: &mut Table, from: usize) {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
