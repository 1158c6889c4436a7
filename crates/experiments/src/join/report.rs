//! The results as people and programs read them.

use serde::Serialize;

use super::{Experiment, Join, Lines, Outcome};
use bench::report::{Format, csv, json, table};
use commands::number::{bytes_text, short_count, with_commas};
use commands::{Error, Result};

mod drawing;

pub use drawing::chart;

const LEGEND: &str = "\
Medians over the repeats; in each, the median over its lists. ns: for a lookup, an insert, or a key
of a query's list; ±: half the range. x seq: times the speed of the first sequential technique of
its block, within each repeat. group: lookups in flight; *: the best of those tried. growth: of
the time since the smallest structure, over that of the logarithm of its entries. line: nanoseconds
for which the machine loads one random independent cache line of the same memory. model: the group
size that the cost model gives. ok: every answer was right.
";

const LEGEND_QUERY: &str = "\
encode, scan: parts of a query for each key: to find the codes of its list in the dictionary, and
the rows that have them.
";

const LEGEND_LINES: &str = "\
Lines of code, without comments. interleaved: of the lookup that is interleaved; different: those
of it that the sequential one has otherwise, or not; total: for both executions.
";

/// Returns the results in `format`, with a newline at the end.
///
/// # Errors
/// [`Error::Run`] when a number cannot be written, which does not happen.
pub fn report(format: Format, outcome: &Outcome) -> Result<String> {
    match (outcome, format) {
        (Outcome::Measured(results), Format::Json) => json::array(results),
        (Outcome::Measured(results), Format::Csv) => {
            csv::text(&results.iter().map(Line::of).collect::<Vec<_>>())
        }
        (Outcome::Measured(results), Format::Table) => Ok(text(results)),
        (Outcome::Counted(lines), Format::Json) => json::array(lines),
        (Outcome::Counted(lines), Format::Csv) => csv::text(lines),
        (Outcome::Counted(lines), Format::Table) => Ok(lines_text(lines)),
    }
}

fn lines_text(lines: &[Lines]) -> String {
    let mut rows = table::table(&["lookup", "technique", "interleaved", "different", "total"]);
    for one in lines {
        rows.add_row([
            one.lookup.to_owned(),
            one.mode.name().to_owned(),
            one.interleaved_lines.to_string(),
            one.different_lines.to_string(),
            one.total_lines.to_string(),
        ]);
    }
    table::align(&mut rows, 2);
    format!("{rows}\n{LEGEND_LINES}")
}

/// A line of CSV: the fields of [`Join`], flat.
#[derive(Serialize)]
struct Line {
    benchmark: &'static str,
    experiment: &'static str,
    structure: &'static str,
    mode: &'static str,
    keys: &'static str,
    bytes: u64,
    entries: u64,
    rows: Option<u64>,
    list: usize,
    is_sorted: bool,
    group: Option<usize>,
    is_best_group: bool,
    repeats: u32,
    operations_per_second: f64,
    operations_per_second_min: f64,
    operations_per_second_max: f64,
    nanoseconds_per_lookup: f64,
    nanoseconds_per_lookup_min: f64,
    nanoseconds_per_lookup_max: f64,
    encode_nanoseconds_per_lookup: Option<f64>,
    scan_nanoseconds_per_lookup: Option<f64>,
    times_sequential: Option<f64>,
    times_sequential_min: Option<f64>,
    times_sequential_max: Option<f64>,
    sequential_mode: Option<&'static str>,
    growth_beyond_logarithm: Option<f64>,
    limit_lines_per_second: Option<f64>,
    group_estimate: Option<usize>,
    sequential_cost_ns: Option<f64>,
    cached_cost_ns: Option<f64>,
    switched_cost_ns: Option<f64>,
    verified: bool,
}

