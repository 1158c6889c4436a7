//! Dependencies between transactions, from the order of versions.
//!
//! | edge | if |
//! | --- | --- |
//! | ww | the first wrote a version that the second's write follows |
//! | wr | the second read a version that the first wrote |
//! | rw | the second wrote a version that follows what the first had read or not found |
//!
//! Only the next version counts: later ones are reached through ww.

use crate::{
    anomaly::Anomaly,
    graph::{Edge, Graph, Kind, Reason},
    history::{Key, Transaction, UNBORN, Version},
    observations::{Observations, Read, Seen, is_dead},
    verdict::Findings,
    versions::{Absence, Follower, How, Versions},
};

/// Collects all dependencies of a history, and the lost updates that show on the
/// way. With `strict`, adds those that only strict levels have.
pub(crate) fn all(
    history: &[Transaction],
    observations: &Observations,
    versions: &Versions,
    findings: &mut Findings<'_>,
) -> Graph {
    let mut dependencies = Dependencies {
        history,
        observations,
        versions,
        graph: Graph::new(history.len()),
    };
    for (&(key, version), followers) in &versions.followers {
        dependencies.writes(key, version, followers);
        branches(history, observations, key, version, followers, findings);
    }
    for read in &observations.reads {
        dependencies.read(read);
    }
    dependencies.graph
}

struct Dependencies<'h> {
    history: &'h [Transaction],
    observations: &'h Observations,
    versions: &'h Versions,
    graph: Graph,
}

impl Dependencies<'_> {
    /// Returns the transaction that made a version, if it counts.
    fn writer(&self, key: Key, version: Version) -> Option<usize> {
        writer(self.observations, key, version)
    }

    fn edge(&mut self, from: usize, to: usize, kind: Kind, reason: Reason) {
        if from != to {
            let reason = self.graph.reason(reason);
            self.graph.add(Edge {
                from: from as u32,
                to: to as u32,
                kind,
                reason,
            });
        }
    }

    fn writes(&mut self, key: Key, version: Version, followers: &[Follower]) {
        let Some(before) = self.writer(key, version) else {
            return;
        };
        for follower in followers {
            if let Some(after) = self.writer(key, follower.version) {
                let reason = Reason::of(key, version, follower.version);
                self.edge(before, after, Kind::Ww, reason);
            }
        }
    }

    fn read(&mut self, read: &Read) {
        let Read {
            transaction, key, ..
        } = *read;
        match read.seen {
            Seen::Version(version) => {
                if let Some(writer) = self.writer(key, version) {
                    let reason = Reason::of(key, version, version);
                    self.edge(writer, transaction, Kind::Wr, reason);
                }
                self.replaced(read, version, Kind::Rw);
            }
            Seen::Absent => match self.versions.absence_read(self.history, read) {
                Absence::Unborn if read.predicate => {
                    self.replaced(read, UNBORN, Kind::RwPredicate);
                }
                Absence::Unborn => self.replaced(read, UNBORN, Kind::Rw),
                Absence::DeadIfStrict(dead) => {
                    if let Some(deleter) = self.writer(key, dead) {
                        let reason = Reason::of(key, dead, dead);
                        self.edge(deleter, transaction, Kind::WrIfStrict, reason);
                    }
                }
                Absence::Unknown => {}
            },
            Seen::Present => self.present(transaction, key),
        }
    }

    fn replaced(&mut self, read: &Read, version: Version, kind: Kind) {
        let versions = self.versions;
        for follower in versions.followers(read.key, version) {
            if let Some(writer) = self.writer(read.key, follower.version) {
                let reason = Reason {
                    operation: read.operation as u32,
                    ..Reason::of(read.key, version, follower.version)
                };
                self.edge(read.transaction, writer, kind, reason);
            }
        }
    }

    /// Notes that `transaction` saw a record: after it was made, and before it was
    /// deleted.
    fn present(&mut self, transaction: usize, key: Key) {
        let Some(life) = self.versions.lives.get(&key) else {
            return;
        };
        let (creator, delete) = (life.only_creator(), life.only_delete());
        if let Some(creator) = creator {
            let reason = Reason::of(key, UNBORN, UNBORN);
            self.edge(creator, transaction, Kind::Wr, reason);
        }
        if let Some((deleter, dead)) = delete {
            let reason = Reason::of(key, UNBORN, dead);
            self.edge(transaction, deleter, Kind::Rw, reason);
        }
    }
}

fn writer(observations: &Observations, key: Key, version: Version) -> Option<usize> {
    let writer = observations.writers.get(&(key, version))?.transaction;
    observations.counts[writer].then_some(writer)
}

/// Reports versions that several others follow.
fn branches(
    history: &[Transaction],
    observations: &Observations,
    key: Key,
    version: Version,
    followers: &[Follower],
    findings: &mut Findings<'_>,
) {
    let known: Vec<_> = followers
        .iter()
        .filter(|follower| follower.how != How::Only)
        .filter_map(|it| Some((writer(observations, key, it.version)?, it)))
        .collect();
    if known.len() < 2 {
        return;
    }
    let transactions: Vec<usize> = known.iter().map(|&(writer, _)| writer).collect();
    let names: Vec<String> = known
        .iter()
        .map(|(writer, it)| format!("T{} by {}", history[*writer].number, shown(it.version)))
        .collect();
    let (version, names) = (shown(version), names.join(", "));
    if known.iter().all(|(_, it)| it.how == How::Built) {
        let story = format!("all saw {version} in record {key} and replaced it: {names}");
        findings.direct(Anomaly::LostUpdate, &transactions, story);
    } else {
        let story = format!("in record {key}, {version} is followed in several ways: {names}");
        findings.direct(Anomaly::IncompatibleOrder, &transactions, story);
    }
}

/// Formats a version for display.
pub(crate) fn shown(version: Version) -> String {
    match version {
        UNBORN => "nothing".to_owned(),
        version if is_dead(version) => "a delete".to_owned(),
        version => version.to_string(),
    }
}
