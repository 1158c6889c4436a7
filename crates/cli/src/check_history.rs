//! `weft check-history`: generated transactions, and a check that their history satisfies the
//! isolation level that they ran at.

mod report;

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use commands::number::parse_count;
use commands::progress::Progress;
use histories::{Settings, Summary, Watch};
use isolation::generate::Shape;
use isolation::history::{self, FORMAT, Header};
use isolation::{Isolation, Level};
use weft::{Certifier, OnConflict};

use self::report::Report;
use commands::Place;

const EXAMPLES: &str = "\
What runs:
  Clients run transactions of reads, appends to lists, changes of registers, scans,
  inserts and deletes, on few records, so that they get in each other's way. Some are
  driven call by call, some rolled back, some dropped in the middle. Everything that they
  were told is written down.

What is checked:
  From what was read and written alone it is inferred which transaction must have come
  before which. A cycle of these, or a single impossible read, is an anomaly:

    G0          writes of two transactions are interleaved
    G1a G1b G1c aborted, intermediate, circular reads
    P4          lost update
    G-single    read skew: exactly one anti-dependency in a cycle
    G-nonadjacent  long fork
    G2-item     write skew
    G2          write skew through records that a scan did not find (phantoms)
    ..-process  the same, in a cycle that needs the order of one client's transactions
    ..-realtime the same, in a cycle that needs the order of time

  read-committed forbids G0 and G1; snapshot forbids also P4, G-single, G-nonadjacent;
  serializable forbids all. With --no-strict, each allows its anomalies with -process and
  -realtime. Anomalies that the level allows are reported too: at snapshot you will see
  write skew happen.

Exit code:
  0  nothing was observed that the level forbids
  1  something was, and is explained; or the run failed
  2  the request was wrong

Examples:
  weft check-history --seconds 60
  weft check-history --certifier validation
  weft check-history --on-conflict wait --keys 4
  weft check-history --isolation snapshot --seconds 5
  weft check-history --isolation snapshot --crashes 20
  weft check-history --history run.jsonl --seed 7
  weft check-history --check run.jsonl --isolation snapshot --dot cycle.dot";

/// Runs generated transactions and checks that their history satisfies their isolation level.
///
/// The check uses only observations that a client can make, and trusts nothing that the engine says
/// of itself. The seed decides what transactions do; their interleaving depends on the machine, so
/// repeating a seed gives another history. Save it with --history.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Time for which transactions run, in seconds; checking is not counted.
    #[arg(long, value_name = "S", default_value = "10")]
    seconds: f64,

    /// Worker threads.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,

    /// Clients per worker, each with one transaction under way.
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u16).range(1..=1024))]
    clients: u16,

    /// Seed of the transactions' operations.
    #[arg(long, value_name = "S", default_value = "1", value_parser = parse_count)]
    seed: u64,

    /// The isolation level that transactions run at, and are held to: read-committed,
    /// snapshot or serializable.
    #[arg(long, value_name = "LEVEL", default_value = "serializable")]
    isolation: Isolation,

    /// Certifier of serializable transactions: ssn or validation.
    #[arg(long, value_name = "NAME", default_value = "ssn")]
    certifier: CertifierName,

    /// Reaction of a write to another transaction's: abort, or wait for its end.
    #[arg(long, value_name = "NAME", default_value = "abort")]
    on_conflict: OnConflictName,

    /// Transactions that lock the records that they read in order to change them, in percent.
    #[arg(long, value_name = "P", default_value = "10", value_parser = clap::value_parser!(u32).range(0..=100))]
    locks: u32,

    /// Allow anomalies that only the order of time shows, such as stale reads.
    #[arg(long)]
    no_strict: bool,

    /// Lists and registers in use at a time. The fewer there are, the more transactions conflict.
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    keys: u32,

    /// Preference for some records: from 0 (none) to 1.
    #[arg(long, value_name = "X", default_value = "0.5")]
    skew: f64,

    /// Most operations of a transaction.
    #[arg(long, value_name = "N", default_value = "6", value_parser = clap::value_parser!(u32).range(1..=90))]
    operations: u32,

    /// Transactions that only read, in percent.
    #[arg(long, value_name = "P", default_value = "10", value_parser = clap::value_parser!(u32).range(0..=100))]
    read_only: u32,

    /// Keep the database in this directory, made anew and removed afterwards, instead of
    /// in memory only.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Keep the database on a simulated disk whose power fails this many times.
    #[arg(
        long,
        value_name = "N",
        default_value = "0",
        conflicts_with = "data_dir"
    )]
    crashes: u32,

    /// Save the history in this file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,

    /// Run nothing: check a history that was saved.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["history", "data_dir", "crashes"])]
    check: Option<PathBuf>,

    /// Draw the worst anomaly into this file, for Graphviz.
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,

    /// Form of the report: table for people, json for programs.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

