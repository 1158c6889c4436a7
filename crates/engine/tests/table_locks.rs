//! Locks on whole tables and the order of their waits, stepped by hand.

use crate::by_hand;
use crate::steps;

use std::time::Duration;

use by_hand::Setup;
use engine::{
    Abort, Error, IfLocked, Isolation, OnConflict, Session, Strength, Table,
    TableLockMode::{self, *},
    Transaction,
};
use interleave::{Sequential, run_inline};
use steps::Stepped;

const DEADLOCK: Error = Error::Abort(Abort::Deadlock);

fn setup() -> Setup {
    Setup {
        on_conflict: OnConflict::Wait,
        ..Setup::new()
    }
}

impl Setup {
    fn transaction(&self) -> Transaction {
        self.begin(Isolation::ReadCommitted)
    }

    fn try_lock(&self, txn: &Transaction, mode: TableLockMode) -> Result<(), Error> {
        run_inline(txn.lock_table(&self.table, mode, IfLocked::Fail))
    }

    /// Checks that no transaction holds a lock: the strongest lock can be had, and then nothing is
    /// guarded.
    fn check_no_table_lock_left(&self) {
        let txn = self.transaction();
        self.try_lock(&txn, AccessExclusive).unwrap();
        drop(txn);
        assert!(!self.table.is_guarded());
    }

    fn another_table(&self, name: &str) -> std::sync::Arc<Table> {
        self.session.database().create_table(name, &[]).unwrap()
    }
}

#[test]
fn modes_exclude_each_other_between_transactions_and_never_within_one() {
    let excludes = |held: TableLockMode, wanted: TableLockMode| {
        let s = setup();
        let (a, b) = (s.transaction(), s.transaction());
        s.try_lock(&a, held).unwrap();
        s.try_lock(&a, wanted).unwrap();
        drop(a);
        let a = s.transaction();
        s.try_lock(&a, held).unwrap();
        let refused = s.try_lock(&b, wanted);
        drop((a, b));
        s.check_no_table_lock_left();
        assert!(matches!(refused, Ok(()) | Err(Error::Locked)));
        refused.is_err()
    };
    for (at, held) in TableLockMode::ALL.into_iter().enumerate() {
        for (other, wanted) in TableLockMode::ALL.into_iter().enumerate() {
            // The weakest mode that each mode excludes; shares do not exclude each other.
            let first = [7, 6, 4, 3, 2, 2, 1, 0][at];
            let expected = other >= first && !(held == Share && wanted == Share);
            assert_eq!(excludes(held, wanted), expected, "{held:?}, {wanted:?}");
        }
    }
}

#[test]
fn weak_locks_leave_the_table_unguarded_and_others_do_not() {
    let s = setup();
    let (a, b) = (s.transaction(), s.transaction());
    s.try_lock(&a, AccessShare).unwrap();
    s.try_lock(&a, RowExclusive).unwrap();
    assert!(!s.table.is_guarded());
    assert!(a.has_table_lock(&s.table, RowExclusive) && !a.has_table_lock(&s.table, Share));
    assert_eq!(s.try_lock(&b, Share), Err(Error::Locked));
    assert!(s.table.is_guarded(), "the attempt has closed the gate");
    drop(a);
    assert!(!s.table.is_guarded(), "the last one has opened it");
    s.try_lock(&b, Share).unwrap();
    assert!(s.table.is_guarded());
    drop(b);
    s.check_no_table_lock_left();
}

#[test]
fn a_strong_lock_waits_for_weak_ones_and_hears_of_their_end() {
    for commits in [true, false] {
        let s = setup();
        let (a, b) = (s.transaction(), s.transaction());
        s.try_lock(&a, RowExclusive).unwrap();
        s.put(&a, "x", "a").unwrap();
        let mut lock = Stepped::new(b.lock_table(&s.table, AccessExclusive, IfLocked::Wait));
        assert_eq!(lock.step(), None);
        match commits {
            true => drop(run_inline(a.commit()).unwrap()),
            false => a.rollback(),
        }
        assert!(lock.is_woken());
        assert_eq!(lock.step(), Some(Ok(())));
        drop(lock);
        // A third transaction waits now, though its mode is weak.
        let c = s.transaction();
        let mut weak = Stepped::new(c.lock_table(&s.table, AccessShare, IfLocked::Wait));
        assert_eq!(weak.step(), None);
        drop(b);
        assert_eq!(weak.step(), Some(Ok(())));
        drop(weak);
        drop(c);
        s.check_no_table_lock_left();
    }
}

