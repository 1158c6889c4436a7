//! Waiting for other transactions, and explicit locks: the rules by name, two or three
//! transactions stepped by hand.

mod restarts;
mod strengths;

use crate::by_hand;
use crate::steps;

use std::ops::{Bound, ControlFlow};

use by_hand::Setup;
use engine::{
    Abort, Direction, Error, IfLocked, Isolation, OnConflict, RowOutcome, Strength, Transaction,
};
use interleave::{Sequential, run_inline};
use steps::Stepped;

const BOTH: [Isolation; 2] = [Isolation::ReadCommitted, Isolation::Snapshot];
const TOO_OLD: Error = Error::Abort(Abort::SnapshotTooOld);

/// Makes a setup whose transactions wait for each other.
fn waiting() -> Setup {
    Setup {
        on_conflict: OnConflict::Wait,
        ..Setup::new()
    }
}

impl Setup {
    fn committed(&self, key: &str) -> Option<String> {
        self.get(&self.begin(Isolation::Snapshot), key)
    }

    fn lock(
        &self,
        txn: &Transaction,
        key: &str,
        strength: Strength,
        if_locked: IfLocked,
    ) -> Result<Option<String>, Error> {
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let key = key.as_bytes();
        run_inline(txn.lock::<Sequential, _>(&self.table, key, strength, if_locked, text))
    }

    /// Drops the table in a transaction of its own, and moves the clock beyond the drop.
    fn drop_table(&self) {
        let dropper = self.begin(Isolation::Snapshot);
        run_inline(dropper.drop_table::<Sequential>("t")).unwrap();
        run_inline(dropper.commit()).unwrap();
        self.session.tend();
    }

    /// Checks that no record is in the lock table.
    fn check_no_record_lock_left(&self) {
        assert_eq!(self.session.database().memory().reserved_bytes, 0);
        let txn = self.session.begin(Isolation::ReadCommitted).unwrap();
        for key in ["x", "y", "z", "new"] {
            self.put(&txn, key, "free").unwrap();
        }
    }
}

#[test]
fn a_write_waits_and_read_committed_goes_on_with_the_newest_version() {
    let s = waiting();
    let (a, b) = (
        s.begin(Isolation::ReadCommitted),
        s.begin(Isolation::ReadCommitted),
    );
    s.put(&a, "x", "a").unwrap();
    let mut write = Stepped::new(b.update::<Sequential>(&s.table, b"x", b"b"));
    assert_eq!(write.step(), None);
    run_inline(a.commit()).unwrap();
    assert!(write.is_woken(), "the end of the other wakes it");
    assert_eq!(write.step(), Some(Ok(true)));
    drop(write);
    run_inline(b.commit()).unwrap();
    assert_eq!(s.committed("x").as_deref(), Some("b"));
    s.check_no_record_lock_left();
}

#[test]
fn an_update_of_what_was_deleted_meanwhile_finds_nothing_and_keeps_no_lock() {
    let s = waiting();
    let (a, b) = (
        s.begin(Isolation::ReadCommitted),
        s.begin(Isolation::ReadCommitted),
    );
    assert!(run_inline(a.delete::<Sequential>(&s.table, b"x")).unwrap());
    let mut write = Stepped::new(b.update::<Sequential>(&s.table, b"x", b"b"));
    assert_eq!(write.step(), None);
    run_inline(a.commit()).unwrap();
    assert_eq!(write.step(), Some(Ok(false)));
    drop(write);
    // No transaction is in the way of a new record.
    let c = s.begin(Isolation::ReadCommitted);
    let mut insert = Stepped::new(c.insert::<Sequential>(&s.table, b"x", b"c"));
    assert_eq!(insert.step(), Some(Ok(())));
    drop(insert);
    run_inline(c.commit()).unwrap();
    drop(b);
    s.check_no_record_lock_left();
}

#[test]
fn on_a_snapshot_a_change_of_the_other_aborts_and_its_rollback_does_not() {
    for commits in [true, false] {
        let s = waiting();
        let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
        s.get(&b, "x");
        s.put(&a, "x", "a").unwrap();
        let mut write = Stepped::new(b.update::<Sequential>(&s.table, b"x", b"b"));
        assert_eq!(write.step(), None);
        if commits {
            run_inline(a.commit()).unwrap();
            assert_eq!(write.step(), Some(Err(TOO_OLD)));
        } else {
            a.rollback();
            assert_eq!(write.step(), Some(Ok(true)));
        }
        drop(write);
        drop(b);
        s.check_no_record_lock_left();
    }
}

