//! Statistics of one column, from its values in a sample.
//!
//! The number of different values is estimated by Haas and Stokes, "Estimating the number of
//! classes in a finite population" (1998), their estimator Duj1, as PostgreSQL does. The common
//! values are chosen as in PostgreSQL before version 11: a common value is a quarter more frequent
//! than the average.

use std::cmp::Ordering;

use interleave::Turn;
use types::{Result, Type, Value, compare::compare_as, row::RowLayout};

use super::VALUE_BYTES_MAX;
use batch::sort_by;
use catalog::{ColumnStatistics, CommonValue, Distinct, StoredValue};

/// Maximum number of values that are kept as common.
pub(super) const COMMON_MAX: usize = 100;
/// Maximum number of parts of a histogram.
const PARTS_MAX: usize = 100;
/// Frequency of a common value, at least, in multiples of the average.
const COMMON_FACTOR: f64 = 1.25;
/// Occurrences of a common value in the sample, at least; fewer may have been met by chance.
const COMMON_COUNT_MIN: f64 = 5.0;
/// Share of different values among the rows above which their number is thought to grow with the
/// rows.
const GROWING_FRACTION: f64 = 0.1;

/// Counts of a column's values as they come.
pub(super) struct Seen {
    pub(super) layout: RowLayout,
    /// Bytes of each value; 0 if they vary.
    pub(super) fixed_width: usize,
    nulls: usize,
    /// Number of values that were too long to be kept.
    wide: usize,
    bytes: usize,
}

/// A run of equal values.
struct Run {
    first: usize,
    count: usize,
}

impl Seen {
    pub(super) fn new(ty: Type) -> Result<Self> {
        Ok(Self {
            layout: RowLayout::new(&[ty])?,
            fixed_width: super::fixed_width(ty),
            nulls: 0,
            wide: 0,
            bytes: 0,
        })
    }

    /// Counts a value of `bytes` bytes; returns whether the value is to be kept.
    pub(super) fn count(&mut self, value: Value<'_>, bytes: usize) -> bool {
        if value.is_null() {
            self.nulls += 1;
            return false;
        }
        self.bytes += bytes;
        let is_wide = bytes > VALUE_BYTES_MAX;
        self.wide += usize::from(is_wide);
        !is_wide
    }

    /// Returns statistics from the values that were kept, of `sampled` rows among `rows`.
    pub(super) async fn summarize(
        &self,
        ty: Type,
        mut values: Vec<Value<'_>>,
        sampled: usize,
        rows: f64,
        turn: &Turn,
    ) -> Result<ColumnStatistics> {
        let present = values.len() + self.wide;
        let null_fraction = self.nulls as f64 / sampled as f64;
        let mut found = ColumnStatistics {
            ty,
            null_fraction,
            average_width: self.bytes as f64 / present.max(1) as f64,
            distinct: None,
            common: Vec::new(),
            histogram: Vec::new(),
        };
        if !ty.is_ordered() || present == 0 {
            return Ok(found);
        }
        sort_by(&mut values, turn, |one, two| compare_as(ty, *one, *two)).await;
        let runs = runs(ty, &values, turn).await;
        let different = runs.len() + self.wide;
        let single = runs.iter().filter(|run| run.count == 1).count() + self.wide;
        let population = rows.max(sampled as f64) * (1.0 - null_fraction);
        let distinct = distinct(different, single, present, population);
        found.distinct = Some(growing(distinct, population, rows));
        let common = common(&runs, single == 0, present, distinct);
        for run in &common {
            found.common.push(CommonValue {
                value: StoredValue::new(ty, values[run.first])?,
                fraction: run.count as f64 / sampled as f64,
            });
        }
        let mut is_common = vec![false; values.len()];
        for run in &common {
            is_common[run.first..run.first + run.count].fill(true);
        }
        let others = values.iter().zip(&is_common);
        let others: Vec<Value<'_>> = others
            .filter(|(_, is_common)| !**is_common)
            .map(|(value, _)| *value)
            .collect();
        turn.pause(values.len() / 16).await;
        let others_differ = runs.len() - common.len();
        if others_differ >= 2 {
            let bounds = (PARTS_MAX + 1).min(others_differ);
            for bound in 0..bounds {
                let at = bound * (others.len() - 1) / (bounds - 1);
                found.histogram.push(StoredValue::new(ty, others[at])?);
            }
        }
        Ok(found)
    }
}

async fn runs(ty: Type, values: &[Value<'_>], turn: &Turn) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, value) in values.iter().enumerate() {
        turn.pause(1).await;
        match runs.last_mut() {
            Some(run) if compare_as(ty, values[run.first], *value) == Ordering::Equal => {
                run.count += 1;
            }
            _ => runs.push(Run {
                first: at,
                count: 1,
            }),
        }
    }
    runs
}

/// Estimates the number of different values among `population` values, of which `present` were
/// seen: `different` different ones, `single` of them once.
pub(super) fn distinct(different: usize, single: usize, present: usize, population: f64) -> f64 {
    let (different, single, present) = (different as f64, single as f64, present as f64);
    if single >= different {
        // No value came twice; probably all values differ.
        return population;
    }
    let estimate = present * different / (present - single + single * present / population);
    estimate.clamp(different, population.max(different))
}

/// Returns a number of different values among `population`, in a table of `rows` rows, as one that grows with the rows
/// if it is a large part of the population.
pub(super) fn growing(distinct: f64, population: f64, rows: f64) -> Distinct {
    match distinct > GROWING_FRACTION * population {
        true => Distinct::Fraction(distinct / rows.max(1.0)),
        false => Distinct::Count(distinct),
    }
}

/// Returns the runs whose values are common, the most common first. `complete` says that all values
/// came more than once, so that there are probably no others.
fn common(runs: &[Run], complete: bool, present: usize, distinct: f64) -> Vec<Run> {
    let mut common: Vec<Run> = runs
        .iter()
        .filter(|run| run.count > 1)
        .map(|run| Run { ..*run })
        .collect();
    common.sort_by_key(|run| std::cmp::Reverse(run.count));
    if complete && runs.len() <= COMMON_MAX {
        return common;
    }
    let average = present as f64 / distinct;
    // A value that fills a part of the histogram by itself is common.
    let least = (COMMON_FACTOR * average)
        .min(present as f64 / PARTS_MAX as f64)
        .max(COMMON_COUNT_MIN);
    common.retain(|run| run.count as f64 > least);
    common.truncate(COMMON_MAX);
    common
}
