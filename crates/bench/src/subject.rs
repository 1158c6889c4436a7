//! Subjects of benchmarks, behind one trait.

mod closed_loop;
mod counting;
mod grouped;
mod nested;
mod probes;
pub(crate) mod store;
mod transaction;
mod weft;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::distribution::Records;
use crate::limits::Region;
use crate::measure::{AbortReasons, InFlight, Latencies};
use crate::operations::OperationSource;
use crate::plan::Plan;
use crate::values::Verifier;
use crate::variant::Variant;
use commands::Result;
use commands::progress::Step;

/// Column of a subject that writes to a device, in [`RawRun::extra`]: nanoseconds that half of the
/// durable 4 KiB writes on the same device do not exceed.
pub const DEVICE_P50: &str = "device_write_ns_p50";
/// Column of a subject that writes to a device, in [`RawRun::extra`]: nanoseconds that 99 % of the
/// durable 4 KiB writes on the same device do not exceed.
pub const DEVICE_P99: &str = "device_write_ns_p99";
/// Column of a subject that writes to a device, in [`RawRun::extra`]: bytes of log per record
/// written.
pub const LOG_BYTES: &str = "log_bytes_per_write";
/// Column of a subject that writes to a device, in [`RawRun::extra`]: writes of the log to the
/// device per second.
pub const LOG_BLOCKS: &str = "log_blocks_per_second";

/// A store under measurement. The [`runner`](crate::runner) calls `load` once,
/// `index`, then `run` for each variant of each repeat and `restore` after it.
pub trait Subject {
    /// Loads records `0..plan.records` with the keys of `plan.key` and the
    /// values of `plan.value` at version 0, advancing `step` by records.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when loading fails.
    fn load(&mut self, step: &Step) -> Result<()>;

    /// Gives the loaded table the plan's indexes, advancing `step` by indexes. By
    /// default there are none.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when an index cannot be built.
    fn index(&mut self, step: &Step) -> Result<()> {
        let _ = step;
        Ok(())
    }

    /// Runs transactions as `run.variant` for `run.duration` on the plan's workers, counting only
    /// those that committed within it, and verifies every answer.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) for any error but an abort (retried) or a wrong answer
    /// (reported).
    fn run(&mut self, run: &Run) -> Result<RawRun>;

    /// Returns whether the indexes agree with the table after `run`. Not measured.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when they cannot be compared.
    fn check(&mut self, run: &Run) -> Result<bool> {
        let _ = run;
        Ok(true)
    }

    /// Removes the records `added`, not measured, so that each run meets the
    /// table as loaded. Some of the numbers may never have been inserted.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when removing fails.
    fn restore(&mut self, added: Range<u64>) -> Result<()>;

    /// Returns memory of the store over which to measure the machine's limit; by default the runner
    /// measures on memory of its own.
    fn memory(&self) -> Option<Region<'_>> {
        None
    }
}

/// Parameters of one run of one variant.
#[derive(Debug)]
pub struct Run {
    /// Duration of the run.
    pub duration: Duration,
    /// Number of records; shared by the workers and their sources.
    pub records: Arc<Records>,
    /// Seed, distinct for every repeat, equal for the modes within one, which therefore meet the
    /// same choices.
    pub seed: u64,
    /// Execution of the transactions.
    pub variant: Variant,
    /// Number of transactions in flight on each worker, in modes that have several.
    pub in_flight: InFlight,
    /// Whether the transactions neither change nor add records.
    pub only_reads: bool,
    /// Whether transactions that only read are declared read-only.
    pub declare_read_only: bool,
    /// Flag that ends the run before its time, once it is set.
    pub stop: Option<Arc<AtomicBool>>,
    source: OperationSource,
}

