//! Transactions that need the device beside transactions that do not, as in MosaicDB
//! (section 6.2).
//!
//! There are two tables: *hot*, which is in memory, and *cold*, all of which has left it before the measurement. An
//! in-memory transaction accesses some hot records, a storage-bound one fewer of them and some cold ones after that.
//! The two kinds come from sources that do not wait for each other (`source.rs`). The benchmark compares schedulers,
//! shares of storage-bound transactions among those offered, and numbers of transactions of either kind under way.
//!
//! In every repeat the device is measured too: as many reads per second as the same driver gets from the same files at
//! the best depth.
//!
//! Unlike in the paper, a cold record that was read is in memory from then on. No cold record is therefore accessed
//! again until all others have been, and before that could happen the table leaves memory once more, between two
//! measurements.

mod client;
pub(crate) mod device;
mod nesting;
mod report;
mod scheduler;
mod source;
mod tables;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;
use weft::{Database, Options};

use self::client::{Client, Findings};
use self::device::{Files, Limit, limit_duration};
use self::source::Sources;
use self::tables::Tables;
use crate::databases;
use crate::databases::{configure_all, run_on_all};
use crate::measure::{Durability, InFlight, LatencyNs, Spread};
use crate::values::ValueShape;
use commands::number::{bytes_text, plural};
use commands::progress::Progress;
use commands::{Error, Result};

pub use nesting::Nesting;
pub use report::{chart, report};
pub use scheduler::Scheduler;

/// Settings of the measurement. Lists have at least one element.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of records of the table in memory, at least 1.
    pub hot_records: u64,
    /// Number of records of the table on the device, at least 1.
    pub cold_records: u64,
    /// Shape of the values of both tables; keys have eight bytes.
    pub value: ValueShape,
    /// Number of hot records that a storage-bound transaction accesses.
    pub reads_hot: u32,
    /// Number of cold records that a storage-bound transaction accesses, at least 1. An in-memory transaction accesses
    /// as many hot ones instead.
    pub reads_cold: u32,
    /// Share of the transactions of both kinds that only read, 0 to 100; the others change every record that they
    /// access.
    pub read_only_percent: f64,
    /// Condition for acknowledging changes.
    pub durability: Durability,
    /// Schedulers to compare.
    pub schedulers: Vec<Scheduler>,
    /// Depths of the application's coroutines above its accesses, to compare.
    pub nestings: Vec<Nesting>,
    /// Shares of storage-bound transactions to compare, 0 to 100.
    pub storage_bound_percents: Vec<f64>,
    /// Numbers of transactions in flight on each worker, to compare.
    pub in_flights: Vec<InFlight>,
    /// Numbers of clients of storage-bound transactions for each worker, at least 1, to compare.
    pub cold_clients: Vec<u32>,
    /// Numbers of places for transactions that wait for the device, at least 1, to compare; `None` for the scheduler's
    /// default.
    pub cold_slots: Vec<Option<u32>>,
    /// Numbers of transactions that end between two looks at completions, at least 1, to compare.
    pub visit_intervals: Vec<u32>,
    /// Number of worker threads, at least 1.
    pub workers: usize,
    /// Time for each combination in each repeat.
    pub duration: Duration,
    /// Number of repeats, at least 1.
    pub repeats: u32,
    /// Seed of every random choice.
    pub seed: u64,
}

/// A combination to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Variation {
    storage_bound_percent: f64,
    scheduler: Scheduler,
    nesting: Nesting,
    in_flight: InFlight,
    cold_clients: u32,
    /// Number of places for transactions that wait for the device, where that is a choice.
    cold_slots: Option<u32>,
    visit_interval: Option<u32>,
}

impl Variation {
    /// Returns whether the combinations differ at most in the scheduler and the share of storage-bound transactions, as
    /// far as either scheduler has a choice.
    fn is_like(self, other: Self) -> bool {
        let numbers = |one: Self| (one.in_flight, one.cold_slots, one.visit_interval);
        let is_single = |one: Self| !one.scheduler.is_concurrent();
        self.nesting == other.nesting
            && (is_single(self)
                || is_single(other)
                || self.cold_clients == other.cold_clients
                    && (self.scheduler != other.scheduler || numbers(self) == numbers(other)))
    }
}

