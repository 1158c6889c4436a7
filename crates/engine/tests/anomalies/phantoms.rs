//! Phantom write skew: by ranges, absent keys and tombstones.

use super::*;

#[test]
fn g2_phantom_write_skew_by_scans() {
    check(BELOW_SERIALIZABLE, |s| {
        let (a, b) = (s.txn(), s.txn());
        assert_eq!(s.keys(&a), s.keys(&b));
        s.insert(&a, "xa", "a").unwrap();
        s.insert(&b, "xb", "b").unwrap();
        commits(a) & commits(b)
    });
}

#[test]
fn g2_phantom_write_skew_by_absent_keys() {
    check(BELOW_SERIALIZABLE, |s| {
        let (a, b) = (s.txn(), s.txn());
        assert_eq!((s.get(&a, "b"), s.get(&b, "a")), (None, None));
        s.insert(&a, "a", "a").unwrap();
        s.insert(&b, "b", "b").unwrap();
        commits(a) & commits(b)
    });
}

/// The other transaction's record is in the index already, but not visible.
#[test]
fn g2_phantom_write_skew_after_the_insertions() {
    check(BELOW_SERIALIZABLE, |s| {
        let (a, b) = (s.txn(), s.txn());
        s.insert(&a, "a", "a").unwrap();
        s.insert(&b, "b", "b").unwrap();
        assert_eq!((s.get(&a, "b"), s.get(&b, "a")), (None, None));
        commits(a) & commits(b)
    });
}

#[test]
fn g2_phantom_by_an_update_that_finds_nothing() {
    check(BELOW_SERIALIZABLE, |s| {
        let (a, b) = (s.txn(), s.txn());
        assert_eq!(s.update(&a, "b", "a"), Ok(false));
        assert_eq!(s.delete(&b, "a"), Ok(false));
        s.insert(&a, "a", "a").unwrap();
        s.insert(&b, "b", "b").unwrap();
        commits(a) & commits(b)
    });
}

#[test]
fn g2_write_skew_by_an_insert_that_finds_a_duplicate() {
    check(BELOW_SERIALIZABLE, |s| {
        let (a, b) = (s.txn(), s.txn());
        assert_eq!(s.insert(&a, "y", "a"), Err(engine::Error::DuplicateKey));
        assert_eq!(s.insert(&b, "x", "b"), Err(engine::Error::DuplicateKey));
        s.delete(&a, "x").unwrap();
        s.delete(&b, "y").unwrap();
        commits(a) & commits(b)
    });
}

/// Once a write was taken back, other transactions can change the record again; the information
/// that the write returned (there was a record) was noted nowhere.
#[test]
fn g2_write_skew_by_an_update_that_was_taken_back() {
    check(BELOW_SERIALIZABLE, |s| {
        let (a, b) = (s.txn(), s.txn());
        for (txn, key) in [(&a, "x"), (&b, "y")] {
            let savepoint = txn.savepoint().unwrap();
            assert_eq!(s.update(txn, key, "1"), Ok(true));
            txn.rollback_to(&savepoint).unwrap();
        }
        s.delete(&a, "y").unwrap();
        s.delete(&b, "x").unwrap();
        commits(a) & commits(b)
    });
}

/// The information that the insertion returned was that there was no record, because the index does
/// not know the key, or because the record was deleted.
#[test]
fn g2_phantom_write_skew_by_an_insertion_that_was_taken_back() {
    for keys in [["a", "b"], ["x", "y"]] {
        check(BELOW_SERIALIZABLE, |s| {
            s.delete_at_once("x");
            s.delete_at_once("y");
            let (a, b) = (s.txn(), s.txn());
            for (txn, key) in [(&a, keys[0]), (&b, keys[1])] {
                let savepoint = txn.savepoint().unwrap();
                s.insert(txn, key, "1").unwrap();
                txn.rollback_to(&savepoint).unwrap();
            }
            s.insert(&a, keys[1], "a").unwrap();
            s.insert(&b, keys[0], "b").unwrap();
            commits(a) & commits(b)
        });
    }
}

/// The notes of a write that was taken back must not look like another transaction's change.
#[test]
fn a_transaction_that_takes_writes_back_commits_at_every_level() {
    for level in LEVELS {
        let s = &At::new(level);
        s.delete_at_once("y");
        let a = s.txn();
        for _ in 0..2 {
            let savepoint = a.savepoint().unwrap();
            assert_eq!(s.update(&a, "x", "1"), Ok(true));
            s.insert(&a, "y", "1").unwrap();
            // The last two keys make a layer of the index, which goes with them.
            for key in ["a", "b", "12345678a", "12345678b"] {
                s.insert(&a, key, "1").unwrap();
            }
            a.rollback_to(&savepoint).unwrap();
        }
        s.insert(&a, "12345678c", "2").unwrap();
        assert_eq!(s.update(&a, "x", "2"), Ok(true));
        s.insert(&a, "y", "2").unwrap();
        assert!(commits(a), "{level:?}");
        assert_eq!(s.now("x") + &s.now("y"), "22");
    }
}

#[test]
fn g2_phantom_write_skew_by_deletions() {
    check(BELOW_SERIALIZABLE, |s| {
        let (a, b) = (s.txn(), s.txn());
        assert_eq!(s.keys(&a), ["x", "y"]);
        assert_eq!(s.keys(&b), ["x", "y"]);
        s.delete(&a, "x").unwrap();
        s.delete(&b, "y").unwrap();
        commits(a) & commits(b)
    });
}

/// Both transactions find a key deleted, and insert the one that the other found deleted.
#[test]
fn g2_phantom_over_tombstones() {
    for collected in [false, true] {
        check(BELOW_SERIALIZABLE, |s| {
            s.delete_at_once("x");
            s.delete_at_once("y");
            if collected {
                s.collect();
            }
            let (a, b) = (s.txn(), s.txn());
            assert_eq!((s.get(&a, "x"), s.get(&b, "y")), (None, None));
            s.insert(&a, "y", "a").unwrap();
            s.insert(&b, "x", "b").unwrap();
            commits(a) & commits(b)
        });
    }
}

/// The tombstones are collected between the reads and the writes.
#[test]
fn g2_phantom_over_tombstones_that_vanish() {
    check(BELOW_SERIALIZABLE, |s| {
        s.delete_at_once("x");
        s.delete_at_once("y");
        let (a, b) = (s.txn(), s.txn());
        assert_eq!((s.get(&a, "x"), s.get(&b, "y")), (None, None));
        s.collect();
        s.insert(&a, "y", "a").unwrap();
        s.insert(&b, "x", "b").unwrap();
        commits(a) & commits(b)
    });
}

/// `a` looks for a key, changes a record that `b` has read, and commits; then `b` inserts the key.
/// No version tells `b` that `a` was there.
#[test]
fn g2_phantom_by_an_insertion_after_the_reader_has_committed() {
    check(BELOW_SERIALIZABLE, |s| {
        let (a, b) = (s.txn(), s.txn());
        assert_eq!(s.get(&a, "k"), None);
        s.value(&b, "x");
        s.put(&a, "x", "a").unwrap();
        let first = commits(a);
        s.insert(&b, "k", "b").unwrap();
        first & commits(b)
    });
}