#[test]
fn an_insert_waits_for_an_uncommitted_insert_of_its_key() {
    for commits in [true, false] {
        let s = waiting();
        let (a, b) = (
            s.begin(Isolation::ReadCommitted),
            s.begin(Isolation::ReadCommitted),
        );
        run_inline(a.insert::<Sequential>(&s.table, b"new", b"a")).unwrap();
        let mut insert = Stepped::new(b.insert::<Sequential>(&s.table, b"new", b"b"));
        assert_eq!(insert.step(), None);
        if commits {
            run_inline(a.commit()).unwrap();
            assert_eq!(insert.step(), Some(Err(Error::DuplicateKey)));
        } else {
            a.rollback();
            assert!(insert.is_woken());
            assert_eq!(insert.step(), Some(Ok(())));
        }
        drop(insert);
        run_inline(b.commit()).unwrap();
        let expected = if commits { "a" } else { "b" };
        assert_eq!(s.committed("new").as_deref(), Some(expected));
        s.check_no_record_lock_left();
    }
}

/// Waiting writers are served in the order of their coming, and a writer that comes while the record is being
/// handed over is behind them.
#[test]
fn first_come_first_served() {
    let s = waiting();
    let owner = s.begin(Isolation::ReadCommitted);
    s.put(&owner, "x", "owner").unwrap();
    let mut writes: Vec<_> = (0..4)
        .map(|_| {
            let (txn, table) = (s.begin(Isolation::ReadCommitted), &s.table);
            Stepped::new(async move {
                let written = txn.upsert::<Sequential>(table, b"x", b"later").await;
                (txn, written)
            })
        })
        .collect();
    for write in &mut writes {
        assert!(write.step().is_none());
    }
    run_inline(owner.commit()).unwrap();
    let newcomer = s.begin(Isolation::ReadCommitted);
    let mut late = Stepped::new(newcomer.upsert::<Sequential>(&s.table, b"x", b"last"));
    assert_eq!(late.step(), None, "the record was handed over");
    for mut write in writes {
        assert!(write.is_woken());
        let (txn, written) = write.step().unwrap();
        written.unwrap();
        assert!(!late.is_woken());
        run_inline(txn.commit()).unwrap();
    }
    assert_eq!(late.step(), Some(Ok(())));
    drop(late);
    run_inline(newcomer.commit()).unwrap();
    s.check_no_record_lock_left();
}

#[test]
fn a_transaction_that_does_not_wait_aborts_at_a_lock() {
    let s = waiting();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    assert_eq!(
        s.lock(&a, "x", Strength::Share, IfLocked::Wait),
        Ok(Some("0".into()))
    );
    b.set_on_conflict(OnConflict::Abort);
    assert_eq!(s.put(&b, "x", "b"), Err(Error::Abort(Abort::WriteConflict)));
    drop((a, b));
    s.check_no_record_lock_left();
}

#[test]
fn shared_locks_go_together_and_keep_writers_out() {
    let s = waiting();
    let (a, b, c) = (
        s.begin(Isolation::Snapshot),
        s.begin(Isolation::Snapshot),
        s.begin(Isolation::Snapshot),
    );
    s.lock(&a, "x", Strength::Share, IfLocked::Fail).unwrap();
    s.lock(&b, "x", Strength::Share, IfLocked::Fail).unwrap();
    assert_eq!(
        s.lock(&c, "x", Strength::Update, IfLocked::Fail),
        Err(Error::Locked)
    );
    assert_eq!(s.lock(&c, "x", Strength::Update, IfLocked::Skip), Ok(None));
    let mut write = Stepped::new(c.update::<Sequential>(&s.table, b"x", b"c"));
    assert_eq!(write.step(), None);
    // The lock waits behind the writer, whether it is shared or not.
    let d = s.begin(Isolation::Snapshot);
    assert_eq!(
        s.lock(&d, "x", Strength::Share, IfLocked::Fail),
        Err(Error::Locked)
    );
    a.rollback();
    assert_eq!(write.step(), None);
    run_inline(b.commit()).unwrap();
    assert_eq!(write.step(), Some(Ok(true)), "nobody has changed it");
    drop(write);
    run_inline(c.commit()).unwrap();
    drop(d);
    s.check_no_record_lock_left();
}

