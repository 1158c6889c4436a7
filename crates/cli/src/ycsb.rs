//! `weft bench ycsb`: the standard key-value workloads in every execution mode.

use std::path::PathBuf;

use bench::measure::{Certifier, Durability, InFlight, Isolation};
use bench::mode::Mode;
use bench::number::{parse_count, parse_seconds};
use bench::plan::{Options, Plan};
use bench::progress::Progress;
use bench::report;
use bench::workload::Workload;

use crate::place::Place;
use crate::series::Series;

const EXAMPLES: &str = "\
Workloads, and the operations in each of their transactions:
  read-only    10  plain reads
  update-only  10  writes of records not read before
  rmw          10  2 read-modify-writes and 8 reads; of any other number a fifth
  insert       10  new records
  scan          1  scan of consecutive records
  a b c d e f   1  YCSB's own six
  FILE          1  a YCSB property file

Modes:
  sequential          one transaction after the other, no prefetch
  prefetch            the same, with prefetch instructions
  amac-multiget       reads of a transaction as a batch, hand-written state machine
  coroutine-multiget  reads of a transaction as a batch of coroutines
  interleaved         many transactions in flight on each worker
  interleaved-nested  the same through nested application functions

Examples:
  Compare all modes on plain reads, as much data as fits comfortably:
    weft bench ycsb
  Fifty million records, two modes, five repeats:
    weft bench ycsb --records 50M --modes sequential,interleaved --repeats 5
  YCSB's update-heavy workload, with a chart:
    weft bench ycsb --workload a --workers 2 --chart a.svg
  Updates of few hot records, for further processing:
    weft bench ycsb --workload update-only --distribution zipfian --format json
  What durability costs, in one run:
    weft bench ycsb --workload update-only --value-bytes 100 --modes interleaved \\
        --data-dir DIR --durability synchronous,relaxed,none
  What serializable costs, and what interleaving still gives, by both certifiers:
    weft bench ycsb --workload rmw --modes sequential,interleaved \\
        --isolation snapshot,serializable --certifier ssn,validation
  Aborts by reason where few records are hot, sixteen transactions in flight:
    weft bench ycsb --workload rmw --distribution zipfian --theta 0.9 --workers 2 \\
        --modes sequential,interleaved --in-flight 16 --isolation serializable
  What interleaving gives to inserts into a table with five indexes:
    weft bench ycsb --workload insert --modes sequential,interleaved \\
        --unique-indexes 3 --secondary-indexes 2
  A workload of your own, starting from a copy of a YCSB file:
    weft bench ycsb --workload my.properties";

/// Runs a key-value workload in several execution modes and compares them.
///
/// The table is loaded once. Then each repeat runs every mode for some seconds
/// and measures the machine's own limit beside them; medians are reported.
/// Every answer is verified. Results go to standard output, progress and notes
/// to standard error.
///
/// Numbers may have underscores and suffixes: k, M, G for thousands, Ki, Mi, Gi
/// for powers of 1024.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What the transactions do: a name from the list below, or a YCSB property file.
    #[arg(long, value_name = "NAME|FILE", default_value = "read-only")]
    workload: String,

    /// Records to load [default: what the workload file says, or as many as fit
    /// a quarter of the available memory, at most 10M].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    records: Option<u64>,

    /// Operations in each transaction, up to 10000 [default: see the list below].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    operations: Option<u64>,

    /// Bytes of each key, 8 to 1024.
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_count)]
    key_bytes: u64,

    /// Bytes of each value, 8 to 1MiB [default: what the workload file says, or 8].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    value_bytes: Option<u64>,

    /// Which records are touched: uniform (all alike), zipfian (few hot records,
    /// side by side), scrambled (few hot records, spread; YCSB files call this
    /// zipfian) or latest (the newest are hot) [default: what the workload says].
    #[arg(long, value_name = "NAME")]
    distribution: Option<String>,

    /// How hot the hot records are: exponent from 0 (uniform) to below 2
    /// [default: 0.99].
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    theta: Option<f64>,

    /// Records each scan reads; where the workload draws lengths, the greatest
    /// [default: what the workload says, 100 for scan].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    scan_length: Option<u64>,

    /// Worker threads.
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count)]
    workers: u64,

    /// Transactions in flight on each worker in the interleaved modes: a number,
    /// or auto to let the engine adapt.
    #[arg(long, value_name = "N|auto", default_value = "auto")]
    in_flight: InFlight,

    /// Transactions open on each worker, those that wait for the device included: as
    /// many as clients would have under way [default: 65536].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    clients: Option<u32>,

    /// Modes to compare, separated by commas [default: all; those that batch
    /// reads are skipped where there are none].
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

    /// Unique secondary indexes of the table. Their keys do not change with the values.
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=64))]
    unique_indexes: u32,

    /// Secondary indexes of the table that are not unique, with eight records to a key;
    /// updates move records within them. All indexes are compared with the table at the
    /// end.
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=64))]
    secondary_indexes: u32,

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

    /// Seed of every random choice; equal seeds ask for the same records.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

