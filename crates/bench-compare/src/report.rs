//! Comparisons as people and programs read them.

use std::fmt::Write;

use bench::measure::Spread;
use bench::report::{Format, json, table};
use commands::Result;
use serde::Serialize;

use crate::results::{Comparison, Facts, Summary};

mod csv;

const LEGEND: &str = "\
Medians over the repeats. threads: client threads with which the engine was fastest; of Weft,
workers. ±: half the range of ktxn/s. weft x: operations per second of Weft against this engine,
taken within each repeat. p50 to p99.9: time of a transaction in microseconds. ok: every answer was
verified.
";

/// Returns the comparisons in `format`, with a newline at the end.
///
/// # Errors
/// [`commands::Error::Run`] when a number cannot be written, which does not happen.
pub(crate) fn text(format: Format, comparisons: &[Comparison]) -> Result<String> {
    match format {
        Format::Table => {
            let tables: Vec<String> = comparisons.iter().map(table_of).collect();
            Ok(format!("{}{LEGEND}", tables.join("\n")))
        }
        Format::Csv => csv::lines(comparisons),
        Format::Json => {
            let objects: Vec<Object<'_>> = comparisons.iter().map(Object::new).collect();
            json::array(&objects)
        }
    }
}

/// A comparison as a JSON object.
#[derive(Serialize)]
struct Object<'a> {
    #[serde(flatten)]
    facts: &'a Facts,
    device_syncs_per_second: Spread,
    device_latency_ns: bench::measure::LatencyNs,
    verified: bool,
    engines: Vec<Summary>,
}

impl<'a> Object<'a> {
    fn new(comparison: &'a Comparison) -> Self {
        Self {
            facts: &comparison.facts,
            device_syncs_per_second: Spread::of(&comparison.device_syncs_per_second),
            device_latency_ns: comparison.device_latency_ns,
            verified: comparison.verified(),
            engines: comparison.summaries(),
        }
    }
}

/// Returns a table: one row per engine, and under it the ratio, the device and the configurations.
fn table_of(comparison: &Comparison) -> String {
    let summaries = comparison.summaries();
    let mut rows = table::table(&[
        "engine", "threads", "ktxn/s", "±", "weft x", "p50", "p99", "p99.9", "aborts", "ok",
    ]);
    let best: Vec<&Summary> = summaries.iter().filter(|summary| summary.best).collect();
    for summary in &best {
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
        rows.add_row([
            summary.engine.to_owned(),
            summary.threads.to_string(),
            format!("{:.2}", summary.transactions_per_second / 1e3),
            table::spread(&summary.operations_per_second),
            summary
                .weft_times
                .map_or("-".into(), |times| format!("{:.2}", times.median)),
            micros(summary.latency_ns.p50),
            micros(summary.latency_ns.p99),
            micros(summary.latency_ns.p999),
            summary.aborts.to_string(),
            if summary.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 1);
    let mut text = format!(
        "{}, {} durability\n{rows}\n",
        comparison.facts.workload,
        comparison.facts.durability.name()
    );
    // Writing to a string cannot fail.
    let _ = write_notes(&mut text, comparison, &summaries, &best);
    text
}

fn write_notes(
    text: &mut String,
    comparison: &Comparison,
    summaries: &[Summary],
    best: &[&Summary],
) -> std::fmt::Result {
    if let Some(peer) = Comparison::best_peer(summaries)
        && let Some(times) = peer.weft_times
    {
        writeln!(
            text,
            "Weft against the best of the others, {} with {} threads: {:.2} x ({:.2} to {:.2}).",
            peer.engine, peer.threads, times.median, times.min, times.max
        )?;
    }
    let syncs = Spread::of(&comparison.device_syncs_per_second);
    writeln!(
        text,
        "Device: {:.0} writes of 4 KiB with a sync per second ({:.0} to {:.0}), p50 {:.0} us, p99 \
         {:.0} us.",
        syncs.median,
        syncs.min,
        syncs.max,
        comparison.device_latency_ns.p50 as f64 / 1e3,
        comparison.device_latency_ns.p99 as f64 / 1e3,
    )?;
    for summary in best {
        writeln!(text, "{}: {}.", summary.engine, summary.configuration)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