#[test]
fn a_shared_lock_becomes_an_exclusive_one_before_others() {
    let s = waiting();
    let (a, b, c) = (
        s.begin(Isolation::Snapshot),
        s.begin(Isolation::Snapshot),
        s.begin(Isolation::Snapshot),
    );
    s.lock(&a, "x", Strength::Share, IfLocked::Fail).unwrap();
    s.lock(&b, "x", Strength::Share, IfLocked::Fail).unwrap();
    s.get(&c, "x");
    let mut other = Stepped::new(c.upsert::<Sequential>(&s.table, b"x", b"c"));
    assert_eq!(other.step(), None);
    let mut upgrade = Stepped::new(a.upsert::<Sequential>(&s.table, b"x", b"a"));
    assert_eq!(upgrade.step(), None);
    b.rollback();
    assert!(upgrade.is_woken() && !other.is_woken());
    assert_eq!(upgrade.step(), Some(Ok(())));
    drop(upgrade);
    run_inline(a.commit()).unwrap();
    assert_eq!(other.step(), Some(Err(TOO_OLD)));
    drop(other);
    drop(c);
    s.check_no_record_lock_left();
}

#[test]
fn two_upgrades_of_one_record_are_a_deadlock() {
    let s = waiting();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    s.lock(&a, "x", Strength::Share, IfLocked::Wait).unwrap();
    s.lock(&b, "x", Strength::Share, IfLocked::Wait).unwrap();
    let mut first = Stepped::new(a.upsert::<Sequential>(&s.table, b"x", b"a"));
    assert_eq!(first.step(), None);
    assert_eq!(s.put(&b, "x", "b"), Err(Error::Abort(Abort::Deadlock)));
    // The loser's locks are gone at once.
    assert_eq!(first.step(), Some(Ok(())));
    drop(first);
    drop((a, b));
    s.check_no_record_lock_left();
}

#[test]
fn two_writers_in_opposite_order_are_a_deadlock() {
    for level in BOTH {
        let s = waiting();
        let (a, b) = (s.begin(level), s.begin(level));
        s.put(&a, "x", "a").unwrap();
        s.put(&b, "y", "b").unwrap();
        let mut first = Stepped::new(a.upsert::<Sequential>(&s.table, b"y", b"a"));
        assert_eq!(first.step(), None);
        assert_eq!(s.put(&b, "x", "b"), Err(Error::Abort(Abort::Deadlock)));
        assert_eq!(first.step(), Some(Ok(())));
        drop(first);
        run_inline(a.commit()).unwrap();
        assert_eq!(s.committed("y").as_deref(), Some("a"));
        drop(b);
        s.check_no_record_lock_left();
    }
}

/// The circle may lead through the queue: `c` waits for `a` only because `b`, which waits only for `a`, came
/// before it.
#[test]
fn a_deadlock_through_the_queue_is_found() {
    let s = waiting();
    let (a, b, c) = (
        s.begin(Isolation::Snapshot),
        s.begin(Isolation::Snapshot),
        s.begin(Isolation::Snapshot),
    );
    s.lock(&a, "x", Strength::Share, IfLocked::Wait).unwrap();
    s.put(&c, "y", "c").unwrap();
    // Without a lock of its own, `b` would let `c` pass.
    s.put(&b, "z", "b").unwrap();
    let mut second = Stepped::new(b.upsert::<Sequential>(&s.table, b"x", b"b"));
    assert_eq!(second.step(), None);
    // The lock waits behind `b`, though `a` would not mind.
    let mut third = Stepped::new(c.lock::<Sequential, _>(
        &s.table,
        b"x",
        Strength::Share,
        IfLocked::Wait,
        |_| (),
    ));
    assert_eq!(third.step(), None);
    assert_eq!(s.put(&a, "y", "a"), Err(Error::Abort(Abort::Deadlock)));
    assert_eq!(second.step(), Some(Ok(())));
    drop(second);
    b.rollback();
    assert_eq!(third.step(), Some(Ok(Some(()))));
    drop(third);
    drop((a, c));
    s.check_no_record_lock_left();
}

