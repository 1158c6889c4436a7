//! Writers that all want the same record.
//!
//! Each writer is a closed loop: read the record, write one more, commit; again until the time is
//! over. The reaction to a conflict (a writer waits, or aborts and is run again) and the isolation
//! level alternate within each repeat. At the end the record must have counted every commit: none
//! was lost, none took place twice.
//!
//! Throughput says little here. The question is whether every writer gets its turn: the number of
//! times that a transaction is run until it commits, the time of the unluckiest one, and the spread
//! of commits over the writers.

mod report;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::Serialize;
use weft::{Context, Database, InFlight, Interleaved, Options, Table, Transaction};

use crate::databases;
use crate::measure::{AbortReasons, ConflictPolicy, Isolation, Latencies, LatencyNs, Spread};
use commands::progress::Progress;
use commands::{Error, Result};

pub use report::report;

/// Key of the record.
const HOT: u64 = 0;

/// Settings of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of writers, at least 1.
    pub writers: usize,
    /// Number of worker threads that the writers are spread over, at least 1.
    pub workers: usize,
    /// Reactions to a conflict, to compare.
    pub on_conflict: Vec<ConflictPolicy>,
    /// Isolation levels to compare.
    pub isolations: Vec<Isolation>,
    /// Time for each combination in each repeat.
    pub duration: Duration,
    /// Number of repeats, at least 1.
    pub repeats: u32,
}

/// Results of one combination over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HotRow {
    /// Always `"hot-row"`.
    pub benchmark: &'static str,
    /// Reaction of a writer that met another.
    pub on_conflict: ConflictPolicy,
    /// Isolation level of the transactions.
    pub isolation: Isolation,
    /// Number of writers.
    pub writers: usize,
    /// Number of worker threads.
    pub workers: usize,
    /// Commits per second of all writers: median, least and greatest.
    pub commits_per_second: Spread,
    /// Number of times that a transaction was run for each commit.
    pub attempts_per_commit: f64,
    /// Number of times that the unluckiest transaction of all repeats was run.
    pub attempts_max: u32,
    /// Number of waits for another transaction for each commit.
    pub waits_per_commit: f64,
    /// Time from a transaction's begin to its commit, retries included.
    pub latency_ns: LatencyNs,
    /// Longest time from a begin to a commit in all repeats.
    pub longest_ns: u64,
    /// Commits of the writer with fewest relative to the one with most.
    pub fairness: Spread,
    /// Aborts by reason.
    pub aborts_by_reason: AbortReasons,
    /// Whether the record counted every commit.
    pub verified: bool,
}

/// Results of one combination in one repeat.
struct Round {
    seconds: f64,
    /// Number of commits of each writer.
    commits: Vec<u64>,
    aborts: u64,
    attempts_max: u32,
    waits: u64,
    latencies: Latencies,
    longest: Duration,
    reasons: AbortReasons,
    verified: bool,
}

/// Results of one writer.
#[derive(Default)]
struct Writer {
    commits: u64,
    aborts: u64,
    attempts_max: u32,
    latencies: Latencies,
    longest: Duration,
    elapsed: Duration,
}

/// Measures every combination.
///
/// # Errors
/// [`Error::Run`] when the database refuses, or a writer never commits.
pub fn measure(settings: &Settings, progress: &Progress) -> Result<Vec<HotRow>> {
    let mut combinations = Vec::new();
    for &policy in &settings.on_conflict {
        combinations.extend(settings.isolations.iter().map(|&level| (policy, level)));
    }
    let mut rounds: Vec<Vec<Round>> = combinations.iter().map(|_| Vec::new()).collect();
    let total = u64::from(settings.repeats) * combinations.len() as u64;
    let step = progress.step("measuring", total);
    for repeat in 0..settings.repeats as usize {
        for turn in 0..combinations.len() {
            // The turns rotate, so no combination is always the first.
            let at = (turn + repeat) % combinations.len();
            let (policy, isolation) = combinations[at];
            step.say(format!("{} {}", policy.name(), isolation.name()));
            rounds[at].push(round(settings, policy, isolation)?);
            step.advance(1);
        }
    }
    step.finish();
    let all = combinations.into_iter().zip(&rounds);
    Ok(all
        .map(|((policy, isolation), rounds)| summary(settings, policy, isolation, rounds))
        .collect())
}

