//! Working sets that grow beyond memory and shrink again.
//!
//! A database with a ceiling on its memory has as many records as the largest working set takes up.
//! Transactions access the records of one working set after another: first each is larger than the
//! one before, then the same sizes come backwards, which shows whether records that are no longer
//! accessed leave memory. The size of a working set is a multiple of the ceiling, in bytes of keys
//! and values; the engine's overhead comes on top.
//!
//! At every size, the same accesses alternate with those on a database whose memory holds
//! everything. The database for comparison is loaded first, so the process's resident memory before
//! the other is opened, and its growth while this one runs, can be subtracted ([`Resident`]).
//!
//! Each size is accessed for some time before it is measured: bringing records back to memory is
//! then the work of the change, not of the size.

mod client;
mod report;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::ColdNodes;
use serde::Serialize;
use weft::{Database, Options};

use self::client::{Client, Findings};
use self::settings::Size;
use crate::cold::device::{Files, Limit, limit_duration};
use crate::counted::Counted;
use crate::databases;
use crate::databases::{Counts, once, run_on_all_with_what_they_have, session};
use crate::distribution::Records;
use crate::keys::mix;
use crate::machine::memory_available_bytes;
use crate::measure::{Durability, InFlight, LatencyNs, Resident, Spread};
use commands::number::bytes_text;
use commands::progress::Progress;
use commands::{Error, Result};

pub use report::{chart, report};
pub use settings::Settings;

/// The database that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The database whose memory holds everything.
    AllInMemory,
    /// The database with the ceiling.
    BeyondMemory,
}

impl Mode {
    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllInMemory => "all-in-memory",
            Self::BeyondMemory => "beyond-memory",
        }
    }
}

/// Order in which the sizes are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The working set was smaller before.
    Growing,
    /// The working set was as large or larger before.
    Shrinking,
}

impl Direction {
    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Growing => "growing",
            Self::Shrinking => "shrinking",
        }
    }
}

/// Results of one size in one direction on one database over all repeats: medians.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BeyondMemory {
    /// Always `"beyond-memory"`.
    pub benchmark: &'static str,
    /// The database.
    pub mode: Mode,
    /// Direction in which the size was reached.
    pub direction: Direction,
    /// Bytes of the working set's records, relative to the ceiling.
    pub working_set: f64,
    /// Number of records in the working set.
    pub working_set_records: u64,
    /// Number of all records.
    pub records: u64,
    /// Bytes of the keys and values of all records.
    pub record_bytes: u64,
    /// Ceiling on memory in bytes, also where the database has none.
    pub memory_bytes: u64,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Distribution of the accesses over the working set.
    pub distribution: &'static str,
    /// Exponent of the distribution, where it has one.
    pub theta: Option<f64>,
    /// Share of transactions that only read, in percent.
    pub read_percent: f64,
    /// Number of records that each transaction accesses.
    pub accesses: u32,
    /// Number of worker threads.
    pub workers: usize,
    /// Transactions in flight on each worker, as asked.
    pub in_flight: InFlight,
    /// Average number of transactions in flight on each worker.
    pub in_flight_effective: f64,
    /// Condition for acknowledging changes.
    pub durability: Durability,
    /// Seconds measured.
    pub seconds: f64,
    /// Records accessed per second by transactions that committed.
    pub operations_per_second: f64,
    /// Transactions committed per second.
    pub transactions_per_second: f64,
    /// Transactions committed per second, with the range over the repeats.
    pub transactions_per_second_spread: Spread,
    /// Throughput relative to the other database at the same size in the same repeat and direction.
    pub times_in_memory: Option<f64>,
    /// Time from the begin to the commit, retries included.
    pub latency_ns: LatencyNs,
    /// Number of times that a transaction was aborted and tried again.
    pub aborts: u64,
    /// Cold records read for each access of a transaction that committed.
    pub cold_read_share: f64,
    /// Completed reads of cold files per second.
    pub device_iops: f64,
    /// Reads of a page per second that the device completes at the best depth. `None` if no record
    /// has left memory.
    pub device_iops_limit: Option<f64>,
    /// Completed reads as a share of that limit.
    pub device_iops_share: Option<f64>,
    /// Reads under way at once on each worker, on average. `None` if there was none.
    pub device_depth: Option<f64>,
    /// Most memory that the database with the ceiling had, in any repeat. `None` for the other one,
    /// and where the system does not tell.
    pub resident_bytes: Option<u64>,
    /// Most memory relative to the ceiling.
    pub resident_of_memory: Option<f64>,
    /// Share of the index's border nodes that name cold records only, at the end: they could leave
    /// memory as well, if indexes did. `None` for the other database.
    pub cold_nodes_share: Option<f64>,
    /// Share of the records that were cold at the end. `None` for the other database.
    pub cold_records_share: Option<f64>,
    /// Bytes of cold files at the end, the most of any repeat.
    pub cold_file_bytes: u64,
    /// Bytes of cold files relative to those of all records.
    pub cold_file_bytes_of_records: f64,
    /// Whether cold files are read past the system's cache. `None` if there are none.
    pub direct_io: Option<bool>,
    /// Whether every value was the right one, and no change was lost.
    pub verified: bool,
}

