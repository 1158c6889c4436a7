//! Results of a run.

use std::{collections::BTreeMap, time::Duration};

use isolation::{
    Anomaly, Edges, Level, Verdict,
    history::{Outcome, Transaction},
};

/// Explanations kept of each anomaly.
const EXAMPLES_MAX: usize = 3;

/// An anomaly that was observed, with examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Occurrences found.
    pub count: u64,
    /// Whether there may be more occurrences.
    pub more: bool,
    /// Shortest occurrences, the shortest first: words, and a drawing.
    pub examples: Vec<(String, String)>,
}

/// Results of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Number of transactions, each attempt counted.
    pub transactions: u64,
    /// Number of transactions that committed.
    pub committed: u64,
    /// Numbers of transactions that did not commit, by reason.
    pub aborted: BTreeMap<String, u64>,
    /// Numbers of transactions whose outcome is unknown, by reason.
    pub unknown: BTreeMap<String, u64>,
    /// Number of unknown transactions whose writes were seen by others.
    pub unknown_committed: u64,
    /// Number of operations of transactions that committed.
    pub operations: u64,
    /// Edges of all graphs.
    pub edges: Edges,
    /// Number of batches.
    pub batches: u64,
    /// Number of crashes.
    pub crashes: u64,
    /// Time for which transactions ran.
    pub running: Duration,
    /// Time for which histories were checked.
    pub checking: Duration,
    /// Observations of all anomalies.
    pub observed: BTreeMap<Anomaly, Observed>,
    /// All transactions, if they are kept.
    pub history: Vec<Transaction>,
}

impl Summary {
    /// Returns the summary of one history.
    pub fn of(history: &[Transaction], verdict: &Verdict) -> Summary {
        let mut summary = Summary::default();
        summary.add(history, verdict);
        summary
    }

    /// Adds a history and its verdict.
    pub(crate) fn add(&mut self, history: &[Transaction], verdict: &Verdict) {
        self.batches += 1;
        self.transactions += verdict.transactions;
        self.committed += verdict.committed;
        self.unknown_committed += verdict.unknown_committed;
        self.operations += verdict.operations;
        let (sum, edges) = (&mut self.edges, &verdict.edges);
        sum.ww += edges.ww;
        sum.wr += edges.wr;
        sum.rw += edges.rw;
        sum.rw_predicate += edges.rw_predicate;
        sum.order += edges.order;
        for transaction in history {
            let why = transaction.why.as_deref().unwrap_or("no reason known");
            let counts = match transaction.outcome {
                Outcome::Committed => continue,
                Outcome::Aborted => &mut self.aborted,
                Outcome::Unknown => &mut self.unknown,
            };
            *counts.entry(why.to_owned()).or_default() += 1;
        }
        for (&anomaly, found) in &verdict.found {
            let observed = self.observed.entry(anomaly).or_default();
            observed.count += found.count;
            observed.more |= found.more;
            for example in found.examples.iter().take(EXAMPLES_MAX) {
                let told = (example.explain(history), example.dot(history));
                observed.examples.push(told);
            }
            observed
                .examples
                .sort_by_key(|(told, _)| told.lines().count());
            observed.examples.truncate(EXAMPLES_MAX);
        }
    }

    /// Returns the anomalies that `level` forbids, the worst first.
    pub fn forbidden(&self, level: Level) -> impl Iterator<Item = (Anomaly, &Observed)> {
        let all = self.observed.iter().map(|(&anomaly, it)| (anomaly, it));
        all.filter(move |&(anomaly, _)| level.forbids(anomaly))
    }

    /// Returns the anomalies that `level` allows, the worst first.
    pub fn allowed(&self, level: Level) -> impl Iterator<Item = (Anomaly, &Observed)> {
        let all = self.observed.iter().map(|(&anomaly, it)| (anomaly, it));
        all.filter(move |&(anomaly, _)| !level.forbids(anomaly))
    }

    /// Returns whether the run satisfies `level`.
    pub fn satisfies(&self, level: Level) -> bool {
        self.forbidden(level).next().is_none()
    }
}
