//! Cycles of dependencies, each class by hand, beside the nearest history without it.

use super::{must_satisfy, names, shows, t};
use crate::{Isolation, Level, check};

const SERIALIZABLE: Level = Level::of(Isolation::Serializable);

#[test]
fn g0_dirty_write() {
    // The appends of T1 and T2 are interleaved: one order in record 1, another in 2.
    let history = [
        t(1).append(1, 11).append(2, 12),
        t(2).append(1, 21).append(2, 22),
        t(3).list(1, &[11, 21]).list(2, &[22, 12]),
    ];
    shows(&history, &["G0"], Isolation::ReadCommitted);
    let history = [
        t(1).append(1, 11).append(2, 12),
        t(2).append(1, 21).append(2, 22),
        t(3).list(1, &[11, 21]).list(2, &[12, 22]),
    ];
    must_satisfy(&history, SERIALIZABLE);
}

#[test]
fn g1c_circular_information_flow() {
    let history = [
        t(1).append(1, 11).list(2, &[22]),
        t(2).append(2, 22).list(1, &[11]),
    ];
    shows(&history, &["G1c"], Isolation::ReadCommitted);
}

#[test]
fn g_single_read_skew() {
    // T1 sees T2's write in record 2 and not in record 1.
    let history = [
        t(1).absent(1).list(2, &[22]),
        t(2).append(1, 21).append(2, 22),
    ];
    shows(&history, &["G-single"], Isolation::Snapshot);
    let history = [
        t(1).list(1, &[21]).list(2, &[22]),
        t(2).append(1, 21).append(2, 22),
    ];
    must_satisfy(&history, SERIALIZABLE);
}

#[test]
fn a_read_that_does_not_repeat_is_read_skew() {
    let history = [t(1).absent(1).list(1, &[21]), t(2).append(1, 21)];
    shows(&history, &["G-single"], Isolation::Snapshot);
}

#[test]
fn observed_transaction_vanishes() {
    // Adya's OTV: T3 sees T2 replace T1's write, and then T1's other write.
    let history = [
        t(1).append(1, 11).append(2, 12),
        t(2).append(1, 21).append(2, 22),
        t(3).list(1, &[11, 21]).list(2, &[12]),
        t(4).list(2, &[12, 22]),
    ];
    shows(&history, &["G-single"], Isolation::Snapshot);
}

#[test]
fn p4_lost_update() {
    let history = [
        t(1).append_onto(1, &[], 11),
        t(2).append_onto(1, &[11], 21),
        t(3).append_onto(1, &[11], 31),
    ];
    let found = names(&history);
    assert!(found.contains(&"P4"), "{found:?}");
    let verdict = check(&history);
    assert!(verdict.satisfies(Level::strict(Isolation::ReadCommitted)));
    assert!(!verdict.satisfies(Level::of(Isolation::Snapshot)));
    // One after the other.
    let history = [
        t(1).append_onto(1, &[], 11),
        t(2).append_onto(1, &[11], 21),
        t(3).append_onto(1, &[11, 21], 31),
    ];
    must_satisfy(&history, SERIALIZABLE);
}

#[test]
fn p4_lost_update_of_a_register() {
    let history = [
        t(1).write(1, 11),
        t(2).register(1, 11).write(1, 21),
        t(3).register(1, 11).write(1, 31),
    ];
    assert!(names(&history).contains(&"P4"));
}

#[test]
fn p4_two_first_inserts() {
    let history = [t(1).absent(1).insert(1, 11), t(2).absent(1).insert(1, 21)];
    assert!(names(&history).contains(&"P4"));
}

#[test]
fn g_nonadjacent_long_fork() {
    // T3 sees T1 and not T2, T4 sees T2 and not T1.
    let history = [
        t(1).append(1, 11),
        t(2).append(2, 21),
        t(3).list(1, &[11]).absent(2),
        t(4).absent(1).list(2, &[21]),
    ];
    shows(&history, &["G-nonadjacent"], Isolation::Snapshot);
    let history = [
        t(1).append(1, 11),
        t(2).append(2, 21),
        t(3).list(1, &[11]).absent(2),
        t(4).list(1, &[11]).list(2, &[21]),
    ];
    must_satisfy(&history, SERIALIZABLE);
}

#[test]
fn g2_item_write_skew() {
    let history = [
        t(1).absent(2).append_onto(1, &[], 11),
        t(2).absent(1).append_onto(2, &[], 21),
    ];
    shows(&history, &["G2-item"], Isolation::Serializable);
    let history = [
        t(1).absent(2).append_onto(1, &[], 11),
        t(2).list(1, &[11]).append_onto(2, &[], 21),
    ];
    must_satisfy(&history, SERIALIZABLE);
}

#[test]
fn write_skew_of_registers() {
    let history = [
        t(1).write(1, 1).write(2, 2),
        t(2).register(1, 1).register(2, 2).write(1, 21),
        t(3).register(1, 1).register(2, 2).write(2, 32),
    ];
    shows(&history, &["G2-item"], Isolation::Serializable);
}

#[test]
fn write_skew_of_three() {
    let history = [
        t(1).absent(2).append_onto(1, &[], 11),
        t(2).absent(3).append_onto(2, &[], 21),
        t(3).absent(1).append_onto(3, &[], 31),
    ];
    shows(&history, &["G2-item"], Isolation::Serializable);
}

#[test]
fn read_only_anomaly() {
    // Fekete, O'Neil, O'Neil 2004: without the reader T3 the other two are serializable.
    let writers = [
        t(1).register(1, 5).register(2, 6).write(1, 11),
        t(2).register(2, 6).write(2, 21),
        t(9).write(1, 5).write(2, 6),
    ];
    must_satisfy(&writers, SERIALIZABLE);
    let [one, two, first] = writers;
    let history = [first, one, two, t(3).register(1, 5).register(2, 21)];
    shows(&history, &["G2-item"], Isolation::Serializable);
}

#[test]
fn the_shortest_cycle_is_explained() {
    let history = [
        t(1).absent(2).absent(3).append_onto(1, &[], 11),
        t(2).absent(1).append_onto(2, &[], 21),
        t(3).absent(2).append_onto(3, &[], 31),
    ];
    let verdict = check(&history);
    let (_, found) = verdict.forbidden(SERIALIZABLE).next().expect("write skew");
    let example = &found.examples[0];
    assert_eq!(example.transactions, [0, 1]);
    let text = example.explain(&history);
    for part in [
        "G2-item (write skew)",
        "T1 (process 1): read 2 -> nothing; ..; append 11 to 1, onto []",
        "T1 comes before T2: T1 found no record 2, which T2 made as 21.",
        "But T2 comes before T1: T2 found no record 1, which T1 made as 11: a contradiction.",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let dot = example.dot(&history);
    assert!(dot.starts_with("digraph"), "{dot}");
    assert!(dot.contains("T1 -> T2 [label=\"rw\""), "{dot}");
}
