//! The comparison as people and programs read it.

use bench::report::{Format, csv, json, table};
use commands::Result;
use commands::number::{short_count, with_commas};
use serde::Serialize;

use super::results::{Comparison, Facts, Summary, best};
use super::{Answer, Identity};

const LEGEND: &str = "\
Medians over the repeats; in each, the median over its lists. list: what is done with it within the
time: parsed as part of the query's text, bound to a prepared query, inserted into a table, or
nothing (ready). ns/value: of the list. ±: half the range of ms. weft x: times as long as Weft's
automatic execution, within each repeat; above 1, Weft is faster. *: DuckDB's best with so many
threads, among those that take the list within the time. ok: every answer was right.
";

/// Returns the comparison in `format`, with a newline at the end.
///
/// # Errors
/// [`commands::Error::Run`] when a number cannot be written, which does not happen.
pub(super) fn text(format: Format, comparison: &Comparison) -> Result<String> {
    match format {
        Format::Table => Ok(table_of(comparison)),
        Format::Csv => lines(comparison),
        Format::Json => json::array(&[Object::new(comparison)]),
    }
}

/// The comparison as a JSON object.
#[derive(Serialize)]
struct Object<'a> {
    #[serde(flatten)]
    facts: &'a Facts,
    verified: bool,
    contenders: Vec<Summary>,
    configurations: Vec<Configuration<'a>>,
}

#[derive(Serialize)]
struct Configuration<'a> {
    engine: &'static str,
    configuration: &'a str,
}

impl<'a> Object<'a> {
    fn new(comparison: &'a Comparison) -> Self {
        let configurations = comparison.configurations.iter();
        let configurations = configurations.map(|(engine, text)| Configuration {
            engine,
            configuration: text,
        });
        Self {
            facts: &comparison.facts,
            verified: comparison.verified(),
            contenders: comparison.summaries(),
            configurations: configurations.collect(),
        }
    }
}

/// The part of a line of CSV that comes from its repeat.
#[derive(Serialize)]
struct Found {
    engine: &'static str,
    form: &'static str,
    list: &'static str,
    threads: usize,
    answer: &'static str,
    repeat: u32,
    milliseconds: f64,
    weft_times: f64,
    verified: bool,
}

/// Returns a line for each contender and repeat.
fn lines(comparison: &Comparison) -> Result<String> {
    let lines = comparison.samples.iter().map(|sample| {
        let identity = comparison.identities[sample.contender];
        let found = Found {
            engine: identity.engine,
            form: identity.form,
            list: identity.list.name(),
            threads: identity.threads,
            answer: identity.answer.name(),
            repeat: sample.repeat + 1,
            milliseconds: sample.milliseconds,
            weft_times: comparison.weft_times(sample),
            verified: sample.verified,
        };
        (&comparison.facts, found)
    });
    csv::text(&lines.collect::<Vec<_>>())
}

fn table_of(comparison: &Comparison) -> String {
    let facts = &comparison.facts;
    let mut rows = table::table(&[
        "answer", "engine", "form", "list", "threads", "ms", "±", "ns/value", "weft x", "ok",
    ]);
    let summaries = comparison.summaries();
    let best_of = |identity: Identity, is_ready| {
        let (answer, threads) = (identity.answer, identity.threads);
        best(&summaries, answer, threads, is_ready)
    };
    for one in &summaries {
        let identity = one.identity;
        let is_best = best_of(identity, false).is_some_and(|best| best.identity == identity);
        rows.add_row([
            identity.answer.name().to_owned(),
            identity.engine.to_owned(),
            format!("{}{}", identity.form, if is_best { " *" } else { "" }),
            identity.list.name().to_owned(),
            identity.threads.to_string(),
            format!("{:.2}", one.milliseconds.median),
            table::spread(&one.milliseconds),
            format!("{:.0}", one.nanoseconds_per_value),
            format!("{:.2}", one.weft_times.median),
            if one.verified { "yes" } else { "WRONG" }.to_owned(),
        ]);
    }
    table::align(&mut rows, 4);
    let mut text = format!(
        "IN-predicate: {} rows of {} values, lists of {}, {} % of them absent\n{rows}\n",
        short_count(facts.rows.into()),
        short_count(facts.values.into()),
        short_count(facts.list_length as u64),
        facts.absent_percent,
    );
    let agreed = if facts.is_agreed { "all" } else { "NOT ALL" };
    text += &format!(
        "First list: {agreed} found its {} rows, checksum {:016x}.\n",
        with_commas(facts.rows_found),
        facts.checksum
    );
    for answer in Answer::ALL {
        let mut threads: Vec<usize> = summaries.iter().map(|one| one.identity.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        for threads in threads {
            for is_ready in [false, true] {
                let Some(one) = best(&summaries, answer, threads, is_ready) else {
                    continue;
                };
                let which = if is_ready {
                    "at all"
                } else {
                    "taking the list"
                };
                let plural = if threads == 1 { "" } else { "s" };
                text += &format!(
                    "Weft against DuckDB's best {which}, {} with {threads} thread{plural}, {}: \
                     {:.2} x ({:.2} to {:.2}).\n",
                    one.identity.form,
                    answer.name(),
                    one.weft_times.median,
                    one.weft_times.min,
                    one.weft_times.max,
                );
            }
        }
    }
    for (engine, configuration) in &comparison.configurations {
        text += &format!("{engine}: {configuration}.\n");
    }
    text + LEGEND
}

#[cfg(test)]
mod tests;
