//! Indexes of tables whose records expire.

use super::*;

#[test]
fn indexes_forget_what_has_expired() {
    for unique in [false, true] {
        let setup = Setup::new();
        let index = setup.index(unique);
        setup.put("a", "1");
        setup.wall.set(WallTime(1050));
        setup.put("b", "2");
        // Only the expiry changes.
        setup.put("c", "3");
        setup.wall.set(WallTime(1099));
        setup.put("c", "3");
        let txn = setup.begin(Isolation::Snapshot);
        assert_eq!(keys_by(&txn, &index), ["a", "b", "c"]);
        setup.wall.set(WallTime(1100));
        let txn = setup.begin(Isolation::Snapshot);
        assert_eq!(keys_by(&txn, &index), ["b", "c"]);
        setup.wall.set(WallTime(1150));
        let txn = setup.begin(Isolation::Snapshot);
        assert_eq!(keys_by(&txn, &index), ["c"]);
        if unique {
            let found = |key| {
                let read = |primary_key: &[u8], _: &[u8]| text(primary_key);
                run_inline(txn.get_by::<Sequential, _>(&index, key, read)).unwrap()
            };
            assert_eq!((found(b"2"), found(b"3")), (None, Some("c".to_owned())));
        }
        setup.check(&index, 3);
        setup.collect();
        setup.check(&index, 1);
    }
}

#[test]
fn the_unique_key_of_an_expired_record_is_free() {
    let setup = Setup::new();
    let index = setup.index(true);
    setup.put("a", "x");
    let txn = setup.begin(Isolation::Snapshot);
    let refused = insert(&txn, &setup.table, "b", "x");
    assert!(matches!(refused, Err(Error::DuplicateIndexKey { .. })));
    drop(txn);
    setup.wall.advance(TTL);
    setup.put("b", "x");
    let txn = setup.begin(Isolation::Snapshot);
    assert_eq!(keys_by(&txn, &index), ["b"]);
    setup.check(&index, 1);
    // The other record was deleted: there are not two records with one key, whatever the clock
    // says.
    setup.wall.set(WallTime(1001));
    let txn = setup.begin(Isolation::Snapshot);
    assert_eq!(keys(&txn, &setup.table), ["b"]);
    assert_eq!(keys_by(&txn, &index), ["b"]);
}

/// The record that has the key is written again by another open transaction.
#[test]
fn a_claim_of_an_expired_records_key_conflicts_with_its_revival() {
    let setup = Setup::new();
    let index = setup.index(true);
    setup.put("a", "x");
    setup.wall.advance(TTL);
    let (one, other) = (
        setup.begin(Isolation::Snapshot),
        setup.begin(Isolation::Snapshot),
    );
    put(&one, &setup.table, "a", "x").unwrap();
    let refused = insert(&other, &setup.table, "b", "x");
    assert_eq!(refused, Err(Error::Abort(Abort::WriteConflict)));
    run_inline(one.commit()).unwrap();
    setup.check(&index, 1);
}

/// The deletion is taken back with the operation that it was a part of.
#[test]
fn an_operation_that_fails_brings_back_what_it_deleted_as_expired() {
    let setup = Setup::new();
    let first = setup.index(true);
    let options = IndexOptions {
        unique: true,
        prefix_free: false,
    };
    let constant = Arc::new(|key: &[u8], _: &[u8], keys: &mut engine::IndexKeys| {
        if key != b"a" {
            keys.push(b"one and only");
        }
    });
    let second = setup
        .session
        .begin_index(&setup.table, "constant", options, constant);
    let mut second = second.unwrap();
    while run_inline(second.step::<Sequential>()).unwrap() != BuildStep::Ready {
        setup.session.tend();
    }
    setup.put("a", "x");
    setup.wall.set(WallTime(1050));
    setup.put("b", "y");
    setup.wall.set(WallTime(1100));
    let txn = setup.begin(Isolation::Snapshot);
    // In the first index "x" is free, since a has expired; in the second b is in the way.
    let refused = insert(&txn, &setup.table, "c", "x");
    let index = second.index().number() as usize;
    assert_eq!(refused, Err(Error::DuplicateIndexKey { index }));
    run_inline(txn.commit()).unwrap();
    setup.check(&first, 2);
    setup.check(second.index(), 1);
    setup.wall.set(WallTime(1050));
    let txn = setup.begin(Isolation::Snapshot);
    assert_eq!(keys_by(&txn, &first), ["a", "b"]);
}

#[test]
fn a_builder_deletes_the_expired_records_that_it_meets() {
    let setup = Setup::new();
    setup.put("a", "x");
    setup.put("b", "x");
    assert!(matches!(
        run_inline(async {
            let mut build = setup.begin_index(true);
            loop {
                setup.session.tend();
                match build.step::<Sequential>().await {
                    Ok(BuildStep::Ready) => panic!("two records have the same key"),
                    Ok(_) => {}
                    Err(error) => return error,
                }
            }
        }),
        BuildError::Duplicate { .. }
    ));
    setup.wall.set(WallTime(1050));
    setup.put("b", "x");
    setup.wall.set(WallTime(1100));
    let index = setup.index(true);
    setup.check(&index, 1);
    setup.wall.set(WallTime(1000));
    let txn = setup.begin(Isolation::Snapshot);
    assert_eq!(keys(&txn, &setup.table), ["b"]);
}
