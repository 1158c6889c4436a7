//! CH-benCHmark: the transactions of TPC-C and analytical queries on the same tables of a server at once (Cole et al.,
//! "The mixed workload CH-benCHmark", DBTest 2011).
//!
//! The crate knows three more tables, the queries, and what transactions and queries do to each other. Tables and
//! transactions of TPC-C are those of `applications`. The crate never opens a database: servers are other processes,
//! which crate `servers` starts and reaches.
//!
//! | subject | where |
//! | --- | --- |
//! | suppliers, nations and regions | `tables.rs` |
//! | queries | `queries.rs`, `queries/` |
//! | clients: terminals of TPC-C, streams of queries | `terminals.rs`, `streams.rs` |
//! | one run of both, or of one kind alone | `run.rs` |
//! | how fresh the answers are | `freshness.rs` |
//! | results | `summary.rs`, `report.rs` |
//!
//! Rules:
//! - the answers of all servers to each query are compared before the first terminal starts;
//! - each repeat has runs of the terminals alone, of the streams alone and of both, on each server, in an order that
//!   rotates; while one server is measured the others are idle;
//! - the tables stay from run to run, so they have more orders in later ones;
//! - TPC-C's conditions are checked after the last run;
//! - a benchmark never touches existing tables: its own tables must not exist before, and are dropped afterwards.

mod freshness;
mod queries;
mod report;
mod run;
mod streams;
mod summary;
mod tables;
mod terminals;

use std::time::Duration;

use applications::tpcc::{self, wire::Wire};
use bench::measure::Isolation;
use commands::{Error, Result, progress::Progress};
use servers::{Answer, Server, Workload as _, failed};

use self::run::{Clients, Run, run};
pub use self::{
    queries::QUERIES,
    report::report,
    summary::{Queries, QuerySummary, Summary, Transactions},
};

/// Settings of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Settings of the database of TPC-C.
    pub tpcc: tpcc::Settings,
    /// Number of terminals, each on a connection of its own.
    pub terminals: u16,
    /// Number of streams of queries, each on a connection of its own.
    pub streams: u16,
    /// Numbers of the queries, 1 to 22.
    pub queries: Vec<u8>,
    /// Duration of each run.
    pub duration: Duration,
    /// Number of repeats, at least 1.
    pub repeats: u32,
    /// Time that a query may take when answers are compared.
    pub time_limit: Duration,
    /// Isolation level of the terminals' transactions.
    pub isolation: Isolation,
    /// Seed of the terminals' draws.
    pub seed: u64,
}

impl Settings {
    /// Refuses settings that are out of range.
    ///
    /// # Errors
    /// [`Error::Input`], which says what is in range.
    pub fn check(&self) -> Result<()> {
        self.tpcc.check()?;
        let is_query = |query: &u8| (1..=QUERIES).contains(query);
        if self.queries.is_empty() || !self.queries.iter().all(is_query) {
            return Err(Error::input(format!(
                "a stream needs queries, which have numbers from 1 to {QUERIES}"
            )));
        }
        if self.terminals == 0 || self.streams == 0 || self.repeats == 0 {
            return Err(Error::input(
                "a measurement has one terminal, one stream and one repeat at least",
            ));
        }
        Ok(())
    }

    /// Returns the clients of the runs of a repeat: the terminals alone, the streams alone, both.
    fn runs(&self) -> [Clients; 3] {
        let (terminals, streams) = (self.terminals, self.streams);
        let clients = |terminals, streams| Clients { terminals, streams };
        [
            clients(terminals, 0),
            clients(0, streams),
            clients(terminals, streams),
        ]
    }
}

