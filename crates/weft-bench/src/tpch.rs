//! `weft-bench tpch`: the queries of TPC-H, on servers beside each other.

use std::{path::PathBuf, time::Duration};

use commands::number::{parse_percent, parse_seconds, plural};
use commands::progress::Progress;
use servers::{DuckDb, Server};
use tpch::{
    OnDuckDb, OnServer, QUERIES, Reading, Settings, System, block_bytes, chart, check_scale,
    measure, report,
};

use crate::series::Series;
use crate::targets::{Running, Targets};

const EXAMPLES: &str = "\
Examples:
  All queries over a gigabyte, beside the PostgreSQL that is installed:
    weft-bench tpch --scale 1 --postgres
  Beside DuckDB, with one thread each:
    weft-bench tpch --scale 1 --workers 1 --duckdb duckdb
  Blocks of columns on the device, with three fifths of them in memory:
    weft-bench tpch --scale 1 --queries 1,4,5,10 --workers 1 --cached 60
  The same by the share in memory, and by the number of blocks that are read ahead, as charts:
    weft-bench tpch --queries 1 --workers 1 --cached 0,20,40,60,80 --chart shares.svg
    weft-bench tpch --queries 1 --workers 1 --cached 60 --read-ahead 0,1,4,16,64,256 --chart depths.svg
  Two queries on a server that runs:
    weft-bench tpch --scale 0.1 --queries 1,6 --server 'weft=host=127.0.0.1 port=5433 user=weft dbname=weft'";

/// Measures the 22 queries of TPC-H: Weft, PostgreSQL, DuckDB and others, in turns.
///
/// Every system gets the same tables, the same rows and the same queries, with the parameters by which implementations
/// are validated, and all answers are compared. Without --server, Weft is started as `weft serve`, durable, in a
/// directory of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,

    /// Measure DuckDB too, by its command-line program at this path: on a file of its own, in one session, with as many
    /// threads as Weft has workers. A time is that from the statement's text on the program's standard input to its
    /// last row on the standard output, as with servers.
    #[arg(long, value_name = "PROGRAM")]
    duckdb: Option<PathBuf>,

    /// Measure Weft also with this percentage of its blocks of columns in memory, the others on the device: reading
    /// ahead, and one transfer after the other. Several are separated by commas.
    #[arg(long, value_name = "PERCENT,..", value_delimiter = ',', value_parser = parse_percent)]
    cached: Vec<f64>,

    /// With --cached: read at most this number of blocks ahead of a scan, 0 for one transfer after the other. Several
    /// are separated by commas, and measured in turns on the same tables.
    #[arg(long, value_name = "N,..", value_delimiter = ',', requires = "cached", value_parser = clap::value_parser!(u16).range(..=1000))]
    read_ahead: Vec<u16>,

    /// Also draw a chart into this file: milliseconds by the share of blocks in memory, by the blocks read ahead, or of
    /// each query, whichever was varied.
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,

    /// Scale factor: 1 has 8.7 million rows, a gigabyte of text.
    #[arg(long, value_name = "S", default_value = "1", value_parser = parse_scale)]
    scale: f64,

    /// Queries to run, in this order; all if not given.
    #[arg(long, value_name = "N,N,..", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=i64::from(QUERIES)))]
    queries: Vec<u8>,

    /// Seconds that a query may take.
    #[arg(long, value_name = "S", default_value = "60", value_parser = parse_seconds)]
    time_limit: f64,

    /// A statement that each connection to a server begins with, such as a setting; may be given several times.
    #[arg(long, value_name = "SQL")]
    begin: Vec<String>,

    /// Keep the tables on servers that run already, for questions of one's own.
    #[arg(long)]
    keep: bool,

    #[command(flatten)]
    series: Series,
}

fn parse_scale(text: &str) -> commands::Result<f64> {
    let refuse = |_| commands::Error::input(format!("`{text}` is no number"));
    let scale = text.parse().map_err(refuse)?;
    check_scale(scale).map(|()| scale)
}

