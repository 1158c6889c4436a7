//! Repeats of one mode taken together.

use serde::Serialize;

use super::{Durability, LatencyNs, Measurement, Spread};
use crate::mode::Mode;

/// One mode over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// What the repeats share, and the median of each number on its own.
    #[serde(flatten)]
    pub median: Measurement,
    /// Median and range of the operations per second.
    pub operations_per_second_spread: Spread,
    /// Operations per second against the sequential mode: taken in each
    /// repeat, then median and range. `None` without that mode.
    pub times_sequential: Option<Spread>,
    /// Cache lines touched as a share of the machine's limit.
    pub limit_share: Option<f64>,
    /// The repeats, in the order they ran.
    pub repeats: Vec<RepeatSummary>,
}

/// What is kept of one repeat.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RepeatSummary {
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Transactions committed per second.
    pub transactions_per_second: f64,
    /// Operations per second.
    pub operations_per_second: f64,
    /// The machine's limit in this repeat.
    pub limit_lines_per_second: f64,
    /// Aborts in this repeat.
    pub aborts: u64,
}

/// Takes the measurements of each repeat together by durability and mode, in their
/// order. `repeats[r]` holds repeat `r` of every mode, in any order.
pub fn summarise(repeats: &[Vec<Measurement>]) -> Vec<Summary> {
    let of = |durability: Durability, mode: Mode| -> Vec<&Measurement> {
        repeats
            .iter()
            .flatten()
            .filter(|of| of.mode == mode && of.durability == durability)
            .collect()
    };
    let all = repeats.iter().flatten();
    let mut variants: Vec<_> = all.map(|each| (each.durability, each.mode)).collect();
    variants.sort();
    variants.dedup();
    variants
        .into_iter()
        .map(|(durability, mode)| {
            let runs = of(durability, mode);
            let sequential = of(durability, Mode::Sequential);
            let ratios: Vec<f64> = runs
                .iter()
                .zip(&sequential)
                .map(|(run, sequential)| {
                    run.operations_per_second / sequential.operations_per_second
                })
                .collect();
            summary(&runs, (!ratios.is_empty()).then(|| Spread::of(&ratios)))
        })
        .collect()
}

fn summary(runs: &[&Measurement], times_sequential: Option<Spread>) -> Summary {
    let spread = |field: fn(&Measurement) -> f64| {
        Spread::of(&runs.iter().map(|run| field(run)).collect::<Vec<_>>())
    };
    let median = |field: fn(&Measurement) -> f64| spread(field).median;
    let median_of_known = |field: fn(&Measurement) -> Option<f64>| {
        let known: Vec<f64> = runs.iter().filter_map(|run| field(run)).collect();
        (!known.is_empty()).then(|| Spread::of(&known).median)
    };
    let extra = runs[0].extra.keys().map(|key| {
        let values: Vec<f64> = runs
            .iter()
            .filter_map(|run| run.extra.get(key).copied())
            .collect();
        (key.clone(), Spread::of(&values).median)
    });
    let operations_per_second_spread = spread(|run| run.operations_per_second);
    Summary {
        median: Measurement {
            seconds: median(|run| run.seconds),
            in_flight_effective: median_of_known(|run| run.in_flight_effective),
            transactions_per_second: median(|run| run.transactions_per_second),
            operations_per_second: operations_per_second_spread.median,
            latency_ns: LatencyNs {
                p50: median(|run| run.latency_ns.p50 as f64) as u64,
                p99: median(|run| run.latency_ns.p99 as f64) as u64,
                p999: median(|run| run.latency_ns.p999 as f64) as u64,
            },
            aborts: median(|run| run.aborts as f64) as u64,
            // Not a median: one wrong answer is one too many.
            verified: runs.iter().all(|run| run.verified),
            limit_lines_per_second: median(|run| run.limit_lines_per_second),
            lines_per_operation: median_of_known(|run| run.lines_per_operation),
            extra: extra.collect(),
            ..runs[0].clone()
        },
        operations_per_second_spread,
        times_sequential,
        limit_share: median_of_known(Measurement::limit_share),
        repeats: (1..)
            .zip(runs)
            .map(|(repeat, run)| RepeatSummary {
                repeat,
                transactions_per_second: run.transactions_per_second,
                operations_per_second: run.operations_per_second,
                limit_lines_per_second: run.limit_lines_per_second,
                aborts: run.aborts,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::measurement;

    #[test]
    fn ratios_are_taken_within_each_repeat() {
        // The machine slows by half in the second repeat; the ratio does not.
        let repeats = [(100.0, 300.0), (50.0, 160.0), (100.0, 310.0)].map(|(slow, fast)| {
            vec![
                measurement(Mode::Interleaved, fast),
                measurement(Mode::Sequential, slow),
            ]
        });
        let summaries = summarise(&repeats);
        assert_eq!(summaries.len(), 2);
        assert_eq!(summaries[0].median.mode, Mode::Sequential);
        let interleaved = &summaries[1];
        assert_eq!(interleaved.times_sequential.unwrap().median, 3.1);
        assert_eq!(interleaved.times_sequential.unwrap().max, 3.2);
        assert_eq!(interleaved.median.operations_per_second, 300.0);
        assert_eq!(interleaved.operations_per_second_spread.min, 160.0);
        assert_eq!(interleaved.repeats.len(), 3);
        assert_eq!(interleaved.repeats[1].repeat, 2);
    }

    #[test]
    fn without_the_sequential_mode_there_is_no_ratio() {
        let summaries = summarise(&[vec![measurement(Mode::Prefetch, 1.0)]]);
        assert_eq!(summaries[0].times_sequential, None);
    }

    #[test]
    fn one_wrong_repeat_makes_the_whole_unverified() {
        let mut wrong = measurement(Mode::Sequential, 1.0);
        wrong.verified = false;
        let right = || vec![measurement(Mode::Sequential, 1.0)];
        assert!(
            !summarise(&[right(), vec![wrong], right()])[0]
                .median
                .verified
        );
    }
}
