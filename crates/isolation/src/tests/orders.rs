//! Orders that clients see: stale reads are serializable, and not strict.

use super::{must_satisfy, names, t};
use crate::{Isolation, Level, check, history::Action};

#[test]
fn a_stale_read_is_not_strict() {
    let history = [t(1).at(1, 2).append(1, 11), t(2).at(3, 4).absent(1)];
    assert_eq!(names(&history), ["G-single-realtime"]);
    let verdict = check(&history);
    assert!(verdict.satisfies(Level::of(Isolation::Serializable)));
    assert!(!verdict.satisfies(Level::strict(Isolation::Snapshot)));
    assert!(verdict.satisfies(Level::strict(Isolation::ReadCommitted)));
    must_satisfy(
        &[t(1).at(1, 3).append(1, 11), t(2).at(2, 4).absent(1)],
        Level::strict(Isolation::Serializable),
    );
}

#[test]
fn a_process_reads_its_own_writes() {
    let history = [
        t(1).process(7).at(1, 2).append(1, 11),
        t(2).process(7).at(3, 4).absent(1),
    ];
    assert_eq!(names(&history), ["G-single-process"]);
}

#[test]
fn time_is_transitive() {
    let history = [
        t(1).at(1, 2).append(1, 11),
        t(2).at(3, 4).append(2, 21),
        t(3).at(5, 6).append(3, 31),
        t(4).at(7, 8).absent(1),
    ];
    let verdict = check(&history);
    let (anomaly, found) = verdict.found.iter().next().expect("a stale read");
    assert_eq!(anomaly.name(), "G-single-realtime");
    assert_eq!(found.examples[0].transactions, [0, 3]);
    let text = found.examples[0].explain(&history);
    assert!(
        text.contains("T1 had ended (at 2) before T4 began (at 7)"),
        "{text}"
    );
}

#[test]
fn an_unknown_outcome_has_no_end() {
    let history = [
        t(1).at(1, 2).append(1, 11).unknown(),
        t(2).at(3, 4).absent(1),
        t(3).at(5, 6).list(1, &[11]),
    ];
    must_satisfy(&history, Level::strict(Isolation::Serializable));
}

#[test]
fn a_serial_order_may_not_be_that_of_time() {
    // T2 begins after T1 has ended, yet must come before it: T2, T3, T1. A serial safety
    // net that does not look at time allows that; the first runs on threads found it.
    let history = [
        t(1).at(10, 20).append(2, 12),
        t(2).at(30, 40).absent(1),
        t(3).at(5, 50).absent(2).append(1, 31),
    ];
    assert_eq!(names(&history), ["G2-item-realtime"]);
    let verdict = check(&history);
    assert!(verdict.satisfies(Level::of(Isolation::Serializable)));
    assert!(verdict.satisfies(Level::strict(Isolation::Snapshot)));
    assert!(!verdict.satisfies(Level::strict(Isolation::Serializable)));
}

/// The checker took a blind write for proof that the record was there: a simulated
/// transaction under read committed saw it, another deleted it, and the write made it
/// again (seed 12 of the preset `faults`).
#[test]
fn a_blind_write_may_make_a_record_that_its_writer_saw_before_it_was_deleted() {
    let (key, value, done) = (1, 13, true);
    let update = t(4).at(30, 40).with(Action::Update { key, value, done });
    let history = [
        t(1).at(1, 2).insert(1, 11),
        t(2).at(3, 20).register(1, 11).write(1, 12),
        t(3).at(4, 10).delete(1),
        update,
    ];
    must_satisfy(&history, Level::strict(Isolation::ReadCommitted));
}
