//! Strengths of locks on records.

use super::*;

impl Setup {
    /// Makes a write that keeps the record's key.
    fn change(&self, txn: &Transaction, key: &str, value: &str) {
        let change = |_: &[u8], new: &mut Vec<u8>| {
            new.extend_from_slice(value.as_bytes());
            ControlFlow::Continue(Strength::NoKeyUpdate)
        };
        let key = key.as_bytes();
        let written = txn.modify_row::<Sequential>(&self.table, key, None, change);
        assert_eq!(run_inline(written).unwrap().outcome, RowOutcome::Done);
    }

    fn may_lock(&self, txn: &Transaction, key: &str, strength: Strength) -> bool {
        match self.lock(txn, key, strength, IfLocked::Skip) {
            Ok(read) => read.is_some(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

const ALL: [Isolation; 3] = [
    Isolation::ReadCommitted,
    Isolation::Snapshot,
    Isolation::Serializable,
];

/// A reference to a record and a change of columns that it does not refer to once excluded each other, and on a
/// snapshot one of the two transactions was aborted.
#[test]
fn a_key_share_goes_beside_writes_that_keep_the_key() {
    for level in ALL {
        let s = waiting();
        let (a, b) = (s.begin(Isolation::ReadCommitted), s.begin(level));
        // The snapshot of `b` is older than the following writes.
        s.get(&b, "y");
        let before = s.begin(Isolation::ReadCommitted);
        s.change(&before, "x", "before");
        run_inline(before.commit()).unwrap();
        s.change(&a, "x", "a");
        let seen = match level {
            Isolation::ReadCommitted => "before",
            _ => "0",
        };
        let locked = s.lock(&b, "x", Strength::KeyShare, IfLocked::Fail);
        assert_eq!(locked, Ok(Some(seen.to_owned())), "{level:?}");
        for (strength, may) in [(Strength::Share, false), (Strength::KeyShare, true)] {
            let c = s.begin(Isolation::ReadCommitted);
            assert_eq!(s.may_lock(&c, "x", strength), may, "{strength:?}");
        }
        s.change(&a, "x", "again");
        run_inline(a.commit()).unwrap();
        let c = s.begin(Isolation::ReadCommitted);
        assert!(s.may_lock(&c, "x", Strength::NoKeyUpdate));
        assert!(!s.may_lock(&c, "x", Strength::Update));
        s.change(&c, "x", "c");
        run_inline(c.commit()).unwrap();
        let d = s.begin(Isolation::ReadCommitted);
        let mut removal = Stepped::new(d.delete::<Sequential>(&s.table, b"x"));
        assert_eq!(removal.step(), None, "it is held on to");
        run_inline(b.commit()).unwrap();
        assert_eq!(removal.step(), Some(Ok(true)));
        drop(removal);
        run_inline(d.commit()).unwrap();
        s.check_no_record_lock_left();
    }
}

#[test]
fn a_key_share_does_not_go_past_a_key_that_has_changed() {
    for level in [Isolation::Snapshot, Isolation::Serializable] {
        let s = waiting();
        let b = s.begin(level);
        s.get(&b, "y");
        s.get(&b, "x");
        let a = s.begin(Isolation::ReadCommitted);
        s.put(&a, "x", "another key").unwrap();
        assert!(!s.may_lock(&b, "x", Strength::KeyShare));
        run_inline(a.commit()).unwrap();
        let locked = s.lock(&b, "x", Strength::KeyShare, IfLocked::Fail);
        assert_eq!(locked, Err(TOO_OLD));
        drop(b);
        s.check_no_record_lock_left();
    }
}

/// The writer itself has to wait, if it goes on to take the key away.
#[test]
fn a_writer_that_has_kept_a_key_waits_to_delete_it() {
    for commits in [true, false] {
        let s = waiting();
        let (a, b) = (
            s.begin(Isolation::ReadCommitted),
            s.begin(Isolation::ReadCommitted),
        );
        s.change(&a, "x", "a");
        assert!(s.may_lock(&b, "x", Strength::KeyShare));
        let mut removal = Stepped::new(a.delete::<Sequential>(&s.table, b"x"));
        assert_eq!(removal.step(), None);
        match commits {
            true => {
                run_inline(b.commit()).unwrap();
            }
            false => b.rollback(),
        }
        assert_eq!(removal.step(), Some(Ok(true)));
        drop(removal);
        let c = s.begin(Isolation::ReadCommitted);
        assert!(!s.may_lock(&c, "x", Strength::KeyShare));
        run_inline(a.commit()).unwrap();
        assert!(!s.may_lock(&c, "x", Strength::KeyShare), "it is gone");
        drop(c);
        s.check_no_record_lock_left();
    }
}

/// Each of two transactions holds on to a key that the other one wants to delete.
#[test]
fn two_that_hold_on_to_a_key_and_delete_it_are_a_deadlock() {
    let s = waiting();
    let (a, b) = (
        s.begin(Isolation::ReadCommitted),
        s.begin(Isolation::ReadCommitted),
    );
    assert!(s.may_lock(&a, "x", Strength::KeyShare));
    assert!(s.may_lock(&b, "x", Strength::KeyShare));
    s.change(&a, "x", "a");
    let mut removal = Stepped::new(a.delete::<Sequential>(&s.table, b"x"));
    assert_eq!(removal.step(), None);
    let deadlock = run_inline(b.update::<Sequential>(&s.table, b"x", b"b"));
    assert_eq!(deadlock, Err(Error::Abort(Abort::Deadlock)));
    assert_eq!(removal.step(), Some(Ok(true)));
    drop(removal);
    run_inline(a.commit()).unwrap();
    s.check_no_record_lock_left();
}

/// A transaction holds a record that it has written and locked, whichever of the two it returns from.
#[test]
fn a_savepoint_gives_back_the_strength_that_came_after_it() {
    for (deletes, commits) in [(true, true), (true, false), (false, true), (false, false)] {
        let s = waiting();
        let (a, b) = (
            s.begin(Isolation::ReadCommitted),
            s.begin(Isolation::ReadCommitted),
        );
        s.change(&a, "x", "a");
        let savepoint = a.savepoint().unwrap();
        match deletes {
            true => assert_eq!(run_inline(a.delete::<Sequential>(&s.table, b"x")), Ok(true)),
            false => assert!(s.may_lock(&a, "x", Strength::Update)),
        }
        let (strength, wait) = (Strength::KeyShare, IfLocked::Wait);
        let lock = b.lock::<Sequential, _>(&s.table, b"x", strength, wait, |_| ());
        let mut lock = Stepped::new(lock);
        assert_eq!(lock.step(), None);
        a.rollback_to(&savepoint).unwrap();
        assert_eq!(lock.step(), Some(Ok(Some(()))));
        drop(lock);
        let c = s.begin(Isolation::ReadCommitted);
        assert!(!s.may_lock(&c, "x", Strength::Share), "it is still written");
        match commits {
            true => {
                run_inline(a.commit()).unwrap();
            }
            false => a.rollback(),
        }
        assert!(s.may_lock(&c, "x", Strength::Share));
        drop(c);
        run_inline(b.commit()).unwrap();
        s.check_no_record_lock_left();
    }
}

/// Changes a record so that its key stays.
fn change(s: &Setup, txn: &Transaction, key: &str) {
    let change = |_: &[u8], new: &mut Vec<u8>| {
        new.extend_from_slice(b"changed");
        ControlFlow::Continue(Strength::NoKeyUpdate)
    };
    let write = txn.modify_row::<Sequential>(&s.table, key.as_bytes(), None, change);
    assert_eq!(run_inline(write).unwrap().outcome, RowOutcome::Done);
}

/// The return gave the stronger lock up while the write that had asked for it still stood: the lock table kept it
/// until the end. The answer to the transaction then disagreed with its list of locks, and its next deletion of
/// the record asked for the lock for ever.
#[test]
fn a_return_to_a_savepoint_weakens_the_lock_of_a_record_that_was_deleted_since() {
    for in_turns in [false, true] {
        let s = waiting();
        let (a, b) = (
            s.begin(Isolation::ReadCommitted),
            s.begin(Isolation::ReadCommitted),
        );
        s.put(&a, "x", "1").unwrap();
        run_inline(a.commit()).unwrap();
        let a = s.begin(Isolation::ReadCommitted);
        s.lock(&a, "x", Strength::KeyShare, IfLocked::Fail).unwrap();
        let savepoint = a.savepoint().unwrap();
        assert!(run_inline(a.delete::<Sequential>(&s.table, b"x")).unwrap());
        match in_turns {
            true => run_inline(a.rollback_to_in_turns(&savepoint)).unwrap(),
            false => a.rollback_to(&savepoint).unwrap(),
        }
        let shared = s.lock(&b, "x", Strength::KeyShare, IfLocked::Skip).unwrap();
        assert!(shared.is_some(), "{in_turns}");
        b.rollback();
        change(&s, &a, "x");
        assert!(run_inline(a.delete::<Sequential>(&s.table, b"x")).unwrap());
        run_inline(a.commit()).unwrap();
        s.check_no_record_lock_left();
    }
}

/// A retry began with the weakest lock that the transaction had had on the record, while the lock table had
/// the strongest.
#[test]
fn a_retry_inherits_the_strongest_lock() {
    let s = waiting();
    let first = s.begin(Isolation::ReadCommitted);
    s.put(&first, "x", "1").unwrap();
    run_inline(first.commit()).unwrap();
    let (a, b) = (
        s.begin(Isolation::ReadCommitted),
        s.begin(Isolation::Snapshot),
    );
    b.will_be_restarted();
    b.snapshot();
    s.lock(&b, "x", Strength::KeyShare, IfLocked::Fail).unwrap();
    change(&s, &a, "x");
    let mut deletion = Stepped::new(b.delete::<Sequential>(&s.table, b"x"));
    assert!(deletion.step().is_none());
    run_inline(a.commit()).unwrap();
    assert_eq!(deletion.step(), Some(Err(TOO_OLD)));
    drop(deletion);
    let retry = run_inline(b.restart::<Sequential>()).unwrap();
    change(&s, &retry, "x");
    assert!(run_inline(retry.delete::<Sequential>(&s.table, b"x")).unwrap());
    run_inline(retry.commit()).unwrap();
    s.check_no_record_lock_left();
}