/// Runs one combination on a database of its own.
fn round(settings: &Settings, policy: ConflictPolicy, isolation: Isolation) -> Result<Round> {
    let options = Options {
        workers: settings.workers,
        on_conflict: policy.into(),
        isolation: isolation.into(),
        // Starvation is to show in the results, not to fail.
        retries_max: u32::MAX,
        ..Options::default()
    };
    let config = options.worker_config();
    let database = Database::open(options).map_err(databases::failure)?;
    let table: Table<u64, u64> = database.create_table("hot").map_err(databases::failure)?;
    let ours = table.clone();
    database
        .run_blocking(async move |txn: &Transaction| txn.insert(&ours, &HOT, &0).await)
        .map_err(databases::failure)?;
    let before = database.stats();
    let (sender, receiver) = mpsc::channel();
    for (number, worker) in database.workers().iter().enumerate() {
        let here = (number..settings.writers).step_by(settings.workers).len();
        worker.configure(weft::WorkerConfig {
            in_flight: InFlight::Fixed(here.max(1)),
            ..config
        });
        let (table, sender, duration) = (table.clone(), sender.clone(), settings.duration);
        worker.supply(move |context: Context| {
            let mut writers = 0..here;
            let start = Instant::now();
            move || {
                writers.next()?;
                let (context, table) = (context.clone(), table.clone());
                let sender = sender.clone();
                Some(move || async move {
                    let end = start + duration;
                    let written = write_until(&context, &table, isolation, start, end).await;
                    // The receiver gives up only when the measurement has failed already.
                    let _ = sender.send(written);
                })
            }
        });
    }
    drop(sender);
    let mut round = Round {
        seconds: 0.0,
        commits: Vec::new(),
        aborts: 0,
        attempts_max: 0,
        waits: 0,
        latencies: Latencies::default(),
        longest: Duration::ZERO,
        reasons: AbortReasons::default(),
        verified: false,
    };
    for writer in receiver {
        let writer = writer.map_err(databases::failure)?;
        round.seconds = round.seconds.max(writer.elapsed.as_secs_f64());
        round.commits.push(writer.commits);
        round.aborts += writer.aborts;
        round.attempts_max = round.attempts_max.max(writer.attempts_max);
        round.latencies.merge(&writer.latencies);
        round.longest = round.longest.max(writer.longest);
    }
    if round.commits.len() != settings.writers || round.commits.contains(&0) {
        return Err(Error::run(
            "a writer committed nothing; give it more --seconds, and report it if that does not \
             help",
        ));
    }
    let counted = database
        .run_blocking(async move |txn: &Transaction| txn.get(&table, &HOT).await)
        .map_err(databases::failure)?;
    round.verified = counted == Some(round.commits.iter().sum());
    // Workers publish their counts before they end.
    database.close();
    let after = database.stats();
    round.waits = after.lock_waits - before.lock_waits;
    round.reasons = AbortReasons::between(&before, &after);
    Ok(round)
}

/// Runs one writer until the time is over.
async fn write_until(
    context: &Context,
    table: &Table<u64, u64>,
    isolation: Isolation,
    start: Instant,
    end: Instant,
) -> weft::Result<Writer> {
    let mut writer = Writer::default();
    let level = weft::Isolation::from(isolation);
    let write = async |txn: &Transaction<Interleaved>| {
        // On a snapshot, a record that changed after it was read cannot be written.
        let count = match isolation {
            Isolation::ReadCommitted => txn.get_for_update(table, &HOT).await?,
            _ => txn.get(table, &HOT).await?,
        };
        txn.update(table, &HOT, &(count.unwrap_or(0) + 1)).await?;
        Ok(())
    };
    loop {
        let begun = Instant::now();
        if begun >= end {
            break;
        }
        let ((), aborts) = context.run_counting(level, &write).await?;
        writer.commits += 1;
        writer.aborts += u64::from(aborts);
        writer.attempts_max = writer.attempts_max.max(aborts + 1);
        writer.latencies.record_since(begun);
        writer.longest = writer.longest.max(begun.elapsed());
    }
    writer.elapsed = start.elapsed();
    Ok(writer)
}

fn summary(
    settings: &Settings,
    on_conflict: ConflictPolicy,
    isolation: Isolation,
    rounds: &[Round],
) -> HotRow {
    let of =
        |figure: &dyn Fn(&Round) -> f64| Spread::of(&rounds.iter().map(figure).collect::<Vec<_>>());
    let commits = |round: &Round| round.commits.iter().sum::<u64>() as f64;
    let mut latencies = Latencies::default();
    rounds
        .iter()
        .for_each(|round| latencies.merge(&round.latencies));
    HotRow {
        benchmark: "hot-row",
        on_conflict,
        isolation,
        writers: settings.writers,
        workers: settings.workers,
        commits_per_second: of(&|round| commits(round) / round.seconds),
        attempts_per_commit: of(&|round| 1.0 + round.aborts as f64 / commits(round)).median,
        attempts_max: rounds.iter().fold(0, |max, it| max.max(it.attempts_max)),
        waits_per_commit: of(&|round| round.waits as f64 / commits(round)).median,
        latency_ns: latencies.percentiles(),
        longest_ns: rounds
            .iter()
            .fold(0, |max, it| max.max(it.longest.as_nanos() as u64)),
        fairness: of(&|round| {
            let least = round.commits.iter().min().copied().unwrap_or(0);
            let most = round.commits.iter().max().copied().unwrap_or(1);
            least as f64 / most as f64
        }),
        aborts_by_reason: rounds.iter().fold(AbortReasons::default(), |all, round| {
            let (all, each) = (all.each(), round.reasons.each());
            AbortReasons::from_each(std::array::from_fn(|reason| all[reason] + each[reason]))
        }),
        verified: rounds.iter().all(|round| round.verified),
    }
}

#[cfg(test)]
mod tests;
