//! Loads an application (once for each kind of database that is compared) and measures it: runs it
//! by turns in every variant, and checks its conditions after every run; if asked to, also beside
//! the clients, on a snapshot, one check after another.

use weft::{Database, Options, WorkerConfig};

use super::Application;
use super::check::{Beside, inconsistencies};
use super::client::{Client, Findings};
use super::plan::Plan;
use bench::databases;
use bench::databases::Kind;
use bench::limits::Region;
use bench::measure::{KindMeasurement, Latencies, Measurement};
use bench::runner::{Alternating, Outcome, alternate, measurement, with_stolen};
use bench::subject::RawRun;
use bench::variant::Variant;
use commands::progress::Progress;
use commands::{Error, Result};

/// Number of transactions open on each worker under an offered load, those that are not due yet
/// included.
const OPEN_MAX: usize = 256;

/// Measurements, and violations of the conditions.
#[derive(Clone, Debug)]
pub struct Report {
    /// The measurements.
    pub outcome: Outcome,
    /// A sentence for each condition that did not hold after a run, or beside one.
    pub inconsistencies: Vec<String>,
    /// Number of checks of the conditions while clients ran, in all runs together.
    pub checks_while_running: u64,
}

/// An application, loaded into databases of its own.
pub trait Loaded {
    /// Measures the application. It may have been loaded for another plan that [wants the same
    /// databases](Plan::same_databases), and measured before.
    ///
    /// # Errors
    /// [`Error::Run`] when a database refuses, or a variant completes not one transaction.
    fn measure(&mut self, plan: &Plan, progress: &Progress) -> Result<Report>;
}

/// The function [`load`] for an application with these settings.
///
/// Each application has a static of this type, so the code is compiled in the application's crate,
/// and not in that of its benchmark.
pub type Load<S> = fn(&S, &Plan, &Options, &Progress) -> Result<Box<dyn Loaded>>;

/// Loads an application with `settings` into databases with `options`, except for the workers,
/// which are the plan's, each on a core of its own.
///
/// # Errors
/// [`Error::Run`] when a database refuses, or does not meet the application's conditions from the
/// beginning.
pub fn load<A: Application>(
    settings: &A::Settings,
    plan: &Plan,
    options: &Options,
    progress: &Progress,
) -> Result<Box<dyn Loaded>> {
    let options = Options {
        workers: plan.comparison.workers,
        pin_workers: true,
        on_conflict: plan.on_conflict.into(),
        // Starvation is to show in the results, not to fail.
        retries_max: u32::MAX,
        ..options.clone()
    };
    let steps = A::load_steps(settings) * plan.comparison.databases().len() as u64;
    let step = progress.step("loading", steps);
    let instances = databases::for_each(&plan.comparison.databases(), &options, |options| {
        let database = Database::open(options).map_err(databases::failure)?;
        let application = A::load(settings, &database, &step)?;
        Ok(Instance {
            database,
            application,
        })
    })?;
    step.finish();
    for (_, instance) in &instances {
        let found = instance.inconsistencies("after loading")?;
        if !found.is_empty() {
            return Err(Error::run(found.join("\n")));
        }
    }
    Ok(Box::new(Instances {
        config: options.worker_config(),
        instances,
    }))
}

/// Instances of an application, one for each kind of database that is compared.
struct Instances<A> {
    config: WorkerConfig,
    /// Instances, at least one.
    instances: Vec<(Kind, Instance<A>)>,
}

impl<A: Application> Loaded for Instances<A> {
    fn measure(&mut self, plan: &Plan, progress: &Progress) -> Result<Report> {
        let mut driver = Driver {
            plan,
            config: self.config,
            instances: &self.instances,
            inconsistencies: Vec::new(),
            checks_while_running: 0,
        };
        let outcome = alternate(&mut driver, &plan.comparison, progress)?;
        Ok(Report {
            outcome,
            inconsistencies: driver.inconsistencies,
            checks_while_running: driver.checks_while_running,
        })
    }
}

struct Instance<A> {
    database: Database,
    application: A,
}

