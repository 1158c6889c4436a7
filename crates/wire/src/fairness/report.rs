//! The results as people and programs read them.

use serde::Serialize;

use super::Summary;
use bench::report::{Format, csv, json, table};
use commands::Result;

const LEGEND: &str = "\
read, connect: milliseconds, beside the statement: of a read of one row by its key, and of connecting
until the first answer. alone: seconds of the statement with nobody beside it. statement, readers: the
statement's speed and the throughput of readers without a pause, beside each other, as a share of alone.
These three are medians of three runs.
longest slice: for how long a task has held the worker meanwhile, if that was over the server's bound.
ok: all answers were right.
";

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a number cannot be written, which does not happen.
pub fn report(format: Format, results: &[Summary]) -> Result<String> {
    match format {
        Format::Json => json::array(results),
        Format::Csv => csv::text(&results.iter().map(Line::of).collect::<Vec<_>>()),
        Format::Table => Ok(text(results)),
    }
}

/// A line of CSV: the fields of [`Summary`], flat.
#[derive(Serialize)]
struct Line<'s> {
    benchmark: &'static str,
    operator: &'static str,
    rows: u32,
    read_ns_p50: u64,
    read_ns_p99: u64,
    read_ns_p999: u64,
    connect_ns_p50: u64,
    connect_ns_p99: u64,
    connections: u64,
    alone_s: f64,
    statement_ratio: f64,
    readers_ratio: f64,
    longest_slice: &'s str,
    verified: bool,
}

impl<'s> Line<'s> {
    fn of(of: &'s Summary) -> Line<'s> {
        Line {
            benchmark: of.benchmark,
            operator: of.operator,
            rows: of.rows,
            read_ns_p50: of.read_ns.p50,
            read_ns_p99: of.read_ns.p99,
            read_ns_p999: of.read_ns.p999,
            connect_ns_p50: of.connect_ns.p50,
            connect_ns_p99: of.connect_ns.p99,
            connections: of.connections,
            alone_s: of.alone_s,
            statement_ratio: of.statement_ratio,
            readers_ratio: of.readers_ratio,
            longest_slice: &of.longest_slice,
            verified: of.verified,
        }
    }
}

fn text(results: &[Summary]) -> String {
    let mut rows = table::table(&[
        "beside",
        "read p50",
        "p99",
        "connect p50",
        "p99",
        "alone",
        "statement",
        "readers",
        "longest slice",
        "ok",
    ]);
    for result in results {
        let millis = |ns: u64| format!("{:.2}", ns as f64 / 1e6);
        rows.add_row([
            result.operator.to_owned(),
            millis(result.read_ns.p50),
            millis(result.read_ns.p99),
            millis(result.connect_ns.p50),
            millis(result.connect_ns.p99),
            format!("{:.2}", result.alone_s),
            format!("{:.2}", result.statement_ratio),
            format!("{:.2}", result.readers_ratio),
            result.longest_slice.clone(),
            if result.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 1);
    format!("{rows}\n{LEGEND}")
}
