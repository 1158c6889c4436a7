//! Simulated histories before the checker that looks for cycles (crate `isolation`).
//!
//! The checker knows nothing of timestamps and snapshots, so it judges their effect. Under
//! SSN the serial order is not that of the timestamps; there it is the only judge.
//!
//! For a transaction that ran operations at once, the checker is told only the writes: it
//! is unknown which of the transaction's own writes a read had to see. The checker is not
//! told of names in the catalog, which other operations change than those in a history, nor
//! of records that expire.

use std::{collections::HashMap, ops::Bound};

use engine::Direction;
use isolation::{
    Isolation, Level,
    history::{self as told, Transaction, UNBORN, Version},
};

use crate::{
    check::{self, Violation},
    history::{Action, Event, Key, Outcome, Record, Value},
    parameters::Levels,
    workload::{append, expiring, groups},
};

/// Returns the level that the histories of a run must satisfy.
fn level(levels: Levels) -> Level {
    Level::strict(match levels {
        Levels::Snapshot => Isolation::Snapshot,
        Levels::ReadCommitted | Levels::Mixed => Isolation::ReadCommitted,
        Levels::Serializable(_) => Isolation::Serializable,
    })
}

/// Looks for cycles that the run's level forbids.
///
/// # Errors
/// Returns the worst anomaly, in words.
pub fn check(records: &[Record], run: Levels) -> Result<(), Violation> {
    let history = history(records);
    let verdict = isolation::check(&history);
    let level = level(run);
    let Some((anomaly, found)) = verdict.forbidden(level).next() else {
        return Ok(());
    };
    let finding = &found.examples[0];
    let first = &records[finding.transactions[0]];
    let story = format!("{level} forbids {}", finding.explain(&history));
    Err(Violation::new(anomaly.name(), first, story))
}

/// Looks for cycles as [`check`] does, in the surviving history of a run with crashes:
/// transactions in doubt are known to have committed.
///
/// # Errors
/// Returns the worst anomaly, in words.
pub(crate) fn check_survivors(records: &[Record], run: Levels) -> Result<(), Violation> {
    let mut records = records.to_vec();
    for record in &mut records {
        if let Outcome::InDoubt(at) = record.outcome {
            record.outcome = Outcome::Committed(at);
        }
    }
    check(&records, run)
}

/// Returns whether an action is about a record that lives until it is deleted.
fn is_told(action: &Action) -> bool {
    let key = match action {
        Action::Get { key, .. }
        | Action::Insert { key, .. }
        | Action::Update { key, .. }
        | Action::Upsert { key, .. }
        | Action::Delete { key, .. }
        | Action::Abandoned { key, .. } => key,
        Action::Scan { .. } => return true,
        Action::Failed { .. } => return false,
    };
    !check::is_name(key) && !expiring::is_expiring(key)
}

/// Returns the history as clients of any database could tell it.
pub fn history(records: &[Record]) -> Vec<Transaction> {
    let telling = Telling::of(records);
    records
        .iter()
        .map(|record| telling.transaction(record))
        .collect()
}

/// Numbers of keys and values.
struct Telling<'r> {
    /// Keys in order.
    keys: Vec<&'r Key>,
    values: HashMap<&'r Value, Version>,
}

impl<'r> Telling<'r> {
    fn of(records: &'r [Record]) -> Telling<'r> {
        let (mut keys, mut values) = (Vec::new(), HashMap::new());
        let mut value = |value: &'r Value| {
            let next = values.len() as Version + UNBORN + 1;
            values.entry(value).or_insert(next);
        };
        let events = records.iter().flat_map(|record| &record.events);
        for event in events.filter(|event| is_told(&event.action)) {
            match &event.action {
                Action::Get { key, found } => {
                    keys.push(key);
                    found.iter().for_each(&mut value);
                }
                Action::Scan { found, .. } => {
                    keys.extend(found.iter().map(|(key, _)| key));
                    found.iter().for_each(|(_, found)| value(found));
                }
                Action::Insert {
                    key, value: new, ..
                }
                | Action::Update {
                    key, value: new, ..
                }
                | Action::Upsert { key, value: new }
                | Action::Abandoned {
                    key, value: new, ..
                } => {
                    keys.push(key);
                    value(new);
                }
                Action::Delete { key, .. } => keys.push(key),
                Action::Failed { .. } => {}
            }
        }
        keys.sort_unstable();
        keys.dedup();
        Telling { keys, values }
    }

