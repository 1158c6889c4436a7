//! Visibility for the operations of one statement under read committed. (`anomalies.rs` tests that
//! each operation alone sees the commits before its beginning.)

use crate::by_hand;

use std::ops::ControlFlow;

use by_hand::Setup;
use engine::{Error, Isolation};
use interleave::{Sequential, run_inline};

#[test]
fn a_statement_sees_one_moment_and_its_own_writes() {
    let s = Setup::new();
    let txn = s.begin(Isolation::ReadCommitted);
    let statement = txn.statement_snapshot().unwrap();
    s.put_at_once("x", "1");
    s.put_at_once("z", "1");
    s.delete_at_once("y");
    s.collect();
    assert_eq!(s.get(&txn, "x").as_deref(), Some("0"));
    s.insert(&txn, "own", "1").unwrap();
    assert_eq!(s.keys(&txn), ["own", "x", "y"]);
    drop(statement);
    assert_eq!(s.get(&txn, "x").as_deref(), Some("1"));
    assert_eq!(s.keys(&txn), ["own", "x", "z"]);
}

/// A write is not compared with the statement's snapshot.
#[test]
fn within_a_statement_writes_take_the_newest_version() {
    let s = Setup::new();
    let txn = s.begin(Isolation::ReadCommitted);
    let statement = txn.statement_snapshot().unwrap();
    s.put_at_once("x", "1");
    s.put_at_once("z", "1");
    let mut shown = Vec::new();
    let modify = txn.modify::<Sequential>(&s.table, b"x", |old, new| {
        shown = old.to_vec();
        new.extend_from_slice(b"2");
        ControlFlow::Continue(())
    });
    assert_eq!(run_inline(modify), Ok(true));
    assert_eq!(shown, b"1");
    // A key that another transaction has taken since does not count as free.
    assert_eq!(s.insert(&txn, "z", "2"), Err(Error::DuplicateKey));
    drop(statement);
    run_inline(txn.commit()).unwrap();
    assert_eq!(
        s.get(&s.begin(Isolation::Snapshot), "x").as_deref(),
        Some("2")
    );
}

#[test]
fn versions_that_a_statement_saw_can_be_seen_again() {
    let s = Setup::new();
    let txn = s.begin(Isolation::ReadCommitted);
    let statement = txn.statement_snapshot().unwrap();
    let kept = statement.keep();
    drop(statement);
    for value in ["1", "2", "3"] {
        s.put_at_once("x", value);
        s.collect();
    }
    assert_eq!(s.get(&txn, "x").as_deref(), Some("3"));
    let again = txn.statement_snapshot_at(kept).unwrap();
    assert_eq!(s.get(&txn, "x").as_deref(), Some("0"));
    // The scan sees one moment at a time.
    assert_eq!(
        txn.statement_snapshot_at(kept).err(),
        Some(Error::OperationUnderWay)
    );
    drop(again);
    assert_eq!(s.get(&txn, "x").as_deref(), Some("3"));
    let other = s.begin(Isolation::ReadCommitted);
    s.put(&other, "w", "0").unwrap();
    assert_eq!(other.statement_snapshot_at(kept).err(), Some(Error::Ended));
}

#[test]
fn a_transaction_with_a_snapshot_of_its_own_has_it_all_the_time() {
    for level in [Isolation::Snapshot, Isolation::Serializable] {
        let s = Setup::new();
        let txn = s.begin(level);
        let statement = txn.statement_snapshot().unwrap();
        let kept = statement.keep();
        drop(statement);
        s.put_at_once("x", "1");
        let again = txn.statement_snapshot_at(kept).unwrap();
        assert_eq!(s.get(&txn, "x").as_deref(), Some("0"));
        drop(again);
        assert_eq!(s.get(&txn, "x").as_deref(), Some("0"));
    }
}

/// A savepoint is made between statements.
#[test]
fn no_savepoint_within_a_statement() {
    let s = Setup::new();
    let txn = s.begin(Isolation::ReadCommitted);
    let statement = txn.statement_snapshot().unwrap();
    assert_eq!(txn.savepoint().err(), Some(Error::OperationUnderWay));
    drop(statement);
    assert!(txn.savepoint().is_ok());
}
