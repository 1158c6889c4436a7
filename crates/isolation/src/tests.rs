//! Known histories, bad and good, and the checker's verdict on each.

mod brute_force;
mod cycles;
mod files;
mod model;
mod orders;
mod planted;
mod predicates;
mod reads;
mod scale;
mod serial;

use crate::{
    Anomaly, Isolation, Level, check,
    history::{Action, Key, Operation, Outcome, Transaction, Value, Version},
};

/// Returns a transaction, written by hand. Transactions overlap unless said otherwise.
pub(crate) fn t(number: u64) -> Transaction {
    Transaction {
        number,
        process: number,
        begun: number,
        ended: 1000 + number,
        outcome: Outcome::Committed,
        why: None,
        operations: Vec::new(),
    }
}

impl Transaction {
    fn with(mut self, action: Action) -> Transaction {
        let ended = self
            .operations
            .last()
            .map_or(100 * self.begun, |it| it.ended + 1);
        self.operations.push(Operation {
            action,
            ended: ended.min(self.ended),
        });
        self
    }

    /// Reads a list; an empty `found` means that there was none.
    fn list(self, key: Key, found: &[Version]) -> Transaction {
        let found = (!found.is_empty()).then(|| Value::List(found.to_vec()));
        self.with(Action::Read { key, found })
    }

    /// Reads a register.
    fn register(self, key: Key, version: Version) -> Transaction {
        let found = Some(Value::Register(version));
        self.with(Action::Read { key, found })
    }

    fn absent(self, key: Key) -> Transaction {
        self.with(Action::Read { key, found: None })
    }

    /// Appends without reading.
    fn append(self, key: Key, element: Version) -> Transaction {
        let onto = None;
        self.with(Action::Append { key, element, onto })
    }

    /// Reads a list and writes it back with an element more.
    fn append_onto(self, key: Key, onto: &[Version], element: Version) -> Transaction {
        let onto = Some(onto.to_vec());
        self.with(Action::Append { key, element, onto })
    }

    fn write(self, key: Key, value: Version) -> Transaction {
        self.with(Action::Write { key, value })
    }

    fn insert(self, key: Key, value: Version) -> Transaction {
        let done = true;
        self.with(Action::Insert { key, value, done })
    }

    fn duplicate(self, key: Key, value: Version) -> Transaction {
        let done = false;
        self.with(Action::Insert { key, value, done })
    }

    fn delete(self, key: Key) -> Transaction {
        self.with(Action::Delete { key, done: true })
    }

    fn scan(self, from: Key, to: Key, found: &[(Key, Version)]) -> Transaction {
        let found = found
            .iter()
            .map(|&(key, version)| (key, Value::Register(version)))
            .collect();
        self.with(Action::Scan { from, to, found })
    }

    fn aborted(self) -> Transaction {
        let outcome = Outcome::Aborted;
        Transaction { outcome, ..self }
    }

    fn unknown(self) -> Transaction {
        let outcome = Outcome::Unknown;
        Transaction { outcome, ..self }
    }

    /// Sets the beginning and the end, before operations are added.
    fn at(self, begun: u64, ended: u64) -> Transaction {
        Transaction {
            begun,
            ended,
            ..self
        }
    }

    fn process(self, process: u64) -> Transaction {
        Transaction { process, ..self }
    }
}

/// Returns all names that the checker gives the anomalies of a history.
pub(crate) fn names(history: &[Transaction]) -> Vec<&'static str> {
    check(history)
        .found
        .keys()
        .map(|anomaly| anomaly.name())
        .collect()
}

/// Panics with the anomalies of a history that `level` forbids.
#[track_caller]
pub(crate) fn must_satisfy(history: &[Transaction], level: Level) {
    let verdict = check(history);
    if let Some((_, found)) = verdict.forbidden(level).next() {
        panic!("not {level}: {}", found.examples[0].explain(history));
    }
}

/// Asserts that the history shows exactly the anomalies `expected`, and that the levels
/// from `least` on forbid it.
#[track_caller]
pub(crate) fn shows(history: &[Transaction], expected: &[&str], least: Isolation) {
    let verdict = check(history);
    let explained: String = verdict
        .found
        .values()
        .map(|found| found.examples[0].explain(history))
        .collect();
    assert_eq!(names(history), expected, "{explained}");
    for level in [
        Isolation::ReadCommitted,
        Isolation::Snapshot,
        Isolation::Serializable,
    ] {
        let allowed = verdict.satisfies(Level::of(level));
        assert_eq!(allowed, level < least, "{level}: {explained}");
    }
}

#[test]
fn stronger_levels_forbid_more() {
    use crate::{Cycle, Order};
    let mut anomalies = vec![Anomaly::Internal, Anomaly::G1b, Anomaly::LostUpdate];
    for class in [Cycle::G0, Cycle::GSingle, Cycle::GNonadjacent, Cycle::G2] {
        for order in [Order::None, Order::Process, Order::Realtime] {
            anomalies.push(Anomaly::Cycle(class, order));
        }
    }
    let levels = [
        Isolation::ReadCommitted,
        Isolation::Snapshot,
        Isolation::Serializable,
    ];
    for &anomaly in &anomalies {
        for pair in levels.windows(2) {
            let weaker = Level::of(pair[0]).forbids(anomaly);
            assert!(Level::of(pair[1]).forbids(anomaly) >= weaker, "{anomaly}");
        }
        for level in levels {
            let strict = Level::strict(level).forbids(anomaly);
            assert!(strict >= Level::of(level).forbids(anomaly), "{anomaly}");
        }
    }
}
