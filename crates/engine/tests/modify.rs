//! Records that are changed in one operation: the value that the change is shown, and its result.
//! Two transactions, stepped by hand. (For the operation among all others, see `model.rs` and
//! `index_model.rs`.)

use crate::by_hand;
use crate::steps;

use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
};

use by_hand::Setup;
use engine::{Abort, Error, Isolation, OnConflict, Transaction, VALUE_BYTES_MAX};
use interleave::{Sequential, run_inline};
use steps::Stepped;

const LEVELS: [Isolation; 3] = [
    Isolation::ReadCommitted,
    Isolation::Snapshot,
    Isolation::Serializable,
];

/// Appends another character to the current value.
async fn append(s: &Setup, txn: &Transaction, key: &str, more: &str) -> Result<bool, Error> {
    let modify = txn.modify::<Sequential>(&s.table, key.as_bytes(), |old, new| {
        new.extend_from_slice(old);
        new.extend_from_slice(more.as_bytes());
        ControlFlow::Continue(())
    });
    modify.await
}

fn now(s: &Setup, key: &str) -> Option<String> {
    s.get(&s.begin(Isolation::Snapshot), key)
}

#[test]
fn a_change_is_shown_what_the_transaction_has_written() {
    for level in LEVELS {
        let s = Setup::new();
        let txn = s.begin(level);
        for more in ["1", "2", "3"] {
            assert_eq!(run_inline(append(&s, &txn, "x", more)), Ok(true));
        }
        s.insert(&txn, "n", "0").unwrap();
        assert_eq!(run_inline(append(&s, &txn, "n", "1")), Ok(true));
        s.delete(&txn, "y").unwrap();
        for absent in ["y", "z"] {
            assert_eq!(run_inline(append(&s, &txn, absent, "1")), Ok(false));
        }
        run_inline(txn.commit()).unwrap();
        assert_eq!(now(&s, "x").as_deref(), Some("0123"));
        assert_eq!(now(&s, "n").as_deref(), Some("01"));
        assert_eq!(now(&s, "y"), None);
    }
}

/// A read followed by an update would find, at the update, that the record has changed.
#[test]
fn a_change_by_a_transaction_that_has_read_nothing_else_meets_the_present() {
    for level in LEVELS {
        let s = Setup::new();
        let late = s.begin(level);
        s.put_at_once("x", "a");
        assert_eq!(run_inline(append(&s, &late, "x", "b")), Ok(true));
        run_inline(late.commit()).unwrap();
        assert_eq!(now(&s, "x").as_deref(), Some("ab"));
    }
}

#[test]
fn a_transaction_whose_reads_have_changed_is_aborted() {
    for level in [Isolation::Snapshot, Isolation::Serializable] {
        let s = Setup::new();
        let late = s.begin(level);
        s.get(&late, "x");
        s.put_at_once("x", "a");
        assert_eq!(
            run_inline(append(&s, &late, "x", "b")),
            Err(Error::Abort(Abort::SnapshotTooOld))
        );
    }
}

#[test]
fn no_change_is_lost_among_waiting_writers() {
    for level in LEVELS {
        let mut setup = Setup::new();
        setup.on_conflict = OnConflict::Wait;
        let s = &setup;
        let (a, b) = (s.begin(level), s.begin(level));
        assert_eq!(run_inline(append(s, &a, "x", "a")), Ok(true));
        let mut waiting = Stepped::new(append(s, &b, "x", "b"));
        assert!(waiting.step().is_none());
        run_inline(a.commit()).unwrap();
        assert_eq!(waiting.step(), Some(Ok(true)));
        drop(waiting);
        run_inline(b.commit()).unwrap();
        assert_eq!(now(s, "x").as_deref(), Some("0ab"), "{level:?}");
    }
}

#[test]
fn a_change_that_breaks_off_leaves_the_record_and_was_a_read() {
    let left = |s: &Setup, txn: &Transaction, key: &str| {
        let modify = txn.modify::<Sequential>(&s.table, key.as_bytes(), |old, new| {
            assert_eq!(old, b"0");
            new.extend_from_slice(b"never");
            ControlFlow::Break(())
        });
        assert_eq!(run_inline(modify), Ok(false));
    };
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        left(&s, &a, "x");
        left(&s, &b, "y");
        s.put(&a, "y", "a").unwrap();
        s.put(&b, "x", "b").unwrap();
        let committed = [a, b].map(|txn| run_inline(txn.commit()).is_ok());
        let skewed = committed == [true; 2];
        assert_eq!(skewed, level != Isolation::Serializable, "{level:?}");
    }
    // The record is the transaction's own.
    let s = Setup::new();
    let txn = s.begin(Isolation::Snapshot);
    s.put(&txn, "x", "0").unwrap();
    left(&s, &txn, "x");
    run_inline(txn.commit()).unwrap();
    assert_eq!(now(&s, "x").as_deref(), Some("0"));
}

#[test]
fn a_change_that_fails_leaves_the_transaction_as_it_was() {
    let s = Setup::new();
    let txn = s.begin(Isolation::Snapshot);
    s.put(&txn, "y", "1").unwrap();
    for key in ["x", "y"] {
        let long = txn.modify::<Sequential>(&s.table, key.as_bytes(), |_, new| {
            new.resize(VALUE_BYTES_MAX + 1, b'.');
            ControlFlow::Continue(())
        });
        let bytes = VALUE_BYTES_MAX + 1;
        assert_eq!(run_inline(long), Err(Error::ValueTooLong { bytes }));
        let panics = || {
            let modify = txn.modify::<Sequential>(&s.table, key.as_bytes(), |_, new| {
                new.push(b'.');
                panic!("the test's panic");
            });
            run_inline(modify)
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(run_inline(append(&s, &txn, key, "2")), Ok(true));
    }
    run_inline(txn.commit()).unwrap();
    assert_eq!(now(&s, "x").as_deref(), Some("02"));
    assert_eq!(now(&s, "y").as_deref(), Some("12"));
}

#[test]
fn a_transaction_declared_read_only_changes_nothing() {
    let s = Setup::new();
    let options = engine::TransactionOptions {
        read_only: true,
        ..Isolation::Snapshot.into()
    };
    let txn = s.begin(options);
    assert_eq!(run_inline(append(&s, &txn, "x", "1")), Err(Error::ReadOnly));
}