/// Results of one size in one repeat on one database.
struct Round {
    findings: Findings,
    cold_reads: u64,
    device_reads: u64,
    device_depth_sum: u64,
    in_flight: f64,
    resident: Option<u64>,
    nodes: Option<ColdNodes>,
    cold_file_bytes: u64,
    is_direct: Option<bool>,
    limit: Option<Limit>,
}

impl Round {
    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.findings.elapsed.as_secs_f64()
    }

    fn rate(&self) -> f64 {
        self.per_second(self.findings.committed)
    }

    fn iops(&self) -> f64 {
        self.per_second(self.device_reads)
    }
}

/// Measures every size on both databases, which get `options` and a directory each within the
/// directory of `options`.
///
/// # Errors
/// [`Error::Input`] for settings that cannot be measured; [`Error::Run`] when a database or
/// the device refuses, or not one transaction commits.
pub fn measure(
    settings: &Settings,
    options: &Options,
    progress: &Progress,
) -> Result<Vec<BeyondMemory>> {
    settings.check()?;
    let directory = options.data_dir.as_deref();
    let directory = directory.ok_or_else(|| {
        Error::input("records that leave memory need a directory to go to; give --data-dir")
    })?;
    let mut benches = Vec::new();
    if compares(settings, progress) {
        let mode = Mode::AllInMemory;
        benches.push(Bench::load(mode, settings, options, directory, progress)?);
    }
    let mut resident = Resident::begin();
    let mode = Mode::BeyondMemory;
    benches.push(Bench::load(mode, settings, options, directory, progress)?);
    if let Some(peak) = resident.peak() {
        progress.note(&format!(
            "at most {} of memory while loading, {:.1} % of the ceiling",
            bytes_text(peak),
            100.0 * peak as f64 / settings.memory_bytes as f64
        ));
    }
    let sizes = settings.sizes();
    let mut rounds: Vec<Vec<Vec<Round>>> = benches
        .iter()
        .map(|_| sizes.iter().map(|_| Vec::new()).collect())
        .collect();
    let total = u64::from(settings.repeats) * (sizes.len() * benches.len()) as u64;
    let step = progress.step("measuring", total);
    for repeat in 0..settings.repeats as usize {
        let seed = mix(settings.seed).wrapping_add(repeat as u64);
        for (at, &size) in sizes.iter().enumerate() {
            for turn in 0..benches.len() {
                // The turns rotate, so no database is always the first.
                let which = (turn + at + repeat) % benches.len();
                let bench = &mut benches[which];
                step.say(format!(
                    "repeat {}: {} at {} times memory, {}",
                    repeat + 1,
                    bench.mode.name(),
                    size.working_set,
                    size.direction.name()
                ));
                let seed = seed.wrapping_add((at as u64) << 32);
                rounds[which][at].push(bench.round(size, seed, &mut resident)?);
                step.advance(1);
            }
        }
    }
    step.finish();
    let step = progress.step("comparing all records", benches.len() as u64);
    let mut are_right = Vec::new();
    for bench in &benches {
        are_right.push(bench.are_right()?);
        step.advance(1);
    }
    step.finish();
    let mut results = Vec::new();
    for (at, &size) in sizes.iter().enumerate() {
        for (which, bench) in benches.iter().enumerate() {
            let mut others = benches.iter().zip(&rounds);
            let in_memory = others.find(|(other, _)| other.mode == Mode::AllInMemory);
            let in_memory = in_memory.map(|(_, rounds)| rounds[at].as_slice());
            let own = &rounds[which][at];
            results.push(summary(bench, size, own, in_memory, are_right[which]));
        }
    }
    Ok(results)
}