impl Arguments {
    fn plan(&self) -> bench::Result<Plan> {
        Options {
            workload: Workload::named_or_file(&self.workload)?,
            records: self.records,
            operations: self.operations,
            key_bytes: self.key_bytes,
            value_bytes: self.value_bytes,
            distribution: self.distribution.clone(),
            theta: self.theta,
            scan_length: self.scan_length,
            workers: self.workers,
            in_flight: self.in_flight,
            modes: self.modes.clone(),
            isolations: self.isolation.clone(),
            certifiers: self.certifier.clone(),
            declare_read_only: self.declare_read_only,
            unique_indexes: self.unique_indexes,
            secondary_indexes: self.secondary_indexes,
            durabilities: match &self.data_dir {
                None => Vec::new(),
                Some(_) if self.durability.is_empty() => vec![Durability::Synchronous],
                Some(_) => self.durability.clone(),
            },
            seconds: self.seconds,
            repeats: self.series.repeats.into(),
            seed: self.seed,
        }
        .plan()
    }

    /// Where and how the database is kept.
    fn options(&self, place: Option<&Place>) -> weft::Options {
        let default = weft::StorageOptions::default();
        weft::Options {
            open_transactions_max: self
                .clients
                .map_or(weft::Options::default().open_transactions_max, |n| {
                    n as usize
                }),
            data_dir: place.map(|place| place.path().to_owned()),
            storage: weft::StorageOptions {
                group_commit_us: self.group_commit_us.unwrap_or(default.group_commit_us),
                checkpoint_log_bytes: self.checkpoint_log_bytes.unwrap_or(0),
                checkpoint_interval: std::time::Duration::ZERO,
                ..default
            },
            ..weft::Options::default()
        }
    }

    pub(crate) fn run(self) -> bench::Result<()> {
        let plan = self.plan()?;
        let progress = Progress::stderr();
        for note in &plan.notes {
            progress.note(note);
        }
        let place = self.data_dir.as_deref().map(Place::make).transpose()?;
        let mut subject = bench::subject::weft_subject_with(&plan, self.options(place.as_ref()))?;
        progress.note(&plan.description());
        let outcome = bench::runner::run(&mut subject, &plan, &progress)?;
        crate::write_results(&self.series.format.outcome(&outcome)?)?;
        if let Some(path) = &self.chart {
            let svg = report::chart(&plan.description(), &outcome.summaries)?;
            std::fs::write(path, svg).map_err(|error| {
                bench::Error::run(format!(
                    "cannot write the chart to {}: {error}; choose another --chart file",
                    path.display()
                ))
            })?;
        }
        if outcome.verified() {
            Ok(())
        } else {
            Err(bench::Error::run(
                "answers were wrong (see the column verified); these numbers mean nothing, please \
                 report it",
            ))
        }
    }
}
