//! What came out of a run.

use std::{collections::BTreeMap, time::Duration};

use isolation::{
    Anomaly, Edges, Level, Verdict,
    history::{Outcome, Transaction},
};

/// Explanations kept of each anomaly.
const EXAMPLES_MAX: usize = 3;

/// An anomaly that was observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Occurrences found.
    pub count: u64,
    /// There may be more.
    pub more: bool,
    /// Some of them, the shortest first: words, and a drawing.
    pub examples: Vec<(String, String)>,
}

/// What came out of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Transactions, each attempt counted.
    pub transactions: u64,
    /// Those that committed.
    pub committed: u64,
    /// Those that did not, by reason.
    pub aborted: BTreeMap<String, u64>,
    /// Those of which nobody knows, by reason.
    pub unknown: BTreeMap<String, u64>,
    /// Of those, the ones that others saw.
    pub unknown_committed: u64,
    /// Operations of transactions that committed.
    pub operations: u64,
    /// Edges of all graphs.
    pub edges: Edges,
    /// Batches.
    pub batches: u64,
    /// Crashes.
    pub crashes: u64,
    /// How long transactions ran.
    pub running: Duration,
    /// How long histories were checked.
    pub checking: Duration,
    /// All anomalies.
    pub observed: BTreeMap<Anomaly, Observed>,
    /// All transactions, if they were to be kept.
    pub history: Vec<Transaction>,
}

impl Summary {
    /// The summary of one history.
    pub fn of(history: &[Transaction], verdict: &Verdict) -> Summary {
        let mut summary = Summary::default();
        summary.add(history, verdict);
        summary
    }

    /// Counts a history in.
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

    /// The anomalies that a level forbids, the worst first.
    pub fn forbidden(&self, level: Level) -> impl Iterator<Item = (Anomaly, &Observed)> {
        let all = self.observed.iter().map(|(&anomaly, it)| (anomaly, it));
        all.filter(move |&(anomaly, _)| level.forbids(anomaly))
    }

    /// The anomalies that a level allows, the worst first.
    pub fn allowed(&self, level: Level) -> impl Iterator<Item = (Anomaly, &Observed)> {
        let all = self.observed.iter().map(|(&anomaly, it)| (anomaly, it));
        all.filter(move |&(anomaly, _)| !level.forbids(anomaly))
    }

    /// Whether the run kept to a level.
    pub fn satisfies(&self, level: Level) -> bool {
        self.forbidden(level).next().is_none()
    }
}
