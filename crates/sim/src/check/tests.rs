//! The checkers' canaries: histories made by hand, each with one flaw. This
//! module has those of readers.

mod writes;

use std::ops::Bound;

use engine::{Abort, Direction, Error, Isolation};

use super::*;
use crate::history::{Action, Claim, Event, Key, Outcome, Value};

const RULES: Rules = Rules {
    one_thread: true,
    memory_is_scarce: false,
    waits: false,
    has_indexes: false,
    power_fails: false,
};

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn get(key: &str, found: &str) -> Action {
    Action::Get {
        key: bytes(key),
        found: (!found.is_empty()).then(|| bytes(found)),
    }
}

fn put(key: &str, value: &str) -> Action {
    Action::Upsert {
        key: bytes(key),
        value: bytes(value),
    }
}

fn insert(key: &str, value: &str, done: bool) -> Action {
    Action::Insert {
        key: bytes(key),
        value: bytes(value),
        done,
    }
}

fn update(key: &str, value: &str, done: bool) -> Action {
    Action::Update {
        key: bytes(key),
        value: bytes(value),
        done,
    }
}

fn delete(key: &str, done: bool) -> Action {
    Action::Delete {
        key: bytes(key),
        done,
    }
}

fn failed(key: &str, error: Error) -> Action {
    Action::Failed {
        key: Some(bytes(key)),
        error,
    }
}

fn scan(direction: Direction, limit: usize, found: &[(&str, &str)]) -> Action {
    let pair = |(key, value): &(&str, &str)| -> (Key, Value) { (bytes(key), bytes(value)) };
    Action::Scan {
        range: (Bound::Unbounded, Bound::Excluded(bytes("z"))),
        direction,
        limit,
        found: found.iter().map(pair).collect(),
    }
}

/// Returns a transaction whose operations happened at `moment` of the history's
/// order and saw the clock at its snapshot.
fn record(number: u64, snapshot: u64, outcome: Outcome, moment: u64, does: &[Action]) -> Record {
    let event = |(index, action): (usize, &Action)| {
        let order = moment + 2 * index as u64;
        Event {
            clock: (snapshot, snapshot),
            order: (order, order + 1),
            joined: false,
            action: action.clone(),
        }
    };
    Record {
        number,
        begun: moment,
        told: moment,
        label: "by hand",
        isolation: Isolation::Snapshot,
        snapshot,
        events: does.iter().enumerate().map(event).collect(),
        claims: Vec::new(),
        outcome,
        durability: engine::Durability::Synchronous,
        ended: moment + 2 * does.len() as u64,
    }
}

/// Returns transactions that run one after the other: each takes ten moments.
fn serial(transactions: &[(u64, Outcome, &[Action])]) -> Vec<Record> {
    let numbered = (1..).zip(transactions);
    numbered
        .map(|(number, &(snapshot, outcome, does))| {
            record(number, snapshot, outcome, number * 10, does)
        })
        .collect()
}

use Outcome::{Aborted, Committed, RolledBack};

fn accepted(records: &[Record]) {
    history(records, &RULES).unwrap_or_else(|violation| panic!("{violation}"));
}

fn rejected(records: &[Record], rule: &str) {
    let violation = history(records, &RULES).expect_err("the history has a flaw");
    assert_eq!(violation.rule, rule, "{violation}");
}

#[test]
fn a_right_history_is_accepted() {
    accepted(&serial(&[
        (1, Committed(2), &[put("x", "1"), insert("y", "2", true)]),
        (
            2,
            Committed(3),
            &[
                get("x", "1"),
                update("x", "3", true),
                get("x", "3"),
                insert("y", "4", false),
                delete("y", true),
                insert("y", "5", true),
                scan(Direction::Forward, 9, &[("x", "3"), ("y", "5")]),
                update("missing", "6", false),
            ],
        ),
        // An older snapshot, read later.
        (
            2,
            Committed(2),
            &[scan(Direction::Backward, 9, &[("y", "2"), ("x", "1")])],
        ),
        (
            3,
            RolledBack,
            &[put("x", "7"), scan(Direction::Forward, 1, &[("x", "7")])],
        ),
        (3, Committed(3), &[get("x", "3")]),
    ]));
}

#[test]
fn an_aborted_read_is_rejected() {
    rejected(
        &serial(&[
            (1, RolledBack, &[put("x", "1")]),
            (1, Committed(1), &[get("x", "1")]),
        ]),
        "aborted read (G1a)",
    );
}

#[test]
fn an_intermediate_read_is_rejected() {
    rejected(
        &serial(&[
            (1, Committed(2), &[put("x", "1"), put("x", "2")]),
            (2, Committed(2), &[get("x", "1")]),
        ]),
        "intermediate read (G1b)",
    );
}

#[test]
fn a_read_that_cannot_be_repeated_is_rejected() {
    rejected(
        &serial(&[
            (1, Committed(2), &[put("x", "1")]),
            (2, Committed(3), &[put("x", "2")]),
            (2, Committed(2), &[get("x", "1"), get("x", "2")]),
        ]),
        "read of a later commit",
    );
}

