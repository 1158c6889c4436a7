//! The driver: loads once, then alternates the modes and measures the
//! machine's limit beside them.
//!
//! Repeat `r` runs the variants (modes, levels, ...) in the plan's order rotated by `r`, so no
//! variant is always the first after a pause or the last on a warm machine. The limit is measured
//! at the begin of each repeat, on the subject's own memory if it lends any. Modes of one repeat
//! share a seed: they answer the same questions.

use std::sync::Arc;
use std::time::Duration;

use crate::comparison::Comparison;
use crate::distribution::Records;
use crate::limits::{self, Mapping, Region};
use crate::machine::{self, ProcessorTime};
use crate::measure::{COMMIT, Measurement, Summary, summarise};
use crate::plan::Plan;
use crate::subject::{RawRun, Run, Subject};
use crate::variant::Variant;
use commands::progress::Progress;
use commands::{Error, Result};

/// Bytes of memory for the limit if the subject lends none.
const LIMIT_BYTES: u64 = 512 << 20;
/// Longest and shortest time for which the limit is measured in each repeat.
const LIMIT_DURATION_MAX: Duration = Duration::from_millis(500);
const LIMIT_DURATION_MIN: Duration = Duration::from_millis(10);

/// All results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The measurements of each repeat, in the order they were taken.
    pub repeats: Vec<Vec<Measurement>>,
    /// Summaries of the modes over all repeats.
    pub summaries: Vec<Summary>,
}

impl Outcome {
    /// Returns whether every answer in every mode and repeat was right.
    pub fn verified(&self) -> bool {
        self.summaries.iter().all(|summary| summary.median.verified)
    }
}

/// A subject that is measured by turns in several variants.
pub trait Alternating {
    /// Measures one of the variants. `seed` is the same for all within a repeat, which therefore
    /// run the same operations; `last` is set in the last repeat; `limit` is the machine's, in
    /// lines per second.
    ///
    /// # Errors
    /// [`Error::Run`] for any error but an abort (retried) or a wrong answer (reported).
    fn measure(
        &mut self,
        variant: Variant,
        seed: u64,
        last: bool,
        limit: f64,
    ) -> Result<Measurement>;

    /// Returns memory of the store over which to measure the machine's limit; by default it is
    /// measured on memory of its own.
    fn memory(&self) -> Option<Region<'_>> {
        None
    }
}

/// Measures all variants, by turns.
///
/// # Errors
/// Returns any error that the subject reports.
pub fn alternate(
    subject: &mut impl Alternating,
    comparison: &Comparison,
    progress: &Progress,
) -> Result<Outcome> {
    let own = match subject.memory() {
        Some(_) => None,
        None => {
            let available = machine::memory_available_bytes().unwrap_or(u64::MAX);
            Some(Mapping::new(LIMIT_BYTES.min(available / 8))?)
        }
    };
    let limit_duration = (comparison.duration / 5).clamp(LIMIT_DURATION_MIN, LIMIT_DURATION_MAX);
    let mut repeats = Vec::new();
    let variants = comparison.variants();
    let step = progress.step(
        "measuring",
        u64::from(comparison.repeats) * (variants.len() as u64 + 1),
    );
    for repeat in 0..comparison.repeats {
        step.say(format!("repeat {}: limit", repeat + 1));
        let region = own
            .as_ref()
            .map(Mapping::region)
            .or_else(|| subject.memory());
        let region = region.ok_or_else(|| {
            Error::run("the engine no longer lends the memory it lent before; report this")
        })?;
        let limit = limits::lines_per_second(region, comparison.workers, limit_duration);
        step.advance(1);
        let mut variants = variants.clone();
        let first = repeat as usize % variants.len();
        variants.rotate_left(first);
        let mut measurements = Vec::new();
        for variant in variants {
            step.say(format!("repeat {}: {}", repeat + 1, variant.mode));
            let seed = crate::keys::mix(comparison.seed).wrapping_add(repeat.into());
            let last = repeat + 1 == comparison.repeats;
            measurements.push(subject.measure(variant, seed, last, limit)?);
            step.advance(1);
        }
        repeats.push(measurements);
    }
    step.finish();
    let summaries = summarise(&repeats);
    Ok(Outcome { repeats, summaries })
}

/// Runs the plan on `subject`: loads and measures it.
///
/// # Errors
/// Returns any error that the subject reports, and [`Error::Run`] when a mode commits nothing at
/// all. A wrong answer is no error: the outcome then has `verified` unset.
pub fn run(subject: &mut impl Subject, plan: &Plan, progress: &Progress) -> Result<Outcome> {
    load(subject, plan, progress)?;
    measure(subject, plan, progress)
}

