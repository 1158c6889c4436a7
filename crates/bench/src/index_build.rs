//! Cost of building an index to transactions that go on meanwhile.
//!
//! A table is loaded once. Each repeat measures a load of reads and updates for some seconds, then
//! for as long as an index is built beside it, then for some seconds with the index; compares every
//! record of the table with the index; drops it; and measures the load without it once more. A
//! build takes minutes, in which the speed of a shared machine changes: ratios are taken within
//! each repeat, relative to the mean of the measurements without the index on both sides of it.

mod report;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::comparison::Asked;
use crate::databases;
use crate::distribution::Records;
use crate::indexes;
use crate::measure::{InFlight, Isolation, Spread};
use crate::mode::Mode;
use crate::plan::{Options, Plan};
use crate::subject::store::Store;
use crate::subject::{RawRun, Run};
use crate::workload::{Proportions, Selection, Workload};
use commands::progress::Progress;
use commands::{Error, Result};

pub use report::report;

/// Longest time of a build; the load lasts as long as the build.
const BUILD_MAX: Duration = Duration::from_secs(86_400);

/// Settings of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of records in the table.
    pub records: u64,
    /// Bytes of each value.
    pub value_bytes: u64,
    /// Share of updates among the operations of the load; the others are reads.
    pub update_share: f64,
    /// Number of operations in each transaction of the load.
    pub operations: u64,
    /// Whether the index is unique.
    pub unique: bool,
    /// Number of worker threads.
    pub workers: u64,
    /// Transactions in flight per worker.
    pub in_flight: InFlight,
    /// Isolation level of the load.
    pub isolation: Isolation,
    /// Seconds of the load before the build, and after it.
    pub seconds: f64,
    /// Number of repeats.
    pub repeats: u64,
}

/// Results of a build over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IndexBuild {
    /// Always `"index-build"`.
    pub benchmark: &'static str,
    /// Whether the index is unique.
    pub unique: bool,
    /// Isolation level of the load.
    pub isolation: Isolation,
    /// Number of worker threads.
    pub workers: usize,
    /// Number of records in the table.
    pub records: u64,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Share of updates among the operations of the load.
    pub update_share: f64,
    /// Seconds until the index was ready.
    pub build_seconds: Spread,
    /// Records indexed per second.
    pub records_per_second: Spread,
    /// Number of batches of the build given up because a writer was in the way.
    pub conflicts: Spread,
    /// Operations per second of the load before the build.
    pub before: Spread,
    /// Operations per second of the load while the index was built.
    pub during: Spread,
    /// Operations per second of the load with the index.
    pub after: Spread,
    /// Operations per second of the load after the index was dropped.
    pub dropped: Spread,
    /// `during` relative to the mean of `before` and `dropped`.
    pub during_to_without: Spread,
    /// `after` relative to the mean of `before` and `dropped`.
    pub after_to_without: Spread,
    /// Whether every answer was right, and the index agreed with the table.
    pub verified: bool,
}

/// Results of one repeat.
struct Round {
    build_seconds: f64,
    conflicts: u64,
    before: f64,
    during: f64,
    after: f64,
    dropped: f64,
    verified: bool,
}

impl Round {
    /// Returns the operations per second of the load without the index.
    fn without(&self) -> f64 {
        (self.before + self.dropped) / 2.0
    }
}

/// Measures builds beside a load.
///
/// # Errors
/// [`Error::Input`] that says which setting to change; [`Error::Run`] when the database
/// refuses.
pub fn measure(settings: &Settings, progress: &Progress) -> Result<IndexBuild> {
    let plan = plan(settings)?;
    progress.note(&plan.description());
    let store = Store::open(&plan, weft::Options::default())?;
    let step = progress.step("loading", plan.records);
    store.load(&step)?;
    step.finish();
    let mut rounds = Vec::new();
    for repeat in 0..plan.comparison.repeats {
        rounds.push(round(&store, &plan, settings, repeat, progress)?);
    }
    let of =
        |figure: &dyn Fn(&Round) -> f64| Spread::of(&rounds.iter().map(figure).collect::<Vec<_>>());
    Ok(IndexBuild {
        benchmark: "index-build",
        unique: settings.unique,
        isolation: settings.isolation,
        workers: plan.comparison.workers,
        records: plan.records,
        value_bytes: plan.value.bytes(),
        update_share: settings.update_share,
        build_seconds: of(&|round| round.build_seconds),
        records_per_second: of(&|round| plan.records as f64 / round.build_seconds),
        conflicts: of(&|round| round.conflicts as f64),
        before: of(&|round| round.before),
        during: of(&|round| round.during),
        after: of(&|round| round.after),
        dropped: of(&|round| round.dropped),
        during_to_without: of(&|round| round.during / round.without()),
        after_to_without: of(&|round| round.after / round.without()),
        verified: rounds.iter().all(|round| round.verified),
    })
}

