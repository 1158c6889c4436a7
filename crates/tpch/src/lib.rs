//! TPC-H: its tables and its 22 queries, on servers and DuckDB beside each other.
//!
//! The crate knows the tables, their rows, the queries and their answers. It never opens a database: systems are other
//! processes, which crate `servers` starts and reaches.
//!
//! | subject | where |
//! | --- | --- |
//! | tables and their rows, by the crate `tpchgen` | `tables.rs` |
//! | queries | `queries.rs`, `queries/` |
//! | systems: servers, and DuckDB's program | `system.rs` |
//! | known answers | `answer.rs` |
//! | results, and a chart of them | `report.rs`, `chart.rs` |
//!
//! Rules:
//! - all systems run in each repeat, one after another, in an order that rotates; while one is measured the others are
//!   idle;
//! - each answer is compared with PostgreSQL's where that is known for the scale (`answers/`), and otherwise with the
//!   first one that came;
//! - a query that does not end within a time is counted as one that takes it, and told;
//! - a benchmark never touches existing tables: its own tables must not exist before, and are dropped afterwards unless
//!   they are to be kept.

mod answer;
mod chart;
mod queries;
mod report;
mod system;
mod tables;

use std::time::Duration;

use bench::measure::Spread;
use commands::{Error, Result, progress::Progress};
use serde::Serialize;
use servers::Answer;

use self::system::Run;
pub use self::{
    chart::chart,
    queries::QUERIES,
    report::report,
    system::{OnDuckDb, OnServer, Reading, System, block_bytes},
};

/// Settings of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Scale factor of the tables: 1 has 6 million rows of `lineitem`.
    pub scale: f64,
    /// Numbers of the queries, 1 to 22.
    pub queries: Vec<u8>,
    /// Number of repeats, at least 1.
    pub repeats: u32,
    /// Time that a query may take.
    pub time_limit: Duration,
    /// Whether the tables stay.
    pub keep: bool,
}

impl Settings {
    /// Refuses settings that are out of range.
    fn check(&self) -> Result<()> {
        check_scale(self.scale)?;
        let is_query = |query: &u8| (1..=QUERIES).contains(query);
        if !self.queries.iter().all(is_query) {
            return Err(Error::input(format!(
                "queries have numbers from 1 to {QUERIES}"
            )));
        }
        if self.repeats == 0 {
            return Err(Error::input("a measurement has one repeat at least"));
        }
        Ok(())
    }
}

/// Largest scale factor, above which keys of orders leave the type `int`.
const SCALE_MAX: f64 = 300.0;

/// Refuses a scale factor that tables cannot have.
///
/// # Errors
/// [`Error::Input`] that names the bounds.
pub fn check_scale(scale: f64) -> Result<()> {
    if scale > 0.0 && scale <= SCALE_MAX {
        return Ok(());
    }
    Err(Error::input(format!(
        "scale {scale} is out of range; give a number above 0 and up to {SCALE_MAX}"
    )))
}

/// Results of one query on one server, over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Always `"tpch"`.
    pub benchmark: &'static str,
    /// Scale factor of the tables.
    pub scale: f64,
    /// Number of the query.
    pub query: u8,
    /// Name of the system.
    pub server: String,
    /// Settings of the system's reads from the device.
    #[serde(flatten)]
    pub reading: Reading,
    /// Milliseconds from the query's message to its last row.
    pub milliseconds: Spread,
    /// Time of the first system as a multiple of this one's, in the same repeat: above 1, this one is faster.
    pub speed_ratio: Spread,
    /// Processor time that the system took, in milliseconds; `None` where its processes cannot be looked at.
    pub server_cpu_ms: Option<f64>,
    /// Number of rows of the answer.
    pub rows: usize,
    /// Whether each run ended within the time.
    pub ended: bool,
    /// Whether all answers were equal.
    pub verified: bool,
    /// Answers that were different.
    #[serde(skip)]
    pub violations: Vec<String>,
}

