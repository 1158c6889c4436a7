//! Single records under transactions, stepped by hand: own writes, deletions, collection, history.

use crate::by_hand;

use by_hand::Setup;
use engine::{Abort, Error, Isolation};
use interleave::{Sequential, WorkerLocal, run_inline};

const LEVELS: [Isolation; 3] = [
    Isolation::ReadCommitted,
    Isolation::Snapshot,
    Isolation::Serializable,
];

#[test]
fn own_writes_are_read_back_in_points_and_scans() {
    for level in LEVELS {
        let s = Setup::new();
        let a = s.begin(level);
        s.insert(&a, "n", "1").unwrap();
        assert_eq!(s.update(&a, "n", "2"), Ok(true));
        assert_eq!(s.get(&a, "n").as_deref(), Some("2"));
        assert_eq!(s.keys(&a), ["n", "x", "y"]);
        assert_eq!(s.delete(&a, "n"), Ok(true));
        assert_eq!(s.delete(&a, "n"), Ok(false));
        assert_eq!(s.delete(&a, "x"), Ok(true));
        assert_eq!(s.get(&a, "x"), None);
        assert_eq!(s.keys(&a), ["y"]);
        s.insert(&a, "x", "again").unwrap();
        assert_eq!(s.keys(&a), ["x", "y"]);
        assert_eq!(s.insert(&a, "x", "twice"), Err(Error::DuplicateKey));
        run_inline(a.commit()).unwrap();
        let b = s.begin(level);
        assert_eq!(s.get(&b, "x").as_deref(), Some("again"));
        assert_eq!(s.get(&b, "n"), None);
    }
}

#[test]
fn a_record_inserted_and_deleted_at_once_leaves_nothing_behind() {
    let s = Setup::new();
    let a = s.begin(Isolation::Snapshot);
    s.insert(&a, "n", "1").unwrap();
    s.delete(&a, "n").unwrap();
    run_inline(a.commit()).unwrap();
    for _ in 0..10 {
        s.session.tend();
    }
    assert_eq!(s.session.database().stats().records_removed, 1);
    let b = s.begin(Isolation::Snapshot);
    s.insert(&b, "n", "2").unwrap();
    run_inline(b.commit()).unwrap();
}

/// The worker finds the number of transactions to keep in flight by the work done. Work that was
/// counted when its transaction ended came in lumps, and the number wandered.
#[test]
fn work_counts_when_it_is_done_and_not_when_it_is_undone() {
    let s = Setup::new();
    let work = || s.session.progress().unwrap();
    let before = work();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    s.get(&a, "x");
    s.update(&a, "x", "1").unwrap();
    s.get(&b, "y");
    assert_eq!(work(), before + 3);
    b.rollback();
    assert_eq!(work(), before + 2);
    run_inline(a.commit()).unwrap();
    assert_eq!(work(), before + 3, "a commit is work, too");
}

#[test]
fn an_update_of_what_the_snapshot_does_not_see_finds_nothing() {
    let s = Setup::new();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    s.insert(&b, "n", "b").unwrap();
    assert_eq!(s.update(&a, "n", "a"), Ok(false));
    run_inline(b.commit()).unwrap();
    assert_eq!(s.update(&a, "n", "a"), Ok(false));
    assert_eq!(
        s.insert(&a, "n", "a"),
        Err(Error::Abort(Abort::SnapshotTooOld))
    );
}

#[test]
fn an_aborted_insert_frees_its_key() {
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        s.insert(&a, "n", "a").unwrap();
        assert_eq!(
            s.insert(&b, "n", "b"),
            Err(Error::Abort(Abort::WriteConflict))
        );
        a.rollback();
        let c = s.begin(level);
        assert_eq!(s.get(&c, "n"), None);
        s.insert(&c, "n", "c").unwrap();
        run_inline(c.commit()).unwrap();
    }
}

#[test]
fn a_deleted_key_can_be_inserted_before_and_after_its_collection() {
    for collect in [false, true] {
        let s = Setup::new();
        let a = s.begin(Isolation::Snapshot);
        s.delete(&a, "x").unwrap();
        run_inline(a.commit()).unwrap();
        if collect {
            for _ in 0..10 {
                s.session.tend();
            }
            assert_eq!(s.session.database().stats().records_removed, 1);
        }
        let b = s.begin(Isolation::Snapshot);
        s.insert(&b, "x", "b").unwrap();
        run_inline(b.commit()).unwrap();
        for _ in 0..10 {
            s.session.tend();
        }
        assert_eq!(
            s.get(&s.begin(Isolation::Snapshot), "x").as_deref(),
            Some("b")
        );
    }
}

#[test]
fn an_old_snapshot_keeps_its_history_until_it_ends() {
    let s = Setup::new();
    // Two records exist; the other bytes describe their table.
    let catalog = s.session.database().memory().version_bytes - 2 * 32;
    let old = s.begin(Isolation::Snapshot);
    for i in 0..100 {
        let txn = s.begin(Isolation::Snapshot);
        s.put(&txn, "x", &i.to_string()).unwrap();
        if i == 50 {
            s.delete(&txn, "y").unwrap();
        }
        run_inline(txn.commit()).unwrap();
        s.session.tend();
    }
    assert_eq!(s.get(&old, "x").as_deref(), Some("0"));
    assert_eq!(s.keys(&old), ["x", "y"]);
    let before = s.session.database().memory().version_bytes;
    run_inline(old.commit()).unwrap();
    for _ in 0..10 {
        s.session.tend();
    }
    let after = s.session.database().memory().version_bytes;
    // One live record remains, in one block of 32 bytes.
    assert_eq!((after - catalog, before > 100 * 32), (32, true));
}

#[test]
fn a_table_of_another_database_is_refused() {
    // The foreign table was accepted once: its node numbers were followed in the wrong arena.
    let (s, other) = (Setup::new(), Setup::new());
    let txn = s.begin(Isolation::Snapshot);
    let read = txn.get::<Sequential, _>(&other.table, b"x", <[u8]>::to_vec);
    assert_eq!(run_inline(read), Err(Error::ForeignTable));
    s.put(&txn, "x", "1").unwrap();
    run_inline(txn.commit()).unwrap();
}