/// The slot of a context is used by the next transaction at once. A transaction that waited for the
/// first one must neither wait for the second nor be told of a deadlock with it.
#[test]
fn a_context_that_is_used_again_is_not_taken_for_its_predecessor() {
    let s = setup();
    let other = s.another_table("u");
    let (a, b) = (s.transaction(), s.transaction());
    s.try_lock(&a, RowExclusive).unwrap();
    let mut strong = Stepped::new(b.lock_table(&s.table, Exclusive, IfLocked::Wait));
    assert_eq!(strong.step(), None);
    drop(a);
    // `c` has the context of `a`. It locks the other table, and waits for `b`, which is about to
    // get the first.
    let c = s.transaction();
    run_inline(c.lock_table(&other, RowExclusive, IfLocked::Fail)).unwrap();
    let mut weak = Stepped::new(c.lock_table(&s.table, RowExclusive, IfLocked::Wait));
    assert_eq!(weak.step(), None, "no deadlock: nobody waits for this one");
    assert_eq!(strong.step(), Some(Ok(())));
    drop(strong);
    drop(b);
    assert_eq!(weak.step(), Some(Ok(())));
    drop(weak);
    drop(c);
    s.check_no_table_lock_left();
}

#[test]
fn two_tables_locked_in_both_orders_are_a_deadlock() {
    let s = setup();
    let other = s.another_table("u");
    let (a, b) = (s.transaction(), s.transaction());
    // Weak locks are known only to their owners as yet.
    s.try_lock(&a, RowExclusive).unwrap();
    run_inline(b.lock_table(&other, RowExclusive, IfLocked::Fail)).unwrap();
    let mut first = Stepped::new(a.lock_table(&other, Share, IfLocked::Wait));
    assert_eq!(first.step(), None);
    let second = run_inline(b.lock_table(&s.table, Share, IfLocked::Wait));
    assert_eq!(second, Err(DEADLOCK));
    drop(b);
    assert_eq!(first.step(), Some(Ok(())));
    drop(first);
    drop(a);
    s.check_no_table_lock_left();
}

#[test]
fn a_table_and_a_record_are_in_one_graph() {
    let s = setup();
    let (a, b) = (s.transaction(), s.transaction());
    s.try_lock(&a, RowExclusive).unwrap();
    let read = |_: &[u8]| ();
    let x = b.lock::<Sequential, _>(&s.table, b"x", Strength::Update, IfLocked::Wait, read);
    run_inline(x).unwrap();
    let mut write = Stepped::new(a.update::<Sequential>(&s.table, b"x", b"a"));
    assert_eq!(write.step(), None, "for the record");
    let table = run_inline(b.lock_table(&s.table, AccessExclusive, IfLocked::Wait));
    assert_eq!(
        table,
        Err(DEADLOCK),
        "for the table of who waits for the record"
    );
    drop(b);
    assert_eq!(write.step(), Some(Ok(true)));
    drop(write);
    drop(a);
    s.check_no_table_lock_left();
}

#[test]
fn two_sharers_of_a_table_that_both_want_to_write_it_are_a_deadlock() {
    let s = setup();
    let (a, b) = (s.transaction(), s.transaction());
    s.try_lock(&a, Share).unwrap();
    s.try_lock(&b, Share).unwrap();
    let mut first = Stepped::new(a.lock_table(&s.table, RowExclusive, IfLocked::Wait));
    assert_eq!(first.step(), None);
    let second = run_inline(b.lock_table(&s.table, RowExclusive, IfLocked::Wait));
    assert_eq!(second, Err(DEADLOCK));
    drop(b);
    assert_eq!(first.step(), Some(Ok(())));
    drop(first);
    drop(a);
    s.check_no_table_lock_left();
}

