//! One kind of transaction among several.

use serde::Serialize;

use super::{LatencyNs, Spread};

/// What is measured of the transactions of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindMeasurement {
    /// Its name.
    pub kind: &'static str,
    /// Transactions done per second: committed, or rolled back as their request asked.
    pub transactions_per_second: f64,
    /// Those rolled back as asked, as a share.
    pub rolled_back: f64,
    /// Times one was aborted and tried again, for each that was done.
    pub aborts_per_transaction: f64,
    /// Time from begin to commit, retries included.
    pub latency_ns: LatencyNs,
    /// Bytes of its coroutine.
    pub frame_bytes: usize,
}

impl KindMeasurement {
    /// The median of each number on its own; `runs` are of one kind, at least one.
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
