//! `weft-bench wire`: servers that speak PostgreSQL's protocol, from outside.

use std::time::Duration;

use applications::tpcc;
use bench::measure::Isolation;
use commands::number::{parse_count, parse_seconds};
use commands::progress::Progress;
use wire::{Kind, Protocol, Settings, measure, report};

use crate::scale::Scale;
use crate::series::Series;
use crate::targets::Targets;

const EXAMPLES: &str = "\
Workloads:
  select-one   the answer 1, by one client: a round trip
  select-only  pgbench's: an account's balance by its key
  tpcb         pgbench's: account, teller and branch changed, a line of history
  tpcc         TPC-C's five transactions, and its twelve conditions afterwards
  tpcc-pipelined  the same by clients that send statements together that do not need each other's
               answers
  scan         a table filtered and summed up, by one client
  join         three tables joined and grouped, by one client
  index-join   a tenth of a table's rows found by the keys of another, by one client

Examples:
  Weft beside the PostgreSQL that is installed, each with a directory of its own:
    weft-bench wire --postgres
  One workload with more clients:
    weft-bench wire --postgres --workloads tpcc --clients 32 --isolation snapshot
  Servers that run:
    weft-bench wire --server 'weft=host=127.0.0.1 port=5433 user=weft dbname=weft' \\
                    --server 'pg=host=127.0.0.1 user=postgres' --workloads select-only";

/// Measures servers over PostgreSQL's protocol: Weft, PostgreSQL and others, in turns.
///
/// Every server gets the same tables and statements from the same clients, and each answer is checked. Besides
/// throughput and latency, the report shows the processor time that each server takes for a transaction, which the
/// clients on the same machine do not blur. Without --server, Weft is started as `weft serve`, durable, in a directory
/// of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,

    /// Workloads to run, in this order.
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "select-one,select-only,tpcb,tpcc,scan,join,index-join"
    )]
    workloads: Vec<Kind>,

    /// Protocols of pgbench's statements: prepared once, unnamed with each execution, or simple as text; all protocols
    /// given are compared.
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        default_value = "prepared"
    )]
    protocols: Vec<Protocol>,

    /// Clients, each on a connection of its own; if not given, 16, or 1 where a workload asks
    /// for one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    clients: Option<u16>,

    /// Isolation level of the transactions: read-committed, snapshot (repeatable read) or serializable.
    #[arg(long, value_name = "LEVEL", default_value = "read-committed")]
    isolation: Isolation,

    /// Seconds of each run.
    #[arg(
        long,
        value_name = "S",
        default_value = "10",
        allow_negative_numbers = true,
        value_parser = parse_seconds
    )]
    seconds: f64,

    /// pgbench's scale: 100,000 accounts each.
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    scale: u32,

    /// Warehouses of TPC-C.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..))]
    warehouses: u16,

    #[command(flatten)]
    tpcc: Scale,

    /// Rows of the table that is scanned and joined.
    #[arg(long, value_name = "N", default_value = "1M", value_parser = parse_count)]
    rows: u64,

    /// Seed of the clients' draws.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,

    #[command(flatten)]
    series: Series,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let settings = self.settings();
        settings.tpcc.check()?;
        let running = self.targets.launch("wire")?;
        let results = measure(&settings, &running.servers, &Progress::stderr())?;
        commands::write_results(&report(self.series.format, &results)?)?;
        let wrong = results.iter().flat_map(|result| {
            let (workload, server) = (&result.workload, &result.server);
            let violations = result.violations.iter();
            violations.map(move |what| format!("{workload} on {server}: {what}"))
        });
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() {
            return Ok(());
        }
        Err(commands::Error::run(format!(
            "answers or tables were wrong:\n{}",
            wrong.join("\n")
        )))
    }

    fn settings(&self) -> Settings {
        Settings {
            workloads: self.workloads.clone(),
            protocols: self.protocols.clone(),
            clients: self.clients,
            isolation: self.isolation,
            duration: Duration::from_secs_f64(self.seconds),
            repeats: self.series.repeats,
            scale: self.scale,
            tpcc: tpcc::Settings {
                scale: self.tpcc.numbers(),
                ..tpcc::Settings::standard(tpcc::Mix::Tpcc, self.warehouses)
            },
            rows: u32::try_from(self.rows).unwrap_or(u32::MAX),
            seed: self.seed,
        }
    }
}