/// Loads the plan's records into `subject` and builds its indexes.
///
/// # Errors
/// Returns any error that the subject reports.
pub fn load(subject: &mut (impl Subject + ?Sized), plan: &Plan, progress: &Progress) -> Result<()> {
    let step = progress.step(
        "loading",
        plan.records * plan.comparison.databases().len() as u64,
    );
    subject.load(&step)?;
    step.finish();
    let step = progress.step(
        "building indexes",
        u64::from(plan.unique_indexes + plan.secondary_indexes)
            * plan.comparison.databases().len() as u64,
    );
    subject.index(&step)?;
    step.finish();
    Ok(())
}

/// Measures a loaded `subject`. It may have been loaded for another plan that [has the same
/// tables](Plan::same_tables).
///
/// # Errors
/// Returns any error that the subject reports, and [`Error::Run`] when a mode commits nothing at
/// all.
pub fn measure(
    subject: &mut (impl Subject + ?Sized),
    plan: &Plan,
    progress: &Progress,
) -> Result<Outcome> {
    let records = Arc::new(Records::new(plan.records));
    alternate(
        &mut Planned {
            subject,
            plan,
            records,
        },
        &plan.comparison,
        progress,
    )
}

/// A subject with its plan.
struct Planned<'a, S: ?Sized> {
    subject: &'a mut S,
    plan: &'a Plan,
    records: Arc<Records>,
}

impl<S: Subject + ?Sized> Alternating for Planned<'_, S> {
    fn measure(
        &mut self,
        variant: Variant,
        seed: u64,
        last: bool,
        limit: f64,
    ) -> Result<Measurement> {
        let run = Run::new(self.plan, variant, Arc::clone(&self.records), seed)?;
        let raw = with_stolen(|| self.subject.run(&run))?;
        let plan = self.plan;
        let workload = &plan.workload.name;
        let mut measurement = measurement("ycsb", workload, &plan.comparison, variant, raw, limit)?;
        measurement.shape = Some(plan.shape());
        // Comparing takes long, and a wrong index mostly stays wrong.
        if last {
            measurement.verified &= self.subject.check(&run)?;
        }
        let records = &self.records;
        if records.end() > records.loaded() {
            self.subject.restore(records.loaded()..records.end())?;
            records.reset();
        }
        Ok(measurement)
    }

    fn memory(&self) -> Option<Region<'_>> {
        self.subject.memory()
    }
}

/// Returns the findings of `run`, with the share of the processors' time that others had meanwhile.
///
/// # Errors
/// Errors of `run`.
pub fn with_stolen(run: impl FnOnce() -> Result<RawRun>) -> Result<RawRun> {
    let before = ProcessorTime::now();
    let mut raw = run()?;
    if let (Some(before), Some(after)) = (before, ProcessorTime::now()) {
        let stolen = after.stolen_since(before);
        raw.extra.insert(STOLEN.to_owned(), stolen);
    }
    Ok(raw)
}

/// Makes a measurement of the findings of one run of `variant`. Fields that only some benchmarks
/// have are left out.
///
/// # Errors
/// [`Error::Run`] if not one transaction committed.
pub fn measurement(
    benchmark: &'static str,
    workload: &str,
    comparison: &Comparison,
    variant: Variant,
    raw: RawRun,
    limit: f64,
) -> Result<Measurement> {
    let mode = variant.mode;
    if raw.transactions == 0 || raw.elapsed.is_zero() {
        return Err(Error::run(format!(
            "not one transaction committed in mode {mode}; give it more --seconds"
        )));
    }
    let seconds = raw.elapsed.as_secs_f64();
    Ok(Measurement {
        benchmark,
        workload: workload.to_owned(),
        mode,
        workers: comparison.workers,
        in_flight: comparison.in_flight,
        in_flight_effective: raw.in_flight,
        shape: None,
        isolation: variant.isolation,
        certifier: variant.certifier,
        read_only_declared: comparison.declare_read_only,
        on_conflict: None,
        durability: variant.durability,
        flusher: variant.flusher,
        seconds,
        transactions_per_second: raw.transactions as f64 / seconds,
        operations_per_second: raw.operations as f64 / seconds,
        latency_ns: raw.latencies.percentiles(),
        aborts: raw.aborts,
        aborts_per_transaction: raw.aborts as f64 / raw.transactions as f64,
        aborts_by_reason: raw.aborts_by_reason,
        verified: raw.verifier.verified(),
        limit_lines_per_second: limit,
        lines_per_operation: raw
            .lines_touched
            .filter(|_| raw.operations > 0)
            .map(|lines| lines as f64 / raw.operations as f64),
        commit: COMMIT,
        kinds: Vec::new(),
        extra: raw.extra,
    })
}

/// Name of a further number: the share of the processors' time that the host gave to others during
/// the measurement.
pub const STOLEN: &str = "stolen_share";

#[cfg(test)]
mod tests;