    fn transaction(&self, record: &Record) -> Transaction {
        let at_once = record.events.iter().any(|event| event.joined);
        let operation = |event: &Event| {
            if !is_told(&event.action) {
                return None;
            }
            Some(told::Operation {
                action: if at_once {
                    self.effect(&event.action)?
                } else {
                    self.action(&event.action)?
                },
                ended: event.order.1,
            })
        };
        Transaction {
            number: record.number,
            process: record.number,
            begun: record.begun,
            ended: record.told,
            outcome: match record.outcome {
                Outcome::Committed(_) => told::Outcome::Committed,
                Outcome::InDoubt(_) => told::Outcome::Unknown,
                Outcome::Aborted | Outcome::RolledBack | Outcome::Unfinished => {
                    told::Outcome::Aborted
                }
            },
            why: None,
            operations: record.events.iter().filter_map(operation).collect(),
        }
    }

    fn key(&self, key: &Key) -> told::Key {
        self.keys.partition_point(|&other| other < key) as told::Key
    }

    /// Returns the number of the first key behind a bound.
    fn bound(&self, bound: &Bound<Key>, is_end: bool) -> told::Key {
        let index = match bound {
            Bound::Unbounded if is_end => self.keys.len(),
            Bound::Unbounded => 0,
            Bound::Included(key) if !is_end => self.keys.partition_point(|&other| other < key),
            Bound::Excluded(key) if is_end => self.keys.partition_point(|&other| other < key),
            Bound::Included(key) | Bound::Excluded(key) => {
                self.keys.partition_point(|&other| other <= key)
            }
        };
        index as told::Key
    }

    fn value(&self, key: &Key, value: &Value) -> told::Value {
        if key.first() == Some(&append::PREFIX) || groups::is_list(key) {
            return told::Value::List(elements(value));
        }
        told::Value::Register(self.values[value])
    }

    /// Converts an operation and its answer.
    fn action(&self, action: &Action) -> Option<told::Action> {
        Some(match action {
            Action::Get { key, found } => told::Action::Read {
                key: self.key(key),
                found: found.as_ref().map(|found| self.value(key, found)),
            },
            Action::Scan {
                range,
                direction,
                limit,
                found,
            } => self.scan(range, *direction, *limit, found),
            Action::Insert { key, value, done } => match self.written(key, value) {
                told::Action::Write { key, value } => told::Action::Insert {
                    key,
                    value,
                    done: *done,
                },
                append if *done => append,
                _ => return None,
            },
            Action::Update { key, value, done } => match self.written(key, value) {
                told::Action::Write { key, value } => told::Action::Update {
                    key,
                    value,
                    done: *done,
                },
                append if *done => append,
                _ => return None,
            },
            Action::Delete { key, done } => told::Action::Delete {
                key: self.key(key),
                done: *done,
            },
            Action::Upsert { .. } | Action::Abandoned { .. } | Action::Failed { .. } => {
                return self.effect(action);
            }
        })
    }

    /// Converts the change that an operation made, if any.
    fn effect(&self, action: &Action) -> Option<told::Action> {
        let (key, value) = action.effect()?;
        Some(match value {
            Some(value) => self.written(key, value),
            None => told::Action::Delete {
                key: self.key(key),
                done: true,
            },
        })
    }

    fn written(&self, key: &Key, value: &Value) -> told::Action {
        let number = self.key(key);
        match self.value(key, value) {
            told::Value::Register(value) => told::Action::Write { key: number, value },
            told::Value::List(mut onto) => told::Action::Append {
                key: number,
                element: onto.pop().unwrap_or(UNBORN),
                onto: Some(onto),
            },
        }
    }

    fn scan(
        &self,
        range: &(Bound<Key>, Bound<Key>),
        direction: Direction,
        limit: usize,
        found: &[(Key, Value)],
    ) -> told::Action {
        let (mut from, mut to) = (self.bound(&range.0, false), self.bound(&range.1, true));
        if found.len() == limit
            && let Some((last, _)) = found.last()
        {
            match direction {
                Direction::Forward => to = self.key(last) + 1,
                Direction::Backward => from = self.key(last),
            }
        }
        let pair = |(key, value): &(Key, Value)| (self.key(key), self.value(key, value));
        let mut found: Vec<_> = found.iter().map(pair).collect();
        if direction == Direction::Backward {
            found.reverse();
        }
        told::Action::Scan {
            from,
            to: to.max(from),
            found,
        }
    }
}

fn elements(value: &[u8]) -> Vec<Version> {
    let element = |bytes: &[u8]| {
        let mut version = [0; 8];
        version[..bytes.len()].copy_from_slice(bytes);
        Version::from_be_bytes(version)
    };
    append::elements(value).map(element).collect()
}
