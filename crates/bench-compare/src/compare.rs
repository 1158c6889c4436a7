//! The driver: loads every engine, then alternates them repeat by repeat and
//! measures the device beside them.
//!
//! Repeat `r` runs the engines in their order rotated by `r`, so no engine is always the first
//! after a pause; an engine whose clients are threads runs once for each number of threads asked
//! for. All runs of a repeat share a seed: they answer the same questions. Between two runs the
//! engine that was measured ends its work in the background and the file system writes its dirty
//! pages back, so no engine pays for the one before.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bench::distribution::Records;
use bench::keys::mix;
use bench::machine::memory_available_bytes;
use bench::measure::{Durability, Latencies};
use bench::plan::Plan;
use bench::subject::Run;
use commands::progress::{Progress, Step};
use commands::{Error, Result};

use crate::device::{Device, write_back};
use crate::engine::{Engine, Name, Setup};
use crate::results::{Comparison, Facts, Sample};

/// Bytes beyond key and value that a record may take in an engine's cache.
const RECORD_OVERHEAD_BYTES: u64 = 64;
/// Cache beyond room for all records, in bytes.
const CACHE_BYTES_SPARE: u64 = 64 << 20;
/// Divisor of the available memory that gives the greatest cache of one engine.
const MEMORY_PART: u64 = 8;

/// Request for a comparison. Every value is within its bounds.
#[derive(Debug)]
pub(crate) struct Request {
    /// Plans of the workloads, one comparison for each, with the same number of workers.
    pub(crate) plans: Vec<Plan>,
    /// The engines, each once.
    pub(crate) engines: Vec<Name>,
    /// Numbers of client threads to try with every engine but Weft, each once.
    pub(crate) threads: Vec<usize>,
    /// Clients of Weft, over all workers.
    pub(crate) weft_clients: usize,
    /// Durability of commits.
    pub(crate) durability: Durability,
    /// Longest time from a relaxed commit to the device.
    pub(crate) window: Duration,
    /// Memory for each engine's own cache; room for all records if not given.
    pub(crate) cache_bytes: Option<u64>,
    /// Memory that each engine gets, where it is limited.
    pub(crate) memory_bytes: Option<u64>,
}

impl Request {
    /// Returns the set-up of an engine, whose own directory is below `directory`.
    pub(crate) fn setup<'a>(&self, plan: &'a Plan, directory: &'a Path) -> Setup<'a> {
        Setup {
            plan,
            durability: self.durability,
            window: self.window,
            cache_bytes: self
                .memory_bytes
                .or(self.cache_bytes)
                .unwrap_or_else(|| cache_bytes(plan)),
            memory_bytes: self.memory_bytes,
            weft_clients: self.weft_clients,
            threads_max: self.threads.iter().copied().max().unwrap_or(1),
            directory,
        }
    }

