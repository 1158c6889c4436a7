//! Measures an application: loads it once (for each certifier that is compared), then
//! runs it by turns in every variant, and checks its conditions after every run.

use std::sync::mpsc;

use weft::{Database, Interleaved, Options, Transaction, TransactionOptions, WorkerConfig};

use super::Application;
use super::client::{Client, Findings};
use super::plan::Plan;
use crate::limits::Region;
use crate::measure::{
    AbortReasons, COMMIT, Certifier, Durability, InFlight, KindMeasurement, Latencies, Measurement,
};
use crate::mode::Mode;
use crate::progress::Progress;
use crate::runner::{Alternating, Outcome, alternate, with_stolen};
use crate::subject::{LOG_BLOCKS, LOG_BYTES, RawRun};
use crate::values::Verifier;
use crate::variant::Variant;
use crate::{Error, Result, databases};

/// Transactions open on each worker under an offered load, those that are not due yet
/// included.
const OPEN_MAX: usize = 256;

/// What was measured, and where the conditions were not met.
#[derive(Clone, Debug)]
pub struct Report {
    /// The measurements.
    pub outcome: Outcome,
    /// A sentence for each condition that did not hold after a run.
    pub inconsistencies: Vec<String>,
}

/// Loads an application with `settings` into databases with `options`, but for the
/// workers, which are the plan's, each on a core of its own, and measures it.
///
/// # Errors
/// [`Error::Run`] when a database refuses, or a variant does not one transaction.
pub fn measure<A: Application>(
    settings: &A::Settings,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> Result<Report> {
    let options = Options {
        workers: plan.comparison.workers,
        pin_workers: true,
        on_conflict: plan.on_conflict.into(),
        // Who starves is to be seen, not to fail.
        retries_max: u32::MAX,
        ..options.clone()
    };
    let steps = A::load_steps(settings) * plan.comparison.certifiers.len() as u64;
    let step = progress.step("loading", steps);
    let loaded = databases::for_each(&plan.comparison.certifiers, &options, |options| {
        let database = Database::open(options).map_err(Error::database)?;
        let application = A::load(settings, &database, &step)?;
        Ok(Loaded {
            database,
            application,
        })
    })?;
    step.finish();
    let mut driver = Driver {
        plan,
        config: options.worker_config(),
        loaded,
        inconsistencies: Vec::new(),
    };
    driver.check_all()?;
    let outcome = alternate(&mut driver, &plan.comparison, progress)?;
    Ok(Report {
        outcome,
        inconsistencies: driver.inconsistencies,
    })
}

struct Loaded<A> {
    database: Database,
    application: A,
}

struct Driver<'a, A> {
    plan: &'a Plan,
    config: WorkerConfig,
    /// At least one.
    loaded: Vec<(Certifier, Loaded<A>)>,
    inconsistencies: Vec<String>,
}

impl<A: Application> Driver<'_, A> {
    /// Compares the tables of every database with the application's conditions.
    fn check_all(&mut self) -> Result<()> {
        for (_, loaded) in &self.loaded {
            let found = inconsistencies(loaded)?;
            let found = found
                .into_iter()
                .map(|found| format!("after loading: {found}"));
            self.inconsistencies.extend(found);
        }
        Ok(())
    }

    fn in_flight(&self, mode: Mode) -> weft::InFlight {
        match self.plan.comparison.in_flight {
            _ if !mode.is_interleaved() => weft::InFlight::Fixed(1),
            InFlight::Auto => weft::InFlight::Auto,
            InFlight::Fixed(n) => weft::InFlight::Fixed(n as usize),
        }
    }

    /// Runs one variant on all workers.
    fn run(&self, variant: Variant, seed: u64) -> Result<(Findings, RawRun)> {
        let loaded = databases::of(&self.loaded, variant.certifier)?;
        let workers = self.plan.comparison.workers;
        let (sender, receiver) = mpsc::channel();
        let before = loaded.database.stats();
        for (number, worker) in loaded.database.workers().iter().enumerate() {
            let offered = self.plan.offered.map(|rate| rate / workers as f64);
            worker.configure(WorkerConfig {
                in_flight: self.in_flight(variant.mode),
                open_tasks_max: match offered {
                    None => self.config.open_tasks_max,
                    Some(_) => OPEN_MAX,
                },
                ..self.config
            });
            let client = Client {
                application: loaded.application.clone(),
                source: loaded.application.source(number, workers, seed),
                mode: variant.mode,
                isolation: variant.isolation.into(),
                durability: variant.durability.into(),
                declare_read_only: self.plan.comparison.declare_read_only,
                offered: offered.map(|rate| (rate, seed.wrapping_add(number as u64))),
                duration: self.plan.comparison.duration,
                sender: sender.clone(),
            };
            client.start(worker);
        }
        drop(sender);
        let mut findings = Findings::none::<A>();
        let mut ended = 0;
        for part in receiver {
            findings.merge(&part.map_err(Error::database)?);
            ended += 1;
        }
        if ended != workers {
            return Err(Error::run(
                "a worker ended before its measurement did; report this",
            ));
        }
        let after = loaded.database.stats();
        let mut latencies = Latencies::new();
        for kind in &findings.kinds {
            latencies.merge(&kind.latencies);
        }
        let mut raw = RawRun {
            transactions: findings.kinds.iter().map(|kind| kind.done).sum(),
            operations: findings.operations,
            aborts: findings.kinds.iter().map(|kind| kind.aborts).sum(),
            aborts_by_reason: AbortReasons::between(&before, &after),
            elapsed: findings.elapsed,
            latencies,
            verifier: Verifier::default(),
            in_flight: variant
                .mode
                .is_interleaved()
                .then(|| after.in_flight as f64 / workers as f64),
            ..RawRun::default()
        };
        let per = |count: u64, of: u64| count as f64 / of.max(1) as f64;
        let waits = per(after.waits_memory - before.waits_memory, raw.transactions);
        raw.extra
            .insert("memory_waits_per_transaction".to_owned(), waits);
        if variant.durability != Durability::Memory {
            let bytes = per(
                after.log_bytes - before.log_bytes,
                after.writes - before.writes,
            );
            raw.extra.insert(LOG_BYTES.to_owned(), bytes);
            let blocks = (after.log_blocks - before.log_blocks) as f64;
            let seconds = raw.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
            raw.extra.insert(LOG_BLOCKS.to_owned(), blocks / seconds);
        }
        Ok((findings, raw))
    }
}

