//! Servers that speak PostgreSQL's protocol, measured from outside: `weft serve` beside
//! PostgreSQL, or any others.
//!
//! The crate knows statements, their right answers and the times that servers take for them. It never opens a database:
//! servers are other processes, which crate `servers` starts and reaches.
//!
//! The measurements are those of an application: clients on threads of their own, each with a connection, run one
//! transaction after another. The clients are this process and the servers are others, so the servers' processor time
//! can be told apart from the clients' (`servers/cpu.rs`); on a machine that both share, it is the better number to
//! compare.
//!
//! | subject | where |
//! | --- | --- |
//! | workloads: tables, transactions, verification | `workload.rs`, `pgbench.rs`, `facts.rs`; `applications/tpcc/wire.rs` |
//! | one workload on one server for some seconds | `drive.rs` |
//! | results | `report.rs` |
//! | servers that are killed at work | `crash.rs` |
//! | clients beside one long statement | `fairness.rs` |
//!
//! Rules:
//! - all servers run in each repeat, one after another, in an order that rotates; while one is measured the others are
//!   idle;
//! - every server gets the same statements, and tables are loaded once, before;
//! - each client verifies its answers, and the tables are verified at the end of every run;
//! - a benchmark never touches existing tables: its own tables must not exist before, and are dropped afterwards.

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

/// Settings of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Workloads, at least one.
    pub workloads: Vec<Kind>,
    /// Protocols of pgbench's statements, each measured.
    pub protocols: Vec<Protocol>,
    /// Number of clients of each run; the workload's own number if `None`.
    pub clients: Option<u16>,
    /// Isolation level of all transactions.
    pub isolation: Isolation,
    /// Duration of each run.
    pub duration: Duration,
    /// Number of repeats, at least 1.
    pub repeats: u32,
    /// Scale of pgbench's tables: 100,000 accounts each.
    pub scale: u32,
    /// Settings of the database of TPC-C.
    pub tpcc: tpcc::Settings,
    /// Rows of the table that is scanned and joined.
    pub rows: u32,
    /// Seed of the clients' draws.
    pub seed: u64,
}

/// Results of one workload on one server, over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Always `"wire"`.
    pub benchmark: &'static str,
    /// Name of the workload.
    pub workload: String,
    /// Name of the server.
    pub server: String,
    /// Number of clients, each on a thread and a connection of its own.
    pub clients: u16,
    /// Isolation level of the transactions.
    pub isolation: Isolation,
    /// Seconds of each run.
    pub seconds: f64,
    /// Transactions committed per second.
    pub transactions_per_second: Spread,
    /// Latency from a transaction's first message to the last answer, retries included: medians of the repeats'
    /// percentiles.
    pub latency_ns: LatencyNs,
    /// Processor time that the server took for each committed transaction, in microseconds; `None` where its processes
    /// cannot be looked at.
    pub server_cpu_us: Option<Spread>,
    /// Number of aborts per committed transaction; each is followed by a retry.
    pub aborts_per_transaction: f64,
    /// Throughput as a share of the first server's in the same repeat.
    pub throughput_ratio: Spread,
    /// Processor time as a share of the first server's in the same repeat.
    pub server_cpu_ratio: Option<Spread>,
    /// Whether every answer was right and all conditions of the tables held.
    pub verified: bool,
    /// Wrong answers and conditions that did not hold.
    #[serde(skip)]
    pub violations: Vec<String>,
}

/// Results of one run.
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
/// [`Error::Input`] for settings that are out of range; [`Error::Run`] when a server refuses a statement or goes away.
/// A wrong answer is no error: the summary then has `verified` unset.
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

/// Summarises the runs of a server, relative to those of the first server.
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