    /// Returns the names of the engines, if any, that use more memory than they are given.
    pub(crate) fn unbounded(&self) -> Option<String> {
        let engines = self.engines.iter().filter(|engine| !engine.is_bounded());
        let names: Vec<_> = engines.map(|engine| engine.name()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// Returns room for all records twice, as updates leave old versions behind.
fn cache_bytes(plan: &Plan) -> u64 {
    let record = (plan.key.bytes() + plan.value.bytes()) as u64 + RECORD_OVERHEAD_BYTES;
    let wanted = plan.records.saturating_mul(2 * record) + CACHE_BYTES_SPARE;
    let allowed = memory_available_bytes().map_or(wanted, |bytes| bytes / MEMORY_PART);
    // Whole mebibytes read better.
    wanted.min(allowed.max(CACHE_BYTES_SPARE)) >> 20 << 20
}

/// Compares the engines on each workload, with fresh stores below `directory`, which is empty
/// before and afterwards.
///
/// # Errors
/// Returns any error that an engine reports, and [`Error::Run`] when one commits nothing at all. A
/// wrong answer is no error: the results then have `verified` unset.
pub(crate) fn compare(
    request: &Request,
    directory: &Path,
    progress: &Progress,
) -> Result<Vec<Comparison>> {
    let workloads = request.plans.iter().enumerate();
    workloads
        .map(|(number, plan)| {
            let directory = directory.join(format!("{number}-{}", plan.workload.name));
            make(&directory)?;
            progress.note(&plan.description());
            let outcome = one_workload(request, plan, &directory, progress);
            // The next workload needs the space.
            let _ = std::fs::remove_dir_all(&directory);
            outcome
        })
        .collect()
}

fn make(directory: &Path) -> Result<()> {
    std::fs::create_dir(directory)
        .map_err(|error| Error::run(format!("cannot make {}: {error}", directory.display())))
}

fn one_workload(
    request: &Request,
    plan: &Plan,
    directory: &Path,
    progress: &Progress,
) -> Result<Comparison> {
    let mut device = Device::open(directory)?;
    let directories: Vec<PathBuf> = request
        .engines
        .iter()
        .map(|engine| directory.join(engine.name()))
        .collect();
    let mut engines = Vec::new();
    for (&name, directory) in request.engines.iter().zip(&directories) {
        make(directory)?;
        let setup = request.setup(plan, directory);
        let step = progress.step(format!("loading {name}"), plan.records);
        let mut engine = name.open(&setup)?;
        engine.load(&step)?;
        step.finish();
        engines.push(Loaded {
            name,
            description: name.description(&setup),
            engine,
        });
    }
    write_back(directory)?;

    let mut comparison = Comparison::new(
        Facts::new(plan, request),
        engines
            .iter()
            .map(|each| (each.name, each.description.clone()))
            .collect(),
    );
    let runs = engines
        .iter()
        .map(|each| threads(each.name, plan, request).len());
    let step = progress.step(
        "measuring",
        u64::from(plan.comparison.repeats) * (runs.sum::<usize>() as u64 + 1),
    );
    let records = Arc::new(Records::new(plan.records));
    let mut syncs = Latencies::new();
    for repeat in 0..plan.comparison.repeats {
        step.say(format!("{} {}: device", plan.workload.name, repeat + 1));
        let rate = device.syncs_per_second(plan.comparison.duration, &mut syncs)?;
        comparison.device_syncs_per_second.push(rate);
        step.advance(1);
        engines.rotate_left(usize::from(repeat > 0));
        for engine in &mut engines {
            for &threads in threads(engine.name, plan, request) {
                let repeat = Repeat {
                    number: repeat,
                    plan,
                    records: &records,
                    directory,
                };
                let sample = engine.measure(threads, &repeat, &step)?;
                comparison.samples.push(sample);
                step.advance(1);
            }
        }
    }
    step.finish();
    comparison.device_latency_ns = syncs.percentiles();
    for each in &mut engines {
        let step = progress.step(format!("checking {}", each.name), 1);
        if !each.engine.audit()? {
            comparison.distrust(each.name);
        }
        step.finish();
    }
    Ok(comparison)
}

/// Returns the numbers of client threads to run an engine with. Weft runs with its workers.
fn threads<'a>(name: Name, plan: &'a Plan, request: &'a Request) -> &'a [usize] {
    match name {
        Name::Weft => std::slice::from_ref(&plan.comparison.workers),
        _ => &request.threads,
    }
}

/// Parameters of one repeat of one workload.
struct Repeat<'a> {
    number: u32,
    plan: &'a Plan,
    records: &'a Arc<Records>,
    directory: &'a Path,
}

/// A loaded engine.
struct Loaded<'a> {
    name: Name,
    description: String,
    engine: Box<dyn Engine + 'a>,
}

impl Loaded<'_> {
    /// Runs the engine once and leaves it as it was loaded except for the versions of values.
    fn measure(&mut self, threads: usize, repeat: &Repeat<'_>, step: &Step) -> Result<Sample> {
        let (plan, records) = (repeat.plan, repeat.records);
        step.say(format!(
            "{} {}: {}, {threads} threads",
            plan.workload.name,
            repeat.number + 1,
            self.name
        ));
        let seed = mix(plan.comparison.seed).wrapping_add(repeat.number.into());
        // The plan has one variant: interleaved, at the durability asked for.
        let variant = plan.comparison.variants()[0];
        let run = Run::new(plan, variant, Arc::clone(records), seed)?;
        let raw = self.engine.run(threads, &run)?;
        if raw.transactions == 0 || raw.elapsed.is_zero() {
            return Err(Error::run(format!(
                "{} committed not one transaction with {threads} threads; give it more --seconds",
                self.name
            )));
        }
        if records.end() > records.loaded() {
            self.engine.restore(records.loaded()..records.end())?;
            records.reset();
        }
        self.engine.settle()?;
        write_back(repeat.directory)?;
        Ok(Sample::new(self.name, threads, repeat.number, &raw))
    }
}