/// Returns whether both databases fit onto this machine, if both are wanted.
fn compares(settings: &Settings, progress: &Progress) -> bool {
    let needed = settings.memory_for_all() + settings.memory_bytes;
    let lacks = memory_available_bytes().filter(|available| *available < needed);
    if let (true, Some(available)) = (settings.compares, lacks) {
        progress.note(&format!(
            "a database with everything in memory is not measured: it would need {}, and {} are \
             available",
            bytes_text(needed),
            bytes_text(available)
        ));
    }
    settings.compares && lacks.is_none()
}

/// A loaded database.
struct Bench {
    mode: Mode,
    settings: Settings,
    database: Database,
    directory: PathBuf,
    config: weft::WorkerConfig,
    table: Counted,
    /// Number of changes committed.
    changes: u64,
}

impl Bench {
    fn load(
        mode: Mode,
        settings: &Settings,
        options: &Options,
        directory: &Path,
        progress: &Progress,
    ) -> Result<Self> {
        let memory = match mode {
            Mode::AllInMemory => settings.memory_for_all(),
            Mode::BeyondMemory => settings.memory_bytes,
        };
        let directory = directory.join(mode.name());
        let options = Options {
            data_dir: Some(directory.clone()),
            workers: settings.workers,
            pin_workers: true,
            isolation: weft::Isolation::Snapshot,
            in_flight: settings.in_flight.into(),
            memory_bytes_max: Some(usize::try_from(memory).unwrap_or(usize::MAX)),
            // Starvation is to show in the results, not to fail.
            retries_max: u32::MAX,
            storage: weft::StorageOptions {
                cold_tier: mode == Mode::BeyondMemory,
                ..options.storage
            },
            ..options.clone()
        };
        let config = options.worker_config();
        let database = Database::open(options).map_err(databases::failure)?;
        let step = progress.step(format!("loading {}", mode.name()), settings.records());
        let table = Counted::create(&database, "records", settings.value)?;
        table.load(&database, settings.records(), &step)?;
        step.finish();
        Ok(Self {
            mode,
            settings: settings.clone(),
            database,
            directory,
            config,
            table,
            changes: 0,
        })
    }

    /// Accesses a working set for the warm-up, and then measures it.
    fn round(&mut self, size: Size, seed: u64, resident: &mut Resident) -> Result<Round> {
        match self.mode {
            Mode::AllInMemory => resident.elsewhere_begins(),
            Mode::BeyondMemory => resident.forget_peak(),
        }
        let (before, _) = self.run(size, mix(seed), self.settings.warm_up)?;
        let (mut findings, counts) = self.run(size, seed, self.settings.duration)?;
        if findings.committed == 0 || findings.elapsed.is_zero() {
            return Err(Error::run(
                "not one transaction committed; give it more --seconds",
            ));
        }
        self.changes += before.changes + findings.changes;
        findings.verifier.merge(&before.verifier);
        let own = match self.mode {
            Mode::AllInMemory => {
                resident.elsewhere_ends();
                None
            }
            Mode::BeyondMemory => resident.peak(),
        };
        let files = Files::open(&self.directory)?;
        let limit = files.as_ref().map(|files| {
            let duration = limit_duration(self.settings.duration);
            files.limit(duration)
        });
        Ok(Round {
            findings,
            cold_reads: counts.of(|stats| stats.cold_reads),
            device_reads: counts.of(|stats| stats.device_reads_ended),
            device_depth_sum: counts.of(|stats| stats.device_depth_sum),
            in_flight: counts.in_flight(),
            resident: own,
            nodes: self.count_cold_nodes()?,
            cold_file_bytes: files.as_ref().map_or(0, Files::bytes),
            is_direct: files.as_ref().map(Files::is_direct),
            limit: limit.transpose()?,
        })
    }

    fn run(&self, size: Size, seed: u64, duration: Duration) -> Result<(Findings, Counts)> {
        let chooser = self.settings.distribution.chooser(size.records)?;
        let mut findings = Findings::default();
        let counts = run_on_all_with_what_they_have(
            &self.database,
            self.config,
            |number, worker, sender| {
                let client = Client {
                    table: self.table.clone(),
                    chooser: chooser.clone(),
                    records: Records::new(size.records),
                    accesses: self.settings.accesses,
                    read_percent: self.settings.read_percent,
                    durability: self.settings.durability.into(),
                    rng: crate::distribution::rng(seed, number as u64),
                    duration,
                    sender,
                };
                client.start(worker);
            },
            |part: Findings| findings.merge(&part),
        )?;
        Ok((findings, counts))
    }

