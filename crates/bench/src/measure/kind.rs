//! One kind of transaction among several.

use serde::Serialize;

use super::{LatencyNs, Spread};

/// Results of the transactions of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindMeasurement {
    /// Name of the kind.
    pub kind: &'static str,
    /// Transactions done per second: committed, or rolled back as their request asked.
    pub transactions_per_second: f64,
    /// Share of transactions rolled back as asked.
    pub rolled_back: f64,
    /// Number of aborts for each transaction that was done; each is followed by another attempt.
    pub aborts_per_transaction: f64,
    /// Time from begin to commit, retries included.
    pub latency_ns: LatencyNs,
    /// Bytes of the transaction's coroutine.
    pub frame_bytes: usize,
}

impl KindMeasurement {
    /// Returns the median of each number on its own; `runs` are of one kind, at least one.
    pub(super) fn median(runs: &[&Self]) -> Self {
        let median = |field: fn(&Self) -> f64| {
            Spread::of(&runs.iter().map(|run| field(run)).collect::<Vec<_>>()).median
        };
        Self {
            kind: runs[0].kind,
            transactions_per_second: median(|run| run.transactions_per_second),
            rolled_back: median(|run| run.rolled_back),
            aborts_per_transaction: median(|run| run.aborts_per_transaction),
            latency_ns: LatencyNs::median(runs.iter().map(|run| run.latency_ns)),
            frame_bytes: runs[0].frame_bytes,
        }
    }
}
