//! Servers that speak PostgreSQL's protocol, measured from outside: `weft serve` beside
//! PostgreSQL, or any others.
//!
//! The crate knows statements, their right answers and the times that servers take for them. The crate
//! never opens a database: servers are other processes, which crate `servers` starts and reaches.
//!
//! What is measured is what an application would see: clients on threads of their own, each
//! with a connection, one transaction after the other. They are this process, the servers are
//! others, so what the servers take of the processors can be told apart from what clients
//! take (`servers/cpu.rs`); on a machine that both share, that is the better number to compare.
//!
//! | what | where |
//! | --- | --- |
//! | workloads, and what each loads and verifies | `workload.rs`, `pgbench.rs`, `facts.rs`; `applications/tpcc/wire.rs` |
//! | one workload on one server for some seconds | `drive.rs` |
//! | results | `report.rs` |
//! | servers that are killed at work | `crash.rs` |
//! | clients beside one long statement | `fairness.rs` |
//!
//! Rules:
//! - all servers run in each repeat, one after the other, in an order that rotates; while one
//!   is measured the others are idle;
//! - every server gets the same statements, and tables are loaded once, before;
//! - each client verifies what it is answered, and the tables are verified at the end of
//!   every run;
//! - nobody's tables are touched: tables that a benchmark makes must not exist before, and
//!   are dropped afterwards.

pub mod crash;
mod drive;
mod facts;
pub mod fairness;
mod pgbench;
mod report;
mod workload;

use std::time::Duration;

use serde::Serialize;

pub use self::report::report;
pub use self::workload::{Kind, Protocol};
use applications::tpcc;
use bench::measure::{Isolation, LatencyNs, Spread};
use commands::progress::Progress;
use commands::{Error, Result};
use servers::{Server, Workload};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Workloads, at least one.
    pub workloads: Vec<Kind>,
    /// How statements travel, where a workload leaves that open.
    pub protocols: Vec<Protocol>,
    /// Clients of each run; the workload's own number if not given.
    pub clients: Option<u16>,
    /// The level of all transactions.
    pub isolation: Isolation,
    /// Seconds of each run.
    pub duration: Duration,
    /// Repeats, at least 1.
    pub repeats: u32,
    /// Scale of pgbench's tables: 100,000 accounts each.
    pub scale: u32,
    /// The database of TPC-C.
    pub tpcc: tpcc::Settings,
    /// Rows of the table that is scanned and joined.
    pub rows: u32,
    /// Seed of what clients draw.
    pub seed: u64,
}

/// One workload on one server, over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Always `"wire"`.
    pub benchmark: &'static str,
    /// The workload.
    pub workload: String,
    /// The server, by the name that it was given.
    pub server: String,
    /// Clients, each on a thread and a connection of its own.
    pub clients: u16,
    /// The level of the transactions.
    pub isolation: Isolation,
    /// Seconds of each run.
    pub seconds: f64,
    /// Transactions committed per second.
    pub transactions_per_second: Spread,
    /// From a transaction's first message to the last answer, retries included: medians of
    /// the repeats' percentiles.
    pub latency_ns: LatencyNs,
    /// Processor time that the server took for each committed transaction, in microseconds;
    /// none where its processes cannot be looked at.
    pub server_cpu_us: Option<Spread>,
    /// How often a transaction was aborted and run again, for each that committed.
    pub aborts_per_transaction: f64,
    /// Throughput as a share of the first server's in the same repeat.
    pub throughput_ratio: Spread,
    /// Processor time as a share of the first server's in the same repeat.
    pub server_cpu_ratio: Option<Spread>,
    /// Whether every answer was right and what must hold of the tables held.
    pub verified: bool,
    /// What did not hold.
    #[serde(skip)]
    pub violations: Vec<String>,
}

/// One run.
#[derive(Clone, Debug)]
struct Run {
    transactions_per_second: f64,
    latency_ns: LatencyNs,
    server_cpu_us: Option<f64>,
    aborts_per_transaction: f64,
    violations: Vec<String>,
}