    /// Counts the nodes of the index that name cold records only.
    fn count_cold_nodes(&self) -> Result<Option<ColdNodes>> {
        if self.mode == Mode::AllInMemory {
            return Ok(None);
        }
        let counted = once(&self.database, async |context| {
            let session = session(&context).map_err(databases::failure)?;
            Ok(Some(session.count_cold_nodes().await))
        });
        counted?
    }

    fn are_right(&self) -> Result<bool> {
        let content = self.table.content(&self.database)?;
        Ok(content.is_right(self.settings.records(), self.changes))
    }
}

fn summary(
    bench: &Bench,
    size: Size,
    rounds: &[Round],
    in_memory: Option<&[Round]>,
    are_right: bool,
) -> BeyondMemory {
    let settings = &bench.settings;
    let of =
        |figure: &dyn Fn(&Round) -> f64| Spread::of(&rounds.iter().map(figure).collect::<Vec<_>>());
    let median = |figure: &dyn Fn(&Round) -> f64| of(figure).median;
    let known = |figure: &dyn Fn(&Round) -> Option<f64>| {
        let known: Vec<_> = rounds.iter().filter_map(figure).collect();
        (!known.is_empty()).then(|| Spread::of(&known).median)
    };
    let sum = |of: fn(&Round) -> u64| rounds.iter().map(of).sum::<u64>() as f64;
    let mut all = Findings::default();
    rounds.iter().for_each(|round| all.merge(&round.findings));
    let device_reads = sum(|round| round.device_reads);
    let resident = rounds.iter().filter_map(|round| round.resident).max();
    let cold_file_bytes = rounds.iter().map(|round| round.cold_file_bytes).max();
    let cold_file_bytes = cold_file_bytes.unwrap_or(0);
    let record_bytes = settings.records() * settings.record_bytes();
    let is_beyond = bench.mode == Mode::BeyondMemory;
    let ratios = in_memory.filter(|_| is_beyond).map(|others| {
        let pairs = rounds.iter().zip(others);
        let ratios: Vec<_> = pairs
            .map(|(one, other)| one.rate() / other.rate())
            .collect();
        Spread::of(&ratios).median
    });
    BeyondMemory {
        benchmark: "beyond-memory",
        mode: bench.mode,
        direction: size.direction,
        working_set: size.working_set,
        working_set_records: size.records,
        records: settings.records(),
        record_bytes,
        memory_bytes: settings.memory_bytes,
        value_bytes: settings.value.bytes(),
        distribution: settings.distribution.name(),
        theta: settings.distribution.theta(),
        read_percent: settings.read_percent,
        accesses: settings.accesses,
        workers: settings.workers,
        in_flight: settings.in_flight,
        in_flight_effective: median(&|round| round.in_flight),
        durability: settings.durability,
        seconds: median(&|round| round.findings.elapsed.as_secs_f64()),
        operations_per_second: median(&|round| round.per_second(round.findings.accesses)),
        transactions_per_second: median(&Round::rate),
        transactions_per_second_spread: of(&Round::rate),
        times_in_memory: ratios,
        latency_ns: all.latencies.percentiles(),
        aborts: median(&|round| round.findings.aborts as f64) as u64,
        cold_read_share: median(&|round| round.cold_reads as f64 / round.findings.accesses as f64),
        device_iops: median(&Round::iops),
        device_iops_limit: known(&|round| Some(round.limit?.reads_per_second)),
        device_iops_share: known(&|round| Some(round.iops() / round.limit?.reads_per_second)),
        device_depth: (device_reads > 0.0)
            .then(|| sum(|round| round.device_depth_sum) / device_reads),
        resident_bytes: resident,
        resident_of_memory: resident.map(|bytes| bytes as f64 / settings.memory_bytes as f64),
        cold_nodes_share: known(&|round| {
            let counts = round.nodes?;
            Some(counts.cold_nodes as f64 / counts.nodes.max(1) as f64)
        }),
        cold_records_share: known(&|round| {
            let counts = round.nodes?;
            Some(counts.cold_records as f64 / counts.records.max(1) as f64)
        }),
        cold_file_bytes,
        cold_file_bytes_of_records: cold_file_bytes as f64 / record_bytes as f64,
        direct_io: rounds.iter().rev().find_map(|round| round.is_direct),
        verified: are_right && all.verifier.verified(),
    }
}

#[cfg(test)]
mod tests;
