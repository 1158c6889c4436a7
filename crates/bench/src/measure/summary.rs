//! Repeats of one mode taken together.

use serde::Serialize;

use super::{AbortReasons, KindMeasurement, LatencyNs, Measurement, Spread};
use crate::variant::Variant;

/// Results of one mode over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Fields that the repeats share, and the median of each number on its own.
    #[serde(flatten)]
    pub median: Measurement,
    /// Median and range of the operations per second.
    pub operations_per_second_spread: Spread,
    /// Operations per second relative to the sequential mode: taken in each repeat, then median and
    /// range. `None` without that mode.
    pub times_sequential: Option<Spread>,
    /// Operations per second relative to snapshot isolation in the same mode. `None` for that
    /// itself, and without it.
    pub times_snapshot: Option<Spread>,
    /// Aborts per transaction over all repeats relative to the sequential mode. `None` if that had
    /// none.
    pub aborts_times_sequential: Option<f64>,
    /// Cache lines touched as a share of the machine's limit.
    pub limit_share: Option<f64>,
    /// Results of the repeats, in the order they ran.
    pub repeats: Vec<RepeatSummary>,
}

/// Results kept of one repeat.
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
    /// Number of aborts in this repeat.
    pub aborts: u64,
    /// Number of aborts for each transaction that committed.
    pub aborts_per_transaction: f64,
}

/// Summarises the measurements of all repeats by variant, in the variants' order. `repeats[r]`
/// holds repeat `r` of every variant, in any order.
pub fn summarise(repeats: &[Vec<Measurement>]) -> Vec<Summary> {
    let of = |variant: Variant| -> Vec<&Measurement> {
        let all = repeats.iter().flatten();
        all.filter(|of| of.variant() == variant).collect()
    };
    let all = repeats.iter().flatten();
    let mut variants: Vec<_> = all.map(Measurement::variant).collect();
    variants.sort();
    variants.dedup();
    variants
        .into_iter()
        .map(|variant| {
            let runs = of(variant);
            let sequential = of(variant.sequential());
            let base = variant.on_snapshots();
            let on_snapshots = if base == variant {
                Vec::new()
            } else {
                of(base)
            };
            Summary {
                times_sequential: times(&runs, &sequential),
                times_snapshot: times(&runs, &on_snapshots),
                aborts_times_sequential: aborts_times(&runs, &sequential),
                ..summary(&runs)
            }
        })
        .collect()
}

/// Returns operations per second relative to `others`, repeat by repeat.
fn times(runs: &[&Measurement], others: &[&Measurement]) -> Option<Spread> {
    let ratios: Vec<f64> = runs
        .iter()
        .zip(others)
        .map(|(run, other)| run.operations_per_second / other.operations_per_second)
        .collect();
    (!ratios.is_empty()).then(|| Spread::of(&ratios))
}

/// Returns aborts per transaction relative to `others`, over all repeats together: one of them may
/// have had none.
fn aborts_times(runs: &[&Measurement], others: &[&Measurement]) -> Option<f64> {
    let sum = |of: &[&Measurement]| of.iter().map(|run| run.aborts_per_transaction).sum::<f64>();
    (sum(others) > 0.0).then(|| sum(runs) / sum(others))
}

/// Returns a summary without ratios.
fn summary(runs: &[&Measurement]) -> Summary {
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
    let kinds = (0..runs[0].kinds.len()).map(|kind| {
        let of_kind: Vec<_> = runs.iter().map(|run| &run.kinds[kind]).collect();
        KindMeasurement::median(&of_kind)
    });
    let operations_per_second_spread = spread(|run| run.operations_per_second);
    Summary {
        median: Measurement {
            seconds: median(|run| run.seconds),
            in_flight_effective: median_of_known(|run| run.in_flight_effective),
            transactions_per_second: median(|run| run.transactions_per_second),
            operations_per_second: operations_per_second_spread.median,
            latency_ns: LatencyNs::median(runs.iter().map(|run| run.latency_ns)),
            aborts: median(|run| run.aborts as f64) as u64,
            aborts_per_transaction: median(|run| run.aborts_per_transaction),
            aborts_by_reason: AbortReasons::from_each(std::array::from_fn(|reason| {
                let each: Vec<f64> = runs
                    .iter()
                    .map(|run| run.aborts_by_reason.each()[reason] as f64)
                    .collect();
                Spread::of(&each).median as u64
            })),
            // The field is no median: one wrong answer is one too many.
            verified: runs.iter().all(|run| run.verified),
            limit_lines_per_second: median(|run| run.limit_lines_per_second),
            lines_per_operation: median_of_known(|run| run.lines_per_operation),
            kinds: kinds.collect(),
            extra: extra.collect(),
            ..runs[0].clone()
        },
        operations_per_second_spread,
        times_sequential: None,
        times_snapshot: None,
        aborts_times_sequential: None,
        limit_share: median_of_known(Measurement::limit_share),
        repeats: (1..)
            .zip(runs)
            .map(|(repeat, run)| RepeatSummary {
                repeat,
                transactions_per_second: run.transactions_per_second,
                operations_per_second: run.operations_per_second,
                limit_lines_per_second: run.limit_lines_per_second,
                aborts: run.aborts,
                aborts_per_transaction: run.aborts_per_transaction,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Isolation;
    use crate::mode::Mode;
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
    fn levels_are_compared_with_snapshots_in_the_same_mode() {
        let serializable = |mode, operations| Measurement {
            isolation: Isolation::Serializable,
            aborts_per_transaction: 0.3,
            ..measurement(mode, operations)
        };
        let summaries = summarise(&[vec![
            measurement(Mode::Sequential, 100.0),
            serializable(Mode::Sequential, 80.0),
            measurement(Mode::Interleaved, 300.0),
            serializable(Mode::Interleaved, 270.0),
        ]]);
        let ratios = |of: fn(&Summary) -> Option<Spread>| -> Vec<_> {
            let ratios = summaries.iter().map(|summary| Some(of(summary)?.median));
            ratios.collect()
        };
        let times_snapshot = ratios(|summary| summary.times_snapshot);
        assert_eq!(times_snapshot, [None, None, Some(0.8), Some(0.9)]);
        let times_sequential = ratios(|summary| summary.times_sequential);
        assert_eq!(times_sequential[1], Some(3.0));
        assert_eq!(times_sequential[3], Some(270.0 / 80.0));
    }

    #[test]
    fn aborts_are_compared_where_there_are_any() {
        let aborting = |mode, aborts_per_transaction| Measurement {
            aborts_per_transaction,
            ..measurement(mode, 1.0)
        };
        let compare = |sequential: [f64; 2], interleaved: [f64; 2]| {
            let repeats = [0, 1].map(|repeat| {
                vec![
                    aborting(Mode::Sequential, sequential[repeat]),
                    aborting(Mode::Interleaved, interleaved[repeat]),
                ]
            });
            summarise(&repeats)[1].aborts_times_sequential
        };
        assert_eq!(compare([0.25, 0.0], [0.25, 0.25]), Some(2.0));
        assert_eq!(compare([0.0, 0.0], [0.25, 0.25]), None);
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
