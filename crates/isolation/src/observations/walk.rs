//! The walk through a history that tells a transaction's own writes from those of others.

use super::{Observations, Read, Seen, Write, made, shown_list, shown_value};
use crate::{
    Map,
    anomaly::Anomaly,
    history::{Action, Key, Outcome, Transaction, UNBORN, Value, Version},
    verdict::Findings,
};

/// A transaction's knowledge of a record from its own writes.
#[derive(Clone, Debug)]
enum Own {
    Value(Value),
    /// Elements at the end of a list whose beginning is not known.
    Tail(Vec<Version>),
    Deleted(Version),
}

#[derive(Default)]
struct Touched {
    own: Option<Own>,
    /// Content of the record that the transaction saw before it wrote.
    base: Option<Seen>,
}

/// The state of the walk.
pub(super) struct Walk<'h, 'f, 'g> {
    observations: Observations,
    history: &'h [Transaction],
    /// All records that were ever written, in order.
    keys: Vec<Key>,
    findings: &'f mut Findings<'g>,
    transaction: usize,
    operation: usize,
    /// Records touched by the current transaction.
    touched: Map<Key, Touched>,
}

impl<'h, 'f, 'g> Walk<'h, 'f, 'g> {
    /// Returns a walk that adds to `observations`, which know which transactions count.
    pub(super) fn new(
        observations: Observations,
        history: &'h [Transaction],
        keys: Vec<Key>,
        findings: &'f mut Findings<'g>,
    ) -> Walk<'h, 'f, 'g> {
        Walk {
            observations,
            history,
            keys,
            findings,
            transaction: 0,
            operation: 0,
            touched: Map::default(),
        }
    }

    /// Walks through all transactions that count.
    pub(super) fn through(mut self) -> Observations {
        for index in 0..self.history.len() {
            if self.observations.counts[index] {
                self.transaction(index);
            }
        }
        self.observations
    }

    fn transaction(&mut self, index: usize) {
        self.transaction = index;
        self.touched.clear();
        let history = self.history;
        for (operation, it) in history[index].operations.iter().enumerate() {
            self.operation = operation;
            self.action(&it.action);
        }
    }

    fn action(&mut self, action: &Action) {
        match action {
            Action::Read { key, found } => self.observe(*key, found.as_ref(), false),
            Action::Scan { from, to, found } => self.scan(*from, *to, found),
            Action::Append { key, element, onto } => self.append(*key, *element, onto.as_deref()),
            Action::Write { key, value } => self.write(*key, action, register(*value)),
            Action::Update { key, value, done } => {
                self.observe_presence(*key, *done);
                if *done {
                    self.write(*key, action, register(*value));
                }
            }
            Action::Insert { key, value, done } => {
                self.observe_presence(*key, !*done);
                if *done {
                    self.write(*key, action, register(*value));
                }
            }
            Action::Delete { key, done } => {
                self.observe_presence(*key, *done);
                if *done {
                    let made = made(self.transaction, self.operation, action);
                    let (_, version) = made.expect("a delete makes a version");
                    self.write(*key, action, Own::Deleted(version));
                }
            }
        }
    }

    fn internal(&mut self, story: String) {
        let number = self.history[self.transaction].number;
        self.findings.direct(
            Anomaly::Internal,
            &[self.transaction],
            format!("T{number} {story}"),
        );
    }

    fn emit(&mut self, key: Key, seen: Seen, predicate: bool) {
        self.observations.reads.push(Read {
            transaction: self.transaction,
            operation: self.operation,
            key,
            seen,
            predicate,
        });
    }

    /// Notes that the current transaction looked at a record and found `found`.
    fn observe(&mut self, key: Key, found: Option<&Value>, predicate: bool) {
        let touched = self.touched.entry(key).or_default();
        match (&touched.own, found) {
            (None, _) => {
                let seen = seen(found);
                touched.base = Some(seen);
                self.emit(key, seen, predicate);
                if let Some(value) = found {
                    self.look_at(key, value);
                }
            }
            (Some(Own::Value(own)), Some(found)) if own == found => {}
            (Some(Own::Deleted(_)), None) => {}
            (Some(Own::Tail(tail)), Some(Value::List(list))) if list.ends_with(tail) => {
                let before = &list[..list.len() - tail.len()];
                let seen = match before.last() {
                    Some(&version) => Seen::Version(version),
                    None => Seen::Absent,
                };
                self.emit(key, seen, predicate);
                self.look_at(key, &Value::List(list.clone()));
            }
            (Some(own), _) => {
                let story = format!(
                    "wrote {} into record {key}, and then found {}",
                    own.shown(),
                    shown_value(found)
                );
                self.internal(story);
            }
        }
    }

    /// Notes that the current transaction learned whether a record was there.
    fn observe_presence(&mut self, key: Key, present: bool) {
        if !present {
            return self.observe(key, None, false);
        }
        let touched = self.touched.entry(key).or_default();
        match &touched.own {
            None => {
                touched.base.get_or_insert(Seen::Present);
                self.emit(key, Seen::Present, false);
            }
            Some(Own::Deleted(_)) => {
                self.internal(format!("deleted record {key}, and then was told of it"));
            }
            Some(_) => {}
        }
    }

    fn scan(&mut self, from: Key, to: Key, found: &[(Key, Value)]) {
        let in_order = found.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let in_range = found.iter().all(|(key, _)| (from..to).contains(key));
        if !in_order || !in_range {
            return self.internal(format!(
                "scanned {from} to {to} and found records out of order or range"
            ));
        }
        for (key, value) in found {
            self.observe(*key, Some(value), true);
        }
        let least = self.keys.partition_point(|&key| key < from);
        let mut found = found.iter().map(|(key, _)| *key).peekable();
        for index in least..self.keys.len() {
            let key = self.keys[index];
            if key >= to {
                break;
            }
            while found.next_if(|&other| other < key).is_some() {}
            if found.peek() != Some(&key) {
                self.observe(key, None, true);
            }
        }
    }

    fn append(&mut self, key: Key, element: Version, onto: Option<&[Version]>) {
        if let Some(onto) = onto {
            let value = Value::List(onto.to_vec());
            self.observe(key, Some(&value).filter(|_| !onto.is_empty()), false);
        }
        let before = self.onto(key);
        let touched = self.touched.entry(key).or_default();
        let own = match (touched.own.take(), onto) {
            (_, Some(onto)) => Own::Value(Value::List([onto, &[element]].concat())),
            (Some(Own::Value(Value::List(mut list))), None) => {
                list.push(element);
                Own::Value(Value::List(list))
            }
            (Some(Own::Tail(mut tail)), None) => {
                tail.push(element);
                Own::Tail(tail)
            }
            (_, None) => Own::Tail(vec![element]),
        };
        if let Own::Value(Value::List(list)) = &own {
            let list = list.clone();
            self.note_list(key, list);
        }
        self.touched.entry(key).or_default().own = Some(own);
        // The version that the database itself appended to is not known before it is
        // read.
        self.wrote(key, element, before.filter(|_| onto.is_some()));
    }

    fn write(&mut self, key: Key, action: &Action, own: Own) {
        let onto = self.onto(key);
        let made = made(self.transaction, self.operation, action);
        let (_, version) = made.expect("only writes come here");
        self.touched.entry(key).or_default().own = Some(own);
        self.wrote(key, version, onto);
    }

    fn wrote(&mut self, key: Key, version: Version, onto: Option<Seen>) {
        self.observations.writes.push(Write {
            transaction: self.transaction,
            operation: self.operation,
            key,
            version,
            onto,
        });
    }

    /// Returns the content that a write now replaces, as far as its transaction knows.
    fn onto(&self, key: Key) -> Option<Seen> {
        let touched = self.touched.get(&key)?;
        match &touched.own {
            None => touched.base,
            Some(Own::Value(value)) => Some(Seen::Version(value.version())),
            Some(Own::Tail(tail)) => tail.last().map(|&version| Seen::Version(version)),
            Some(Own::Deleted(version)) => Some(Seen::Version(*version)),
        }
    }

    /// Reports the anomalies that a single value shows.
    fn look_at(&mut self, key: Key, value: &Value) {
        match value {
            Value::Register(version) => self.look_at_version(key, *version, true),
            Value::List(list) => {
                if let Some(&last) = list.last() {
                    self.look_at_version(key, last, true);
                }
                self.note_list(key, list.clone());
            }
        }
    }

    fn look_at_version(&mut self, key: Key, version: Version, newest: bool) {
        let history = self.history;
        let reader = history[self.transaction].number;
        let Some(&writer) = self.observations.writers.get(&(key, version)) else {
            let story = format!("T{reader} read {version} in record {key}, which nobody wrote");
            return self
                .findings
                .direct(Anomaly::Garbage, &[self.transaction], story);
        };
        let both = [writer.transaction, self.transaction];
        let number = history[writer.transaction].number;
        let (anomaly, how) = match history[writer.transaction].outcome {
            Outcome::Aborted if newest => (Anomaly::G1a, "of which nothing remains"),
            Outcome::Aborted => (
                Anomaly::DirtyUpdate,
                "of which nothing remains, with other elements behind it",
            ),
            _ if newest && !writer.last && writer.transaction != self.transaction => {
                (Anomaly::G1b, "which replaced it before it committed")
            }
            _ => return,
        };
        let story = format!("T{reader} read {version} in record {key} by T{number}, {how}");
        self.findings.direct(anomaly, &both, story);
    }

    /// Remembers the content of a list by its last element. All transactions that saw
    /// that element must have seen the same list.
    fn note_list(&mut self, key: Key, list: Vec<Version>) {
        let Some(&last) = list.last() else {
            return;
        };
        if let Some(known) = self.observations.lists.get(&(key, last)) {
            if *known != list {
                let story = format!(
                    "record {key} was read as {} and as {}",
                    shown_list(known),
                    shown_list(&list)
                );
                self.incompatible(story);
            }
            return;
        }
        // Prefixes that were seen before have been checked.
        let known = (1..list.len()).rev().find(|&end| {
            let shorter = self.observations.lists.get(&(key, list[end - 1]));
            shorter.is_some_and(|shorter| *shorter == list[..end])
        });
        for end in known.unwrap_or(0)..list.len() {
            let element = list[end];
            if list[..end].contains(&element) {
                let number = self.history[self.transaction].number;
                let story = format!(
                    "T{number} saw {element} twice in record {key}: {}",
                    shown_list(&list)
                );
                self.findings
                    .direct(Anomaly::DuplicateElement, &[self.transaction], story);
            }
            if end + 1 < list.len() {
                self.look_at_version(key, element, false);
            }
        }
        self.observations.lists.insert((key, last), list);
    }

    fn incompatible(&mut self, story: String) {
        self.findings
            .direct(Anomaly::IncompatibleOrder, &[self.transaction], story);
    }
}

fn register(value: Version) -> Own {
    Own::Value(Value::Register(value))
}

fn seen(found: Option<&Value>) -> Seen {
    match found {
        None => Seen::Absent,
        Some(value) if value.version() == UNBORN => Seen::Absent,
        Some(value) => Seen::Version(value.version()),
    }
}

impl Own {
    fn shown(&self) -> String {
        match self {
            Own::Value(value) => shown_value(Some(value)),
            Own::Tail(tail) => format!("{} at the end", shown_list(tail)),
            Own::Deleted(_) => "nothing".to_owned(),
        }
    }
}