/// Certifiers of serializable transactions.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CertifierName {
    Ssn,
    Validation,
}

/// Reactions of a write to another transaction's.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnConflictName {
    Abort,
    Wait,
}

/// Forms of the report on standard output.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        if !(self.seconds > 0.0 && self.seconds < 1e9) {
            return Err(commands::Error::input("--seconds must be more than 0"));
        }
        if !(0.0..=10.0).contains(&self.skew) {
            return Err(commands::Error::input("--skew must be between 0 and 10"));
        }
        let place = self.data_dir.as_deref().map(Place::make).transpose()?;
        let settings = self.settings(place.as_ref());
        let summary = match &self.check {
            Some(path) => check(path)?,
            None => run(&settings)?,
        };
        if let Some(path) = &self.history {
            self.save(path, &summary)?;
        }
        let level = settings.level();
        let report = Report {
            summary: &summary,
            level,
        };
        commands::write_results(&match self.format {
            Format::Table => report.to_string(),
            Format::Json => format!("{:#}\n", report.json()),
        })?;
        let Some((anomaly, observed)) = summary.forbidden(level).next() else {
            return Ok(());
        };
        if let (Some(path), Some((_, drawing))) = (&self.dot, observed.examples.first()) {
            std::fs::write(path, drawing).map_err(|error| cannot("write", path, &error))?;
        }
        Err(commands::Error::run(format!(
            "{level} forbids {anomaly}, which was observed; the report has the proof"
        )))
    }

    fn settings(&self, place: Option<&Place>) -> Settings {
        Settings {
            running: Duration::from_secs_f64(self.seconds),
            workers: usize::from(self.workers),
            clients: usize::from(self.clients),
            seed: self.seed,
            isolation: self.isolation,
            certifier: match self.certifier {
                CertifierName::Ssn => Certifier::Ssn,
                CertifierName::Validation => Certifier::Validation,
            },
            on_conflict: match self.on_conflict {
                OnConflictName::Abort => OnConflict::Abort,
                OnConflictName::Wait => OnConflict::Wait,
            },
            locks: self.locks * 10,
            strict: !self.no_strict,
            shape: Shape {
                keys: self.keys as usize,
                skew: self.skew,
                operations_max: self.operations as usize,
                read_only: self.read_only * 10,
                ..Shape::default()
            },
            data_dir: place.map(|place| place.path().to_owned()),
            crashes: self.crashes,
            keep_history: self.history.is_some(),
            ..Settings::default()
        }
    }

    fn save(&self, path: &Path, summary: &Summary) -> commands::Result<()> {
        let header = Header {
            format: FORMAT,
            made_by: format!(
                "weft check-history --seed {} --workers {}",
                self.seed, self.workers
            ),
            level: Some(self.isolation.to_string()),
        };
        let file = File::create(path).map_err(|error| cannot("make", path, &error))?;
        history::write(&mut BufWriter::new(file), &header, &summary.history)
            .map_err(|error| cannot("write", path, &error))
    }
}

fn cannot(what: &str, path: &Path, error: &dyn std::fmt::Display) -> commands::Error {
    commands::Error::input(format!(
        "cannot {what} {}: {error}; choose another file",
        path.display()
    ))
}

fn run(settings: &Settings) -> commands::Result<Summary> {
    let total = settings.running.as_millis() as u64;
    let step = Progress::stderr().step("running and checking", total);
    let mut shown = 0;
    let mut watch = Watch {
        progress: Box::new(|running, _| {
            let now = (running.as_millis() as u64).min(total);
            step.advance(now.saturating_sub(shown));
            shown = now;
        }),
        ..Watch::default()
    };
    histories::run(settings, &mut watch).map_err(|error| commands::Error::run(error.to_string()))
}

fn check(path: &Path) -> commands::Result<Summary> {
    let file = File::open(path).map_err(|error| cannot("open", path, &error))?;
    let (_, transactions) =
        history::read(BufReader::new(file)).map_err(|error| cannot("read", path, &error))?;
    Ok(Summary::of(&transactions, &isolation::check(&transactions)))
}

/// Returns the strongest levels that the history satisfies, in words.
fn satisfied(summary: &Summary) -> String {
    use isolation::Isolation as I;
    let levels = [I::Serializable, I::Snapshot, I::ReadCommitted];
    let strongest = levels
        .into_iter()
        .find(|&it| summary.satisfies(Level::of(it)));
    let strict = levels
        .into_iter()
        .find(|&it| summary.satisfies(Level::strict(it)));
    let mut names: Vec<String> = Vec::new();
    names.extend(strongest.map(|it| Level::of(it).to_string()));
    names.extend(strict.map(|it| Level::strict(it).to_string()));
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