impl<A: Application> Alternating for Driver<'_, A> {
    fn measure(
        &mut self,
        variant: Variant,
        seed: u64,
        _last: bool,
        limit: f64,
    ) -> Result<Measurement> {
        let mut findings = Findings::none::<A>();
        let raw = with_stolen(|| {
            let (found, raw) = self.run(variant, seed)?;
            findings = found;
            Ok(raw)
        })?;
        let mode = variant.mode;
        if raw.transactions == 0 || raw.elapsed.is_zero() {
            return Err(Error::run(format!(
                "not one transaction committed in mode {mode}; give it more --seconds"
            )));
        }
        let seconds = raw.elapsed.as_secs_f64();
        let per = |count: u64, of: u64| count as f64 / of.max(1) as f64;
        let kinds = A::KINDS.iter().zip(&findings.kinds);
        let found = inconsistencies(databases::of(&self.loaded, variant.certifier)?)?;
        let verified = found.is_empty();
        let found = found
            .into_iter()
            .map(|found| format!("after a run of {variant}: {found}"));
        self.inconsistencies.extend(found);
        Ok(Measurement {
            benchmark: A::NAME,
            workload: self.plan.mix.clone(),
            mode,
            workers: self.plan.comparison.workers,
            in_flight: self.plan.comparison.in_flight,
            in_flight_effective: raw.in_flight,
            shape: None,
            isolation: variant.isolation,
            certifier: variant.certifier,
            read_only_declared: self.plan.comparison.declare_read_only,
            on_conflict: Some(self.plan.on_conflict),
            durability: variant.durability,
            seconds,
            transactions_per_second: raw.transactions as f64 / seconds,
            operations_per_second: raw.operations as f64 / seconds,
            latency_ns: raw.latencies.percentiles(),
            aborts: raw.aborts,
            aborts_per_transaction: per(raw.aborts, raw.transactions),
            aborts_by_reason: raw.aborts_by_reason,
            verified,
            limit_lines_per_second: limit,
            lines_per_operation: None,
            commit: COMMIT,
            kinds: kinds
                .map(|(&name, kind)| KindMeasurement {
                    kind: name,
                    transactions_per_second: kind.done as f64 / seconds,
                    rolled_back: per(kind.rolled_back, kind.done),
                    aborts_per_transaction: per(kind.aborts, kind.done),
                    latency_ns: kind.latencies.percentiles(),
                    frame_bytes: kind.frame_bytes,
                })
                .collect(),
            extra: raw.extra,
        })
    }

    fn memory(&self) -> Option<Region<'_>> {
        databases::memory(&self.loaded.first()?.1.database)
    }
}

/// Where a database's tables do not meet the application's conditions.
fn inconsistencies<A: Application>(loaded: &Loaded<A>) -> Result<Vec<String>> {
    let application = loaded.application.clone();
    let options = TransactionOptions {
        read_only: true,
        ..weft::Isolation::Snapshot.into()
    };
    let check = async move |txn: &Transaction| application.inconsistencies(txn).await;
    let checked = loaded
        .database
        .run_with::<Interleaved, _, _>(options, check)
        .wait();
    checked.map_err(Error::database)
}
