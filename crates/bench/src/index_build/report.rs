//! The result as people and programs read it.

use serde::Serialize;

use super::IndexBuild;
use crate::report::{Format, csv, json, table};
use commands::Result;

const LEGEND: &str = "\
Medians over the repeats. Mops/s: operations of the load; x without: against the mean of
before and dropped, taken within each repeat. ±: half the range of Mops/s. ok: every answer was right, and every record agreed with the index.
";

/// Returns the result in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a number cannot be written, which does not
/// happen.
pub fn report(format: Format, result: &IndexBuild) -> Result<String> {
    match format {
        Format::Json => json::array(std::slice::from_ref(result)),
        Format::Csv => csv::text(&[Line::of(result)]),
        Format::Table => Ok(text(result)),
    }
}

/// A line of CSV: the medians of [`IndexBuild`], and the range of the most important one.
#[derive(Serialize)]
struct Line {
    benchmark: &'static str,
    unique: bool,
    isolation: &'static str,
    workers: usize,
    records: u64,
    value_bytes: usize,
    update_share: f64,
    build_seconds: f64,
    records_per_second: f64,
    conflicts: f64,
    before: f64,
    during: f64,
    after: f64,
    dropped: f64,
    during_to_without: f64,
    during_to_without_min: f64,
    during_to_without_max: f64,
    after_to_without: f64,
    verified: bool,
}

impl Line {
    fn of(of: &IndexBuild) -> Line {
        Line {
            benchmark: of.benchmark,
            unique: of.unique,
            isolation: of.isolation.name(),
            workers: of.workers,
            records: of.records,
            value_bytes: of.value_bytes,
            update_share: of.update_share,
            build_seconds: of.build_seconds.median,
            records_per_second: of.records_per_second.median,
            conflicts: of.conflicts.median,
            before: of.before.median,
            during: of.during.median,
            after: of.after.median,
            dropped: of.dropped.median,
            during_to_without: of.during_to_without.median,
            during_to_without_min: of.during_to_without.min,
            during_to_without_max: of.during_to_without.max,
            after_to_without: of.after_to_without.median,
            verified: of.verified,
        }
    }
}

fn text(of: &IndexBuild) -> String {
    let mut rows = table::table(&["phase", "Mops/s", "±", "x without", "ok"]);
    let phases = [
        ("before", &of.before, None),
        ("during", &of.during, Some(of.during_to_without.median)),
        ("after", &of.after, Some(of.after_to_without.median)),
        ("dropped", &of.dropped, None),
    ];
    for (phase, rate, ratio) in phases {
        rows.add_row([
            phase.to_owned(),
            format!("{:.3}", rate.median / 1e6),
            table::spread(rate),
            ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")),
            if of.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 1);
    format!(
        "{rows}\nBuild: {:.2} s, {:.3} million records per second, {:.0} batches given up.\n{LEGEND}",
        of.build_seconds.median,
        of.records_per_second.median / 1e6,
        of.conflicts.median
    )
}
