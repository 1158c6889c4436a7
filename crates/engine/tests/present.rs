//! Reading the present within a transaction on a snapshot (`transaction/present.rs`).

use crate::by_hand;

use by_hand::Setup;
use engine::{Error, IfLocked, Isolation, Strength};
use interleave::{Sequential, run_inline};

fn empty() -> Setup {
    let setup = Setup::new();
    setup.delete_at_once("x");
    setup.delete_at_once("y");
    setup
}

#[test]
fn the_present_has_what_others_have_committed_and_what_oneself_has_written() {
    for isolation in [
        Isolation::ReadCommitted,
        Isolation::Snapshot,
        Isolation::Serializable,
    ] {
        let setup = empty();
        for key in ["changed", "deleted", "kept"] {
            setup.put_at_once(key, "old");
        }
        let txn = setup.begin(isolation);
        assert_eq!(setup.keys(&txn), ["changed", "deleted", "kept"]);
        setup.insert(&txn, "mine", "new").unwrap();
        assert_eq!(setup.delete(&txn, "deleted"), Ok(true));
        assert_eq!(setup.update(&txn, "changed", "new"), Ok(true));
        setup.put_at_once("theirs", "new");
        setup.delete_at_once("kept");
        let open = setup.begin(Isolation::Snapshot);
        setup.insert(&open, "uncommitted", "new").unwrap();
        setup.collect();

        let present = txn.read_present().unwrap();
        assert_eq!(setup.keys(&present), ["changed", "mine", "theirs"]);
        assert_eq!(setup.get(&present, "changed").as_deref(), Some("new"));
        // The view follows the transaction, and the present.
        setup.insert(&txn, "mine too", "new").unwrap();
        setup.delete_at_once("theirs");
        assert_eq!(setup.keys(&present), ["changed", "mine", "mine too"]);
    }
}

#[test]
fn it_writes_nothing_and_its_end_ends_nothing() {
    let setup = Setup::new();
    setup.put_at_once("a", "old");
    let txn = setup.begin(Isolation::Snapshot);
    setup.update(&txn, "a", "new").unwrap();
    let present = txn.read_present().unwrap();
    assert_eq!(setup.insert(&present, "b", "new"), Err(Error::ReadOnly));
    let locked =
        present.lock::<Sequential, _>(&setup.table, b"a", Strength::Share, IfLocked::Fail, |_| ());
    assert_eq!(run_inline(locked), Err(Error::ReadOnly));
    drop(present);
    assert_eq!(setup.get(&txn, "a").as_deref(), Some("new"));
    run_inline(txn.commit()).unwrap();
    let after = setup.begin(Isolation::Snapshot);
    assert_eq!(setup.get(&after, "a").as_deref(), Some("new"));
    // The reader's context serves other transactions now; its old status means nothing to them.
    let other = setup.begin(Isolation::Snapshot);
    setup.update(&other, "a", "newest").unwrap();
    assert_eq!(setup.get(&after, "a").as_deref(), Some("new"));
}

#[test]
fn its_reads_do_not_keep_a_snapshot_from_moving() {
    let setup = empty();
    setup.put_at_once("a", "old");
    let txn = setup.begin(Isolation::Snapshot);
    assert_eq!(setup.keys(&txn.read_present().unwrap()), ["a"]);
    setup.put_at_once("a", "newer");
    assert_eq!(setup.update(&txn, "a", "newest"), Ok(true));
}
