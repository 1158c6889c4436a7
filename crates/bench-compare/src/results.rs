//! Results of a comparison: one [`Sample`] per run, one [`Summary`] per engine and number of
//! threads over all repeats.

use bench::measure::{COMMIT, Durability, LatencyNs, Spread};
use bench::plan::Plan;
use bench::subject::RawRun;
use serde::Serialize;

use crate::compare::Request;
use crate::engine::Name;

/// Facts that all results of a comparison share.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Facts {
    /// The benchmark, `"compare"`.
    pub(crate) benchmark: &'static str,
    /// Name of the workload.
    pub(crate) workload: String,
    /// Durability of commits.
    pub(crate) durability: Durability,
    /// Longest time from a relaxed commit to the device, in milliseconds.
    pub(crate) relaxed_ms: u64,
    /// Number of records loaded.
    pub(crate) records: u64,
    /// Operations in each transaction.
    pub(crate) operations_per_transaction: u32,
    /// Bytes of each key.
    pub(crate) key_bytes: usize,
    /// Bytes of each value.
    pub(crate) value_bytes: usize,
    /// Memory that each engine got, in bytes, where it was limited.
    pub(crate) memory_bytes: Option<u64>,
    /// Name of the distribution of the accesses over the records.
    pub(crate) distribution: &'static str,
    /// Exponent of the distribution, where it has one.
    pub(crate) theta: Option<f64>,
    /// Weft's transactions in flight per worker, as asked.
    pub(crate) weft_in_flight: String,
    /// Weft's clients, over all workers.
    pub(crate) weft_clients: usize,
    /// Source version of Weft and this program, where known.
    pub(crate) commit: Option<&'static str>,
}

impl Facts {
    pub(crate) fn new(plan: &Plan, request: &Request) -> Self {
        Self {
            benchmark: "compare",
            workload: plan.workload.name.clone(),
            durability: request.durability,
            relaxed_ms: request.window.as_millis() as u64,
            records: plan.records,
            operations_per_transaction: plan.operations_per_transaction,
            key_bytes: plan.key.bytes(),
            value_bytes: plan.value.bytes(),
            memory_bytes: request.memory_bytes,
            distribution: plan.workload.distribution.name(),
            theta: plan.workload.distribution.theta(),
            weft_in_flight: plan.comparison.in_flight.to_string(),
            weft_clients: request.weft_clients,
            commit: COMMIT,
        }
    }
}

/// One run of one engine.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The engine.
    pub(crate) engine: Name,
    /// Number of client threads; of Weft, workers.
    pub(crate) threads: usize,
    /// Number of the repeat, from 0.
    pub(crate) repeat: u32,
    /// Seconds measured.
    pub(crate) seconds: f64,
    /// Transactions committed per second, by all clients together.
    pub(crate) transactions_per_second: f64,
    /// Operations of committed transactions per second.
    pub(crate) operations_per_second: f64,
    /// Time from a transaction's begin to its commit, retries included.
    pub(crate) latency_ns: LatencyNs,
    /// Number of times a transaction was aborted and tried again.
    pub(crate) aborts: u64,
    /// Whether every answer was the right one.
    pub(crate) verified: bool,
}

impl Sample {
    pub(crate) fn new(engine: Name, threads: usize, repeat: u32, raw: &RawRun) -> Self {
        let seconds = raw.elapsed.as_secs_f64();
        Self {
            engine,
            threads,
            repeat,
            seconds,
            transactions_per_second: raw.transactions as f64 / seconds,
            operations_per_second: raw.operations as f64 / seconds,
            latency_ns: raw.latencies.percentiles(),
            aborts: raw.aborts,
            verified: raw.verifier.verified(),
        }
    }
}

/// Results of one engine with one number of threads over all repeats.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    /// The engine.
    pub(crate) engine: &'static str,
    /// Number of client threads; of Weft, workers.
    pub(crate) threads: usize,
    /// Whether the engine was fastest with this number of threads.
    pub(crate) best: bool,
    /// Median of the transactions per second.
    pub(crate) transactions_per_second: f64,
    /// Operations per second.
    pub(crate) operations_per_second: Spread,
    /// Weft's operations per second as a multiple of these, taken in each repeat, then median and
    /// range. `None` without Weft.
    pub(crate) weft_times: Option<Spread>,
    /// Median of each percentile.
    pub(crate) latency_ns: LatencyNs,
    /// Median of the aborts.
    pub(crate) aborts: u64,
    /// Whether every answer of every repeat was right.
    pub(crate) verified: bool,
    /// Set-up of the engine.
    pub(crate) configuration: String,
}

