//! Anomalies that single reads show.

use super::{must_satisfy, names, shows, t};
use crate::{Isolation, Level};

const STRICT: Level = Level::strict(Isolation::Serializable);

#[test]
fn g1a_aborted_read() {
    let history = [t(1).append(1, 11).aborted(), t(2).list(1, &[11])];
    shows(&history, &["G1a"], Isolation::ReadCommitted);
    must_satisfy(&[t(1).append(1, 11).aborted(), t(2).absent(1)], STRICT);
}

#[test]
fn g1a_in_a_scan() {
    let history = [t(1).insert(1, 11).aborted(), t(2).scan(0, 9, &[(1, 11)])];
    shows(&history, &["G1a"], Isolation::ReadCommitted);
}

#[test]
fn dirty_update() {
    let history = [
        t(1).append(1, 11).aborted(),
        t(2).append(1, 21),
        t(3).list(1, &[11, 21]),
    ];
    shows(&history, &["dirty update"], Isolation::ReadCommitted);
}

#[test]
fn g1b_intermediate_read() {
    let history = [t(1).append(1, 11).append(1, 12), t(2).list(1, &[11])];
    assert!(names(&history).contains(&"G1b"));
    must_satisfy(
        &[t(1).append(1, 11).append(1, 12), t(2).list(1, &[11, 12])],
        STRICT,
    );
}

#[test]
fn g1b_of_a_register() {
    let history = [t(1).write(1, 11).write(1, 12), t(2).register(1, 11)];
    assert!(names(&history).contains(&"G1b"));
}

#[test]
fn garbage() {
    let history = [t(1).append(1, 11), t(2).list(1, &[99])];
    assert!(names(&history).contains(&"garbage read"));
    let history = [t(1).append(1, 11), t(2).list(1, &[99, 11])];
    assert!(names(&history).contains(&"garbage read"));
}

#[test]
fn duplicate_element() {
    let history = [t(1).append(1, 11), t(2).list(1, &[11, 11])];
    assert!(names(&history).contains(&"duplicate element"));
}

#[test]
fn incompatible_orders() {
    // Neither list is a prefix of the other, and no transaction read before
    // appending.
    let history = [
        t(1).append(1, 11),
        t(2).append(1, 21),
        t(3).list(1, &[11]),
        t(4).list(1, &[21]),
    ];
    shows(&history, &["incompatible order"], Isolation::ReadCommitted);
    let history = [
        t(1).append(1, 11),
        t(2).append(1, 21),
        t(3).list(1, &[11, 21]),
        t(4).list(1, &[21, 11]),
    ];
    assert!(names(&history).contains(&"incompatible order"));
}

#[test]
fn one_version_with_two_contents() {
    let history = [
        t(1).append_onto(1, &[], 11),
        t(2).append_onto(1, &[11], 21),
        t(3).list(1, &[21]),
    ];
    assert!(names(&history).contains(&"incompatible order"));
}

#[test]
fn own_writes_are_seen() {
    for history in [
        [t(1).append(1, 11).absent(1)],
        [t(1).append_onto(1, &[], 11).list(1, &[12])],
        [t(1).write(1, 11).register(1, 12)],
        [t(1).insert(1, 11).delete(1).register(1, 11)],
        [t(1).insert(1, 11).scan(0, 9, &[])],
        [t(1).insert(1, 11).delete(1).duplicate(1, 12)],
    ] {
        let found = names(&history);
        assert!(found.contains(&"internal"), "{found:?} of {history:?}");
    }
    must_satisfy(
        &[t(1)
            .append(1, 11)
            .list(1, &[11])
            .append(1, 12)
            .list(1, &[11, 12])
            .insert(2, 13)
            .duplicate(2, 14)
            .scan(2, 9, &[(2, 13)])
            .delete(2)
            .scan(2, 9, &[])
            .absent(2)],
        STRICT,
    );
}

#[test]
fn scans_return_what_they_were_asked_for() {
    for found in [&[(2, 12), (1, 11)][..], &[(1, 11), (1, 11)], &[(5, 15)]] {
        let history = [
            t(1).insert(1, 11).insert(2, 12).insert(5, 15),
            t(2).scan(1, 3, found),
        ];
        assert!(names(&history).contains(&"internal"), "{found:?}");
    }
}

#[test]
fn an_unknown_outcome_is_no_abort() {
    // Another transaction saw T1's write: T1 committed, and its other write must be
    // seen as well.
    let seen = [
        t(1).append(1, 11).append(2, 12).unknown(),
        t(2).list(1, &[11]).absent(2),
    ];
    shows(&seen, &["G-single"], Isolation::Snapshot);
    // No transaction saw T1: it may never have committed, and if it did, it
    // precedes none.
    must_satisfy(
        &[
            t(1).append(1, 11).append(2, 12).unknown(),
            t(2).absent(1).absent(2),
        ],
        STRICT,
    );
}

#[test]
fn an_unknown_outcome_is_known_through_another() {
    let history = [
        t(1).append(1, 11).append(3, 13).unknown(),
        t(2).list(1, &[11]).append(2, 21).unknown(),
        t(3).list(2, &[21]).absent(3),
    ];
    shows(&history, &["G-single"], Isolation::Snapshot);
}
