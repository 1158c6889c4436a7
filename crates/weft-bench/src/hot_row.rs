//! `weft-bench hot-row`: many writers, one record.

use std::time::Duration;

use bench::hot_row::{Settings, measure, report};
use bench::measure::{ConflictPolicy, Isolation};
use commands::number::parse_seconds;
use commands::progress::Progress;

use crate::series::Series;

const EXAMPLES: &str = "\
Examples:
  Two writers that wait for each other, or abort:
    weft-bench hot-row
  Many writers, all levels:
    weft-bench hot-row --writers 64 --isolation read-committed,snapshot,serializable
  Whether the one thread lets both have their turn:
    weft-bench hot-row --workers 1 --on-conflict wait --format json";

/// Measures writers that all want the same record.
///
/// Each writer reads the record, writes one more and commits, again and again. The report shows how
/// often transactions are run until they commit, how long the unluckiest takes, and how evenly
/// commits are spread over the writers. At the end the record must have counted every commit.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Writers, each with one transaction at a time.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=1024))]
    writers: u32,

    /// Worker threads that the writers are spread over.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,

    /// Reaction of a writer that meets another: wait for its end, or abort and be run again; both,
    /// separated by a comma, are compared.
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        default_value = "wait,abort"
    )]
    on_conflict: Vec<ConflictPolicy>,

    /// Isolation level of the transactions: read-committed, snapshot or serializable; several,
    /// separated by commas, are compared.
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "snapshot,serializable"
    )]
    isolation: Vec<Isolation>,

    /// Seconds for each combination in each repeat.
    #[arg(
        long,
        value_name = "S",
        default_value = "2",
        allow_negative_numbers = true,
        value_parser = parse_seconds
    )]
    seconds: f64,

    #[command(flatten)]
    series: Series,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let settings = Settings {
            writers: self.writers as usize,
            workers: self.workers.into(),
            on_conflict: self.on_conflict,
            isolations: self.isolation,
            duration: Duration::from_secs_f64(self.seconds),
            repeats: self.series.repeats,
        };
        let results = measure(&settings, &Progress::stderr())?;
        commands::write_results(&report(self.series.format, &results)?)?;
        if results.iter().all(|result| result.verified) {
            Ok(())
        } else {
            Err(commands::Error::run(
                "commits were lost or counted twice; please report it",
            ))
        }
    }
}