/// A reader of each of two tables asks for the other table as well, and in each queue a transaction
/// wants to change the table. The search passed over transactions in a queue when it looked for the
/// ones that they wait for: all four waited for ever.
#[test]
fn a_reader_passes_waiters_if_all_would_wait_for_each_other() {
    let s = setup();
    let other = s.another_table("u");
    let [a, b, c, d] = [(); 4].map(|()| s.transaction());
    let wait = IfLocked::Wait;
    s.try_lock(&a, AccessShare).unwrap();
    run_inline(b.lock_table(&other, AccessShare, IfLocked::Fail)).unwrap();
    let mut alters = Stepped::new(c.lock_table(&s.table, AccessExclusive, wait));
    let mut alters_other = Stepped::new(d.lock_table(&other, AccessExclusive, wait));
    let mut first = Stepped::new(a.lock_table(&other, AccessShare, wait));
    assert!(alters.step().is_none() && alters_other.step().is_none() && first.step().is_none());
    let mut second = Stepped::new(b.lock_table(&s.table, AccessShare, wait));
    assert_eq!(second.step(), Some(Ok(())), "before the one who alters");
    drop(second);
    drop(b);
    assert_eq!(alters_other.step(), Some(Ok(())), "it was there before");
    drop(alters_other);
    drop(d);
    assert_eq!(first.step(), Some(Ok(())));
    drop(first);
    drop(a);
    assert_eq!(alters.step(), Some(Ok(())));
    drop(alters);
    drop(c);
    s.check_no_table_lock_left();
}

/// The wait that closes the cycle cannot be avoided; another wait in it can.
#[test]
fn another_waiter_passes_if_that_resolves_a_deadlock() {
    let s = setup();
    let other = s.another_table("u");
    let [a, b, d] = [(); 3].map(|()| s.transaction());
    let wait = IfLocked::Wait;
    s.try_lock(&a, AccessExclusive).unwrap();
    run_inline(b.lock_table(&other, AccessShare, IfLocked::Fail)).unwrap();
    let mut alters = Stepped::new(d.lock_table(&other, AccessExclusive, wait));
    let mut passes = Stepped::new(a.lock_table(&other, AccessShare, wait));
    assert!(alters.step().is_none() && passes.step().is_none());
    let mut closes = Stepped::new(b.lock_table(&s.table, AccessShare, wait));
    assert_eq!(closes.step(), None, "it waits for who holds the table");
    assert!(passes.is_woken());
    assert_eq!(passes.step(), Some(Ok(())));
    drop(passes);
    drop(a);
    assert_eq!(closes.step(), Some(Ok(())));
    drop(closes);
    drop(b);
    assert_eq!(alters.step(), Some(Ok(())));
    drop(alters);
    drop(d);
    s.check_no_table_lock_left();
}

#[test]
fn a_deadlock_that_no_order_resolves_leaves_the_queue_as_it_was() {
    let s = setup();
    let other = s.another_table("u");
    let [a, b, c] = [(); 3].map(|()| s.transaction());
    let wait = IfLocked::Wait;
    s.try_lock(&a, RowExclusive).unwrap();
    run_inline(b.lock_table(&other, AccessExclusive, IfLocked::Fail)).unwrap();
    let mut alters = Stepped::new(c.lock_table(&s.table, AccessExclusive, wait));
    let mut first = Stepped::new(a.lock_table(&other, AccessShare, wait));
    assert!(alters.step().is_none() && first.step().is_none());
    let second = run_inline(b.lock_table(&s.table, Share, wait));
    assert_eq!(second, Err(DEADLOCK));
    drop(b);
    assert_eq!(first.step(), Some(Ok(())));
    drop(first);
    drop(a);
    assert_eq!(alters.step(), Some(Ok(())));
    drop(alters);
    drop(c);
    s.check_no_table_lock_left();
}

#[test]
fn a_savepoint_gives_up_what_was_locked_since() {
    for strong in [Share, RowExclusive] {
        let s = setup();
        let (a, b) = (s.transaction(), s.transaction());
        s.try_lock(&a, AccessShare).unwrap();
        let savepoint = a.savepoint().unwrap();
        s.try_lock(&a, strong).unwrap();
        s.try_lock(&a, AccessExclusive).unwrap();
        assert_eq!(s.try_lock(&b, AccessShare), Err(Error::Locked));
        a.rollback_to(&savepoint).unwrap();
        s.try_lock(&b, Exclusive).unwrap();
        assert_eq!(s.try_lock(&a, RowExclusive), Err(Error::Locked));
        drop(b);
        let c = s.transaction();
        assert_eq!(s.try_lock(&c, AccessExclusive), Err(Error::Locked));
        drop((a, c));
        s.check_no_table_lock_left();
    }
}

