//! The results as people and programs read them.

use serde::Serialize;

use super::HotRow;
use crate::report::{Format, csv, json, table};
use commands::Result;

const LEGEND: &str = "\
Medians over the repeats; most and longest are of all of them. tries: how often a transaction was
run for each commit; most: for the unluckiest. waits: for other transactions, for each commit. p50,
p99, longest: microseconds from a transaction's begin to its commit. fair: commits of the writer
with fewest against the one with most. ok: the record counted every commit.
";

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a number cannot be written, which does not
/// happen.
pub fn report(format: Format, results: &[HotRow]) -> Result<String> {
    match format {
        Format::Json => json::array(results),
        Format::Csv => csv::text(&results.iter().map(Line::of).collect::<Vec<_>>()),
        Format::Table => Ok(text(results)),
    }
}

/// A line of CSV: the fields of [`HotRow`], flat.
#[derive(Serialize)]
struct Line {
    benchmark: &'static str,
    on_conflict: &'static str,
    isolation: &'static str,
    writers: usize,
    workers: usize,
    commits_per_second: f64,
    commits_per_second_min: f64,
    commits_per_second_max: f64,
    attempts_per_commit: f64,
    attempts_max: u32,
    waits_per_commit: f64,
    latency_ns_p50: u64,
    latency_ns_p99: u64,
    longest_ns: u64,
    fairness: f64,
    fairness_min: f64,
    aborts_write_conflict: u64,
    aborts_snapshot_too_old: u64,
    aborts_not_serializable: u64,
    aborts_phantom: u64,
    aborts_deadlock: u64,
    verified: bool,
}

impl Line {
    fn of(of: &HotRow) -> Line {
        Line {
            benchmark: of.benchmark,
            on_conflict: of.on_conflict.name(),
            isolation: of.isolation.name(),
            writers: of.writers,
            workers: of.workers,
            commits_per_second: of.commits_per_second.median,
            commits_per_second_min: of.commits_per_second.min,
            commits_per_second_max: of.commits_per_second.max,
            attempts_per_commit: of.attempts_per_commit,
            attempts_max: of.attempts_max,
            waits_per_commit: of.waits_per_commit,
            latency_ns_p50: of.latency_ns.p50,
            latency_ns_p99: of.latency_ns.p99,
            longest_ns: of.longest_ns,
            fairness: of.fairness.median,
            fairness_min: of.fairness.min,
            aborts_write_conflict: of.aborts_by_reason.write_conflict,
            aborts_snapshot_too_old: of.aborts_by_reason.snapshot_too_old,
            aborts_not_serializable: of.aborts_by_reason.not_serializable,
            aborts_phantom: of.aborts_by_reason.phantom,
            aborts_deadlock: of.aborts_by_reason.deadlock,
            verified: of.verified,
        }
    }
}

fn text(results: &[HotRow]) -> String {
    let mut rows = table::table(&[
        "on conflict",
        "kcommit/s",
        "±",
        "tries",
        "most",
        "waits",
        "p50",
        "p99",
        "longest",
        "fair",
        "ok",
    ]);
    for result in results {
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
        rows.add_row([
            format!("{} {}", result.on_conflict.name(), result.isolation.name()),
            format!("{:.1}", result.commits_per_second.median / 1e3),
            table::spread(&result.commits_per_second),
            format!("{:.3}", result.attempts_per_commit),
            result.attempts_max.to_string(),
            format!("{:.3}", result.waits_per_commit),
            micros(result.latency_ns.p50),
            micros(result.latency_ns.p99),
            micros(result.longest_ns),
            format!("{:.2}", result.fairness.median),
            if result.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 1);
    format!("{rows}\n{LEGEND}")
}
