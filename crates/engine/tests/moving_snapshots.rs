//! Snapshots that move instead of an abort, and snapshots that must not move
//! (`transaction/refresh.rs`). Two or three transactions, stepped by hand.

use crate::by_hand;
use crate::steps;

use by_hand::Setup;
use engine::{
    Abort, Certifier, Error, IfLocked, Isolation, OnConflict, Strength, Timestamp, Transaction,
};
use interleave::{Sequential, run_inline};
use steps::Stepped;

const TOO_OLD: Error = Error::Abort(Abort::SnapshotTooOld);

/// Levels that have one snapshot for all operations.
const LEVELS: [(Isolation, Certifier); 3] = [
    (Isolation::Snapshot, Certifier::Ssn),
    (Isolation::Serializable, Certifier::Ssn),
    (Isolation::Serializable, Certifier::Validation),
];

/// A database, with the level of its transactions.
struct At {
    setup: Setup,
    isolation: Isolation,
}

impl std::ops::Deref for At {
    type Target = Setup;

    fn deref(&self) -> &Setup {
        &self.setup
    }
}

impl At {
    fn txn(&self) -> Transaction {
        self.begin(self.isolation)
    }

    fn lock(&self, txn: &Transaction, key: &str) -> Result<Option<String>, Error> {
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let (key, strength) = (key.as_bytes(), Strength::Update);
        run_inline(txn.lock::<Sequential, _>(&self.table, key, strength, IfLocked::Fail, text))
    }

    fn now(&self, key: &str) -> Option<String> {
        self.get(&self.begin(Isolation::Snapshot), key)
    }

    fn is_serializable(&self) -> bool {
        self.isolation == Isolation::Serializable
    }

    fn moves(&self) -> u64 {
        self.session.tend();
        self.session.database().stats().snapshots_moved
    }
}

fn at_each_level(scenario: impl Fn(&At)) {
    for (isolation, certifier) in LEVELS {
        let setup = Setup::with(certifier);
        scenario(&At { setup, isolation });
    }
}

fn commit(txn: Transaction) -> Result<Timestamp, Error> {
    run_inline(txn.commit())
}

#[test]
fn a_first_write_that_meets_a_newer_version_goes_on() {
    at_each_level(|s| {
        let late = s.txn();
        s.put_at_once("x", "1");
        s.put(&late, "x", "2").unwrap();
        assert_eq!(s.moves(), 1);
        commit(late).unwrap();
        assert_eq!(s.now("x").as_deref(), Some("2"));
    });
}

#[test]
fn later_reads_are_at_the_newer_snapshot() {
    at_each_level(|s| {
        let late = s.txn();
        s.put_at_once("x", "1");
        s.put_at_once("y", "1");
        assert_eq!(s.lock(&late, "x"), Ok(Some("1".to_owned())));
        s.put_at_once("z", "1");
        assert_eq!(s.get(&late, "y").as_deref(), Some("1"));
        assert_eq!(s.get(&late, "z"), None, "the snapshot has moved once");
        commit(late).unwrap();
    });
}

#[test]
fn every_kind_of_write_meets_the_newest_version() {
    at_each_level(|s| {
        let (update, insert, delete) = (s.txn(), s.txn(), s.txn());
        s.put_at_once("x", "1");
        s.put_at_once("new", "1");
        s.delete_at_once("y");
        assert_eq!(s.update(&update, "new", "2"), Ok(true));
        assert_eq!(s.insert(&insert, "x", "2"), Err(Error::DuplicateKey));
        assert_eq!(s.delete(&delete, "y"), Ok(false));
        assert_eq!(s.moves(), 3);
        commit(update).unwrap();
        commit(insert).unwrap();
        commit(delete).unwrap();
    });
}