impl<A: Application> Instance<A> {
    /// Returns violations of the conditions by the instance's tables, each with `when` before it.
    fn inconsistencies(&self, when: &str) -> Result<Vec<String>> {
        let found = inconsistencies(&self.database, &self.application)?;
        let found = found.into_iter().map(|found| format!("{when}: {found}"));
        Ok(found.collect())
    }
}

struct Driver<'a, A> {
    plan: &'a Plan,
    config: WorkerConfig,
    /// Instances, at least one.
    instances: &'a [(Kind, Instance<A>)],
    inconsistencies: Vec<String>,
    checks_while_running: u64,
}

impl<A: Application> Driver<'_, A> {
    /// Runs one variant on all workers, and checks beside it if asked to.
    fn run(&self, variant: Variant, seed: u64) -> Result<(Findings, Beside, RawRun)> {
        let instance = databases::of(self.instances, variant)?;
        let plan = self.plan;
        let workers = plan.comparison.workers;
        let offered = plan.offered.map(|rate| rate / workers as f64);
        let config = WorkerConfig {
            in_flight: plan.comparison.in_flight.of_mode(variant.mode),
            open_tasks_max: match offered {
                None => self.config.open_tasks_max,
                Some(_) => OPEN_MAX,
            },
            ..self.config
        };
        let mut findings = Findings::none::<A>();
        let mut run = || {
            databases::run_on_all(
                &instance.database,
                config,
                plan.comparison.duration,
                |number, worker, sender| {
                    let client = Client {
                        application: instance.application.clone(),
                        source: instance.application.source(number, workers, seed),
                        mode: variant.mode,
                        isolation: variant.isolation.into(),
                        durability: variant.durability.into(),
                        declare_read_only: plan.comparison.declare_read_only,
                        offered: offered.map(|rate| (rate, seed.wrapping_add(number as u64))),
                        duration: plan.comparison.duration,
                        sender,
                    };
                    client.start(worker);
                },
                |part: Findings| findings.merge(&part),
            )
        };
        let (counts, beside) = match plan.check_while_running {
            true => Beside::of(&instance.database, &instance.application, run)?,
            false => (run()?, Beside::default()),
        };
        let mut latencies = Latencies::new();
        for kind in &findings.kinds {
            latencies.merge(&kind.latencies);
        }
        let mut raw = RawRun {
            transactions: findings.kinds.iter().map(|kind| kind.done).sum(),
            operations: findings.operations,
            aborts: findings.kinds.iter().map(|kind| kind.aborts).sum(),
            elapsed: findings.elapsed,
            latencies,
            ..RawRun::default()
        };
        counts.add_to(&mut raw, variant);
        if plan.check_while_running {
            raw.extra
                .insert("checks_while_running".to_owned(), beside.checks as f64);
        }
        Ok((findings, beside, raw))
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
        let mut beside = Beside::default();
        let raw = with_stolen(|| {
            let (found, checks, raw) = self.run(variant, seed)?;
            (findings, beside) = (found, checks);
            Ok(raw)
        })?;
        let plan = self.plan;
        let measured = measurement(A::NAME, &plan.mix, &plan.comparison, variant, raw, limit)?;
        let instance = databases::of(self.instances, variant)?;
        let after = instance.inconsistencies(&format!("after a run of {variant}"))?;
        let during = beside.found.iter();
        let during = during.map(|found| format!("during a run of {variant}: {found}"));
        let found: Vec<_> = during.chain(after).collect();
        let verified = found.is_empty();
        self.inconsistencies.extend(found);
        self.checks_while_running += beside.checks;
        let seconds = measured.seconds;
        let per = |count: u64, of: u64| count as f64 / of.max(1) as f64;
        let kinds = A::KINDS.iter().zip(&findings.kinds);
        Ok(Measurement {
            on_conflict: Some(plan.on_conflict),
            verified,
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
            ..measured
        })
    }

    fn memory(&self) -> Option<Region<'_>> {
        databases::memory(self.instances.first()?.1.database.arena())
    }
}
