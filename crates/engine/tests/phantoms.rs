//! Phantoms, and changes that happen only near by: a transaction that has looked for keys commits
//! unless a record appears among these keys. All keys here fit into one node of the index.

use crate::by_hand;

use std::ops::{
    Bound::{self, Excluded, Included},
    ControlFlow,
};

use by_hand::Setup;
use engine::{Abort, Certifier, Direction, Error, Isolation, Transaction};
use interleave::{Sequential, run_inline};

/// Whether a transaction that looks, and then writes, commits if `others` run meanwhile. Before,
/// there are `d`, `h`, `x`, `y`, and deleted, but perhaps not collected, `e` and `t`.
fn commits(look: impl Fn(&Setup, &Transaction), others: impl Fn(&Setup)) -> bool {
    let outcomes = [Certifier::Ssn, Certifier::Validation].map(|certifier| {
        let setup = Setup::with(certifier);
        for key in ["d", "e", "h", "t"] {
            setup.put_at_once(key, "0");
        }
        let reader = setup.begin(Isolation::Snapshot);
        setup.delete_at_once("e");
        setup.delete_at_once("t");
        drop(reader);
        let txn = setup.begin(Isolation::Serializable);
        look(&setup, &txn);
        others(&setup);
        setup.put(&txn, "x", "1").unwrap();
        match run_inline(txn.commit()) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error, Error::Abort(Abort::Phantom), "{certifier:?}");
                false
            }
        }
    });
    assert_eq!(outcomes[0], outcomes[1], "certifiers agree here");
    outcomes[0]
}

/// Scans until it has seen `most` keys.
fn scan(
    setup: &Setup,
    txn: &Transaction,
    range: (Bound<&str>, Bound<&str>),
    direction: Direction,
    most: usize,
) -> Vec<String> {
    let range = (range.0.map(str::as_bytes), range.1.map(str::as_bytes));
    let mut keys = Vec::new();
    let visit = |key: &[u8], _: &[u8]| {
        keys.push(String::from_utf8(key.to_vec()).unwrap());
        match keys.len() < most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    run_inline(txn.scan::<Sequential>(&setup.table, range, direction, visit)).unwrap();
    keys
}

fn between_c_and_k(setup: &Setup, txn: &Transaction) {
    let range = (Included("c"), Excluded("k"));
    assert_eq!(scan(setup, txn, range, Direction::Forward, 9), ["d", "h"]);
}

#[test]
fn insertions_beside_a_range_are_no_phantoms() {
    for beside in ["b", "k", "z"] {
        let inserts = |setup: &Setup| setup.put_at_once(beside, "1");
        assert!(commits(between_c_and_k, inserts), "{beside}");
    }
}

#[test]
fn insertions_into_a_range_are_phantoms() {
    for within in ["c", "f", "j"] {
        let inserts = |setup: &Setup| setup.put_at_once(within, "1");
        assert!(!commits(between_c_and_k, inserts), "{within}");
    }
}

#[test]
fn an_insertion_that_was_deleted_again_is_a_phantom() {
    // A transaction that wants the key after that finds a tombstone without the reader's mark.
    let both = |setup: &Setup| {
        setup.put_at_once("f", "1");
        setup.delete_at_once("f");
    };
    assert!(!commits(between_c_and_k, both));
}

#[test]
fn an_insertion_that_has_not_committed_is_a_phantom() {
    let open = |setup: &Setup| {
        let other = setup.begin(Isolation::Serializable);
        setup.insert(&other, "f", "1").unwrap();
        std::mem::forget(other);
    };
    assert!(!commits(between_c_and_k, open));
}

#[test]
fn collection_is_no_phantom() {
    assert!(commits(between_c_and_k, Setup::collect));
}

#[test]
fn an_insert_after_the_collection_of_a_seen_record_is_a_phantom() {
    let again = |setup: &Setup| {
        setup.collect();
        setup.put_at_once("e", "1");
    };
    assert!(!commits(between_c_and_k, again));
    let elsewhere = |setup: &Setup| {
        setup.collect();
        setup.put_at_once("t", "1");
    };
    assert!(commits(between_c_and_k, elsewhere));
}

#[test]
fn a_scan_has_looked_no_farther_than_it_went() {
    let forward = |setup: &Setup, txn: &Transaction| {
        let range = (Included("c"), Included("z"));
        assert_eq!(scan(setup, txn, range, Direction::Forward, 2), ["d", "h"]);
    };
    assert!(commits(forward, |setup| setup.put_at_once("i", "1")));
    assert!(!commits(forward, |setup| setup.put_at_once("g", "1")));
    let backward = |setup: &Setup, txn: &Transaction| {
        let range = (Included("c"), Excluded("k"));
        assert_eq!(scan(setup, txn, range, Direction::Backward, 1), ["h"]);
    };
    assert!(commits(backward, |setup| setup.put_at_once("g", "1")));
    assert!(!commits(backward, |setup| setup.put_at_once("i", "1")));
}

#[test]
fn a_scan_that_was_given_up_may_have_looked_anywhere_in_the_node() {
    let given_up = |setup: &Setup, txn: &Transaction| {
        // The scan panics while it visits, as a user's closure may.
        let visit = |_: &[u8], _: &[u8]| -> ControlFlow<()> { panic!("on purpose") };
        let range = (Included(&b"c"[..]), Excluded(&b"k"[..]));
        let scan = txn.scan::<Sequential>(&setup.table, range, Direction::Forward, visit);
        let scan = std::panic::AssertUnwindSafe(|| run_inline(scan));
        std::panic::catch_unwind(scan).unwrap_err();
    };
    assert!(commits(given_up, |_| ()));
    assert!(!commits(given_up, |setup| setup.put_at_once("z", "1")));
}

#[test]
fn an_absent_key_is_a_range_of_its_own() {
    for absent in ["f", "g"] {
        let look = |setup: &Setup, txn: &Transaction| {
            assert_eq!(setup.get(txn, absent), None);
        };
        assert!(commits(look, |setup| setup.put_at_once("i", "1")));
        assert!(!commits(look, |setup| setup.put_at_once(absent, "1")));
    }
}

/// The transaction has seen its own records, or will: no other transaction's phantoms are among
/// them.
#[test]
fn own_writes_in_a_range_are_known() {
    let writes = |setup: &Setup, txn: &Transaction| {
        setup.insert(txn, "f", "own").unwrap();
        setup.put(txn, "h", "own").unwrap();
        let range = (Included("c"), Excluded("k"));
        let keys = scan(setup, txn, range, Direction::Forward, 9);
        assert_eq!(keys, ["d", "f", "h"]);
        setup.insert(txn, "g", "own").unwrap();
        setup.insert(txn, "e", "own").unwrap();
    };
    assert!(commits(writes, |setup| setup.put_at_once("b", "1")));
    assert!(!commits(writes, |setup| setup.put_at_once("i", "1")));
}
