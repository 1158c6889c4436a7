//! Arguments on the execution of a benchmark, shared by several commands.

use std::path::PathBuf;

use bench::comparison::Asked;
use bench::kept::without_checkpoints;
use bench::measure::{Certifier, Durability, Flusher, InFlight, Isolation};
use bench::mode::Mode;
use bench::report;
use bench::runner::Outcome;
use commands::number::{parse_count, parse_seconds};

use crate::series::Series;
use commands::Place;

/// Execution of transactions, and the form of the result.
#[derive(Debug, clap::Args)]
pub(crate) struct Execution {
    /// Worker threads.
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count)]
    workers: u64,

    /// Transactions in flight on each worker in the interleaved modes: a number,
    /// or auto to let the engine adapt.
    #[arg(long, value_name = "N|auto", default_value = "auto")]
    in_flight: InFlight,

    /// Modes to compare, separated by commas [default: all that say something about the
    /// workload].
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    modes: Vec<Mode>,

    /// Isolation level of the transactions: read-committed, snapshot or serializable; several,
    /// separated by commas, are compared. The default is snapshot, not that of the library
    /// (serializable), so that figures stay comparable with older ones.
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "snapshot"
    )]
    isolation: Vec<Isolation>,

    /// Certifier of serializable transactions when they commit: ssn (the serial safety net) or
    /// validation (every record that was read is still current); several, separated by commas, are
    /// compared, each on a database of its own [default: ssn].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    certifier: Vec<Certifier>,

    /// Begin transactions without writes as read-only, as an application would that knows of it.
    /// Serializable ones then keep track of nothing and cannot abort.
    #[arg(long)]
    declare_read_only: bool,

    /// Keep the database in this directory, made anew and removed afterwards,
    /// instead of in memory only.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Condition for acknowledging commits, with --data-dir: synchronous (the commit is on the
    /// device), relaxed or none; several, separated by commas, are compared [default: synchronous].
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        requires = "data_dir"
    )]
    durability: Vec<Durability>,

    /// Threads that write the log, with --data-dir: workers (each its own log) or thread (one more
    /// thread for all workers, which competes for their processors, as in engines with a dedicated
    /// flusher); several, separated by commas, are compared, each on a database of its own
    /// [default: workers].
    #[arg(long, value_name = "A,B", value_delimiter = ',', requires = "data_dir")]
    flusher: Vec<Flusher>,

    /// Longest time that a commit waits for others to share a write with, in microseconds, with
    /// --data-dir [default: 200].
    #[arg(long, value_name = "US", requires = "data_dir")]
    group_commit_us: Option<u32>,

    /// Take a checkpoint whenever this much was logged, with --data-dir
    /// [default: never while measuring].
    #[arg(long, value_name = "BYTES", value_parser = parse_count, requires = "data_dir")]
    checkpoint_log_bytes: Option<u64>,

    /// Seconds for each mode in each repeat.
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

    /// Also draw a bar chart into this file.
    #[arg(long, value_name = "FILE.svg")]
    chart: Option<PathBuf>,

    /// Seed of every random choice; equal seeds ask for the same records.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

impl Execution {
    /// Returns the settings of the comparison.
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            modes: self.modes.clone(),
            isolations: self.isolation.clone(),
            certifiers: self.certifier.clone(),
            durabilities: self.durabilities(),
            flushers: self.flusher.clone(),
            declare_read_only: self.declare_read_only,
            workers: self.workers,
            in_flight: self.in_flight,
            seconds: self.seconds,
            repeats: self.series.repeats.into(),
            seed: self.seed,
        }
    }

    /// Returns the durabilities to compare; none for a database in memory.
    fn durabilities(&self) -> Vec<Durability> {
        match &self.data_dir {
            None => Vec::new(),
            Some(_) if self.durability.is_empty() => vec![Durability::Synchronous],
            Some(_) => self.durability.clone(),
        }
    }

    /// Returns the directory for the time of the benchmark, if it has one.
    pub(crate) fn place(&self) -> commands::Result<Option<Place>> {
        self.data_dir.as_deref().map(Place::make).transpose()
    }

    /// Returns the options of the database, kept in `place` if that is given.
    pub(crate) fn options(&self, place: Option<&Place>) -> weft::Options {
        let mut options = place.map_or_else(weft::Options::default, |place| {
            without_checkpoints(place.path())
        });
        if let Some(window) = self.group_commit_us {
            options.storage.group_commit_us = window;
        }
        if let Some(bytes) = self.checkpoint_log_bytes {
            options.storage.checkpoint_log_bytes = bytes;
        }
        options
    }

    /// Writes `outcome` in the form asked for, and draws a chart under `title` if one was asked
    /// for.
    pub(crate) fn show(&self, title: &str, outcome: &Outcome) -> commands::Result<()> {
        commands::write_results(&self.series.format.outcome(outcome)?)?;
        if let Some(path) = &self.chart {
            crate::write_chart(path, &report::chart(title, &outcome.summaries)?)?;
        }
        Ok(())
    }
}
