//! Flaws of writers, aborts, errors and claims.

use super::*;

#[test]
fn writes_with_a_wrong_answer_are_rejected() {
    for action in [
        insert("x", "2", true),
        update("x", "2", false),
        update("y", "2", true),
        delete("x", false),
        insert("y", "2", false),
    ] {
        rejected(
            &serial(&[
                (1, Committed(2), &[put("x", "1")]),
                (2, RolledBack, &[action]),
            ]),
            "write of a wrong state",
        );
    }
}

#[test]
fn a_lost_update_is_rejected() {
    rejected(
        &serial(&[
            (1, Committed(2), &[put("x", "1")]),
            (2, Committed(3), &[get("x", "1"), put("x", "2")]),
            (2, Committed(4), &[get("x", "1"), put("x", "3")]),
        ]),
        "lost update",
    );
}

#[test]
fn a_dirty_write_is_rejected() {
    let first = record(1, 1, Committed(2), 10, &[put("x", "1"), get("y", "")]);
    // The second write comes between the first transaction's write and its end.
    let mut second = record(2, 1, RolledBack, 12, &[put("x", "2")]);
    second.ended = 40;
    let mut first = first;
    first.ended = 30;
    rejected(&[first, second], "dirty write (G0)");
}

#[test]
fn commits_out_of_order_are_rejected() {
    for (first, second) in [(2, 2), (2, 1)] {
        rejected(
            &serial(&[
                (1, Committed(first), &[put("x", "1")]),
                (1, Committed(second), &[put("y", "1")]),
            ]),
            "commit order",
        );
    }
}

#[test]
fn an_abort_without_a_cause_is_rejected() {
    let too_old = [failed("x", Error::Abort(Abort::SnapshotTooOld))];
    rejected(
        &serial(&[(1, Committed(2), &[put("x", "1")]), (2, Aborted, &too_old)]),
        "abort without a cause",
    );
    let conflict = [failed("x", Error::Abort(Abort::WriteConflict))];
    rejected(
        &serial(&[(1, Committed(2), &[put("x", "1")]), (1, Aborted, &conflict)]),
        "abort without a cause",
    );
    let mut open = record(1, 1, RolledBack, 10, &[put("x", "1")]);
    open.ended = 100;
    accepted(&[open, record(2, 1, Aborted, 20, &conflict)]);
}

#[test]
fn unexpected_errors_are_rejected() {
    for error in [Error::MemoryExhausted, Error::Ended] {
        rejected(
            &serial(&[(1, RolledBack, &[failed("x", error)])]),
            "unexpected error",
        );
    }
}

#[test]
fn a_lost_append_and_a_wrong_claim_are_rejected() {
    let rejects = |second: &str| {
        rejected(
            &serial(&[
                (1, Committed(2), &[put("a", "element1")]),
                (2, Committed(3), &[put("a", second)]),
            ]),
            "lost append",
        );
    };
    rejects("element2");
    rejects("element1element1");
    let mut wrong = serial(&[(1, Committed(1), &[])]);
    wrong[0].claims.push(Claim {
        what: "the total",
        expected: 3,
        found: 4,
    });
    rejected(&wrong, "claim of a workload");
}

/// Two operations run at once: one meets the conflict, and both report it.
#[test]
fn one_cause_is_enough_for_two_operations_at_once() {
    let conflict = Error::Abort(Abort::WriteConflict);
    let mut open = record(1, 1, RolledBack, 10, &[put("x", "1")]);
    open.ended = 100;
    let told = [failed("y", conflict), failed("x", conflict)];
    let mut told = record(2, 1, Aborted, 20, &told);
    told.events[1].joined = true;
    accepted(&[open.clone(), told.clone()]);
    told.events[1].joined = false;
    rejected(&[open, told], "abort without a cause");
}
