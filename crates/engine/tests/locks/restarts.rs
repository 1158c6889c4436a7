//! Transactions that are run again, and what they inherit.

use super::*;

/// Returns a transaction that was aborted since a record that it had read had changed: it had no lock there yet, and
/// a retry waits for one.
fn aborted(s: &Setup) -> Transaction {
    let (loser, first) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    loser.will_be_restarted();
    s.get(&loser, "x");
    s.put(&first, "x", "first").unwrap();
    run_inline(first.commit()).unwrap();
    assert_eq!(s.put(&loser, "x", "loser"), Err(TOO_OLD));
    loser
}

/// Returns a transaction that waited for a record that it had read, and was aborted with the lock that it got: a
/// retry inherits that.
fn aborted_with_lock(s: &Setup) -> Transaction {
    let (owner, loser) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    loser.will_be_restarted();
    s.get(&loser, "x");
    s.put(&owner, "x", "owner").unwrap();
    let mut write = Stepped::new(loser.upsert::<Sequential>(&s.table, b"x", b"loser"));
    assert_eq!(write.step(), None);
    run_inline(owner.commit()).unwrap();
    assert_eq!(write.step(), Some(Err(TOO_OLD)));
    drop(write);
    loser
}

/// Two writers of one record read it first. The loser of the first round begins again with the record's lock, and
/// so wins the second round against any newcomer.
#[test]
fn a_retry_keeps_the_lock_it_waited_for() {
    let s = waiting();
    let owner = s.begin(Isolation::Snapshot);
    let loser = s.begin(Isolation::Snapshot);
    loser.will_be_restarted();
    s.get(&loser, "x");
    s.put(&owner, "x", "owner").unwrap();
    let mut write = Stepped::new(loser.upsert::<Sequential>(&s.table, b"x", b"loser"));
    assert_eq!(write.step(), None);
    let third = s.begin(Isolation::Snapshot);
    s.get(&third, "x");
    let mut late = Stepped::new(third.upsert::<Sequential>(&s.table, b"x", b"third"));
    assert_eq!(late.step(), None);
    run_inline(owner.commit()).unwrap();
    assert_eq!(write.step(), Some(Err(TOO_OLD)));
    drop(write);
    assert!(!late.is_woken(), "the aborted transaction keeps the record");
    let retry = run_inline(loser.restart::<Sequential>()).unwrap();
    assert_eq!(s.get(&retry, "x").as_deref(), Some("owner"));
    s.put(&retry, "x", "loser").unwrap();
    run_inline(retry.commit()).unwrap();
    assert!(late.is_woken());
    assert_eq!(late.step(), Some(Err(TOO_OLD)));
    drop(late);
    drop(third);
    assert_eq!(s.committed("x").as_deref(), Some("loser"));
    s.check_no_record_lock_left();
}

/// A retry that had not waited (it found the record changed) waits for the record before it takes its snapshot.
#[test]
fn a_retry_waits_for_the_record_it_was_aborted_for() {
    let s = waiting();
    let loser = aborted(&s);
    let second = s.begin(Isolation::Snapshot);
    s.put(&second, "x", "second").unwrap();
    let mut restart = Stepped::new(loser.restart::<Sequential>());
    assert!(restart.step().is_none());
    run_inline(second.commit()).unwrap();
    let retry = restart.step().unwrap().unwrap();
    drop(restart);
    assert_eq!(s.get(&retry, "x").as_deref(), Some("second"));
    s.put(&retry, "x", "loser").unwrap();
    run_inline(retry.commit()).unwrap();
    s.check_no_record_lock_left();
}