/// Other transactions may be waiting for `c`, which has a lock; none can wait for `b`, which has no lock.
#[test]
fn a_transaction_with_locks_goes_before_one_without() {
    let s = waiting();
    let [a, b, c] = [(); 3].map(|()| s.begin(Isolation::ReadCommitted));
    s.put(&a, "x", "a").unwrap();
    s.put(&c, "y", "c").unwrap();
    let mut second = Stepped::new(b.upsert::<Sequential>(&s.table, b"x", b"b"));
    assert_eq!(second.step(), None);
    let mut third = Stepped::new(c.upsert::<Sequential>(&s.table, b"x", b"c"));
    assert_eq!(third.step(), None);
    run_inline(a.commit()).unwrap();
    assert_eq!(second.step(), None);
    assert_eq!(third.step(), Some(Ok(())));
    drop(third);
    run_inline(c.commit()).unwrap();
    assert_eq!(second.step(), Some(Ok(())));
    drop(second);
    drop(b);
    s.check_no_record_lock_left();
}

#[test]
fn a_locking_read_waits_and_reads_what_it_has_locked() {
    for level in BOTH {
        let s = waiting();
        let (a, b) = (s.begin(level), s.begin(level));
        s.put(&a, "x", "a").unwrap();
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let mut read = Stepped::new(b.lock::<Sequential, _>(
            &s.table,
            b"x",
            Strength::Update,
            IfLocked::Wait,
            text,
        ));
        assert_eq!(read.step(), None);
        run_inline(a.commit()).unwrap();
        assert_eq!(read.step(), Some(Ok(Some("a".to_owned()))));
        drop(read);
        drop(b);
        s.check_no_record_lock_left();
    }
}

#[test]
fn there_is_nothing_to_lock_where_there_is_no_record() {
    let s = waiting();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    s.insert(&a, "new", "a").unwrap();
    for key in ["absent", "new"] {
        assert_eq!(s.lock(&b, key, Strength::Update, IfLocked::Fail), Ok(None));
    }
    drop((a, b));
    s.check_no_record_lock_left();
}

/// Each transaction takes the first free job.
#[test]
fn a_scan_that_skips_what_is_locked_serves_a_queue_of_jobs() {
    let s = waiting();
    let txn = s.begin(Isolation::Snapshot);
    for job in 0..200 {
        s.put(&txn, &format!("job {job:03}"), "").unwrap();
    }
    run_inline(txn.commit()).unwrap();
    let range = (Bound::Included(&b"job"[..]), Bound::Excluded(&b"k"[..]));
    let workers: Vec<_> = (0..150)
        .map(|_| s.begin(Isolation::ReadCommitted))
        .collect();
    for (number, worker) in workers.iter().enumerate() {
        let mut taken = Vec::new();
        let visited = run_inline(worker.scan_locked::<Sequential>(
            &s.table,
            range,
            Direction::Forward,
            Strength::Update,
            IfLocked::Skip,
            |key, _| {
                taken.push(String::from_utf8(key.to_vec()).unwrap());
                ControlFlow::Break(())
            },
        ));
        assert_eq!(visited, Ok(1));
        assert_eq!(taken, [format!("job {number:03}")]);
    }
    let all = s.begin(Isolation::Snapshot);
    let count = |if_locked, direction| {
        run_inline(all.scan_locked::<Sequential>(
            &s.table,
            range,
            direction,
            Strength::Share,
            if_locked,
            |_, _| ControlFlow::Continue(()),
        ))
    };
    assert_eq!(count(IfLocked::Skip, Direction::Backward), Ok(50));
    assert_eq!(
        count(IfLocked::Fail, Direction::Forward),
        Err(Error::Locked)
    );
    drop(workers);
    assert_eq!(count(IfLocked::Wait, Direction::Forward), Ok(200));
    drop(all);
    s.check_no_record_lock_left();
}