/// Loads the tables into each system, measures the queries, and drops the tables again.
///
/// # Errors
/// [`Error::Input`] for settings that are out of range; [`Error::Run`] when a system refuses a statement or goes away.
/// A different answer is no error: the summary then has `verified` unset.
pub fn measure(
    settings: &Settings,
    systems: &mut [Box<dyn System>],
    progress: &Progress,
) -> Result<Vec<Summary>> {
    settings.check()?;
    if systems.is_empty() {
        return Err(Error::input("there is no server to measure"));
    }
    let mut loaded = 0;
    let measured = load(settings, systems, progress, &mut loaded)
        .and_then(|()| measure_loaded(settings, systems, progress));
    let dropped = match settings.keep {
        true => Ok(()),
        false => {
            let mut loaded = systems[..loaded].iter_mut();
            loaded.try_for_each(|system| system.unload())
        }
    };
    let measured = measured?;
    dropped.map(|()| measured)
}

/// Loads the tables into the systems one after another, and counts those that have them in `loaded`.
fn load(
    settings: &Settings,
    systems: &mut [Box<dyn System>],
    progress: &Progress,
    loaded: &mut usize,
) -> Result<()> {
    for system in systems {
        let rows = tables::rows_about(settings.scale);
        let step = progress.step(format!("loading {}", system.name()), rows);
        system.create()?;
        *loaded += 1;
        system.fill(settings.scale, &step)?;
    }
    Ok(())
}

fn measure_loaded(
    settings: &Settings,
    systems: &mut [Box<dyn System>],
    progress: &Progress,
) -> Result<Vec<Summary>> {
    let mut summaries = Vec::new();
    for query in &settings.queries {
        let repeats = u64::from(settings.repeats);
        let step = progress.step(format!("query {query}"), repeats * systems.len() as u64);
        let text = queries::text(*query, settings.scale);
        let mut runs: Vec<Vec<Run>> = vec![Vec::new(); systems.len()];
        for repeat in 0..settings.repeats as usize {
            for turn in 0..systems.len() {
                let at = (repeat + turn) % systems.len();
                runs[at].push(systems[at].run(&text, settings.time_limit)?);
                step.advance(1);
            }
        }
        let all = systems.iter().zip(&runs);
        summaries.extend(
            all.map(|(system, own)| summarised(settings, *query, system.as_ref(), own, &runs[0])),
        );
    }
    Ok(summaries)
}

fn summarised(
    settings: &Settings,
    query: u8,
    system: &dyn System,
    runs: &[Run],
    first: &[Run],
) -> Summary {
    let server = system.name();
    let times: Vec<f64> = runs
        .iter()
        .map(|run| run.time.as_secs_f64() * 1e3)
        .collect();
    let ratios = runs.iter().zip(first);
    let ratios: Vec<f64> = ratios
        .map(|(run, first)| first.time.as_secs_f64() / run.time.as_secs_f64())
        .collect();
    let cpu: Option<Vec<f64>> = runs
        .iter()
        .map(|run| Some(run.cpu?.as_secs_f64() * 1e3))
        .collect();
    let known = answer::known(settings.scale, query);
    let came = first.iter().chain(runs).find_map(|run| run.answer.as_ref());
    let right = known.as_ref().or(came);
    let differing = runs.iter().filter_map(|run| {
        let difference = right?.difference(run.answer.as_ref()?)?;
        Some(format!("query {query} on {server}: {difference}"))
    });
    let violations: Vec<String> = differing.collect();
    Summary {
        benchmark: "tpch",
        scale: settings.scale,
        query,
        server: server.to_owned(),
        reading: system.reading(),
        milliseconds: Spread::of(&times),
        speed_ratio: Spread::of(&ratios),
        server_cpu_ms: cpu.map(|cpu| Spread::of(&cpu).median),
        rows: came.map_or(0, Answer::rows),
        ended: runs.iter().all(|run| run.answer.is_some()),
        verified: violations.is_empty(),
        violations,
    }
}

/// Returns the geometric mean of the speeds of a system relative to the first one, over queries that ended on both.
fn geometric_mean(results: &[Summary], server: &str) -> Option<f64> {
    let first = results.first()?.server.as_str();
    let ended = |query: u8| {
        let of_first = |result: &&Summary| result.query == query && result.server == first;
        results
            .iter()
            .find(of_first)
            .is_some_and(|result| result.ended)
    };
    let own = results.iter().filter(|result| result.server == server);
    let ratios = own.filter(|result| result.ended && ended(result.query));
    let logarithms: Vec<f64> = ratios
        .map(|result| result.speed_ratio.median.ln())
        .collect();
    let count = logarithms.len() as f64;
    (count > 0.0).then(|| (logarithms.iter().sum::<f64>() / count).exp())
}
