//! The command line: the request, checked before anything is loaded.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bench::comparison::Asked;
use bench::measure::{Durability, InFlight};
use bench::mode::Mode;
use bench::plan::{Options, Plan};
use bench::report::Format;
use bench::workload::Workload;
use commands::number::{bytes_text, parse_count, parse_count_within};
use commands::progress::Progress;
use commands::{Error, Result};

use crate::compare::{Request, compare};
use crate::device::is_memory;
use crate::engine::Name;
use crate::{in_predicate, report};

/// Largest number of Weft's clients.
const CLIENTS_MAX: u64 = 1 << 16;
/// Largest number of client threads.
const THREADS_MAX: u64 = 1024;

/// Least memory for each engine, in bytes: Weft's log buffers and RocksDB's tables in memory need
/// some.
const MEMORY_MIN: u64 = 16 << 20;

/// Longest window of relaxed durability, in milliseconds: Weft's limit.
const WINDOW_MS_MAX: u64 = 1000;

const EXAMPLES: &str = "\
Workloads, and the operations in each of their transactions:
  a b c d e f   1  YCSB's own six; a: half reads, half updates; c: reads
  read-only    10  plain reads
  update-only  10  writes of records not read before
  rmw          10  2 read-modify-writes and 8 reads; of any other number a fifth
  insert       10  new records
  scan          1  scan of consecutive records
  FILE          1  a YCSB property file

Examples:
  The update-heavy and the read-only workload on everything, durably:
    bench-compare --workloads a,c
  How the engines are set up, without running anything:
    bench-compare --describe
  Four times as many bytes as memory, reads for the most part:
    bench-compare --workloads b --records 1M --value-bytes 1000 --memory 240MiB
  Two engines in memory, for further processing:
    bench-compare --engines weft,lmdb --durability none --format json
  A query with an IN-predicate beside DuckDB:
    bench-compare in-predicate --values 64M --rows 64M --list 10k";

/// Compares Weft with other embedded engines on the same workloads.
///
/// For each workload every engine is loaded once. Then each repeat runs every engine for some
/// seconds and measures the device beside them; medians are reported. The other engines run once
/// for each number of client threads, and the best is reported. Every answer is verified. Results
/// go to standard output, progress and notes to standard error.
///
/// Numbers may have underscores and suffixes: k, M, G for thousands, Ki, Mi, Gi for
/// powers of 1024.
#[derive(Debug, clap::Parser)]
#[command(
    name = "bench-compare",
    version,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Arguments {
    /// Another comparison instead of that of the engines.
    #[command(subcommand)]
    other: Option<Other>,

    /// Workloads, separated by commas: names from the list below, or YCSB property files.
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "a,c"
    )]
    workloads: Vec<String>,

    /// Engines to compare, separated by commas: weft, redb, fjall, lmdb, rocksdb,
    /// sqlite [default: all].
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    engines: Vec<Name>,

    /// Condition for acknowledging a commit: synchronous (it is on the device), relaxed (at once;
    /// the device follows within --relaxed-ms) or none (at once).
    #[arg(long, value_name = "KIND", default_value = "synchronous")]
    durability: Durability,

    /// Longest time from commit to device at relaxed durability, in milliseconds.
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_window)]
    relaxed_ms: u64,

    /// Records to load.
    #[arg(long, value_name = "N", default_value = "1M", value_parser = parse_count)]
    records: u64,

    /// Bytes of each key, 8 to 1024 (LMDB takes up to 511).
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_count)]
    key_bytes: u64,

    /// Bytes of each value, 8 to 1MiB.
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_count)]
    value_bytes: u64,

    /// Operations in each transaction, up to 10000 [default: see the list below].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    operations: Option<u64>,

    /// Workers of Weft, and client threads of the other engines [default: the number of cores].
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<u64>,

    /// Further numbers of client threads to try with the other engines, separated by commas: only
    /// many at once have their commits grouped.
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "1,2,8,32",
        value_parser = parse_threads
    )]
    peer_threads: Vec<u64>,

    /// Clients of Weft, all workers together: the number of transactions open at once, most of them
    /// waiting for the device at synchronous durability.
    #[arg(long, value_name = "N", default_value = "1024", value_parser = parse_clients)]
    weft_clients: u64,

    /// Transactions in flight on each worker of Weft, to overlap cache misses: a
    /// number, or auto to let it adapt.
    #[arg(long, value_name = "N|auto", default_value = "auto")]
    in_flight: InFlight,

    /// Bytes of the cache of each engine that has one of its own [default: room for
    /// all records twice, at most an eighth of the available memory].
    #[arg(long, value_name = "N", value_parser = parse_count)]
    cache_bytes: Option<u64>,

    /// Bytes of memory for each engine, fewer than the records take up. It limits all of Weft's
    /// memory, with the cold tier, and RocksDB's cache, with its tables in memory as part of it, as
    /// RocksDB then reads past the system's cache. Other engines have a cache of this size if they
    /// have one of their own, and the system's beside it.
    #[arg(long, value_name = "N", conflicts_with = "cache_bytes", value_parser = parse_memory)]
    memory: Option<u64>,

    /// Seconds for each engine and number of threads in each repeat.
    #[arg(
        long,
        value_name = "S",
        default_value = "2",
        allow_negative_numbers = true
    )]
    seconds: f64,

    /// Repeats; the median and the range of them are reported.
    #[arg(long, value_name = "R", default_value = "3", value_parser = parse_count)]
    repeats: u64,

    /// Directory on the device to measure. The stores go into a new temporary
    /// directory inside it, removed at the end; nothing else in it is touched
    /// [default: the current directory].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Form of the results: table (the best run of each engine), csv (every run) or json.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,

    /// Seed of every random choice; equal seeds ask for the same records.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,

    /// Print how each engine would be set up, and run nothing.
    #[arg(long)]
    describe: bool,
}

