//! The report of a checked history: for people and for programs.

use std::collections::BTreeMap;
use std::fmt;

use histories::{Observed, Summary};
use isolation::{Anomaly, Level};
use serde_json::{Value, json};

/// A run and the level that it is held to.
pub(super) struct Report<'s> {
    pub(super) summary: &'s Summary,
    pub(super) level: Level,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = self.summary;
        let mut line = |name: &str, value: String| writeln!(f, "{name:<22}{value:>12}");
        line("transactions", summary.transactions.to_string())?;
        line("  committed", summary.committed.to_string())?;
        for (why, count) in &summary.aborted {
            line(&format!("  {why}"), count.to_string())?;
        }
        let unknown: u64 = summary.unknown.values().sum();
        line("  outcome unknown", unknown.to_string())?;
        if unknown > 0 {
            line("    seen by others", summary.unknown_committed.to_string())?;
        }
        line("operations", summary.operations.to_string())?;
        let seconds = summary.running.as_secs_f64();
        if seconds > 0.0 {
            let rate = summary.operations as f64 / seconds;
            line("operations/s", format!("{rate:.0}"))?;
            line("seconds running", format!("{seconds:.1}"))?;
            let checking = summary.checking.as_secs_f64();
            line("seconds checking", format!("{checking:.1}"))?;
        }
        if summary.crashes > 0 {
            line("crashes", summary.crashes.to_string())?;
        }
        let edges = &summary.edges;
        line("edges ww", edges.ww.to_string())?;
        line("edges wr", edges.wr.to_string())?;
        line("edges rw", edges.rw.to_string())?;
        line("edges rw, by scans", edges.rw_predicate.to_string())?;
        writeln!(f)?;
        self.anomalies(f, "allowed by the level", &|it| !self.level.forbids(it))?;
        self.anomalies(f, "FORBIDDEN by the level", &|it| self.level.forbids(it))?;
        writeln!(f, "held to {}", self.level)?;
        writeln!(f, "satisfies {}", super::satisfied(summary))?;
        for (_, observed) in summary.forbidden(self.level) {
            if let Some((told, _)) = observed.examples.first() {
                write!(f, "\n{told}")?;
            }
        }
        Ok(())
    }
}

impl Report<'_> {
    fn anomalies(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        wanted: &dyn Fn(Anomaly) -> bool,
    ) -> fmt::Result {
        let mut found = self.summary.observed.iter().filter(|(it, _)| wanted(**it));
        let Some(first) = found.next() else {
            return writeln!(f, "observed, {title}: nothing\n");
        };
        writeln!(f, "observed, {title}:")?;
        for (anomaly, observed) in std::iter::once(first).chain(found) {
            let least = if observed.more { "at least " } else { "" };
            let count = format!("{least}{}", observed.count);
            let (name, meaning) = (anomaly.name(), anomaly.meaning());
            writeln!(f, "  {name:<22}{count:>18}  {meaning}")?;
        }
        writeln!(f)
    }

    pub(super) fn json(&self) -> Value {
        let summary = self.summary;
        let edges = &summary.edges;
        let observed: BTreeMap<_, _> = summary
            .observed
            .iter()
            .map(|(anomaly, observed)| (anomaly.name(), self.observed(*anomaly, observed)))
            .collect();
        json!({
            "level": self.level.to_string(),
            "holds": summary.satisfies(self.level),
            "satisfies": super::satisfied(summary),
            "transactions": summary.transactions,
            "committed": summary.committed,
            "aborted": summary.aborted,
            "unknown": summary.unknown,
            "unknown_seen": summary.unknown_committed,
            "operations": summary.operations,
            "seconds_running": summary.running.as_secs_f64(),
            "seconds_checking": summary.checking.as_secs_f64(),
            "batches": summary.batches,
            "crashes": summary.crashes,
            "edges": {
                "ww": edges.ww,
                "wr": edges.wr,
                "rw": edges.rw,
                "rw_predicate": edges.rw_predicate,
                "order": edges.order,
            },
            "observed": observed,
        })
    }

    fn observed(&self, anomaly: Anomaly, observed: &Observed) -> Value {
        let examples: Vec<_> = observed.examples.iter().map(|(told, _)| told).collect();
        json!({
            "meaning": anomaly.meaning(),
            "forbidden": self.level.forbids(anomaly),
            "count": observed.count,
            "at_least": observed.more,
            "examples": examples,
        })
    }
}
