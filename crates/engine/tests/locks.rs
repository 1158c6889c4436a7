//! Waiting for other transactions, and explicit locks: the rules by name, two or three
//! transactions stepped by hand.

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
fn who_has_locks_goes_before_who_has_none() {
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
fn who_gives_up_waiting_leaves_the_queue() {
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
fn what_a_retry_could_inherit_goes_with_the_transaction() {
    let s = waiting();
    drop(aborted_with_lock(&s));
    s.check_no_record_lock_left();
}

/// The drop of a table does not end the waits for its records: a waiting transaction gets its turn, goes on with
/// the table that its statement sees, and learns of the drop when it commits.
#[test]
fn who_waits_for_a_record_of_a_dropped_table_gets_his_turn() {
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