#[test]
fn a_waiter_for_a_writer_goes_on_with_the_committed_change() {
    at_each_level(|s| {
        let (first, late) = (s.txn(), s.txn());
        late.set_on_conflict(OnConflict::Wait);
        s.put(&first, "x", "1").unwrap();
        let mut write = Stepped::new(late.update::<Sequential>(&s.table, b"x", b"2"));
        assert_eq!(write.step(), None);
        commit(first).unwrap();
        assert_eq!(write.step(), Some(Ok(true)));
        drop(write);
        commit(late).unwrap();
        assert_eq!(s.now("x").as_deref(), Some("2"));
    });
}

#[test]
fn a_read_that_is_current_does_not_hold_the_snapshot() {
    at_each_level(|s| {
        s.put_at_once("z", "0");
        let late = s.txn();
        assert_eq!(s.get(&late, "x").as_deref(), Some("0"));
        assert_eq!(s.lock(&late, "z").unwrap().as_deref(), Some("0"));
        s.put_at_once("y", "1");
        s.put(&late, "y", "2").unwrap();
        // The snapshot moves once more: the record is current at the newer snapshot as well.
        s.put_at_once("new", "1");
        s.put(&late, "new", "2").unwrap();
        assert_eq!(s.moves(), 2);
        commit(late).unwrap();
    });
}

/// Another transaction has written the record that was read, and has not committed: the read
/// version is current.
#[test]
fn an_uncommitted_version_changes_nothing() {
    at_each_level(|s| {
        let (late, open) = (s.txn(), s.txn());
        s.get(&late, "x");
        s.put(&open, "x", "open").unwrap();
        s.put_at_once("y", "1");
        s.put(&late, "y", "2").unwrap();
        open.rollback();
        commit(late).unwrap();
    });
}

/// A lost update, a read skew: snapshots exist to forbid them.
#[test]
fn a_read_that_has_changed_holds_the_snapshot() {
    at_each_level(|s| {
        for (read, written) in [("x", "x"), ("x", "y")] {
            let late = s.txn();
            s.get(&late, read);
            let other = s.txn();
            s.put(&other, "x", "1").unwrap();
            s.put(&other, "y", "1").unwrap();
            commit(other).unwrap();
            assert_eq!(s.put(&late, written, "2"), Err(TOO_OLD));
        }
        assert_eq!(s.moves(), 0);
    });
}

/// The value is the old one again; the version is not.
#[test]
fn a_record_deleted_and_inserted_again_has_changed() {
    at_each_level(|s| {
        let late = s.txn();
        s.get(&late, "x");
        s.delete_at_once("x");
        s.put_at_once("x", "0");
        s.put_at_once("y", "1");
        assert_eq!(s.put(&late, "y", "2"), Err(TOO_OLD));
    });
}

/// Snapshot isolation does not note absent records; serializable transactions do.
#[test]
fn an_absent_key_holds_the_snapshot_unless_it_is_noted_and_still_absent() {
    at_each_level(|s| {
        for inserted in [false, true] {
            let late = s.txn();
            assert_eq!(s.get(&late, "absent"), None);
            if inserted {
                s.put_at_once("absent", "1");
            }
            s.put_at_once("y", "1");
            let moves = s.is_serializable() && !inserted;
            let expected = if moves { Ok(()) } else { Err(TOO_OLD) };
            assert_eq!(s.put(&late, "y", "2"), expected);
            assert_eq!(commit(late).is_ok(), moves);
        }
    });
}

#[test]
fn a_scan_holds_the_snapshot_unless_it_is_noted_and_nothing_has_changed() {
    at_each_level(|s| {
        for changed in [false, true] {
            s.put_at_once("a", "0");
            let late = s.txn();
            s.keys_from(&late, "x");
            if changed {
                s.put_at_once("z", "1");
            }
            s.put_at_once("a", "1");
            let moves = s.is_serializable() && !changed;
            let expected = if moves { Ok(()) } else { Err(TOO_OLD) };
            assert_eq!(s.put(&late, "a", "2"), expected);
        }
    });
}

