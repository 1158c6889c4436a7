//! `weft-bench beyond-memory`: working sets that grow beyond memory and shrink again.

use std::path::PathBuf;
use std::time::Duration;

use bench::beyond_memory::{Settings, chart, measure, report};
use bench::distribution::Distribution;
use bench::measure::{Durability, InFlight};
use bench::values::ValueShape;
use commands::Place;
use commands::number::{parse_count, parse_percent, parse_seconds};
use commands::progress::Progress;

use crate::series::Series;

const EXAMPLES: &str = "\
Examples:
  From a quarter of memory to eight times as much, and back:
    weft-bench beyond-memory --data-dir DIR --value-bytes 1000
  Records that are asked for equally often, with a chart:
    weft-bench beyond-memory --data-dir DIR --value-bytes 1000 --distribution uniform \\
        --chart beyond.svg
  One in twenty transactions changes what it accesses:
    weft-bench beyond-memory --data-dir DIR --read-percent 95 --working-sets 4
  Without the database that has everything in memory, for further processing:
    weft-bench beyond-memory --data-dir DIR --no-comparison --format json";

/// Measures working sets that grow beyond memory, and shrink again.
///
/// A database with a ceiling on its memory is loaded with as many records as the largest working
/// set has. Transactions access one working set after another, from the smallest to the largest and
/// backwards. Every size is also measured on a database whose memory holds everything, unless the
/// machine has too little for it.
///
/// Every value is verified, and at the end no change may be lost. Indexes, and a few bytes for
/// each record, stay in memory: very many small records do not fit below the ceiling. The
/// directory is removed afterwards.
///
/// Numbers may have underscores and suffixes: k, M, G for thousands, Ki, Mi, Gi
/// for powers of 1024.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Directory for the databases, empty or missing, on the device to be measured.
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,

    /// The ceiling on memory, in bytes.
    #[arg(long, value_name = "N", default_value = "256MiB", value_parser = parse_count)]
    memory: u64,

    /// Bytes of each value, 8 to 1MiB; keys have 8.
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_count)]
    value_bytes: u64,

    /// Bytes of keys and values in each working set, in parts of the ceiling, growing.
    #[arg(
        long,
        value_name = "X,..",
        value_delimiter = ',',
        default_value = "0.25,0.5,1,2,4,8"
    )]
    working_sets: Vec<f64>,

    /// Choice of the records of the working set: zipfian (spread over it by a hash) or uniform.
    #[arg(long, value_name = "NAME", default_value = "zipfian", value_parser = ["zipfian", "uniform"])]
    distribution: String,

    /// Exponent of zipfian.
    #[arg(long, value_name = "X", default_value_t = Distribution::THETA_DEFAULT)]
    theta: f64,

    /// Share of transactions that only read; the others change every record that they access.
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "100",
        allow_negative_numbers = true,
        value_parser = parse_percent
    )]
    read_percent: f64,

    /// Records that each transaction accesses.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    accesses: u32,

    /// Worker threads.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,

    /// Transactions in flight on each worker: a number, or auto to let the engine adapt.
    #[arg(long, value_name = "N|auto", default_value = "auto")]
    in_flight: InFlight,

    /// Condition for acknowledging changes: none, relaxed or synchronous.
    #[arg(long, value_name = "NAME", default_value = "none")]
    durability: Durability,

    /// Seconds that each size is accessed before it is measured.
    #[arg(
        long,
        value_name = "S",
        default_value = "2",
        allow_negative_numbers = true,
        value_parser = parse_seconds
    )]
    warm_up: f64,

    /// Seconds for each size in each direction and repeat.
    #[arg(
        long,
        value_name = "S",
        default_value = "2",
        allow_negative_numbers = true,
        value_parser = parse_seconds
    )]
    seconds: f64,

    /// Do not measure a database whose memory holds everything.
    #[arg(long)]
    no_comparison: bool,

    #[command(flatten)]
    series: Series,

    /// Also draw a chart into this file: operations per second by the size of the working set.
    #[arg(long, value_name = "FILE.svg")]
    chart: Option<PathBuf>,

    /// Seed of every random choice; equal seeds ask for the same records.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

impl Arguments {
    fn settings(&self) -> commands::Result<Settings> {
        // Hot records are to lie apart.
        let distribution = match self.distribution.as_str() {
            "zipfian" => "scrambled",
            other => other,
        };
        let settings = Settings {
            memory_bytes: self.memory,
            value: ValueShape::new(usize::try_from(self.value_bytes).unwrap_or(usize::MAX))?,
            working_sets: self.working_sets.clone(),
            distribution: Distribution::named(distribution, self.theta)?,
            read_percent: self.read_percent,
            accesses: self.accesses,
            durability: self.durability,
            in_flight: self.in_flight,
            workers: self.workers.into(),
            warm_up: Duration::from_secs_f64(self.warm_up),
            duration: Duration::from_secs_f64(self.seconds),
            compares: !self.no_comparison,
            repeats: self.series.repeats,
            seed: self.seed,
        };
        settings.check()?;
        Ok(settings)
    }

    pub(crate) fn run(self) -> commands::Result<()> {
        let settings = self.settings()?;
        let place = Place::make(&self.data_dir)?;
        let progress = Progress::stderr();
        progress.note(&settings.description());
        let results = measure(
            &settings,
            &bench::kept::without_checkpoints(place.path()),
            &progress,
        )?;
        commands::write_results(&report(self.series.format, &results)?)?;
        if let Some(path) = &self.chart {
            crate::write_chart(path, &chart(&settings.title(), &results)?)?;
        }
        if results.iter().all(|result| result.verified) {
            Ok(())
        } else {
            Err(commands::Error::run(
                "values were wrong or changes lost; please report it",
            ))
        }
    }
}
