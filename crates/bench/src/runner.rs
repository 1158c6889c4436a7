//! The driver: loads once, then alternates the modes and measures the
//! machine's limit beside them.
//!
//! Repeat `r` runs the variants (modes, levels, ...) in the plan's order rotated by
//! `r`, so that none is always the first after a pause or the last on a warm machine. The
//! limit is measured at the begin of each repeat, on the subject's own memory
//! if it lends any. Modes of one repeat share a seed: they answer the same
//! questions.

use std::sync::Arc;
use std::time::Duration;

use crate::distribution::Records;
use crate::limits::{self, Mapping};
use crate::machine::{self, ProcessorTime};
use crate::measure::{COMMIT, Measurement, Summary, summarise};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::subject::{RawRun, Run, Subject};
use crate::variant::Variant;
use crate::{Error, Result};

/// Memory for the limit where the subject lends none.
const LIMIT_BYTES: u64 = 512 << 20;
/// Longest and shortest time the limit is measured in each repeat.
const LIMIT_DURATION_MAX: Duration = Duration::from_millis(500);
const LIMIT_DURATION_MIN: Duration = Duration::from_millis(10);

/// Everything measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The measurements of each repeat, in the order they were taken.
    pub repeats: Vec<Vec<Measurement>>,
    /// The modes, repeats taken together.
    pub summaries: Vec<Summary>,
}

impl Outcome {
    /// Whether every answer in every mode and repeat was right.
    pub fn verified(&self) -> bool {
        self.summaries.iter().all(|summary| summary.median.verified)
    }
}

/// Runs the plan on `subject`.
///
/// # Errors
/// Whatever the subject reports, and [`Error::Run`] when a mode commits
/// nothing at all. Wrong answers are no error here but `verified: false`.
pub fn run(subject: &mut impl Subject, plan: &Plan, progress: &Progress) -> Result<Outcome> {
    let step = progress.step("loading", plan.records * plan.certifiers.len() as u64);
    subject.load(&step)?;
    step.finish();
    let step = progress.step(
        "building indexes",
        u64::from(plan.unique_indexes + plan.secondary_indexes) * plan.certifiers.len() as u64,
    );
    subject.index(&step)?;
    step.finish();

    let own = match subject.memory() {
        Some(_) => None,
        None => {
            let available = machine::memory_available_bytes().unwrap_or(u64::MAX);
            Some(Mapping::new(LIMIT_BYTES.min(available / 8))?)
        }
    };
    let limit_duration = (plan.duration / 5).clamp(LIMIT_DURATION_MIN, LIMIT_DURATION_MAX);
    let records = Arc::new(Records::new(plan.records));
    let mut repeats = Vec::new();
    let variants = plan.variants();
    let step = progress.step(
        "measuring",
        u64::from(plan.repeats) * (variants.len() as u64 + 1),
    );
    for repeat in 0..plan.repeats {
        step.say(format!("repeat {}: limit", repeat + 1));
        let region = own
            .as_ref()
            .map(Mapping::region)
            .or_else(|| subject.memory());
        let region = region.ok_or_else(|| {
            Error::run("the engine no longer lends the memory it lent before; report this")
        })?;
        let limit = limits::lines_per_second(region, plan.workers, limit_duration);
        step.advance(1);
        let mut variants = variants.clone();
        let first = repeat as usize % variants.len();
        variants.rotate_left(first);
        let mut measurements = Vec::new();
        for variant in variants {
            step.say(format!("repeat {}: {}", repeat + 1, variant.mode));
            let seed = crate::keys::mix(plan.seed).wrapping_add(repeat.into());
            let run = Run::new(plan, variant, Arc::clone(&records), seed)?;
            let before = ProcessorTime::now();
            let mut raw = subject.run(&run)?;
            if let (Some(before), Some(after)) = (before, ProcessorTime::now()) {
                let stolen = after.stolen_since(before);
                raw.extra.insert(STOLEN.to_owned(), stolen);
            }
            let mut measurement = measurement(plan, variant, raw, limit)?;
            // Comparing takes long, and what was wrong once mostly stays so.
            if repeat + 1 == plan.repeats {
                measurement.verified &= subject.check(&run)?;
            }
            measurements.push(measurement);
            if records.end() > records.loaded() {
                subject.restore(records.loaded()..records.end())?;
                records.reset();
            }
            step.advance(1);
        }
        repeats.push(measurements);
    }
    step.finish();
    let summaries = summarise(&repeats);
    Ok(Outcome { repeats, summaries })
}

fn measurement(plan: &Plan, variant: Variant, raw: RawRun, limit: f64) -> Result<Measurement> {
    let mode = variant.mode;
    if raw.transactions == 0 || raw.elapsed.is_zero() {
        return Err(Error::run(format!(
            "not one transaction committed in mode {mode}; give it more --seconds"
        )));
    }
    let seconds = raw.elapsed.as_secs_f64();
    Ok(Measurement {
        benchmark: "ycsb",
        workload: plan.workload.name.clone(),
        mode,
        workers: plan.workers,
        in_flight: plan.in_flight,
        in_flight_effective: raw.in_flight,
        records: plan.records,
        operations_per_transaction: plan.operations_per_transaction,
        key_bytes: plan.key.bytes(),
        value_bytes: plan.value.bytes(),
        distribution: plan.workload.distribution.name(),
        theta: plan.workload.distribution.theta(),
        isolation: variant.isolation,
        certifier: variant.certifier,
        read_only_declared: plan.declare_read_only,
        durability: variant.durability,
        seconds,
        transactions_per_second: raw.transactions as f64 / seconds,
        operations_per_second: raw.operations as f64 / seconds,
        latency_ns: raw.latencies.percentiles(),
        aborts: raw.aborts,
        aborts_per_transaction: raw.aborts as f64 / raw.transactions as f64,
        aborts_by_reason: raw.aborts_by_reason,
        verified: raw.verifier.verified(),
        unique_indexes: plan.unique_indexes,
        secondary_indexes: plan.secondary_indexes,
        limit_lines_per_second: limit,
        lines_per_operation: raw
            .lines_touched
            .filter(|_| raw.operations > 0)
            .map(|lines| lines as f64 / raw.operations as f64),
        commit: COMMIT,
        extra: raw.extra,
    })
}

/// The name of a further number: the share of the processors' time that the host
/// gave to others while this was measured.
pub const STOLEN: &str = "stolen_share";

#[cfg(test)]
mod tests;
