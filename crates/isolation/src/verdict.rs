//! The result of a check.

use std::collections::BTreeMap;

use crate::{
    anomaly::Anomaly,
    cycles, dependencies,
    graph::{Graph, Kind, Reason},
    history::{Outcome, Transaction},
    level::Level,
    observations::Observations,
    order,
    versions::Versions,
};

/// Maximum findings kept for an anomaly, the shortest first.
const EXAMPLES_MAX: usize = 8;

/// One step of a cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: Kind,
    pub(crate) reason: Reason,
}

#[derive(Clone, Debug)]
pub(crate) enum Evidence {
    /// An observation in words.
    Story(String),
    /// A cycle: each transaction comes before the next, and the last before the
    /// first.
    Cycle(Vec<Step>),
}

/// An anomaly that was observed once.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The anomaly.
    pub anomaly: Anomaly,
    /// Indices of the transactions that show the anomaly.
    pub transactions: Vec<usize>,
    pub(crate) evidence: Evidence,
}

/// The occurrences of an anomaly.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Number of different occurrences found; at most one cycle for each edge that
    /// closes one.
    pub count: u64,
    /// Whether there may be more.
    pub more: bool,
    /// Some of the occurrences, the shortest first.
    pub examples: Vec<Finding>,
}

/// Numbers of edges in the graph that cycles were searched for in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// Pairs of a version's writer and the writer of a version that follows it.
    pub ww: u64,
    /// Pairs of a version's writer and a reader of it.
    pub wr: u64,
    /// Pairs of a version's reader and the writer that replaced it.
    pub rw: u64,
    /// Pairs of a scan and a transaction that made a record which the scan had not
    /// found.
    pub rw_predicate: u64,
    /// Edges for the orders of processes and of time, moments included.
    pub order: u64,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Transactions of the history.
    pub transactions: u64,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that aborted.
    pub aborted: u64,
    /// Transactions of unknown outcome.
    pub unknown: u64,
    /// Transactions of unknown outcome that must have committed.
    pub unknown_committed: u64,
    /// Operations of transactions that committed.
    pub operations: u64,
    /// The edges of the graph.
    pub edges: Edges,
    /// All anomalies, by name.
    pub found: BTreeMap<Anomaly, Found>,
}

/// Checks a history for all anomalies.
pub fn check(history: &[Transaction]) -> Verdict {
    let mut verdict = Verdict::default();
    let mut findings = Findings {
        history,
        found: &mut verdict.found,
    };
    let observations = Observations::of(history, &mut findings);
    let versions = Versions::of(history, &observations);
    let mut graph = dependencies::all(history, &observations, &versions, &mut findings);
    order::add(&mut graph, history, &observations.counts);
    graph.sort();
    cycles::find(&graph, &mut findings);
    verdict.count(history, &observations, &graph);
    verdict
}

impl Verdict {
    fn count(&mut self, history: &[Transaction], observations: &Observations, graph: &Graph) {
        self.transactions = history.len() as u64;
        for (index, transaction) in history.iter().enumerate() {
            match transaction.outcome {
                Outcome::Committed => self.committed += 1,
                Outcome::Aborted => self.aborted += 1,
                Outcome::Unknown => {
                    self.unknown += 1;
                    self.unknown_committed += u64::from(observations.counts[index]);
                }
            }
            if observations.counts[index] {
                self.operations += transaction.operations.len() as u64;
            }
        }
        let edges = &mut self.edges;
        for edge in &graph.edges {
            *match edge.kind {
                Kind::Ww => &mut edges.ww,
                Kind::Wr | Kind::WrIfStrict => &mut edges.wr,
                Kind::Rw => &mut edges.rw,
                Kind::RwPredicate => &mut edges.rw_predicate,
                Kind::Process | Kind::Realtime | Kind::Time => &mut edges.order,
            } += 1;
        }
    }

    /// Returns the anomalies that were observed and that `level` forbids, the worst
    /// first.
    pub fn forbidden(&self, level: Level) -> impl Iterator<Item = (Anomaly, &Found)> {
        self.observed(move |anomaly| level.forbids(anomaly))
    }

    /// Returns the anomalies that were observed and that `level` allows, the worst
    /// first.
    pub fn allowed(&self, level: Level) -> impl Iterator<Item = (Anomaly, &Found)> {
        self.observed(move |anomaly| !level.forbids(anomaly))
    }

    fn observed(
        &self,
        wanted: impl Fn(Anomaly) -> bool,
    ) -> impl Iterator<Item = (Anomaly, &Found)> {
        let found = self.found.iter().map(|(&anomaly, found)| (anomaly, found));
        found.filter(move |&(anomaly, _)| wanted(anomaly))
    }

    /// Returns whether the history is one of `level`.
    pub fn satisfies(&self, level: Level) -> bool {
        self.forbidden(level).next().is_none()
    }
}

/// Collects findings.
pub(crate) struct Findings<'v> {
    pub(crate) history: &'v [Transaction],
    pub(crate) found: &'v mut BTreeMap<Anomaly, Found>,
}

impl Findings<'_> {
    /// Adds an anomaly that needs no cycle.
    pub(crate) fn direct(&mut self, anomaly: Anomaly, transactions: &[usize], story: String) {
        let mut transactions = transactions.to_vec();
        transactions.dedup();
        self.add(Finding {
            anomaly,
            transactions,
            evidence: Evidence::Story(story),
        });
    }

    /// Adds a cycle; `more` says whether there may be more of them.
    pub(crate) fn cycle(&mut self, anomaly: Anomaly, steps: Vec<Step>, more: bool) {
        let first = (0..steps.len()).min_by_key(|&index| {
            let begins = &self.history[steps[index].from];
            (begins.begun, index)
        });
        let mut steps = steps;
        steps.rotate_left(first.unwrap_or(0));
        self.add(Finding {
            anomaly,
            transactions: steps.iter().map(|step| step.from).collect(),
            evidence: Evidence::Cycle(steps),
        });
        self.found.entry(anomaly).or_default().more |= more;
    }

    fn add(&mut self, finding: Finding) {
        let found = self.found.entry(finding.anomaly).or_default();
        found.count += 1;
        found.examples.push(finding);
        found.examples.sort_by_key(|it| it.transactions.len());
        found.examples.truncate(EXAMPLES_MAX);
    }
}
