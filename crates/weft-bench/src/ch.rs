//! `weft-bench ch`: transactions and analytical queries at once, on servers beside each other.

use std::time::Duration;

use applications::tpcc;
use bench::measure::Isolation;
use ch::{QUERIES, Settings, measure, report};
use commands::number::parse_seconds;
use commands::progress::Progress;

use crate::scale::Scale;
use crate::series::Series;
use crate::targets::Targets;

const EXAMPLES: &str = "\
Examples:
  Weft beside the PostgreSQL that is installed, each with a directory of its own:
    weft-bench ch --warehouses 10 --postgres
  More terminals, two streams of three queries:
    weft-bench ch --terminals 16 --streams 2 --queries 1,6,12
  A server that runs:
    weft-bench ch --server 'weft=host=127.0.0.1 port=5433 user=weft dbname=weft'";

/// Measures transactions and analytical queries at once (CH-benCHmark): Weft, PostgreSQL and others, in turns.
///
/// Terminals run the transactions of TPC-C, and streams run 22 queries like those of TPC-H, on the same tables. Each
/// repeat has runs of the terminals alone, of the streams alone and of both; the report shows what one does to the
/// other, and how fresh the answers were. The answers of all servers are compared before the first terminal starts,
/// and TPC-C's conditions are checked at the end. Without --server, Weft is started as `weft serve`, durable, in a
/// directory of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,

    /// Warehouses of TPC-C: each has about half a million rows.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..))]
    warehouses: u16,

    /// Terminals, each on a connection of its own.
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=1024))]
    terminals: u16,

    /// Streams of queries, each on a connection of its own; a stream runs one query after another.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    streams: u16,

    /// Seconds of each run.
    #[arg(long, value_name = "S", default_value = "30", allow_negative_numbers = true, value_parser = parse_seconds)]
    seconds: f64,

    /// Queries of the streams, in this order; all if not given.
    #[arg(long, value_name = "N,N,..", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=i64::from(QUERIES)))]
    queries: Vec<u8>,

    /// Seconds that a query may take when answers are compared.
    #[arg(long, value_name = "S", default_value = "60", value_parser = parse_seconds)]
    time_limit: f64,

    /// Isolation level of the transactions: read-committed, snapshot (repeatable read) or serializable. Queries have
    /// transactions of their own that only read, at repeatable read.
    #[arg(long, value_name = "LEVEL", default_value = "read-committed")]
    isolation: Isolation,

    #[command(flatten)]
    scale: Scale,

    /// Seed of the terminals' draws.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,

    #[command(flatten)]
    series: Series,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let settings = self.settings();
        settings.check()?;
        let running = self.targets.launch("ch")?;
        let results = measure(&settings, &running.servers, &Progress::stderr())?;
        commands::write_results(&report(self.series.format, &results)?)?;
        let wrong = results.iter().flat_map(|result| {
            let violations = result.violations.iter();
            violations.map(move |what| format!("{}: {what}", result.server))
        });
        let mut wrong: Vec<String> = wrong.collect();
        // A difference between servers is one of all their runs.
        wrong.sort();
        wrong.dedup();
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
            tpcc: tpcc::Settings {
                scale: self.scale.numbers(),
                ..tpcc::Settings::standard(tpcc::Mix::Tpcc, self.warehouses)
            },
            terminals: self.terminals,
            streams: self.streams,
            queries: match self.queries.is_empty() {
                true => (1..=QUERIES).collect(),
                false => self.queries.clone(),
            },
            duration: Duration::from_secs_f64(self.seconds),
            repeats: self.series.repeats,
            time_limit: Duration::from_secs_f64(self.time_limit),
            isolation: self.isolation,
            seed: self.seed,
        }
    }
}