fn plan(settings: &Settings) -> Result<Plan> {
    if !(0.0..=1.0).contains(&settings.update_share) {
        return Err(Error::input(format!(
            "--update-share {} is out of range; give a number from 0 to 1",
            settings.update_share
        )));
    }
    let workload = Workload {
        name: "index build".to_owned(),
        proportions: Proportions {
            read: 1.0 - settings.update_share,
            update: settings.update_share,
            ..Proportions::default()
        },
        selection: Selection::Drawn,
        ..Workload::named_or_file("read-only")?
    };
    Options {
        records: Some(settings.records),
        operations: Some(settings.operations),
        value_bytes: Some(settings.value_bytes),
        asked: Asked {
            modes: vec![Mode::Interleaved],
            isolations: vec![settings.isolation],
            workers: settings.workers,
            in_flight: settings.in_flight,
            seconds: settings.seconds,
            repeats: settings.repeats,
            ..Asked::default()
        },
        ..Options::of(workload)
    }
    .plan()
}

fn round(
    store: &Store,
    plan: &Plan,
    settings: &Settings,
    repeat: u32,
    progress: &Progress,
) -> Result<Round> {
    let records = Arc::new(Records::new(plan.records));
    let run = |phase: u64| {
        let seed = crate::keys::mix(u64::from(repeat) * 4 + phase);
        Run::new(
            plan,
            plan.comparison.variants()[0],
            Arc::clone(&records),
            seed,
        )
    };
    let before = store.run(&run(0)?)?;

    let step = Arc::new(progress.step("building the index", plan.records));
    let done = AtomicU64::new(0);
    let conflicts = Arc::new(AtomicU64::new(0));
    let definition = match settings.unique {
        true => indexes::unique(0),
        false => indexes::grouped(0, plan.records),
    };
    let (shown, given_up) = (Arc::clone(&step), Arc::clone(&conflicts));
    // Relaxed: the counts are for people, and one is read when the build has ended.
    let definition = definition.on_progress(move |progress| {
        let before = done.swap(progress.records_done, Ordering::Relaxed);
        shown.advance(progress.records_done - before);
        given_up.store(progress.conflicts, Ordering::Relaxed);
    });
    let stop = Arc::new(AtomicBool::new(false));
    let mut load = run(1)?;
    load.duration = BUILD_MAX;
    load.stop = Some(Arc::clone(&stop));
    let start = Instant::now();
    let building = store.create_index(definition);
    let (built, during) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let built = building.wait().map_err(databases::failure);
            let elapsed = start.elapsed();
            // Relaxed: the load looks at the flag now and then.
            stop.store(true, Ordering::Relaxed);
            built.map(|index| (index, elapsed))
        });
        let during = store.run(&load);
        let built = waiting
            .join()
            .unwrap_or_else(|_| Err(Error::run("waiting for the index panicked; report this")));
        (built, during)
    });
    let ((index, elapsed), during) = (built?, during?);
    drop(step);

    let after = store.run(&run(2)?)?;
    let step = progress.step("comparing the index with the table", 1);
    let agrees = store.agrees(&index)?;
    step.finish();
    store.drop_index(&index)?;
    let dropped = store.run(&run(3)?)?;
    let rate = |raw: &RawRun| {
        let seconds = raw.elapsed.as_secs_f64();
        match raw.operations {
            0 => Err(Error::run(
                "not one transaction committed in a phase; give it more --seconds",
            )),
            operations => Ok(operations as f64 / seconds),
        }
    };
    Ok(Round {
        build_seconds: elapsed.as_secs_f64(),
        conflicts: conflicts.load(Ordering::Relaxed),
        before: rate(&before)?,
        during: rate(&during)?,
        after: rate(&after)?,
        dropped: rate(&dropped)?,
        verified: agrees
            && [&before, &during, &after, &dropped]
                .iter()
                .all(|raw| raw.verifier.verified()),
    })
}

#[cfg(test)]
mod tests;