/// A retry inherited the lock on a record of a table that was dropped, and the clock moved on, between the abort
/// and the restart. The retry's anchor was too new to keep the table's slots, which were freed and served another
/// table; then the end of the retry removed its mark from the slot of that time.
#[test]
fn a_retry_inherits_no_lock_on_a_record_of_a_dropped_table() {
    let s = waiting();
    let loser = aborted_with_lock(&s);
    s.drop_table();
    let memory = || s.session.database().memory();
    let before = memory();
    assert!(
        before.reserved_bytes > 0,
        "the aborted transaction keeps the record"
    );
    let retry = run_inline(loser.restart::<Sequential>()).unwrap();
    s.collect();
    let after = memory();
    let is_freed = after.indirection_bytes < before.indirection_bytes;
    assert!(is_freed, "a retry does not hold back the horizon");
    assert_eq!(after.reserved_bytes, 0, "no slot is in the lock table");
    assert_eq!(s.put(&retry, "x", "loser"), Err(Error::TableDropped));
}

/// A retry that had no lock yet waited for the record of a dropped table, and could be handed that lock when no
/// anchor kept the table any more.
#[test]
fn a_retry_does_not_wait_for_a_record_of_a_dropped_table() {
    let s = waiting();
    let loser = aborted(&s);
    let second = s.begin(Isolation::Snapshot);
    s.put(&second, "x", "second").unwrap();
    s.drop_table();
    let mut restart = Stepped::new(loser.restart::<Sequential>());
    let retry = restart.step().expect("the record is not waited for");
    drop(restart);
    second.rollback();
    s.collect();
    assert_eq!(
        s.put(&retry.unwrap(), "x", "loser"),
        Err(Error::TableDropped)
    );
}

/// The anchor of a retry, taken before the drop of a table, keeps the table for as long as the retry waits for a
/// record there and has the lock.
#[test]
fn a_table_outlives_a_retry_that_began_with_its_record_before_the_drop() {
    let s = waiting();
    let loser = aborted(&s);
    let second = s.begin(Isolation::Snapshot);
    s.put(&second, "x", "second").unwrap();
    let mut restart = Stepped::new(loser.restart::<Sequential>());
    assert!(restart.step().is_none());
    s.drop_table();
    let bytes = || s.session.database().memory().indirection_bytes;
    let before = bytes();
    second.rollback();
    s.collect();
    let retry = restart.step().expect("the lock is handed over").unwrap();
    drop(restart);
    s.collect();
    assert_eq!(bytes(), before, "the retry has a lock on a slot");
    drop(retry);
    s.collect();
    assert!(bytes() < before);
}

/// An aborted transaction that is not run again keeps nothing once it is dropped.
#[test]
fn state_that_a_retry_could_inherit_goes_with_the_transaction() {
    let s = waiting();
    drop(aborted_with_lock(&s));
    s.check_no_record_lock_left();
}

/// The drop of a table does not end the waits for its records: a waiting transaction gets its turn, goes on with
/// the table that its statement sees, and learns of the drop when it commits.
#[test]
fn a_waiter_for_a_record_of_a_dropped_table_gets_its_turn() {
    let dropped = Error::Abort(Abort::TableDropped);
    for isolation in BOTH {
        for owner_commits in [true, false] {
            let s = waiting();
            let (owner, waiter) = (s.begin(isolation), s.begin(isolation));
            s.put(&owner, "x", "a").unwrap();
            let mut write = Stepped::new(waiter.upsert::<Sequential>(&s.table, b"x", b"b"));
            assert_eq!(write.step(), None);
            let dropper = s.begin(isolation);
            run_inline(dropper.drop_table::<Sequential>("t")).unwrap();
            run_inline(dropper.commit()).unwrap();
            (0..20).for_each(|_| s.session.tend());
            assert!(!write.is_woken());
            match owner_commits {
                true => assert_eq!(run_inline(owner.commit()), Err(dropped)),
                false => owner.rollback(),
            }
            assert!(write.is_woken());
            assert_eq!(write.step(), Some(Ok(())));
            drop(write);
            assert_eq!(run_inline(waiter.commit()), Err(dropped));
            assert_eq!(s.session.database().memory().reserved_bytes, 0);
            assert!(s.session.database().table("t").is_none());
        }
    }
}
