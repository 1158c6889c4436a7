//! What the transactions of a history read and wrote, once their own writes are told
//! from those of others.
//!
//! Counted are transactions that committed, and of those whose outcome nobody knows,
//! the ones of which somebody who counts saw something: they must have committed. The
//! others might never have been.
//!
//! The walk (`walk.rs`) also finds the anomalies that a single read shows.

mod walk;

use self::walk::Walk;
use crate::{
    Map,
    history::{Action, Key, Outcome, Transaction, Value, Version},
    verdict::Findings,
};

/// Versions from here on are absences after a delete, made up by the checker.
const DEAD: Version = 1 << 63;

/// Whether a version is the absence after a delete.
pub(crate) fn is_dead(version: Version) -> bool {
    version & DEAD != 0
}

/// What was seen of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Version(Version),
    /// No record: never made, or deleted.
    Absent,
    /// Some record.
    Present,
}

/// Something that was read of another transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) transaction: usize,
    pub(crate) operation: usize,
    pub(crate) key: Key,
    pub(crate) seen: Seen,
    /// A scan looked for it.
    pub(crate) predicate: bool,
}

/// A version that was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) transaction: usize,
    pub(crate) operation: usize,
    pub(crate) key: Key,
    pub(crate) version: Version,
    /// What its transaction had last seen of the record, or written itself.
    pub(crate) onto: Option<Seen>,
}

/// Who wrote a version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    pub(crate) transaction: usize,
    /// Its transaction wrote nothing into the record afterwards.
    last: bool,
}

/// See the module text.
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
    /// Gathers what can be seen in a history.
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

/// The record that an action changed.
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

/// The version that an action made.
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

/// Which transactions count: see the module text.
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

/// A value for people.
pub(crate) fn shown_value(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Register(version)) => version.to_string(),
        Some(Value::List(list)) => shown_list(list),
    }
}

/// Elements of a list that people are shown.
const SHOWN_MAX: usize = 6;

/// A list for people; of a long one, the end.
pub(crate) fn shown_list(list: &[Version]) -> String {
    let left_out = list.len().saturating_sub(SHOWN_MAX);
    let text: Vec<_> = list[left_out..].iter().map(u64::to_string).collect();
    let more = if left_out > 0 { ".. " } else { "" };
    format!("[{more}{}]", text.join(" "))
}