impl Line {
    fn of(of: &Join) -> Line {
        Line {
            benchmark: of.benchmark,
            experiment: of.experiment.name(),
            structure: of.structure,
            mode: of.mode.name(),
            keys: of.keys.name(),
            bytes: of.bytes,
            entries: of.entries,
            rows: of.rows,
            list: of.list,
            is_sorted: of.is_sorted,
            group: of.group,
            is_best_group: of.is_best_group,
            repeats: of.repeats,
            operations_per_second: of.operations_per_second,
            operations_per_second_min: of.operations_per_second_spread.min,
            operations_per_second_max: of.operations_per_second_spread.max,
            nanoseconds_per_lookup: of.nanoseconds_per_lookup.median,
            nanoseconds_per_lookup_min: of.nanoseconds_per_lookup.min,
            nanoseconds_per_lookup_max: of.nanoseconds_per_lookup.max,
            encode_nanoseconds_per_lookup: of.encode_nanoseconds_per_lookup.map(|it| it.median),
            scan_nanoseconds_per_lookup: of.scan_nanoseconds_per_lookup.map(|it| it.median),
            times_sequential: of.times_sequential.map(|it| it.median),
            times_sequential_min: of.times_sequential.map(|it| it.min),
            times_sequential_max: of.times_sequential.map(|it| it.max),
            sequential_mode: of.sequential_mode.map(|it| it.name()),
            growth_beyond_logarithm: of.growth_beyond_logarithm,
            limit_lines_per_second: of.limit_lines_per_second,
            group_estimate: of.group_estimate,
            sequential_cost_ns: of.costs_ns.map(|it| it[0]),
            cached_cost_ns: of.costs_ns.map(|it| it[1]),
            switched_cost_ns: of.costs_ns.map(|it| it[2]),
            verified: of.verified,
        }
    }
}

/// Returns whether two results belong to the same block of a table: they differ at most in the
/// technique.
fn is_one_block(one: &Join, other: &Join) -> bool {
    let what = |of: &Join| (of.experiment, of.structure, of.keys, of.bytes, of.list);
    what(one) == what(other)
}

fn text(results: &[Join]) -> String {
    let blocks: Vec<String> = results.chunk_by(is_one_block).map(block).collect();
    let has_queries = results.iter().any(is_query);
    let queries = if has_queries { LEGEND_QUERY } else { "" };
    format!("{}{LEGEND}{queries}", blocks.concat())
}

fn is_query(one: &Join) -> bool {
    one.scan_nanoseconds_per_lookup.is_some()
}

/// Returns a line that names structure and keys, and a table of the techniques.
fn block(results: &[Join]) -> String {
    let first = &results[0];
    let has_queries = results.iter().any(is_query);
    let mut header = vec![
        "technique",
        "group",
        "ns",
        "±",
        "Mops/s",
        "x seq",
        "growth",
        "line",
        "model",
        "ok",
    ];
    if has_queries {
        header.splice(6..6, ["encode", "scan"]);
    }
    let mut rows = table::table(&header);
    for one in results {
        let number = |number: Option<f64>| number.map_or("-".into(), |it| format!("{it:.2}"));
        let nanoseconds = |ns: f64| match ns {
            ns if ns < 10.0 => format!("{ns:.2}"),
            ns if ns < 100.0 => format!("{ns:.1}"),
            ns => format!("{ns:.0}"),
        };
        let count = |count: Option<usize>| count.map_or("-".into(), |it| it.to_string());
        let best = if one.is_best_group { "*" } else { "" };
        let line = one
            .limit_lines_per_second
            .map(|lines| nanoseconds(1e9 / lines));
        let mut row = vec![
            one.mode.name().to_owned(),
            format!("{}{best}", count(one.group)),
            nanoseconds(one.nanoseconds_per_lookup.median),
            table::spread(&one.nanoseconds_per_lookup),
            format!("{:.3}", one.operations_per_second / 1e6),
            number(one.times_sequential.map(|it| it.median)),
            number(one.growth_beyond_logarithm),
            line.unwrap_or("-".into()),
            count(one.group_estimate),
            if one.verified { "yes" } else { "WRONG" }.to_owned(),
        ];
        if has_queries {
            let parts = [
                one.encode_nanoseconds_per_lookup,
                one.scan_nanoseconds_per_lookup,
            ];
            let parts = parts.map(|part| part.map_or("-".into(), |it| nanoseconds(it.median)));
            row.splice(6..6, parts);
        }
        rows.add_row(row);
    }
    table::align(&mut rows, 1);
    format!("{}\n{rows}\n", heading(first))
}

fn heading(of: &Join) -> String {
    let rows = of.rows.map_or(String::new(), |rows| {
        format!(", {} rows", short_count(rows))
    });
    format!(
        "{}: {} of {}, {} entries{rows}, keys {}, lists of {}{}",
        of.experiment.name(),
        of.structure,
        bytes_text(of.bytes),
        with_commas(of.entries),
        of.keys.name(),
        short_count(of.list as u64),
        if of.is_sorted { ", sorted" } else { "" }
    )
}

/// Returns the experiment that all results are of.
fn experiment_of(results: &[Join]) -> Result<Experiment> {
    let first = results.first().map(|one| one.experiment);
    let first = first.ok_or_else(|| Error::run("there are no results to draw"))?;
    if results.iter().any(|one| one.experiment != first) {
        return Err(Error::input(
            "a chart shows one experiment; name one with --experiment",
        ));
    }
    Ok(first)
}