/// Loads the tables of each workload into each server, measures, and drops them again.
///
/// # Errors
/// [`Error::Input`] for settings that cannot be; [`Error::Run`] when a server refuses a
/// statement or goes away. Wrong answers are no error, but a summary that is not verified.
pub fn measure(
    settings: &Settings,
    servers: &[Server],
    progress: &Progress,
) -> Result<Vec<Summary>> {
    settings.tpcc.check()?;
    if servers.is_empty() {
        return Err(Error::input("there is no server to measure"));
    }
    let mut summaries = Vec::new();
    for workload in workload::all(settings) {
        let loads = progress.step(format!("loading {}", workload.name()), workload.rows());
        for server in servers {
            let mut connection = server.connect()?;
            let loaded = workload.load(&mut connection, &loads);
            if let Err(error) = loaded {
                return Err(server.says(&error));
            }
        }
        drop(loads);
        let measured = measure_one(settings, &*workload, servers, progress);
        for server in servers {
            let mut connection = server.connect()?;
            let dropped = workload.clear(&mut connection);
            dropped.map_err(|error| server.says(&error))?;
        }
        summaries.extend(measured?);
    }
    Ok(summaries)
}

/// Runs a workload whose tables are loaded.
fn measure_one(
    settings: &Settings,
    workload: &dyn Workload,
    servers: &[Server],
    progress: &Progress,
) -> Result<Vec<Summary>> {
    let clients = settings.clients.unwrap_or(workload.clients());
    let repeats = u64::from(settings.repeats);
    let step = progress.step(workload.name(), repeats * servers.len() as u64);
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); servers.len()];
    for repeat in 0..settings.repeats as usize {
        for turn in 0..servers.len() {
            let at = (repeat + turn) % servers.len();
            let run = drive::run(settings, workload, &servers[at], clients, repeat as u64);
            runs[at].push(run.map_err(|error| servers[at].says(&error))?);
            step.advance(1);
        }
    }
    let summaries = servers.iter().zip(&runs);
    let summaries = summaries.map(|(server, own)| Summary {
        workload: workload.name(),
        server: server.name().to_owned(),
        clients,
        isolation: settings.isolation,
        seconds: settings.duration.as_secs_f64(),
        ..summarised(own, &runs[0])
    });
    Ok(summaries.collect())
}

/// What the runs of a server come to, beside those of the first.
fn summarised(runs: &[Run], first: &[Run]) -> Summary {
    let spread = |number: &dyn Fn(&Run) -> f64| {
        let numbers: Vec<f64> = runs.iter().map(number).collect();
        Spread::of(&numbers)
    };
    let cpu: Option<Vec<f64>> = runs.iter().map(|run| run.server_cpu_us).collect();
    let pairs = || runs.iter().zip(first);
    let ratios: Vec<f64> = pairs()
        .map(|(run, first)| run.transactions_per_second / first.transactions_per_second)
        .collect();
    let cpu_ratios: Option<Vec<f64>> = pairs()
        .map(|(run, first)| Some(run.server_cpu_us? / first.server_cpu_us?))
        .collect();
    let violations: Vec<String> = runs.iter().flat_map(|run| run.violations.clone()).collect();
    Summary {
        benchmark: "wire",
        workload: String::new(),
        server: String::new(),
        clients: 0,
        isolation: Isolation::ReadCommitted,
        seconds: 0.0,
        transactions_per_second: spread(&|run| run.transactions_per_second),
        latency_ns: LatencyNs::median(runs.iter().map(|run| run.latency_ns)),
        server_cpu_us: cpu.map(|numbers| Spread::of(&numbers)),
        aborts_per_transaction: spread(&|run| run.aborts_per_transaction).median,
        throughput_ratio: Spread::of(&ratios),
        server_cpu_ratio: cpu_ratios.map(|numbers| Spread::of(&numbers)),
        verified: violations.is_empty(),
        violations,
    }
}
