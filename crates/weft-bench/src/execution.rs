//! How a benchmark is executed: what its commands have in common on the command line.

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

/// How transactions are executed, and how the result is shown.
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

    /// What transactions see of each other: read-committed, snapshot or serializable;
    /// several, separated by commas, are compared. The default is snapshot, not that of
    /// the library (serializable), so that figures stay comparable with older ones.
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "snapshot"
    )]
    isolation: Vec<Isolation>,

    /// How serializable transactions are certified when they commit: ssn (the serial
    /// safety net) or validation (what was read is still current); several, separated by
    /// commas, are compared, each on a database of its own [default: ssn].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    certifier: Vec<Certifier>,

    /// Begin transactions without writes as read-only, as an application would that
    /// knows. Serializable ones then keep track of nothing and cannot abort.
    #[arg(long)]
    declare_read_only: bool,

    /// Keep the database in this directory, made anew and removed afterwards,
    /// instead of in memory only.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// What acknowledgements wait for, with --data-dir: synchronous (until it is on
    /// the device), relaxed or none; several, separated by commas, are compared
    /// [default: synchronous].
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        requires = "data_dir"
    )]
    durability: Vec<Durability>,

    /// Who writes the log, with --data-dir: workers (each its own) or thread (one more
    /// thread for all of them, which competes for their processors, as engines with a
    /// dedicated flusher have it); several, separated by commas, are compared, each on a
    /// database of its own [default: workers].
    #[arg(long, value_name = "A,B", value_delimiter = ',', requires = "data_dir")]
    flusher: Vec<Flusher>,

    /// How long a commit may wait for others to share a write with, in
    /// microseconds, with --data-dir [default: 200].
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

    /// Seed of every random choice; equal seeds ask for the same.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

impl Execution {
    /// What is compared, and how often.
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

    /// The durabilities to compare; none in memory.
    fn durabilities(&self) -> Vec<Durability> {
        match &self.data_dir {
            None => Vec::new(),
            Some(_) if self.durability.is_empty() => vec![Durability::Synchronous],
            Some(_) => self.durability.clone(),
        }
    }

    /// The directory for the time of the benchmark, if it has one.
    pub(crate) fn place(&self) -> commands::Result<Option<Place>> {
        self.data_dir.as_deref().map(Place::make).transpose()
    }

    /// Where and how the database is kept.
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

    /// Writes what came out, and draws it if asked to, `title` above it.
    pub(crate) fn show(&self, title: &str, outcome: &Outcome) -> commands::Result<()> {
        commands::write_results(&self.series.format.outcome(outcome)?)?;
        if let Some(path) = &self.chart {
            crate::write_chart(path, &report::chart(title, &outcome.summaries)?)?;
        }
        Ok(())
    }
}