impl Default for Variation {
    fn default() -> Self {
        Self {
            storage_bound_percent: 0.0,
            scheduler: Scheduler::Auto,
            nesting: Nesting::Flat,
            in_flight: InFlight::Auto,
            cold_clients: 1,
            cold_slots: None,
            visit_interval: None,
        }
    }
}

/// Results of one combination over all repeats: medians.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cold {
    /// Always `"cold"`.
    pub benchmark: &'static str,
    /// The scheduler.
    pub mode: Scheduler,
    /// Depth of the application's coroutines above its accesses.
    pub nesting: Nesting,
    /// Share of storage-bound transactions among those offered, in percent.
    pub storage_bound_percent: f64,
    /// Share of transactions that only read, in percent.
    pub read_only_percent: f64,
    /// Number of worker threads.
    pub workers: usize,
    /// Transactions in flight on each worker, as asked.
    pub in_flight: InFlight,
    /// Average number of transactions in flight on each worker.
    pub in_flight_effective: f64,
    /// Number of clients of storage-bound transactions for each worker.
    pub cold_clients: u32,
    /// Number of places for transactions that wait for the device, where the scheduler has them.
    pub cold_slots: Option<u32>,
    /// Number of transactions that end between two looks at completions, where that is fixed.
    pub visit_interval: Option<u32>,
    /// Number of records in memory.
    pub hot_records: u64,
    /// Number of records on the device.
    pub cold_records: u64,
    /// Bytes of each value.
    pub value_bytes: usize,
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
    /// In-memory transactions committed per second.
    pub hot_transactions_per_second: f64,
    /// In-memory transactions committed per second, with the range over the repeats.
    pub hot_transactions_per_second_spread: Spread,
    /// Storage-bound transactions committed per second.
    pub cold_transactions_per_second: f64,
    /// Storage-bound transactions committed per second, with the range over the repeats.
    pub cold_transactions_per_second_spread: Spread,
    /// Throughput of all transactions relative to the sequential scheduler in the same repeats, with the same share
    /// offered.
    pub times_sequential: Option<f64>,
    /// Throughput of in-memory transactions relative to the sequential scheduler in the same repeats, with the same
    /// share offered.
    pub hot_times_sequential: Option<f64>,
    /// Throughput of in-memory transactions relative to that of the same scheduler if no other transactions are
    /// offered.
    pub hot_times_in_memory: Option<f64>,
    /// Time from the begin to the commit of both kinds, retries included. In-memory transactions are sampled.
    pub latency_ns: LatencyNs,
    /// Latency of in-memory transactions.
    pub hot_latency_ns: LatencyNs,
    /// Latency of storage-bound transactions.
    pub cold_latency_ns: LatencyNs,
    /// Number of times that a transaction was aborted and tried again.
    pub aborts: u64,
    /// Aborts of in-memory transactions.
    pub hot_aborts: u64,
    /// Aborts of storage-bound transactions.
    pub cold_aborts: u64,
    /// Completed reads of cold files per second.
    pub device_iops: f64,
    /// Reads of a page per second that the device completes at the best depth.
    pub device_iops_limit: f64,
    /// Best depth.
    pub device_iops_limit_depth: usize,
    /// Completed reads as a share of the limit.
    pub device_iops_share: f64,
    /// Reads under way at once on each worker, on average. `None` if there was none.
    pub device_depth: Option<f64>,
    /// Number of cold records read for each access to the cold table of a transaction that committed: less than 1 if
    /// some records had come back to memory before, more if many transactions were aborted. `None` if there was no such
    /// access.
    pub cold_reads_per_access: Option<f64>,
    /// Whether files are read past the system's cache.
    pub direct_io: bool,
    /// Whether every value was the right one, and no change was lost.
    pub verified: bool,
}

/// Results of one combination in one repeat.
struct Round {
    findings: Findings,
    cold_reads: u64,
    device_reads: u64,
    device_depth_sum: u64,
    in_flight: f64,
    limit: Limit,
}

impl Round {
    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.findings.elapsed.as_secs_f64()
    }

    fn hot(&self) -> f64 {
        self.per_second(self.findings.hot.committed)
    }

    fn cold(&self) -> f64 {
        self.per_second(self.findings.cold.committed)
    }

    fn both(&self) -> f64 {
        self.hot() + self.cold()
    }
}

