//! Scans, and records that come and go.

use super::{must_satisfy, names, shows, t};
use crate::{Isolation, Level};

#[test]
fn g2_phantom_write_skew() {
    // Each transaction counts the records of the range, finds none, and adds one.
    let history = [
        t(1).scan(0, 10, &[]).insert(1, 11),
        t(2).scan(0, 10, &[]).insert(2, 22),
    ];
    shows(&history, &["G2"], Isolation::Serializable);
    let history = [
        t(1).scan(0, 10, &[]).insert(1, 11),
        t(2).scan(0, 10, &[(1, 11)]).insert(2, 22),
    ];
    must_satisfy(&history, Level::of(Isolation::Serializable));
}

#[test]
fn phantoms_outside_the_range_do_no_harm() {
    let history = [
        t(1).scan(0, 10, &[]).insert(20, 11),
        t(2).scan(10, 20, &[]).insert(9, 22),
    ];
    must_satisfy(&history, Level::of(Isolation::Serializable));
}

#[test]
fn predicate_many_preceders() {
    // PMP: the second scan finds a record that the first did not.
    let history = [
        t(1).scan(0, 10, &[]).scan(0, 10, &[(1, 21)]),
        t(2).insert(1, 21),
    ];
    shows(&history, &["G-single"], Isolation::Snapshot);
}

#[test]
fn a_scan_of_half_a_transaction() {
    let history = [
        t(1).insert(1, 11).insert(2, 12),
        t(2).scan(0, 10, &[(2, 12)]),
    ];
    shows(&history, &["G-single"], Isolation::Snapshot);
}

#[test]
fn write_skew_by_deletes() {
    // Two doctors are on call; each leaves if the other stays.
    let history = [
        t(1).at(1, 2).insert(1, 11).insert(2, 12),
        t(2).at(3, 300).scan(0, 10, &[(1, 11), (2, 12)]).delete(1),
        t(3).at(4, 301).scan(0, 10, &[(1, 11), (2, 12)]).delete(2),
    ];
    shows(&history, &["G2-item"], Isolation::Serializable);
    let history = [
        t(1).at(1, 2).insert(1, 11).insert(2, 12),
        t(2).at(3, 300).scan(0, 10, &[(1, 11), (2, 12)]).delete(1),
        t(3).at(400, 900).scan(0, 10, &[(2, 12)]).delete(2),
    ];
    must_satisfy(&history, Level::strict(Isolation::Serializable));
}

#[test]
fn a_record_seen_after_its_delete_is_stale() {
    let history = [
        t(1).at(1, 2).insert(1, 11),
        t(2).at(3, 4).delete(1),
        t(3).at(5, 6).register(1, 11),
    ];
    assert_eq!(names(&history), ["G-single-realtime"]);
}

#[test]
fn a_record_lost_after_its_insert_is_stale() {
    let history = [t(1).at(1, 2).insert(1, 11), t(2).at(3, 4).scan(0, 10, &[])];
    assert_eq!(names(&history), ["G-single-realtime"]);
}

#[test]
fn an_absence_may_be_that_before_or_that_after() {
    // T4 overlaps the delete and sees T5 from before it; had it seen the absence before
    // the insert, it would be stale, but no checker can tell.
    let history = [
        t(1).at(1, 50).insert(1, 11),
        t(2).at(3, 60).delete(1),
        t(4).at(4, 70).absent(1),
    ];
    must_satisfy(&history, Level::strict(Isolation::Serializable));
}

#[test]
fn half_a_delete_is_read_skew_where_time_tells() {
    // The record was made before T3 began, so T3 saw the delete; but not the other
    // write of its transaction.
    let history = [
        t(1).at(1, 2).insert(1, 11),
        t(2).at(3, 800).delete(1).append(2, 22),
        t(3).at(4, 900).absent(1).absent(2),
    ];
    assert_eq!(names(&history), ["G-single-realtime"]);
}

#[test]
fn a_duplicate_was_there() {
    // T2 is told of T1's record, but does not see its other one.
    let history = [
        t(1).insert(1, 11).append(2, 12),
        t(2).duplicate(1, 21).absent(2),
    ];
    shows(&history, &["G-single"], Isolation::Snapshot);
}

#[test]
fn an_unknown_delete_leaves_absence_open() {
    let history = [
        t(1).at(1, 2).insert(1, 11),
        t(2).at(3, 4).delete(1).unknown(),
        t(3).at(5, 6).absent(1),
        t(4).at(7, 8).absent(1),
    ];
    must_satisfy(&history, Level::strict(Isolation::Serializable));
}

/// Found by the first run on threads: the delete was taken for the record's end, and a
/// reader of the version that replaced it for a reader that came before.
#[test]
fn a_record_may_be_made_again_where_it_was_deleted() {
    let history = [
        t(1).at(1, 2).insert(1, 11),
        t(2).at(3, 4).delete(1).insert(1, 21).append(2, 22),
        t(3).at(5, 6).scan(0, 2, &[(1, 21)]).list(2, &[22]),
    ];
    must_satisfy(&history, Level::strict(Isolation::Serializable));
}