#[test]
fn an_outdated_read_is_rejected() {
    rejected(
        &serial(&[
            (1, Committed(2), &[put("x", "1")]),
            (2, Committed(3), &[put("x", "2")]),
            (3, Committed(3), &[get("x", "1")]),
        ]),
        "read of an outdated value",
    );
}

#[test]
fn a_value_without_a_writer_and_a_missing_one_are_rejected() {
    rejected(
        &serial(&[(1, Committed(1), &[get("x", "1")])]),
        "read of a value that nobody wrote",
    );
    rejected(
        &serial(&[
            (1, Committed(2), &[put("x", "1")]),
            (2, Committed(2), &[get("x", "")]),
        ]),
        "read misses a record",
    );
}

#[test]
fn a_transaction_blind_to_its_own_writes_is_rejected() {
    let rule = "a transaction reads its own writes";
    rejected(
        &serial(&[(1, Committed(2), &[put("x", "1"), get("x", "")])]),
        rule,
    );
    // The rule holds even if the transaction is rolled back in the end.
    rejected(
        &serial(&[(
            1,
            RolledBack,
            &[put("x", "1"), delete("x", true), get("x", "1")],
        )]),
        rule,
    );
}

#[test]
fn wrong_scans_are_rejected() {
    let load: (u64, Outcome, &[Action]) = (
        1,
        Committed(2),
        &[put("a", "1"), put("b", "2"), put("c", "3")],
    );
    let scanned = |found: &[(&str, &str)]| {
        serial(&[
            load,
            (2, Committed(3), &[put("d", "4"), delete("c", true)]),
            (2, Committed(2), &[scan(Direction::Forward, 9, found)]),
        ])
    };
    accepted(&scanned(&[("a", "1"), ("b", "2"), ("c", "3")]));
    rejected(
        &scanned(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]),
        "phantom in a scan",
    );
    rejected(&scanned(&[("a", "1"), ("c", "3")]), "scan misses a record");
    rejected(&scanned(&[("a", "1"), ("b", "2")]), "scan misses a record");
    rejected(
        &scanned(&[("b", "2"), ("a", "1"), ("c", "3")]),
        "scan misses a record",
    );
    rejected(
        &scanned(&[("a", "1"), ("a", "1"), ("b", "2"), ("c", "3")]),
        "phantom in a scan",
    );
    let backward = |found| {
        serial(&[
            load,
            (2, Committed(2), &[scan(Direction::Backward, 2, found)]),
        ])
    };
    accepted(&backward(&[("c", "3"), ("b", "2")]));
    rejected(&backward(&[("a", "1"), ("b", "2")]), "scan misses a record");
    rejected(&backward(&[("c", "3")]), "scan misses a record");
}

#[test]
fn operations_at_once_may_see_each_other_or_not() {
    let at_once = |found| {
        let mut records = serial(&[(
            1,
            RolledBack,
            &[put("x", "0"), put("x", "1"), get("x", found)],
        )]);
        records[0].events[2].joined = true;
        records
    };
    accepted(&at_once("0"));
    accepted(&at_once("1"));
    rejected(&at_once(""), "a transaction reads its own writes");
}

#[test]
fn read_committed_sees_the_state_when_the_operation_began() {
    let reads = |clock, found: &str| {
        let mut records = serial(&[
            (1, Committed(2), &[put("x", "1")]),
            (2, Committed(3), &[put("x", "2")]),
            (1, Committed(3), &[get("x", found), insert("x", "3", false)]),
        ]);
        records[2].isolation = Isolation::ReadCommitted;
        for event in &mut records[2].events {
            event.clock = clock;
        }
        records
    };
    accepted(&reads((2, 3), "1"));
    accepted(&reads((3, 3), "2"));
    rejected(&reads((3, 3), "1"), "read of an outdated value");
    rejected(&reads((2, 3), "2"), "read of a later commit");
    // On several threads the exact beginning is not known.
    let threads = Rules {
        one_thread: false,
        ..RULES
    };
    assert_eq!(history(&reads((2, 3), "2"), &threads), Ok(()));
    assert!(history(&reads((3, 3), "1"), &threads).is_err());
}

#[test]
fn memory_counts_the_blocks_of_survivors() {
    // Header and 8 bytes fit 32; header and 9 take a line.
    let records = serial(&[
        (
            1,
            Committed(2),
            &[put("a", "12345678"), put("b", "123456789")],
        ),
        (2, Committed(3), &[delete("b", true), put("c", "1")]),
        (3, RolledBack, &[put("d", "1")]),
    ]);
    assert_eq!(version_bytes(&records), 32 + 32);
    // A shorter value in a longer block of the same transaction.
    let records = serial(&[(1, Committed(2), &[put("a", "123456789"), put("a", "1")])]);
    assert_eq!(version_bytes(&records), 64);
}