#[test]
fn a_wait_that_is_given_up_lets_those_behind_pass() {
    let s = setup();
    let (a, b, c) = (s.transaction(), s.transaction(), s.transaction());
    s.try_lock(&a, AccessShare).unwrap();
    let mut strong = Stepped::new(b.lock_table(&s.table, AccessExclusive, IfLocked::Wait));
    assert_eq!(strong.step(), None);
    let mut weak = Stepped::new(c.lock_table(&s.table, RowExclusive, IfLocked::Wait));
    assert_eq!(weak.step(), None);
    drop(strong);
    assert!(weak.is_woken());
    assert_eq!(weak.step(), Some(Ok(())));
    drop(weak);
    drop((a, b, c));
    s.check_no_table_lock_left();
}

/// The lock was handed over, and the future is dropped before it was polled again.
#[test]
fn a_lock_whose_waiter_is_gone_is_given_up() {
    let s = setup();
    let (a, b) = (s.transaction(), s.transaction());
    s.try_lock(&a, RowExclusive).unwrap();
    let mut strong = Stepped::new(b.lock_table(&s.table, Share, IfLocked::Wait));
    assert_eq!(strong.step(), None);
    drop(a);
    drop(strong);
    assert!(!b.has_table_lock(&s.table, Share));
    s.check_no_table_lock_left();
}

#[test]
fn more_tables_than_a_context_has_entries_for_can_be_locked() {
    let s = setup();
    let tables: Vec<_> = (0..40)
        .map(|n| s.another_table(&format!("many {n}")))
        .collect();
    let (a, b) = (s.transaction(), s.transaction());
    for table in &tables {
        run_inline(a.lock_table(table, RowExclusive, IfLocked::Wait)).unwrap();
    }
    for table in &tables {
        assert!(a.has_table_lock(table, RowExclusive));
        run_inline(b.lock_table(table, RowShare, IfLocked::Fail)).unwrap();
        let strong = run_inline(b.lock_table(table, Share, IfLocked::Fail));
        assert_eq!(strong, Err(Error::Locked));
    }
    run_inline(a.commit()).unwrap();
    for table in &tables {
        run_inline(b.lock_table(table, AccessExclusive, IfLocked::Fail)).unwrap();
    }
    drop(b);
    assert!(tables.iter().all(|table| !table.is_guarded()));
}

#[test]
fn a_truncated_table_keeps_its_lock() {
    let s = setup();
    let (a, b) = (s.transaction(), s.transaction());
    s.try_lock(&a, AccessExclusive).unwrap();
    let new = run_inline(a.truncate_table::<Sequential>("t")).unwrap();
    let mut write = Stepped::new(b.lock_table(&s.table, RowExclusive, IfLocked::Wait));
    assert_eq!(write.step(), None);
    run_inline(a.commit()).unwrap();
    assert_eq!(write.step(), Some(Ok(())));
    assert!(b.has_table_lock(&new, RowExclusive), "both have one lock");
    drop(write);
    drop(b);
    s.check_no_table_lock_left();
}

#[test]
fn an_aborted_transaction_has_no_locks() {
    let s = setup();
    let (a, b) = (s.begin(Isolation::Snapshot), s.transaction());
    s.get(&a, "x");
    s.try_lock(&a, Share).unwrap();
    s.put(&b, "x", "b").unwrap();
    run_inline(b.commit()).unwrap();
    assert!(s.update(&a, "x", "a").is_err());
    s.check_no_table_lock_left();
}

/// Waits end by the lock timeout, in a worker, and the transaction goes on.
#[test]
fn a_wait_that_takes_too_long_is_given_up() {
    use interleave::{Clock, Worker, WorkerConfig};
    let s = setup();
    let (table, a) = (s.table.clone(), s.transaction());
    s.try_lock(&a, AccessExclusive).unwrap();
    let session = Session::new(s.session.database()).unwrap();
    let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
    let task = worker.handle().submit(move |session| {
        let session = session.clone();
        async move {
            let txn = session.begin(Isolation::ReadCommitted)?;
            txn.set_lock_timeout(Some(Duration::from_millis(5)));
            let locked = txn.lock_table(&table, AccessShare, IfLocked::Wait).await;
            assert_eq!(locked, Err(Error::LockTimeout));
            txn.upsert::<Sequential>(&table, b"k", b"v").await?;
            txn.commit().await.map(drop)
        }
    });
    worker.run_until(task).unwrap().unwrap();
    drop(a);
    s.check_no_table_lock_left();
}

#[test]
fn a_table_of_another_database_is_refused() {
    let (s, t) = (setup(), setup());
    let a = s.transaction();
    let locked = run_inline(a.lock_table(&t.table, AccessShare, IfLocked::Fail));
    assert_eq!(locked, Err(Error::ForeignTable));
}
