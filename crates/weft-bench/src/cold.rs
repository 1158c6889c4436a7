//! `weft-bench cold`: transactions that need the device beside those that do not.

use std::path::PathBuf;
use std::time::Duration;

use bench::cold::{Nesting, Scheduler, Settings, chart, measure, report};
use bench::measure::{Durability, InFlight};
use bench::values::ValueShape;
use commands::Place;
use commands::number::{parse_count, parse_percent, parse_seconds};
use commands::progress::Progress;

use crate::series::Series;

const EXAMPLES: &str = "\
Schedulers (the first four as MosaicDB compares them, with its numbers unless told others):
  sequential  one transaction after the other; while one waits for the device, the worker
              waits with it
  batch       8 at a time; the next 8 begin when all of them have ended
  pipelined   16 at a time, a new one for each that has ended; who waits for the device keeps
              his place, and at most half of them may
  dual-queue  8 at a time, and 16 others may wait for the device; one that is too many is
              aborted
  auto        a transaction that waits for the device leaves its place to others, and goes
              on when its record is there; how many wait is found while running

Examples:
  What storage-bound transactions do to the others:
    weft-bench cold --data-dir DIR
  From none to nothing else, with a chart:
    weft-bench cold --data-dir DIR --storage-bound 0,5,10,20,50,100 --chart cold.svg
  Half of the transactions change what they read:
    weft-bench cold --data-dir DIR --read-only-percent 50
  How many must be under way to keep the device busy:
    weft-bench cold --data-dir DIR --schedulers auto --storage-bound 50 \\
        --cold-clients 4,16,64,256
  Those of MosaicDB beside ours:
    weft-bench cold --data-dir DIR --schedulers sequential,batch,pipelined,dual-queue,auto
  The same with longer queues:
    weft-bench cold --data-dir DIR --schedulers dual-queue --storage-bound 5,20 \\
        --cold-slots 8,16,32,64
  What nesting costs, in memory and with the device:
    weft-bench cold --data-dir DIR --schedulers auto --nesting flat,nested,boxed
  Larger pages to be read: a record is read alone, in whole sectors:
    weft-bench cold --data-dir DIR --value-bytes 4000 --cold-records 200k
  Two workers, for further processing:
    weft-bench cold --data-dir DIR --workers 2 --format json";

/// Measures transactions that need the device beside transactions that do not.
///
/// Two tables are loaded; then all records of one of them leave memory. In-memory transactions
/// access the other table only, storage-bound ones access some cold records too. They come from two
/// sources that do not wait for each other: the first always has a transaction to do, the second is
/// a number of clients with one transaction each, all of which may be waiting for the device.
///
/// In each repeat every combination runs for some seconds. Beside the combinations, the device is
/// measured by itself: random reads of the same files through the same driver, with the best number
/// under way. Every value is verified, and at the end no change may be lost. The directory is
/// removed afterwards.
///
/// Numbers may have underscores and suffixes: k, M, G for thousands, Ki, Mi, Gi
/// for powers of 1024.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Directory for the database, empty or missing, on the device to be measured.
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,

    /// Records of the table in memory.
    #[arg(long, value_name = "N", default_value = "2M", value_parser = parse_count)]
    hot_records: u64,

    /// Records of the table on the device. A record that was read stays in memory; before half of
    /// them are in memory, all leave it again. The number should be large enough for that not to
    /// happen within a run.
    #[arg(long, value_name = "N", default_value = "1M", value_parser = parse_count)]
    cold_records: u64,

    /// Share of storage-bound transactions among those offered; several, separated by commas, are
    /// compared.
    #[arg(
        long,
        value_name = "PERCENT,..",
        value_delimiter = ',',
        default_value = "0,10,50",
        allow_negative_numbers = true,
        value_parser = parse_percent
    )]
    storage_bound: Vec<f64>,

    /// Share of transactions that only read, of both kinds; the others change every record
    /// that they access.
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "100",
        allow_negative_numbers = true,
        value_parser = parse_percent
    )]
    read_only_percent: f64,

    /// Schedulers to compare, separated by commas: each decides which transaction runs while
    /// another waits for the device; see the list below.
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "sequential,auto"
    )]
    schedulers: Vec<Scheduler>,

    /// Depth of the application's coroutines above an access to a record: flat, nested (four
    /// levels) or boxed (four levels with a frame on the heap each); several, separated by commas,
    /// are compared.
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "flat"
    )]
    nesting: Vec<Nesting>,

    /// Worker threads.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,

    /// Bytes of each value, 8 to 1MiB; keys have 8.
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_count)]
    value_bytes: u64,

    /// Hot records that a storage-bound transaction accesses.
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    reads_hot: u32,

    /// Cold records that a storage-bound transaction accesses after those. An in-memory transaction
    /// accesses as many hot ones instead.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    reads_cold: u32,

    /// Transactions in flight on each worker: a number, or auto to let the scheduler adapt, or use
    /// its own number; several, separated by commas, are compared. The sequential scheduler has one
    /// transaction in flight.
    #[arg(
        long,
        value_name = "N|auto,..",
        value_delimiter = ',',
        default_value = "auto"
    )]
    in_flight: Vec<InFlight>,

    /// Clients of storage-bound transactions for each worker: as many may wait for the
    /// device at once; several, separated by commas, are compared.
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "256",
        value_parser = clap::value_parser!(u32).range(1..=60_000)
    )]
    cold_clients: Vec<u32>,

    /// Transactions that may wait for the device at once, for pipelined and dual-queue;
    /// several, separated by commas, are compared. By default half of those in flight, and 16.
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    cold_slots: Vec<u32>,

    /// Transactions that end between two looks at completions, for dual-queue; several,
    /// separated by commas, are compared.
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "8",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    visit_interval: Vec<u32>,

    /// Condition for acknowledging changes: none, relaxed or synchronous.
    #[arg(long, value_name = "NAME", default_value = "none")]
    durability: Durability,

    /// Seconds for each combination in each repeat.
    #[arg(
        long,
        value_name = "S",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = parse_seconds
    )]
    seconds: f64,

    #[command(flatten)]
    series: Series,

    /// Also draw a chart into this file: transactions per second by the share of
    /// storage-bound ones.
    #[arg(long, value_name = "FILE.svg")]
    chart: Option<PathBuf>,

    /// Seed of every random choice; equal seeds ask for the same records.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

impl Arguments {
    fn settings(&self) -> commands::Result<Settings> {
        let settings = Settings {
            hot_records: self.hot_records,
            cold_records: self.cold_records,
            value: ValueShape::new(usize::try_from(self.value_bytes).unwrap_or(usize::MAX))?,
            reads_hot: self.reads_hot,
            reads_cold: self.reads_cold,
            read_only_percent: self.read_only_percent,
            durability: self.durability,
            schedulers: self.schedulers.clone(),
            nestings: self.nesting.clone(),
            storage_bound_percents: self.storage_bound.clone(),
            in_flights: self.in_flight.clone(),
            cold_clients: self.cold_clients.clone(),
            cold_slots: match self.cold_slots.is_empty() {
                true => vec![None],
                false => self.cold_slots.iter().copied().map(Some).collect(),
            },
            visit_intervals: self.visit_interval.clone(),
            workers: self.workers.into(),
            duration: Duration::from_secs_f64(self.seconds),
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
        let description = settings.description();
        progress.note(&description);
        let results = measure(
            &settings,
            bench::kept::without_checkpoints(place.path()),
            &progress,
        )?;
        commands::write_results(&report(self.series.format, &results)?)?;
        if let Some(path) = &self.chart {
            crate::write_chart(path, &chart(&description, &results)?)?;
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