impl Arguments {
    /// Returns a server as a system. `shares_tables` as in [`OnServer`].
    fn on_server(&self, server: Server, reading: Reading, shares_tables: bool) -> Box<dyn System> {
        Box::new(OnServer {
            server,
            shares_tables,
            begin: self.begin.clone(),
            reading,
        })
    }

    /// Starts a Weft for each percentage of blocks in memory, and adds it once for each number of blocks to read ahead.
    fn add_cached(
        &self,
        running: &mut Running,
        queries: &[u8],
        systems: &mut Vec<Box<dyn System>>,
        progress: &Progress,
    ) -> commands::Result<()> {
        if self.cached.is_empty() {
            return Ok(());
        }
        let directory = running.directory.clone();
        let limit = Duration::from_secs_f64(self.time_limit);
        let learning = self.targets.start(&directory.join("weft-learning"), &[])?;
        let all = block_bytes(&learning.server(), self.scale, queries, limit, progress)?;
        drop(learning);
        for percent in &self.cached {
            let bytes = (all as f64 * percent / 100.0) as u64;
            progress.note(&format!(
                "{percent} % of blocks in memory are {bytes} bytes of {all}"
            ));
            let arguments = ["--block-memory".to_owned(), bytes.to_string()];
            let at = directory.join(format!("weft-{percent}"));
            let launched = self.targets.start(&at, &arguments)?;
            let server = launched.server();
            running.keep(launched);
            for (number, read_ahead) in self.read_ahead().into_iter().enumerate() {
                let how = match read_ahead {
                    None => String::new(),
                    Some(0) => " one by one".to_owned(),
                    Some(blocks) => format!(" {blocks} ahead"),
                };
                let server = server.clone().named(format!("weft {percent} %{how}"));
                let reading = Reading {
                    cached_percent: Some(*percent),
                    read_ahead,
                };
                systems.push(self.on_server(server, reading, number > 0));
            }
        }
        Ok(())
    }

    /// Returns the numbers of blocks to read ahead: those that were given, or Weft's own choice and none.
    fn read_ahead(&self) -> Vec<Option<u16>> {
        match self.read_ahead.is_empty() {
            true => vec![None, Some(0)],
            false => self.read_ahead.iter().copied().map(Some).collect(),
        }
    }

    pub(crate) fn run(self) -> commands::Result<()> {
        let progress = Progress::stderr();
        let is_beside = self.duckdb.is_some() || !self.cached.is_empty();
        let mut running = self.targets.launch_beside("tpch", is_beside)?;
        let queries = match self.queries.is_empty() {
            true => (1..=QUERIES).collect(),
            false => self.queries.clone(),
        };
        let mut systems: Vec<_> = running
            .servers
            .iter()
            .map(|server| self.on_server(server.clone(), Reading::default(), false))
            .collect();
        self.add_cached(&mut running, &queries, &mut systems, &progress)?;
        if let Some(program) = &self.duckdb {
            let directory = running.directory.join("duckdb");
            let threads = self.targets.workers();
            let mut duckdb = DuckDb::start(program, threads, &directory)?;
            let (version, threads) = (duckdb.version()?, plural(threads as u64, "thread"));
            progress.note(&format!("DuckDB {version} has {threads}"));
            systems.push(Box::new(OnDuckDb(duckdb)));
        }
        let settings = Settings {
            scale: self.scale,
            queries,
            repeats: self.series.repeats,
            time_limit: Duration::from_secs_f64(self.time_limit),
            keep: self.keep,
        };
        let results = measure(&settings, &mut systems, &progress)?;
        commands::write_results(&report(self.series.format, &results)?)?;
        if let Some(path) = &self.chart {
            let title = format!("TPC-H at scale {}, medians and ranges", self.scale);
            crate::write_chart(path, &chart(&title, &results)?)?;
        }
        let wrong = results
            .iter()
            .flat_map(|result| result.violations.iter().cloned());
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() {
            return Ok(());
        }
        Err(commands::Error::run(format!(
            "answers were different:\n{}",
            wrong.join("\n")
        )))
    }
}