#[test]
fn a_wait_that_is_given_up_leaves_the_queue() {
    let s = waiting();
    let (a, b, c) = (
        s.begin(Isolation::Snapshot),
        s.begin(Isolation::Snapshot),
        s.begin(Isolation::Snapshot),
    );
    s.lock(&a, "x", Strength::Share, IfLocked::Wait).unwrap();
    let mut writer = Stepped::new(b.upsert::<Sequential>(&s.table, b"x", b"b"));
    assert_eq!(writer.step(), None);
    let mut reader = Stepped::new(c.lock::<Sequential, _>(
        &s.table,
        b"x",
        Strength::Share,
        IfLocked::Wait,
        |_| (),
    ));
    assert_eq!(reader.step(), None);
    drop(writer);
    assert!(reader.is_woken(), "only the writer was in its way");
    assert_eq!(reader.step(), Some(Ok(Some(()))));
    drop(reader);
    // A lock was handed over, and its waiter was dropped before it heard of it.
    let mut unheard = Stepped::new(b.upsert::<Sequential>(&s.table, b"x", b"b"));
    assert_eq!(unheard.step(), None);
    drop((a, c));
    assert!(unheard.is_woken());
    drop(unheard);
    let d = s.begin(Isolation::Snapshot);
    s.lock(&d, "x", Strength::Update, IfLocked::Fail).unwrap();
    run_inline(b.commit()).unwrap();
    drop(d);
    s.check_no_record_lock_left();
}

/// A sibling under the same `join` is aborted: the waiting operation learns of it.
#[test]
fn the_end_of_a_transaction_ends_its_waits() {
    let s = waiting();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    s.put(&a, "x", "a").unwrap();
    let mut wait = Stepped::new(b.upsert::<Sequential>(&s.table, b"x", b"b"));
    assert_eq!(wait.step(), None);
    let newer = s.begin(Isolation::Snapshot);
    s.put(&newer, "y", "newer").unwrap();
    run_inline(newer.commit()).unwrap();
    assert_eq!(s.put(&b, "y", "b"), Err(TOO_OLD));
    assert!(wait.is_woken());
    assert_eq!(wait.step(), Some(Err(TOO_OLD)));
    drop(wait);
    drop((a, b));
    s.check_no_record_lock_left();
}

#[test]
fn a_savepoint_gives_back_the_locks_that_came_after_it() {
    let s = waiting();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    s.lock(&a, "x", Strength::Share, IfLocked::Wait).unwrap();
    let savepoint = a.savepoint().unwrap();
    s.lock(&a, "y", Strength::Update, IfLocked::Wait).unwrap();
    s.put(&a, "x", "a").unwrap();
    s.put(&a, "z", "a").unwrap();
    let mut on_z = Stepped::new(b.upsert::<Sequential>(&s.table, b"z", b"b"));
    assert_eq!(on_z.step(), None);
    a.rollback_to(&savepoint).unwrap();
    assert_eq!(on_z.step(), Some(Ok(())), "undone writes are handed over");
    drop(on_z);
    s.lock(&b, "y", Strength::Update, IfLocked::Fail).unwrap();
    s.lock(&b, "x", Strength::Share, IfLocked::Fail).unwrap();
    assert_eq!(
        s.lock(&b, "x", Strength::Update, IfLocked::Fail),
        Err(Error::Locked)
    );
    run_inline(a.commit()).unwrap();
    s.lock(&b, "x", Strength::Update, IfLocked::Fail).unwrap();
    run_inline(b.commit()).unwrap();
    s.check_no_record_lock_left();
}

/// A tombstone with a waiter is neither collected under the waiter nor forgotten.
#[test]
fn a_deleted_record_is_collected_after_its_locks_have_gone() {
    let s = waiting();
    let (a, b) = (
        s.begin(Isolation::ReadCommitted),
        s.begin(Isolation::ReadCommitted),
    );
    assert!(run_inline(a.delete::<Sequential>(&s.table, b"x")).unwrap());
    let mut wait = Stepped::new(b.upsert::<Sequential>(&s.table, b"x", b"b"));
    assert_eq!(wait.step(), None);
    run_inline(a.commit()).unwrap();
    for _ in 0..4 {
        s.session.tend();
    }
    assert_eq!(s.session.database().stats().records_removed, 0);
    drop(wait);
    drop(b);
    for _ in 0..4 {
        s.session.tend();
    }
    assert_eq!(s.session.database().stats().records_removed, 1);
    s.check_no_record_lock_left();
}