/// Loads the tables into each server, compares the answers, measures, and drops the tables again.
///
/// # Errors
/// [`Error::Input`] for settings that are out of range; [`Error::Run`] when a server refuses a statement or goes away.
/// A wrong answer is no error: the summary then has `verified` unset.
pub fn measure(
    settings: &Settings,
    servers: &[Server],
    progress: &Progress,
) -> Result<Vec<Summary>> {
    settings.check()?;
    if servers.is_empty() {
        return Err(Error::input("there is no server to measure"));
    }
    let workload = Wire::new(&settings.tpcc, false);
    for server in servers {
        let name = format!("loading {}", server.name());
        let step = progress.step(name, workload.rows() + tables::rows());
        let mut client = server.connect()?;
        let loaded = workload
            .load(&mut client, &step)
            .and_then(|()| tables::load(&mut client, settings.tpcc.seed, &step))
            // Vacuumed as well, as tables that have been there for a while.
            .and_then(|()| client.batch_execute("vacuum analyze").map_err(failed));
        loaded.map_err(|error| server.says(&error))?;
    }
    let measured = measure_loaded(settings, &workload, servers, progress);
    let dropped = servers.iter().try_for_each(|server| {
        let mut client = server.connect()?;
        let dropped = tables::unload(&mut client).and_then(|()| workload.clear(&mut client));
        dropped.map_err(|error| server.says(&error))
    });
    let measured = measured?;
    dropped.map(|()| measured)
}

fn measure_loaded(
    settings: &Settings,
    workload: &Wire,
    servers: &[Server],
    progress: &Progress,
) -> Result<Vec<Summary>> {
    let mut violations = compare(settings, servers, progress)?;
    let kinds = settings.runs();
    let turns = servers.len() * kinds.len();
    let step = progress.step("running", u64::from(settings.repeats) * turns as u64);
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); turns];
    // Streams begin at places of their own, those of all kinds of runs alike.
    let apart = settings.queries.len().div_ceil(settings.streams.into());
    let places = (0..usize::from(settings.streams)).map(|stream| stream * apart);
    let mut next: Vec<Vec<usize>> = vec![places.collect(); turns];
    for repeat in 0..settings.repeats as usize {
        for turn in 0..turns {
            let at = (repeat + turn) % turns;
            let (server, kind) = (at / kinds.len(), at % kinds.len());
            let seed = settings.seed.wrapping_add(repeat as u64);
            let next = &mut next[at];
            let run = run(
                settings,
                workload,
                &servers[server],
                kinds[kind],
                next,
                seed,
            );
            runs[at].push(run.map_err(|error| servers[server].says(&error))?);
            step.advance(1);
        }
    }
    for (server, violations) in servers.iter().zip(&mut violations) {
        let found = workload.verify(&mut server.connect()?);
        violations.extend(found.map_err(|error| server.says(&error))?);
    }
    let runs = runs.chunks(kinds.len());
    let of_servers = servers.iter().zip(runs).zip(violations);
    let summaries = of_servers.flat_map(|((server, runs), violations)| {
        summary::summaries(settings, server.name(), runs, &violations)
    });
    Ok(summaries.collect())
}

/// Compares the answers of the servers to each query, and returns differences from the first server that answers: a
/// list for each server.
fn compare(
    settings: &Settings,
    servers: &[Server],
    progress: &Progress,
) -> Result<Vec<Vec<String>>> {
    let all = settings.queries.len() * servers.len();
    let step = progress.step("comparing answers", all as u64);
    let mut violations = vec![Vec::new(); servers.len()];
    for query in &settings.queries {
        let mut answers = Vec::new();
        for server in servers {
            let answer = streams::answer(&mut server.connect()?, *query, settings.time_limit);
            let answer = answer.map_err(|error| server.says(&error))?;
            if answer.is_none() {
                let name = server.name();
                progress.note(&format!(
                    "query {query} on {name} does not end in time, and is not compared"
                ));
            }
            answers.push(answer);
            step.advance(1);
        }
        for (violations, difference) in violations.iter_mut().zip(differences(&answers)) {
            violations.extend(difference.map(|how| format!("query {query}: {how}")));
        }
    }
    Ok(violations)
}

/// Returns what each answer has different from the first one that came.
fn differences(answers: &[Option<Answer>]) -> Vec<Option<String>> {
    let first = answers.iter().flatten().next();
    let difference = |answer: &Option<Answer>| first?.difference(answer.as_ref()?);
    answers.iter().map(difference).collect()
}

#[cfg(test)]
mod tests;