#[test]
fn a_write_that_found_nothing_was_a_read() {
    at_each_level(|s| {
        let late = s.txn();
        assert_eq!(s.update(&late, "absent", "late"), Ok(false));
        s.put_at_once("absent", "1");
        s.put_at_once("y", "1");
        assert_eq!(s.put(&late, "y", "2"), Err(TOO_OLD));
    });
}

#[test]
fn a_duplicate_that_was_found_was_a_read() {
    at_each_level(|s| {
        let late = s.txn();
        assert_eq!(s.insert(&late, "x", "late"), Err(Error::DuplicateKey));
        s.delete_at_once("x");
        s.put_at_once("y", "1");
        assert_eq!(s.put(&late, "y", "2"), Err(TOO_OLD));
    });
}

#[test]
fn own_writes_do_not_hold_the_snapshot() {
    at_each_level(|s| {
        let late = s.txn();
        assert_eq!(s.update(&late, "x", "late"), Ok(true));
        s.insert(&late, "own", "late").unwrap();
        assert_eq!(s.get(&late, "x").as_deref(), Some("late"));
        s.put_at_once("y", "1");
        s.put(&late, "y", "late").unwrap();
        assert_eq!(s.get(&late, "own").as_deref(), Some("late"));
        commit(late).unwrap();
        for key in ["x", "y", "own"] {
            assert_eq!(s.now(key).as_deref(), Some("late"));
        }
    });
}

/// The information that the write returned (there is such a record) is not kept true any more.
#[test]
fn a_write_that_was_taken_back_holds_the_snapshot() {
    at_each_level(|s| {
        let late = s.txn();
        let savepoint = late.savepoint().unwrap();
        assert_eq!(s.update(&late, "x", "late"), Ok(true));
        late.rollback_to(&savepoint).unwrap();
        s.delete_at_once("x");
        s.put_at_once("y", "1");
        assert_eq!(s.put(&late, "y", "2"), Err(TOO_OLD));
    });
}

#[test]
fn a_savepoint_does_not_hold_the_snapshot() {
    at_each_level(|s| {
        let late = s.txn();
        s.put(&late, "x", "first").unwrap();
        let savepoint = late.savepoint().unwrap();
        s.put(&late, "x", "second").unwrap();
        s.put_at_once("y", "1");
        s.put(&late, "y", "late").unwrap();
        late.rollback_to(&savepoint).unwrap();
        assert_eq!(s.get(&late, "x").as_deref(), Some("first"));
        assert_eq!(s.get(&late, "y").as_deref(), Some("1"), "it has moved");
        commit(late).unwrap();
    });
}

/// A consumer copies at a snapshot and follows the change stream from there.
#[test]
fn a_transaction_that_knows_its_snapshot_keeps_it() {
    at_each_level(|s| {
        let late = s.txn();
        let snapshot = late.snapshot();
        s.put_at_once("x", "1");
        assert_eq!(s.put(&late, "x", "2"), Err(TOO_OLD));
        assert_eq!(late.snapshot(), snapshot);
    });
}

#[test]
fn an_operation_under_way_holds_the_snapshot() {
    at_each_level(|s| {
        let (first, late) = (s.txn(), s.txn());
        late.set_on_conflict(OnConflict::Wait);
        s.put(&first, "x", "1").unwrap();
        let mut other = Stepped::new(late.update::<Sequential>(&s.table, b"x", b"2"));
        assert_eq!(other.step(), None);
        s.put_at_once("y", "1");
        assert_eq!(s.put(&late, "y", "2"), Err(TOO_OLD));
        assert_eq!(other.step(), Some(Err(TOO_OLD)));
    });
}

/// The transaction has seen that there is such a table.
#[test]
fn a_dropped_table_holds_the_snapshot() {
    at_each_level(|s| {
        let other = s.session.database().create_table("other", &[]).unwrap();
        let put = |txn: &Transaction| run_inline(txn.upsert::<Sequential>(&other, b"k", b"v"));
        let txn = s.txn();
        put(&txn).unwrap();
        commit(txn).unwrap();
        let late = s.txn();
        let read = late.get::<Sequential, _>(&other, b"k", |_| ());
        assert_eq!(run_inline(read), Ok(Some(())));
        s.session.database().drop_table("other").unwrap();
        s.put_at_once("x", "1");
        assert_eq!(s.put(&late, "x", "2"), Err(TOO_OLD));
    });
}