impl Settings {
    /// Checks that the settings can be measured.
    ///
    /// # Errors
    /// [`Error::Input`] that says which value to change.
    pub fn check(&self) -> Result<()> {
        let counts = [
            ("--hot-records", self.hot_records),
            ("--cold-records", self.cold_records),
            ("--reads-cold", self.reads_cold.into()),
        ];
        if let Some((flag, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(Error::input(format!(
                "{flag} 0 leaves nothing to measure; give at least 1"
            )));
        }
        if u64::from(self.reads_cold) > self.cold_records {
            return Err(Error::input(format!(
                "--reads-cold {} asks for more records than --cold-records {} gives",
                self.reads_cold, self.cold_records
            )));
        }
        Ok(())
    }

    /// Returns a line that describes the measurement.
    pub fn description(&self) -> String {
        format!(
            "{} in memory and {} on the device, values {}, {} and {} of them accessed by a \
             storage-bound transaction, {} % of transactions only read, {}, durability {}",
            plural(self.hot_records, "record"),
            plural(self.cold_records, "record"),
            bytes_text(self.value.bytes() as u64),
            self.reads_hot,
            self.reads_cold,
            self.read_only_percent,
            plural(self.workers as u64, "worker"),
            self.durability.name(),
        )
    }

    /// Returns the combinations to measure, each once. The numbers of transactions under way make no difference to a
    /// scheduler that has only one under way at a time.
    fn variations(&self) -> Vec<Variation> {
        let mut all: Vec<Variation> = Vec::new();
        let numbers = || {
            let in_flights = self.in_flights.iter();
            let clients =
                in_flights.flat_map(|&one| self.cold_clients.iter().map(move |&c| (one, c)));
            let slots = clients.flat_map(|(f, c)| self.cold_slots.iter().map(move |&s| (f, c, s)));
            slots.flat_map(|(f, c, s)| self.visit_intervals.iter().map(move |&v| (f, c, s, v)))
        };
        let kinds = || {
            let schedulers = self.schedulers.iter();
            schedulers.flat_map(|one| self.nestings.iter().map(move |form| (one, form)))
        };
        for &storage_bound_percent in &self.storage_bound_percents {
            for (&scheduler, &nesting) in kinds() {
                for (in_flight, cold_clients, cold_slots, visit_interval) in numbers() {
                    let one = Variation {
                        storage_bound_percent,
                        scheduler,
                        nesting,
                        in_flight: scheduler.in_flight(in_flight),
                        cold_clients: match scheduler.is_concurrent() {
                            true => cold_clients,
                            false => 1,
                        },
                        cold_slots: scheduler.cold_slots(in_flight, cold_slots),
                        visit_interval: scheduler.visit_interval(visit_interval),
                    };
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
            }
        }
        all
    }
}

/// Measures every combination, on one database with `options`, in an empty directory.
///
/// # Errors
/// [`Error::Input`] for settings that cannot be measured; [`Error::Run`] when the database or
/// the device refuses, or not one transaction commits.
pub fn measure(settings: &Settings, options: Options, progress: &Progress) -> Result<Vec<Cold>> {
    settings.check()?;
    let mut bench = Bench::load(settings, options, progress)?;
    let variations = settings.variations();
    let mut rounds: Vec<Vec<Round>> = variations.iter().map(|_| Vec::new()).collect();
    let total = u64::from(settings.repeats) * (variations.len() as u64 + 1);
    let step = progress.step("measuring", total);
    for repeat in 0..settings.repeats as usize {
        step.say(format!("repeat {}: device", repeat + 1));
        let limit = bench.files.limit(limit_duration(settings.duration))?;
        step.advance(1);
        let seed = crate::keys::mix(settings.seed).wrapping_add(repeat as u64);
        for turn in 0..variations.len() {
            // The turns rotate, so no combination is always the first.
            let at = (turn + repeat) % variations.len();
            let variation = variations[at];
            step.say(format!(
                "repeat {}: {} at {} %",
                repeat + 1,
                variation.scheduler.name(),
                variation.storage_bound_percent
            ));
            rounds[at].push(bench.run(variation, seed, limit)?);
            step.advance(1);
        }
    }
    step.finish();
    let step = progress.step("comparing all records", 1);
    let are_right = bench.are_right()?;
    step.finish();
    let summaries = variations.iter().zip(&rounds);
    Ok(summaries
        .map(|(&variation, own)| {
            let same = |scheduler: Scheduler, percent: f64| {
                let found = variations.iter().position(|other| {
                    variation.is_like(*other)
                        && other.scheduler == scheduler
                        && other.storage_bound_percent == percent
                });
                found.map(|at| rounds[at].as_slice())
            };
            let others = Others {
                sequential: same(Scheduler::Sequential, variation.storage_bound_percent),
                in_memory: same(variation.scheduler, 0.0),
            };
            summary(&bench, variation, own, &others, are_right)
        })
        .collect())
}

/// The loaded database.
struct Bench {
    settings: Arc<Settings>,
    database: Database,
    config: weft::WorkerConfig,
    tables: Tables,
    files: Files,
    /// Number of cold records accessed since all were cold.
    asked: Arc<AtomicU64>,
    /// Number of changes committed.
    changes: u64,
}

impl Bench {
    fn load(settings: &Settings, options: Options, progress: &Progress) -> Result<Self> {
        let options = Options {
            workers: settings.workers,
            pin_workers: true,
            isolation: weft::Isolation::Snapshot,
            // Starvation is to show in the results, not to fail.
            retries_max: u32::MAX,
            storage: weft::StorageOptions {
                cold_tier: true,
                ..options.storage
            },
            ..options
        };
        let directory = options.data_dir.clone();
        let directory = directory.ok_or_else(|| {
            Error::input("cold records need a directory to go to; give --data-dir")
        })?;
        let config = options.worker_config();
        let database = Database::open(options).map_err(databases::failure)?;
        let step = progress.step("loading", settings.hot_records + settings.cold_records);
        let tables = Tables::load(settings, &database, &step)?;
        step.finish();
        let step = progress.step("having records leave memory", 1);
        let out = tables.cool(settings, &database)?;
        step.finish();
        let files = Files::open(&directory)?;
        let files = files.ok_or_else(|| Error::run("nothing has left memory; report this"))?;
        progress.note(&format!(
            "{out} of {} records of the cold table have left memory ({:.1} %)",
            settings.cold_records,
            100.0 * out as f64 / settings.cold_records as f64
        ));
        progress.note(&files.description());
        Ok(Self {
            settings: Arc::new(settings.clone()),
            database,
            config,
            tables,
            files,
            asked: Arc::default(),
            changes: 0,
        })
    }

    /// Runs one combination. The cold table leaves memory again first if half of it was accessed.
    fn run(&mut self, variation: Variation, seed: u64, limit: Limit) -> Result<Round> {
        let settings = &self.settings;
        if self.asked.load(Ordering::Relaxed) > settings.cold_records / 2 {
            self.tables.cool(settings, &self.database)?;
            self.asked.store(0, Ordering::Relaxed);
        }
        // Without a hot source, the number of transactions is at most that of the cold clients.
        let open_max =
            (variation.storage_bound_percent == 100.0).then_some(variation.cold_clients as usize);
        let config = variation.worker_config(open_max, self.config);
        let mut findings = Findings::default();
        let counts = run_on_all(
            &self.database,
            config,
            settings.duration,
            |number, worker, sender| {
                let client = Client {
                    tables: self.tables.clone(),
                    sources: Sources::new(settings, variation, &self.asked, seed, number),
                    scheduler: variation.scheduler,
                    nesting: variation.nesting,
                    durability: settings.durability.into(),
                    duration: settings.duration,
                    sender,
                };
                client.start(worker);
            },
            |part: Findings| findings.merge(&part),
        )?;
        if findings.hot.committed + findings.cold.committed == 0 || findings.elapsed.is_zero() {
            return Err(Error::run(
                "not one transaction committed; give it more --seconds",
            ));
        }
        self.changes += findings.changes;
        Ok(Round {
            findings,
            cold_reads: counts.of(|stats| stats.cold_reads),
            device_reads: counts.of(|stats| stats.device_reads_ended),
            device_depth_sum: counts.of(|stats| stats.device_depth_sum),
            in_flight: counts.in_flight(),
            limit,
        })
    }

    fn are_right(&self) -> Result<bool> {
        // Under the last variation's scheduling, readers of the whole table may be refused forever: MosaicDB's queues
        // abort a transaction that finds no slot.
        configure_all(&self.database, self.config);
        self.tables
            .are_right(&self.settings, &self.database, self.changes)
    }
}

/// Combinations that another is compared with, repeat by repeat.
struct Others<'a> {
    sequential: Option<&'a [Round]>,
    in_memory: Option<&'a [Round]>,
}

/// Returns the median of ratios within each repeat; `None` without the others, or if they committed nothing.
fn ratio(own: &[Round], others: Option<&[Round]>, rate: fn(&Round) -> f64) -> Option<f64> {
    let ratios = own.iter().zip(others?);
    let ratios: Vec<_> = ratios.map(|(one, other)| rate(one) / rate(other)).collect();
    let median = Spread::of(&ratios).median;
    median.is_finite().then_some(median)
}

fn summary(
    bench: &Bench,
    variation: Variation,
    rounds: &[Round],
    others: &Others<'_>,
    are_right: bool,
) -> Cold {
    let settings = &bench.settings;
    let of =
        |figure: &dyn Fn(&Round) -> f64| Spread::of(&rounds.iter().map(figure).collect::<Vec<_>>());
    let median = |figure: &dyn Fn(&Round) -> f64| of(figure).median;
    let mut all = Findings::default();
    rounds.iter().for_each(|round| all.merge(&round.findings));
    let mut latencies = all.hot.latencies.clone();
    latencies.merge(&all.cold.latencies);
    let aborts = |of: fn(&Findings) -> u64| median(&|round| of(&round.findings) as f64) as u64;
    let hot_aborts = aborts(|found| found.hot.aborts);
    let cold_aborts = aborts(|found| found.cold.aborts);
    let sum = |of: fn(&Round) -> u64| rounds.iter().map(of).sum::<u64>() as f64;
    let device_reads = sum(|round| round.device_reads);
    Cold {
        benchmark: "cold",
        mode: variation.scheduler,
        nesting: variation.nesting,
        storage_bound_percent: variation.storage_bound_percent,
        read_only_percent: settings.read_only_percent,
        workers: settings.workers,
        in_flight: variation.in_flight,
        in_flight_effective: median(&|round| round.in_flight),
        cold_clients: variation.cold_clients,
        cold_slots: variation.cold_slots,
        visit_interval: variation.visit_interval,
        hot_records: settings.hot_records,
        cold_records: settings.cold_records,
        value_bytes: settings.value.bytes(),
        durability: settings.durability,
        seconds: median(&|round| round.findings.elapsed.as_secs_f64()),
        operations_per_second: median(&|round| round.per_second(round.findings.accesses)),
        transactions_per_second: median(&Round::both),
        transactions_per_second_spread: of(&Round::both),
        hot_transactions_per_second: median(&Round::hot),
        hot_transactions_per_second_spread: of(&Round::hot),
        cold_transactions_per_second: median(&Round::cold),
        cold_transactions_per_second_spread: of(&Round::cold),
        times_sequential: ratio(rounds, others.sequential, Round::both),
        hot_times_sequential: ratio(rounds, others.sequential, Round::hot),
        hot_times_in_memory: ratio(rounds, others.in_memory, Round::hot),
        latency_ns: latencies.percentiles(),
        hot_latency_ns: all.hot.latencies.percentiles(),
        cold_latency_ns: all.cold.latencies.percentiles(),
        aborts: hot_aborts + cold_aborts,
        hot_aborts,
        cold_aborts,
        device_iops: median(&|round| round.per_second(round.device_reads)),
        device_iops_limit: median(&|round| round.limit.reads_per_second),
        device_iops_limit_depth: median(&|round| round.limit.depth as f64) as usize,
        device_iops_share: median(&|round| {
            round.per_second(round.device_reads) / round.limit.reads_per_second
        }),
        device_depth: (device_reads > 0.0)
            .then(|| sum(|round| round.device_depth_sum) / device_reads),
        cold_reads_per_access: (all.cold_accesses > 0)
            .then(|| sum(|round| round.cold_reads) / all.cold_accesses as f64),
        direct_io: bench.files.is_direct(),
        verified: are_right && all.verifier.verified(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