/// Comparison of all engines on one workload.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// Facts that all runs share.
    pub(crate) facts: Facts,
    /// The engines and their set-ups, in the order asked for.
    pub(crate) engines: Vec<(Name, String)>,
    /// Samples of every run, in the order they took place.
    pub(crate) samples: Vec<Sample>,
    /// Number of 4 KiB writes with a sync that the device did per second, by repeat.
    pub(crate) device_syncs_per_second: Vec<f64>,
    /// Latency of a write with a sync, over all repeats.
    pub(crate) device_latency_ns: LatencyNs,
}

impl Comparison {
    pub(crate) fn new(facts: Facts, engines: Vec<(Name, String)>) -> Self {
        Self {
            facts,
            engines,
            samples: Vec::new(),
            device_syncs_per_second: Vec::new(),
            device_latency_ns: LatencyNs::default(),
        }
    }

    /// Marks all answers of `engine` as wrong.
    pub(crate) fn distrust(&mut self, engine: Name) {
        let samples = self.samples.iter_mut();
        samples
            .filter(|sample| sample.engine == engine)
            .for_each(|sample| sample.verified = false);
    }

    /// Returns whether every answer of every engine was right.
    pub(crate) fn verified(&self) -> bool {
        self.samples.iter().all(|sample| sample.verified)
    }

    /// Returns Weft's run in the repeat of `sample`.
    pub(crate) fn weft_beside(&self, sample: &Sample) -> Option<&Sample> {
        self.samples
            .iter()
            .find(|other| other.engine == Name::Weft && other.repeat == sample.repeat)
    }

    /// Returns Weft's operations per second as a multiple of those of `sample`, in its repeat.
    pub(crate) fn weft_times(&self, sample: &Sample) -> Option<f64> {
        let weft = self.weft_beside(sample)?;
        Some(weft.operations_per_second / sample.operations_per_second)
    }

    /// Returns a summary of every engine with every number of threads it ran with.
    pub(crate) fn summaries(&self) -> Vec<Summary> {
        let mut all = Vec::new();
        for (engine, configuration) in &self.engines {
            let mut threads: Vec<usize> = self
                .samples
                .iter()
                .filter(|sample| sample.engine == *engine)
                .map(|sample| sample.threads)
                .collect();
            threads.sort_unstable();
            threads.dedup();
            let mut summaries: Vec<Summary> = threads
                .into_iter()
                .map(|threads| self.summary(*engine, threads, configuration))
                .collect();
            let best = summaries.iter_mut().max_by(|a, b| {
                let rate = |summary: &Summary| summary.operations_per_second.median;
                rate(a).total_cmp(&rate(b))
            });
            if let Some(best) = best {
                best.best = true;
            }
            all.append(&mut summaries);
        }
        all
    }

    fn summary(&self, engine: Name, threads: usize, configuration: &str) -> Summary {
        let runs: Vec<&Sample> = self
            .samples
            .iter()
            .filter(|sample| sample.engine == engine && sample.threads == threads)
            .collect();
        let spread = |field: fn(&Sample) -> f64| {
            Spread::of(&runs.iter().map(|run| field(run)).collect::<Vec<_>>())
        };
        let median = |field: fn(&Sample) -> f64| spread(field).median;
        let times: Vec<f64> = runs
            .iter()
            .filter_map(|sample| self.weft_times(sample))
            .collect();
        Summary {
            engine: engine.name(),
            threads,
            best: false,
            transactions_per_second: median(|run| run.transactions_per_second),
            operations_per_second: spread(|run| run.operations_per_second),
            weft_times: (!times.is_empty()).then(|| Spread::of(&times)),
            latency_ns: LatencyNs {
                p50: median(|run| run.latency_ns.p50 as f64) as u64,
                p99: median(|run| run.latency_ns.p99 as f64) as u64,
                p999: median(|run| run.latency_ns.p999 as f64) as u64,
            },
            aborts: median(|run| run.aborts as f64) as u64,
            verified: runs.iter().all(|run| run.verified),
            configuration: configuration.to_owned(),
        }
    }

    /// Returns the fastest other engine with its best number of threads, if there is one.
    pub(crate) fn best_peer(summaries: &[Summary]) -> Option<&Summary> {
        let peers = summaries
            .iter()
            .filter(|summary| summary.best && summary.engine != Name::Weft.name());
        peers.max_by(|a, b| {
            let rate = |summary: &Summary| summary.operations_per_second.median;
            rate(a).total_cmp(&rate(b))
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
