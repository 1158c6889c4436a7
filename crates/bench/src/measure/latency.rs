//! Latencies of transactions.

use std::time::Instant;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::Spread;

/// Longest time told apart, in nanoseconds; longer ones count as this.
const NS_MAX: u64 = 60_000_000_000;
/// Number of decimal digits kept.
const DIGITS: u8 = 3;

/// A histogram of times from 1 ns to a minute, exact to three digits. About
/// 260 KiB and a few nanoseconds per recording: one per worker.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, NS_MAX, DIGITS);
        Self {
            histogram: histogram.expect("the bounds are valid"),
        }
    }
}

impl Latencies {
    /// Returns an empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a time in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
    }

    /// Records the time since `start`.
    #[inline]
    pub fn record_since(&mut self, start: Instant) {
        self.record(start.elapsed().as_nanos() as u64);
    }

    /// Adds the times that another histogram recorded.
    pub fn merge(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("the bounds are the same");
    }

    /// Returns the number of times recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the percentiles that reports show; zeros when nothing was recorded.
    pub fn percentiles(&self) -> LatencyNs {
        let at = |quantile| self.histogram.value_at_quantile(quantile);
        LatencyNs {
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
        }
    }
}

/// Times that half, 99 % and 99.9 % of the transactions did not exceed, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LatencyNs {
    /// Time that half of the transactions did not exceed.
    pub p50: u64,
    /// Time that 99 % did not exceed.
    pub p99: u64,
    /// Time that 99.9 % did not exceed.
    pub p999: u64,
}

impl LatencyNs {
    /// Takes the median of each percentile on its own, of at least one.
    pub fn median(of: impl Iterator<Item = Self> + Clone) -> Self {
        let median = |percentile: fn(&Self) -> u64| {
            let all: Vec<f64> = of.clone().map(|one| percentile(&one) as f64).collect();
            Spread::of(&all).median as u64
        };
        Self {
            p50: median(|one| one.p50),
            p99: median(|one| one.p99),
            p999: median(|one| one.p999),
        }
    }
}

/// Chooses which transactions to time: one in [`INTERVAL`](Self::INTERVAL),
/// because two clock readings cost a fifth of a short transaction.
///
/// The interval is prime, so it does not fall in step with slots resumed in turn and time the same
/// slot for ever.
#[derive(Clone, Debug, Default)]
pub struct LatencySampler {
    until_next: u32,
}

impl LatencySampler {
    /// Number of transactions per timed one.
    pub const INTERVAL: u32 = 13;

    /// Returns a sampler that times the first transaction, then every thirteenth.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the time at the begin of a transaction, if it is one to record.
    #[inline]
    pub fn start(&mut self) -> Option<Instant> {
        if self.until_next == 0 {
            self.until_next = Self::INTERVAL - 1;
            return Some(Instant::now());
        }
        self.until_next -= 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_to_three_digits() {
        let (mut low, mut high) = (Latencies::new(), Latencies::new());
        (1..=5_000).for_each(|ns| low.record(ns));
        (5_001..=10_000).for_each(|ns| high.record(ns));
        low.merge(&high);
        let LatencyNs { p50, p99, p999 } = low.percentiles();
        for (found, exact) in [(p50, 5_000), (p99, 9_900), (p999, 9_990)] {
            assert!(
                u64::abs_diff(found, exact) <= exact / 1000 + 1,
                "{found} for {exact}"
            );
        }
        assert_eq!(low.count(), 10_000);
    }

    #[test]
    fn extremes_are_kept_not_lost() {
        let mut latencies = Latencies::new();
        latencies.record(0);
        latencies.record(u64::MAX);
        assert_eq!(latencies.count(), 2);
        assert_eq!(Latencies::new().percentiles(), LatencyNs::default());
    }

    #[test]
    fn one_in_thirteen_is_timed() {
        let mut sampler = LatencySampler::new();
        let timed = (0..130).filter(|_| sampler.start().is_some()).count();
        assert_eq!(timed, 10);
    }
}