/// Seed 687 of the simulated crashes: a transaction learned that there is no such table, because
/// another transaction was just making it, and then moved its snapshot to where there is one.
#[test]
fn a_table_that_was_not_there_yet_holds_the_snapshot() {
    at_each_level(|s| {
        let (maker, late) = (s.txn(), s.txn());
        let made = run_inline(maker.create_table::<Sequential>("other", b"")).unwrap();
        let read = || run_inline(late.get::<Sequential, _>(&made, b"k", |_| ()));
        assert_eq!(read(), Err(Error::TableDropped));
        commit(maker).unwrap();
        s.put_at_once("x", "1");
        assert_eq!(s.put(&late, "x", "2"), Err(TOO_OLD));
    });
}

/// The notes of snapshot isolation are bounded; a serializable transaction notes all reads.
#[test]
fn many_reads_hold_the_snapshot_where_only_a_few_are_noted() {
    at_each_level(|s| {
        for reads in [8, 9] {
            let late = s.txn();
            for _ in 0..reads {
                s.get(&late, "x");
            }
            s.put_at_once("y", "1");
            let moves = s.is_serializable() || reads == 8;
            let expected = if moves { Ok(()) } else { Err(TOO_OLD) };
            assert_eq!(s.put(&late, "y", "2"), expected);
        }
    });
}

/// Versions that the transaction has read stay in place for its certification, though its snapshot
/// is newer.
#[test]
fn reads_of_a_moved_transaction_are_not_collected() {
    at_each_level(|s| {
        let late = s.txn();
        s.get(&late, "x");
        s.put_at_once("y", "1");
        s.put(&late, "y", "2").unwrap();
        s.delete_at_once("x");
        s.collect();
        let certified = commit(late);
        match s.session.database().certifier() {
            Certifier::Validation if s.is_serializable() => {
                assert_eq!(certified, Err(Error::Abort(Abort::NotSerializable)));
            }
            _ => assert!(certified.is_ok()),
        }
    });
}

/// Each transaction reads a record that the other writes, and one of them has moved in between.
#[test]
fn write_skew_stays_forbidden_after_a_move() {
    at_each_level(|s| {
        s.put_at_once("z", "0");
        let (late, other) = (s.txn(), s.txn());
        s.get(&late, "x");
        s.get(&other, "y");
        s.put_at_once("z", "1");
        s.put(&late, "z", "late").unwrap();
        assert_eq!(s.moves(), 1);
        s.put(&late, "y", "late").unwrap();
        s.put(&other, "x", "other").unwrap();
        let both = commit(late).is_ok() & commit(other).is_ok();
        assert_eq!(both, !s.is_serializable());
    });
}

/// The report has seen the deposit and not the withdrawal, so the withdrawal must not come before
/// it; the move of the withdrawal in between does not help.
#[test]
fn the_read_only_anomaly_stays_forbidden_after_a_move() {
    at_each_level(|s| {
        s.put_at_once("z", "0");
        let (withdrawal, deposit) = (s.txn(), s.txn());
        s.get(&withdrawal, "x");
        s.get(&withdrawal, "y");
        s.put_at_once("z", "1");
        s.put(&withdrawal, "z", "2").unwrap();
        assert_eq!(s.moves(), 1);
        s.put(&deposit, "y", "20").unwrap();
        commit(deposit).unwrap();
        let report = s.txn();
        s.get(&report, "x");
        s.get(&report, "y");
        commit(report).unwrap();
        s.put(&withdrawal, "x", "-11").unwrap();
        assert_eq!(commit(withdrawal).is_ok(), !s.is_serializable());
    });
}
