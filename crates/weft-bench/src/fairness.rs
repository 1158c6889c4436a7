//! `weft-bench fairness`: clients beside one long statement.

use std::path::PathBuf;
use std::time::Duration;

use bench::report::Format;
use commands::number::{parse_count, parse_seconds};
use commands::progress::Progress;
use servers::{Server, start_weft};
use wire::fairness::{Settings, measure, report};

use crate::program::Program;

const EXAMPLES: &str = "\
Examples:
  A table of 6 million rows:
    weft-bench fairness
  A quick look:
    weft-bench fairness --rows 20k --seconds 0.2
  A server that runs:
    weft-bench fairness --server 'pg=host=127.0.0.1 user=postgres'";

/// Measures clients beside one long statement on one worker, and the statement beside them.
///
/// An aggregate, a sort, hash joins, a recursive query, COPY and an index build run in turn. The report shows the
/// latency of reads of single rows and of connections beside each statement, the throughput that statement and readers
/// lose to each other, and the longest slice in which a task has held the worker. Every answer is checked.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A running server: a name, `=`, and a connection string. If not given, Weft is started, durable, with one worker.
    #[arg(long, value_name = "NAME=CONNECTION")]
    server: Option<String>,

    /// Rows of the table that statements go through.
    #[arg(long, value_name = "N", default_value = "6M", value_parser = parse_count)]
    rows: u64,

    /// Seconds for which reads and connections are measured beside each statement, at least.
    #[arg(
        long,
        value_name = "S",
        default_value = "5",
        allow_negative_numbers = true,
        value_parser = parse_seconds
    )]
    seconds: f64,

    /// Readers without a pause that compete with the statement.
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=1024))]
    readers: u16,

    /// Directory for the database of the server that is started: empty or missing, removed afterwards.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    #[command(flatten)]
    program: Program,

    /// Form of the results: table, csv or json.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let settings = Settings {
            rows: u32::try_from(self.rows).unwrap_or(u32::MAX).max(1000),
            duration: Duration::from_secs_f64(self.seconds),
            readers: self.readers,
        };
        let process = std::process::id();
        let own = || std::env::temp_dir().join(format!("weft-bench-fairness-{process}"));
        let directory = self.data_dir.unwrap_or_else(own);
        let launched;
        let server = match &self.server {
            Some(text) => Server::given(text)?,
            None => {
                launched = start_weft(self.program.serve(Some(1))?, &directory)?;
                launched.server()
            }
        };
        let results = measure(&settings, &server, &Progress::stderr())?;
        commands::write_results(&report(self.format, &results)?)?;
        if results.iter().all(|result| result.verified) {
            return Ok(());
        }
        Err(commands::Error::run("answers were wrong; please report it"))
    }
}
