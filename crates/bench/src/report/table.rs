//! A table for a terminal, and under it the meanings of its columns.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle, presets};

use crate::limits::Limit;
use crate::measure::{Durability, Spread, Summary};
use crate::runner::STOLEN;
use crate::subject::{DEVICE_P50, DEVICE_P99, LOG_BLOCKS, LOG_BYTES};
use commands::number::bytes_text;

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

const LEGEND_LEVELS: &str = "\
x snap: operations per second against snapshot isolation in the same mode.
";

const LEGEND_KINDS: &str = "\
aborts/1000: attempts given up, for 1000 transactions done. rolled back: as their requests asked.
frame bytes: of the coroutine of one transaction.
";

const LEGEND_ABORTS: &str = "\
conflict: another open transaction had written the record; too old: a later one had committed it;
no order: not serializable; phantom: records came or went in a range that was read.
";

/// Returns a table with one row per variant.
pub(super) fn outcome(summaries: &[Summary]) -> String {
    let levels = summaries.iter().any(|one| one.times_snapshot.is_some());
    let mut header = vec![
        "mode", "ktxn/s", "Mops/s", "±", "ns/op", "x seq", "limit", "p50", "p99", "p99.9",
        "aborts", "ok",
    ];
    if levels {
        header.insert(6, "x snap");
    }
    let mut table = table(&header);
    for summary in summaries {
        let median = &summary.median;
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
        let mut row = vec![
            median.variant().to_string(),
            format!("{:.1}", median.transactions_per_second / 1e3),
            format!("{:.3}", median.operations_per_second / 1e6),
            spread(&summary.operations_per_second_spread),
            format!("{:.0}", median.operation_ns()),
            times(summary.times_sequential.map(|ratio| ratio.median)),
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
        ];
        if levels {
            row.insert(6, times(summary.times_snapshot.map(|ratio| ratio.median)));
        }
        table.add_row(row);
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
    let levels = if levels { LEGEND_LEVELS } else { "" };
    format!(
        "{table}\n{}{}{limit}{}{}{LEGEND}{levels}",
        kinds(summaries),
        aborts(summaries),
        device(summaries),
        host(summaries)
    )
}

/// Returns the text of a ratio, if there is one.
fn times(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"))
}

/// Returns a table of the kinds of transactions, if there are several.
fn kinds(summaries: &[Summary]) -> String {
    if summaries.iter().all(|one| one.median.kinds.is_empty()) {
        return String::new();
    }
    let mut table = table(&[
        "kind",
        "mode",
        "ktxn/s",
        "p50",
        "p99",
        "p99.9",
        "aborts/1000",
        "rolled back",
        "frame bytes",
    ]);
    let count = summaries[0].median.kinds.len();
    for kind in 0..count {
        for summary in summaries {
            let of = &summary.median.kinds[kind];
            if of.transactions_per_second == 0.0 {
                continue;
            }
            let micros = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
            table.add_row([
                of.kind.to_owned(),
                summary.median.variant().to_string(),
                format!("{:.2}", of.transactions_per_second / 1e3),
                micros(of.latency_ns.p50),
                micros(of.latency_ns.p99),
                micros(of.latency_ns.p999),
                format!("{:.3}", of.aborts_per_transaction * 1e3),
                format!("{:.2} %", of.rolled_back * 100.0),
                of.frame_bytes.to_string(),
            ]);
        }
    }
    align(&mut table, 2);
    format!("{table}\n{LEGEND_KINDS}")
}

/// Returns aborts by reason, if there were any.
fn aborts(summaries: &[Summary]) -> String {
    if summaries.iter().all(|summary| summary.median.aborts == 0) {
        return String::new();
    }
    let mut table = table(&[
        "aborts per 1000 commits",
        "all",
        "conflict",
        "too old",
        "no order",
        "phantom",
        "deadlock",
        "x seq",
    ]);
    for summary in summaries {
        let median = &summary.median;
        let commits = median.transactions_per_second * median.seconds;
        let mut row = vec![
            median.variant().to_string(),
            format!("{:.3}", median.aborts_per_transaction * 1e3),
        ];
        let reasons = median.aborts_by_reason.each();
        row.extend(reasons.map(|count| format!("{:.3}", count as f64 / commits * 1e3)));
        row.push(times(summary.aborts_times_sequential));
        table.add_row(row);
    }
    align(&mut table, 1);
    format!("{table}\n{LEGEND_ABORTS}")
}

/// Returns notes on the host that may have decided the figures.
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

/// Returns the cost of the log, and the performance of the device by itself.
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

/// Returns a table with one row per limit.
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

/// Returns half the range as a share of the median, in percent.
pub fn spread(spread: &Spread) -> String {
    format!("{:.0} %", spread.relative() * 100.0)
}

/// Returns an empty table with these columns, in the form that all tables have.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(header.iter().map(Cell::new));
    table
}

/// Aligns the columns from this one on to the right, as numbers are.
pub fn align(table: &mut Table, from: usize) {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
