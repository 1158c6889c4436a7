//! The results as people and programs read them.

use serde::Serialize;

use super::{Summary, geometric_mean};
use bench::report::{Format, csv, json, table};
use commands::Result;

const LEGEND: &str = "\
Medians over the repeats. ms: from a query's message to its last row. speed x: the first system's time as a
multiple of this one's. cpu: milliseconds of processor time that the system took. ok: all answers were equal.
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
    scale: f64,
    query: u8,
    server: &'s str,
    cached_percent: Option<f64>,
    read_ahead: Option<u16>,
    milliseconds: f64,
    milliseconds_min: f64,
    milliseconds_max: f64,
    speed_ratio: f64,
    server_cpu_ms: Option<f64>,
    rows: usize,
    ended: bool,
    verified: bool,
}

impl<'s> Line<'s> {
    fn of(of: &'s Summary) -> Line<'s> {
        Line {
            benchmark: of.benchmark,
            scale: of.scale,
            query: of.query,
            server: &of.server,
            cached_percent: of.reading.cached_percent,
            read_ahead: of.reading.read_ahead,
            milliseconds: of.milliseconds.median,
            milliseconds_min: of.milliseconds.min,
            milliseconds_max: of.milliseconds.max,
            speed_ratio: of.speed_ratio.median,
            server_cpu_ms: of.server_cpu_ms,
            rows: of.rows,
            ended: of.ended,
            verified: of.verified,
        }
    }
}

fn text(results: &[Summary]) -> String {
    let mut rows = table::table(&["query", "server", "ms", "±", "cpu", "speed x", "rows", "ok"]);
    let unknown = || "?".to_owned();
    for result in results {
        let time = format!("{:.1}", result.milliseconds.median);
        rows.add_row([
            result.query.to_string(),
            result.server.clone(),
            if result.ended {
                time
            } else {
                format!("> {time}")
            },
            table::spread(&result.milliseconds),
            result
                .server_cpu_ms
                .map_or_else(unknown, |cpu| format!("{cpu:.1}")),
            format!("{:.2}", result.speed_ratio.median),
            result.rows.to_string(),
            if result.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 2);
    let mut servers: Vec<&str> = results
        .iter()
        .map(|result| result.server.as_str())
        .collect();
    servers.sort_unstable();
    servers.dedup();
    let means = servers.iter().filter_map(|server| {
        let mean = geometric_mean(results, server)?;
        Some(format!("{server}: geometric mean of speed x: {mean:.2}\n"))
    });
    format!("{rows}\n{}{LEGEND}", means.collect::<String>())
}
