//! Reads and writes of the transactions of a history, once their own writes are told
//! from those of others.
//!
//! A transaction counts if it committed, or if its outcome is unknown and a
//! transaction that counts saw something of it: it must have committed. The others
//! may never have taken effect.
//!
//! The walk (`walk.rs`) also finds the anomalies that a single read shows.

mod walk;

use self::walk::Walk;
use crate::{
    Map,
    history::{Action, Key, Outcome, Transaction, Value, Version},
    verdict::Findings,
};

/// The first of the versions that stand for absences after a delete, made up by the
/// checker.
const DEAD: Version = 1 << 63;

/// Returns whether a version is the absence after a delete.
pub(crate) fn is_dead(version: Version) -> bool {
    version & DEAD != 0
}

/// Content of a record as a transaction saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Version(Version),
    /// No record: never made, or deleted.
    Absent,
    /// Some record.
    Present,
}

/// A read of another transaction's version or of an absence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) transaction: usize,
    pub(crate) operation: usize,
    pub(crate) key: Key,
    pub(crate) seen: Seen,
    /// Whether a scan looked for the record.
    pub(crate) predicate: bool,
}

/// A write, by the version that it made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) transaction: usize,
    pub(crate) operation: usize,
    pub(crate) key: Key,
    pub(crate) version: Version,
    /// The last content of the record that its transaction had seen or written
    /// before.
    pub(crate) onto: Option<Seen>,
}

/// The transaction that wrote a version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    pub(crate) transaction: usize,
    /// Whether its transaction wrote nothing into the record afterwards.
    last: bool,
}

/// The observations of a history: see the module text.
pub(crate) struct Observations {
    pub(crate) reads: Vec<Read>,
    pub(crate) writes: Vec<Write>,
    pub(crate) writers: Map<(Key, Version), Writer>,
    /// Contents of lists by their last element.
    pub(crate) lists: Map<(Key, Version), Vec<Version>>,
    /// Whether a transaction counts.
    pub(crate) counts: Vec<bool>,
    /// Records that transactions of unknown outcome may have written; whether one of
    /// them may have deleted it.
    pub(crate) maybe: Map<Key, bool>,
}

impl Observations {
    /// Collects the observations of a history.
    pub(crate) fn of(history: &[Transaction], findings: &mut Findings<'_>) -> Observations {
        let writers = writers(history);
        let counts = counting(history, &writers);
        let mut maybe: Map<Key, bool> = Map::default();
        let mut keys = Vec::new();
        for (index, transaction) in history.iter().enumerate() {
            let unseen = transaction.outcome == Outcome::Unknown && !counts[index];
            for operation in &transaction.operations {
                let Some(key) = written(&operation.action) else {
                    continue;
                };
                if counts[index] {
                    keys.push(key);
                } else if unseen {
                    let deletes = matches!(operation.action, Action::Delete { .. });
                    *maybe.entry(key).or_default() |= deletes;
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let observations = Observations {
            reads: Vec::new(),
            writes: Vec::new(),
            lists: Map::default(),
            writers,
            counts,
            maybe,
        };
        Walk::new(observations, history, keys, findings).through()
    }
}

/// Returns the record that an action changed.
fn written(action: &Action) -> Option<Key> {
    match action {
        Action::Append { key, .. }
        | Action::Write { key, .. }
        | Action::Update { key, .. }
        | Action::Insert { key, .. }
        | Action::Delete { key, .. } => action.writes().then_some(*key),
        Action::Read { .. } | Action::Scan { .. } => None,
    }
}

/// Returns the version that an action made.
fn made(transaction: usize, operation: usize, action: &Action) -> Option<(Key, Version)> {
    let version = match action {
        Action::Append { element, .. } => *element,
        Action::Write { value, .. }
        | Action::Update { value, .. }
        | Action::Insert { value, .. } => *value,
        Action::Delete { .. } => DEAD | (transaction as u64) << 16 | operation as u64,
        Action::Read { .. } | Action::Scan { .. } => return None,
    };
    Some((written(action)?, version))
}

fn writers(history: &[Transaction]) -> Map<(Key, Version), Writer> {
    let mut writers = Map::default();
    let mut newest: Map<Key, Version> = Map::default();
    for (transaction, it) in history.iter().enumerate() {
        newest.clear();
        for (operation, action) in it.operations.iter().map(|o| &o.action).enumerate() {
            let Some((key, version)) = made(transaction, operation, action) else {
                continue;
            };
            let last = true;
            writers.insert((key, version), Writer { transaction, last });
            if let Some(before) = newest.insert(key, version)
                && let Some(writer) = writers.get_mut(&(key, before))
            {
                writer.last = false;
            }
        }
    }
    writers
}

/// Calls `visit` with all values that a transaction was shown.
fn shown(transaction: &Transaction, mut visit: impl FnMut(Key, &[Version])) {
    for operation in &transaction.operations {
        match &operation.action {
            Action::Read {
                key,
                found: Some(found),
            } => visit(*key, found.versions()),
            Action::Scan { found, .. } => {
                for (key, found) in found {
                    visit(*key, found.versions());
                }
            }
            Action::Append {
                key,
                onto: Some(onto),
                ..
            } => visit(*key, onto),
            _ => {}
        }
    }
}

/// Returns, by transaction, whether it counts: see the module text.
fn counting(history: &[Transaction], writers: &Map<(Key, Version), Writer>) -> Vec<bool> {
    let outcomes = |outcome| move |it: &Transaction| it.outcome == outcome;
    let mut counts: Vec<bool> = history.iter().map(outcomes(Outcome::Committed)).collect();
    if !history.iter().any(outcomes(Outcome::Unknown)) {
        return counts;
    }
    let mut open: Vec<usize> = (0..history.len()).filter(|&index| counts[index]).collect();
    while let Some(index) = open.pop() {
        shown(&history[index], |key, versions| {
            for &version in versions {
                let Some(writer) = writers.get(&(key, version)) else {
                    continue;
                };
                let writer = writer.transaction;
                if history[writer].outcome == Outcome::Unknown && !counts[writer] {
                    counts[writer] = true;
                    open.push(writer);
                }
            }
        });
    }
    counts
}

/// Formats a value for display.
pub(crate) fn shown_value(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Register(version)) => version.to_string(),
        Some(Value::List(list)) => shown_list(list),
    }
}

/// Maximum elements of a list that are displayed.
const SHOWN_MAX: usize = 6;

/// Formats a list for display: only its end if it is long.
pub(crate) fn shown_list(list: &[Version]) -> String {
    let left_out = list.len().saturating_sub(SHOWN_MAX);
    let text: Vec<_> = list[left_out..].iter().map(u64::to_string).collect();
    let more = if left_out > 0 { ".. " } else { "" };
    format!("[{more}{}]", text.join(" "))
}