impl Run {
    /// Returns a run of `variant` over `records` by the plan's workload.
    ///
    /// # Errors
    /// [`Error::Input`](commands::Error::Input) when there are no records.
    pub fn new(plan: &Plan, variant: Variant, records: Arc<Records>, seed: u64) -> Result<Self> {
        let source = OperationSource::new(
            &plan.workload,
            plan.operations_per_transaction,
            Arc::clone(&records),
            seed,
            0,
        )?;
        Ok(Self {
            duration: plan.comparison.duration,
            records,
            seed,
            variant,
            in_flight: plan.comparison.in_flight,
            only_reads: plan.workload.only_reads(),
            declare_read_only: plan.comparison.declare_read_only,
            stop: None,
            source,
        })
    }

    /// Returns the transactions of one worker.
    pub fn source(&self, worker: usize) -> OperationSource {
        self.source.fork(self.seed, worker as u64)
    }
}

/// Findings of one run of one mode. Workers fill one each, [`merge`](Self::merge) adds them.
#[derive(Clone, Debug, Default)]
pub struct RawRun {
    /// Number of transactions committed.
    pub transactions: u64,
    /// Number of operations of those transactions.
    pub operations: u64,
    /// Number of times a transaction was aborted and tried again.
    pub aborts: u64,
    /// Number of aborts by reason, if known. The numbers are those of all workers together, and are
    /// not merged.
    pub aborts_by_reason: AbortReasons,
    /// Time from start to the last counted commit; of several workers the longest.
    pub elapsed: Duration,
    /// Latencies of transactions, or of a sample of them.
    pub latencies: Latencies,
    /// Check of every answer.
    pub verifier: Verifier,
    /// Number of cache lines touched by those operations, if known.
    pub lines_touched: Option<u64>,
    /// Average number of transactions in flight per worker, if known.
    pub in_flight: Option<f64>,
    /// Other numbers worth a column, by names in the style of the other fields.
    pub extra: BTreeMap<String, f64>,
}

impl RawRun {
    /// Adds another worker's part: counts are summed, `elapsed` is the longer, `in_flight` and
    /// `extra` the mean weighted by transactions.
    pub fn merge(&mut self, other: &Self) {
        let (ours, theirs) = (self.transactions as f64, other.transactions as f64);
        let mean = |own: f64, other: f64| {
            if ours + theirs > 0.0 {
                (own * ours + other * theirs) / (ours + theirs)
            } else {
                own
            }
        };
        self.in_flight = match (self.in_flight, other.in_flight) {
            (Some(own), Some(other)) => Some(mean(own, other)),
            (own, other) => own.or(other),
        };
        for (name, &value) in &other.extra {
            let own = self.extra.entry(name.clone()).or_insert(value);
            *own = mean(*own, value);
        }
        self.lines_touched = match (self.lines_touched, other.lines_touched) {
            (Some(own), Some(other)) => Some(own + other),
            (own, other) => own.or(other),
        };
        self.transactions += other.transactions;
        self.operations += other.operations;
        self.aborts += other.aborts;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.latencies.merge(&other.latencies);
        self.verifier.merge(&other.verifier);
    }
}

/// Returns Weft, set up for `plan` in memory.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when the database cannot be opened.
pub fn weft_subject(plan: &Plan) -> Result<impl Subject + use<>> {
    weft_subject_with(plan, ::weft::Options::default())
}

/// Returns an index alone, set up for `plan`, whose transactions are groups of lookups. Modes are
/// of [`Mode::PROBES`](crate::mode::Mode::PROBES).
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when the memory cannot be allocated.
pub fn index_subject(plan: &Plan) -> Result<impl Subject + use<>> {
    probes::Probes::open(plan)
}

/// Returns Weft, set up for `plan` with `options`, except for the workers, which are the plan's,
/// each on a core of its own, and the number in flight, which is the mode's.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when the database cannot be opened.
pub fn weft_subject_with(plan: &Plan, options: ::weft::Options) -> Result<impl Subject + use<>> {
    weft::WeftSubject::open(plan, &options)
}

#[cfg(test)]
mod tests;
