//! The results as people and programs read them.

use super::Crashes;
use bench::report::{Format, csv, json, table};
use commands::Result;
use commands::number::with_commas;

const LEGEND: &str = "\
kills: children killed, while opening: before clients ran, while checkpointing: during a checkpoint.
recoveries: how often the database was opened then, and everything checked. acknowledged:
transactions that clients were told are durable; lost: those of them that were not there. recovery:
seconds to open the database and attach its indexes, median and longest. violations: sentences about
what did not hold.
";

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a number cannot be written, which does not
/// happen.
pub fn report(format: Format, results: &[Crashes]) -> Result<String> {
    match format {
        Format::Json => json::array(results),
        Format::Csv => csv::text(&results.iter().map(Line::of).collect::<Vec<_>>()),
        Format::Table => Ok(text(results)),
    }
}

/// A line of CSV: the fields of [`Crashes`], flat.
#[derive(serde::Serialize)]
struct Line {
    benchmark: &'static str,
    application: &'static str,
    isolation: &'static str,
    workers: usize,
    seed: u64,
    lose_unsynced: bool,
    kills: u32,
    while_opening: u32,
    while_checkpointing: u32,
    recoveries: u32,
    acknowledged: u64,
    lost: u64,
    violations: usize,
    recovery_seconds_median: Option<f64>,
    recovery_seconds_min: Option<f64>,
    recovery_seconds_max: Option<f64>,
    seconds: f64,
}

impl Line {
    fn of(of: &Crashes) -> Line {
        Line {
            benchmark: of.benchmark,
            application: of.application,
            isolation: of.isolation,
            workers: of.workers,
            seed: of.seed,
            lose_unsynced: of.lose_unsynced,
            kills: of.kills,
            while_opening: of.while_opening,
            while_checkpointing: of.while_checkpointing,
            recoveries: of.recoveries,
            acknowledged: of.acknowledged,
            lost: of.lost,
            violations: of.violations,
            recovery_seconds_median: of.recovery_seconds.map(|seconds| seconds.median),
            recovery_seconds_min: of.recovery_seconds.map(|seconds| seconds.min),
            recovery_seconds_max: of.recovery_seconds.map(|seconds| seconds.max),
            seconds: of.seconds,
        }
    }
}

fn text(results: &[Crashes]) -> String {
    let mut rows = table::table(&[
        "application",
        "kills",
        "while opening",
        "while checkpointing",
        "recoveries",
        "acknowledged",
        "lost",
        "recovery",
        "violations",
    ]);
    for result in results {
        rows.add_row([
            format!("{} {}", result.application, result.isolation),
            result.kills.to_string(),
            result.while_opening.to_string(),
            result.while_checkpointing.to_string(),
            result.recoveries.to_string(),
            with_commas(result.acknowledged),
            result.lost.to_string(),
            match result.recovery_seconds {
                Some(seconds) => format!("{:.2}, {:.2}", seconds.median, seconds.max),
                None => String::new(),
            },
            result.violations.to_string(),
        ]);
    }
    table::align(&mut rows, 1);
    format!("{rows}\n{LEGEND}")
}
