//! `weft-bench wire-crash`: checks conditions after a server was killed under its clients.

use std::path::PathBuf;

use applications::tpcc;
use bench::measure::Isolation;
use bench::report::Format;
use commands::Place;
use commands::number::parse_count;
use commands::progress::Progress;
use wire::crash::{Plan, report, run};

use crate::program::Program;

const EXAMPLES: &str = "\
What runs:
  `weft serve`, durable, with clients that run TPC-C over PostgreSQL's protocol. It is killed at
  a moment that the seed chooses, and started again; then is checked:
    the twelve conditions of TPC-C
    every transaction that a client was told of is there
    orders and payments are as many as transactions have committed
  When something does not hold, the run ends, and the directory is kept.

Exit code:
  0  everything held
  1  something did not, and is named; or the run failed
  2  the request was wrong

Examples:
  weft-bench wire-crash --data-dir /tmp/weft-wire-crash
  weft-bench wire-crash --kills 100 --seed 7 --isolation serializable --data-dir /tmp/weft-wire-crash
  A run that must fail, to see that it does:
    weft-bench wire-crash --plant-hasty --data-dir /tmp/weft-wire-crash";

/// Kills a server under its clients, as often as asked, and checks after each recovery that
/// the conditions hold and nothing acknowledged is lost.
///
/// The directory is removed afterwards unless something did not hold. Results go to standard
/// output, progress to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Directory for the database, empty or missing.
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,

    /// Number of servers to kill.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..))]
    kills: u32,

    /// Number of clients.
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(1..=1024))]
    clients: u16,

    /// Items of TPC-C's one warehouse, which has 60 customers in each district.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_count)]
    records: u64,

    /// Isolation level of the transactions: read-committed, snapshot or serializable.
    #[arg(long, value_name = "LEVEL", default_value = "read-committed")]
    isolation: Isolation,

    /// Plant a bug that must be noticed: clients count commits before they are told of them.
    #[arg(long)]
    plant_hasty: bool,

    /// Seed of the moments of the kills and of the clients' draws. The clients' progress up to a
    /// kill depends on the machine.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,

    #[command(flatten)]
    program: Program,

    /// Form of the results: table, csv or json.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let place = Place::make(&self.data_dir)?;
        let plan = Plan {
            directory: self.data_dir,
            kills: self.kills,
            clients: self.clients,
            isolation: self.isolation,
            tpcc: tpcc::Settings {
                scale: tpcc::Scale {
                    items: u32::try_from(self.records).unwrap_or(u32::MAX),
                    customers: 60,
                    ..tpcc::Scale::default()
                },
                ..tpcc::Settings::standard(tpcc::Mix::Tpcc, 1)
            },
            seed: self.seed,
            is_hasty: self.plant_hasty,
        };
        let crashes = run(&plan, &|| self.program.serve(None), &Progress::stderr())?;
        commands::write_results(&report(self.format, &crashes)?)?;
        if crashes.sentences.is_empty() {
            return Ok(());
        }
        Err(commands::Error::run(format!(
            "what must hold after a crash did not; {} is kept; please report it:\n{}",
            place.keep().display(),
            crashes.sentences.join("\n")
        )))
    }
}
