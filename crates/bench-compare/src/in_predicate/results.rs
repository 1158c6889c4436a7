//! Results: one [`Sample`] per contender and repeat, one [`Summary`] per contender.

use bench::measure::{COMMIT, Spread};
use serde::Serialize;

use super::{Answer, Identity, Request, Taken, ours};

/// Facts that all results share.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Facts {
    /// The benchmark, `"in-predicate"`.
    pub(crate) benchmark: &'static str,
    /// Distinct values of the column.
    pub(crate) values: u32,
    /// Rows of the column.
    pub(crate) rows: u32,
    /// Values in a list.
    pub(crate) list_length: usize,
    /// Whether lists are in order.
    pub(crate) is_sorted: bool,
    /// Share of the values of a list that are absent from the column's dictionary, in percent.
    pub(crate) absent_percent: f64,
    /// Number of lists in each repeat.
    pub(crate) batches: u32,
    /// Number of rows that all contenders have to find for the first list.
    pub(crate) rows_found: u64,
    /// Sum of the numbers of these rows, each mixed.
    pub(crate) checksum: u64,
    /// Whether all contenders have found these rows.
    pub(crate) is_agreed: bool,
    /// Seed of every random choice.
    pub(crate) seed: u64,
    /// Source version of Weft and this program, where known.
    pub(crate) commit: Option<&'static str>,
}

impl Facts {
    /// Returns the facts of a request; `found` has the count and the checksum of the first list's
    /// rows.
    pub(super) fn new(request: &Request, found: (u64, u64), is_agreed: bool) -> Self {
        Self {
            benchmark: "in-predicate",
            values: request.values,
            rows: request.rows,
            list_length: request.lists.len,
            is_sorted: request.lists.is_sorted,
            absent_percent: request.lists.absent_percent,
            batches: request.batches,
            rows_found: found.0,
            checksum: found.1,
            is_agreed,
            seed: request.lists.seed,
            commit: COMMIT,
        }
    }
}

/// One repeat of one contender.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Index of the contender among the identities.
    pub(crate) contender: usize,
    /// Number of the repeat, from 0.
    pub(crate) repeat: u32,
    /// Milliseconds of a query, the median over the lists.
    pub(crate) milliseconds: f64,
    /// Whether every answer was right.
    pub(crate) verified: bool,
}

/// One contender over all repeats.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    /// Identity of the contender.
    #[serde(flatten)]
    pub(crate) identity: Identity,
    /// Milliseconds of a query.
    pub(crate) milliseconds: Spread,
    /// Nanoseconds of a query for each value of the list.
    pub(crate) nanoseconds_per_value: f64,
    /// Time as a multiple of that of Weft's automatic execution for the same answer, taken in each
    /// repeat.
    pub(crate) weft_times: Spread,
    /// Whether every answer was right.
    pub(crate) verified: bool,
}

/// The whole comparison.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// Facts that all results share.
    pub(crate) facts: Facts,
    /// The engines, and their set-ups.
    pub(crate) configurations: Vec<(&'static str, String)>,
    /// Identities of the contenders.
    pub(crate) identities: Vec<Identity>,
    /// Samples of every repeat and contender.
    pub(crate) samples: Vec<Sample>,
}

impl Comparison {
    /// Returns whether every answer was right.
    pub(crate) fn verified(&self) -> bool {
        self.facts.is_agreed && self.samples.iter().all(|sample| sample.verified)
    }

    /// Returns the time of `sample` relative to Weft's automatic execution for the same answer in
    /// the same repeat.
    pub(crate) fn weft_times(&self, sample: &Sample) -> f64 {
        let answer = self.identities[sample.contender].answer;
        let base = self.samples.iter().find(|other| {
            let identity = self.identities[other.contender];
            let is_base = identity.engine == ours::ENGINE && identity.form == ours::AUTO;
            is_base && identity.answer == answer && other.repeat == sample.repeat
        });
        // Weft is part of every comparison.
        base.map_or(f64::NAN, |base| sample.milliseconds / base.milliseconds)
    }

    /// Returns a summary of each contender.
    pub(crate) fn summaries(&self) -> Vec<Summary> {
        let all = self.identities.iter().enumerate();
        all.map(|(contender, &identity)| {
            let of = self.samples.iter();
            let of: Vec<&Sample> = of.filter(|sample| sample.contender == contender).collect();
            let times: Vec<f64> = of.iter().map(|sample| sample.milliseconds).collect();
            let ratios: Vec<f64> = of.iter().map(|sample| self.weft_times(sample)).collect();
            let milliseconds = Spread::of(&times);
            Summary {
                identity,
                milliseconds,
                nanoseconds_per_value: milliseconds.median * 1e6 / self.facts.list_length as f64,
                weft_times: Spread::of(&ratios),
                verified: of.iter().all(|sample| sample.verified),
            }
        })
        .collect()
    }
}

/// Returns the fastest form of the other engine for `answer` with `threads` threads; with
/// `is_ready`, among all forms, otherwise among those that take the list within the time.
pub(crate) fn best(
    summaries: &[Summary],
    answer: Answer,
    threads: usize,
    is_ready: bool,
) -> Option<&Summary> {
    let others = summaries.iter().filter(|one| {
        let identity = one.identity;
        identity.engine != ours::ENGINE
            && (identity.answer, identity.threads) == (answer, threads)
            && (is_ready || identity.list != Taken::Ready)
    });
    others.min_by(|one, other| {
        let time = |of: &Summary| of.milliseconds.median;
        time(one).total_cmp(&time(other))
    })
}