/// Comparisons other than that of engines under workloads.
#[derive(Debug, clap::Subcommand)]
enum Other {
    InPredicate(in_predicate::arguments::Arguments),
}

fn parse_threads(text: &str) -> Result<u64> {
    parse_count_within(text, 1, THREADS_MAX)
}

fn parse_clients(text: &str) -> Result<u64> {
    parse_count_within(text, 1, CLIENTS_MAX)
}

fn parse_memory(text: &str) -> Result<u64> {
    parse_count_within(text, MEMORY_MIN, u64::MAX)
}

fn parse_window(text: &str) -> Result<u64> {
    parse_count_within(text, 1, WINDOW_MS_MAX)
}

impl Arguments {
    /// Runs the request and writes the results.
    ///
    /// # Errors
    /// [`Error::Input`] when the request was wrong, [`Error::Run`] when it failed or
    /// an answer was wrong.
    pub(crate) fn run(self) -> Result<()> {
        if let Some(Other::InPredicate(arguments)) = &self.other {
            let (text, verified) = arguments.run()?;
            return finish(&text, verified);
        }
        let request = self.request()?;
        if self.describe {
            return write_results(&describe(&request));
        }
        let progress = Progress::stderr();
        for note in request.plans.iter().flat_map(|plan| &plan.notes) {
            progress.note(note);
        }
        let parent = self.data_dir.as_deref().unwrap_or(Path::new("."));
        let directory = tempfile::Builder::new()
            .prefix("bench-compare-")
            .tempdir_in(parent)
            .map_err(|error| {
                Error::input(format!(
                    "cannot make a directory in {}: {error}; give another --data-dir",
                    parent.display()
                ))
            })?;
        progress.note(&format!("stores are in {}", directory.path().display()));
        if request.durability != Durability::None && is_memory(directory.path()) {
            progress.note(
                "this directory is in memory, where a sync costs nothing: durable results mean \
                 nothing; give a --data-dir on a device",
            );
        }
        if let (Some(memory), Some(unbounded)) = (request.memory_bytes, request.unbounded()) {
            progress.note(&format!(
                "{unbounded} have the system's cache beside {}, as large as the machine or the \
                 control group allows; run each by itself in a control group of that much memory \
                 to hold it to it",
                bytes_text(memory)
            ));
        }
        let comparisons = compare(&request, directory.path(), &progress)?;
        let verified = comparisons.iter().all(|comparison| comparison.verified());
        finish(&report::text(self.format, &comparisons)?, verified)
    }

    fn request(&self) -> Result<Request> {
        let mut engines = self.engines.clone();
        if engines.is_empty() {
            engines = Name::ALL.to_vec();
        }
        engines.sort();
        engines.dedup();
        let workers = self.threads.unwrap_or(bench::machine::cores() as u64);
        let mut threads: Vec<usize> = self
            .peer_threads
            .iter()
            .chain([&workers])
            .map(|&threads| threads as usize)
            .collect();
        threads.sort_unstable();
        threads.dedup();
        let plans = self.workloads.iter().map(|name| self.plan(name, workers));
        Ok(Request {
            plans: plans.collect::<Result<_>>()?,
            engines,
            threads,
            weft_clients: self.weft_clients as usize,
            durability: self.durability,
            window: Duration::from_millis(self.relaxed_ms),
            cache_bytes: self.cache_bytes,
            memory_bytes: self.memory,
        })
    }

    fn plan(&self, workload: &str, workers: u64) -> Result<Plan> {
        Options {
            records: Some(self.records),
            operations: self.operations,
            key_bytes: self.key_bytes,
            value_bytes: Some(self.value_bytes),
            asked: Asked {
                modes: vec![Mode::Interleaved],
                durabilities: vec![self.durability],
                workers,
                in_flight: self.in_flight,
                seconds: self.seconds,
                repeats: self.repeats,
                seed: self.seed,
                ..Asked::default()
            },
            ..Options::of(Workload::named_or_file(workload)?)
        }
        .plan()
    }
}

/// Returns a line per engine.
fn describe(request: &Request) -> String {
    let mut text = String::new();
    // Workloads do not change the configuration of an engine.
    if let Some(plan) = request.plans.first() {
        let setup = request.setup(plan, Path::new(""));
        for engine in &request.engines {
            text += &format!("{engine}: {}.\n", engine.description(&setup));
        }
    }
    text
}

/// Writes results, and fails if answers were wrong.
fn finish(text: &str, verified: bool) -> Result<()> {
    write_results(text)?;
    if verified {
        return Ok(());
    }
    Err(Error::run(
        "answers were wrong (see the column ok or the field verified); these numbers mean nothing, \
         please report it",
    ))
}

/// Writes results to standard output. A reader that closes the pipe early, as `head` does, is no
/// error.
fn write_results(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::run(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}
