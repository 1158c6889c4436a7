//! Interactive transactions from ordinary threads.

use std::thread;

use weft::{Abort, Database, Error, Isolation, Options, Table, Transaction};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

#[test]
fn operations_go_back_and_forth() {
    let db = open();
    let table: Table<(u32, String), u64> = db.create_table("t").unwrap();
    let txn = db.begin_blocking().unwrap();
    assert_eq!(txn.isolation(), Isolation::Serializable);
    txn.insert(&table, &(1, "a"), &10).unwrap();
    txn.insert(&table, &(1, "b"), &20).unwrap();
    assert!(matches!(
        txn.insert(&table, &(1, "a"), &0),
        Err(Error::DuplicateKey)
    ));
    assert!(txn.update(&table, &(1, "a"), &11).unwrap());
    assert!(!txn.update(&table, &(2, "a"), &11).unwrap());
    txn.upsert(&table, &(2, "c"), &30).unwrap();
    assert!(txn.delete(&table, &(1, "b")).unwrap());
    assert_eq!(txn.get(&table, &(1, "a")).unwrap(), Some(11));
    assert_eq!(
        txn.multi_get(&table, &[(2, "c"), (1, "b")]).unwrap(),
        [Some(30), None]
    );
    let rows = txn.scan(&table, (1, "")..(2, "z"), 10).unwrap();
    assert_eq!(rows, [((1, "a".into()), 11), ((2, "c".into()), 30)]);
    assert_eq!(txn.scan(&table, .., 1).unwrap().len(), 1);
    let count = txn.call({
        let table = table.clone();
        async move |txn: &Transaction| txn.scan(&table, ..).count().await
    });
    assert_eq!(count.unwrap(), 2);
    let other = db.begin_blocking().unwrap();
    assert_eq!(other.get(&table, &(1, "a")).unwrap(), None);
    txn.commit().unwrap();
    assert_eq!(other.get(&table, &(1, "a")).unwrap(), None);
    other.rollback().unwrap();
    let later = db.begin_blocking().unwrap();
    assert_eq!(later.get(&table, &(1, "a")).unwrap(), Some(11));
}

#[test]
fn dropping_and_rolling_back_undo() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let txn = db.begin_blocking().unwrap();
    txn.insert(&table, &1, &1).unwrap();
    txn.rollback().unwrap();
    let txn = db.begin_blocking().unwrap();
    txn.insert(&table, &1, &2).unwrap();
    drop(txn);
    // The rollback of a dropped transaction is under way: writers run into it
    // at worst once.
    let reader = db.begin_blocking().unwrap();
    assert_eq!(reader.get(&table, &1).unwrap(), None);
    db.run_blocking(async move |txn: &Transaction| txn.insert(&table, &1, &3).await)
        .unwrap();
}

#[test]
fn the_first_of_two_writers_wins() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let (first, second) = (db.begin_blocking().unwrap(), db.begin_blocking().unwrap());
    first.insert(&table, &1, &1).unwrap();
    let lost = second.insert(&table, &1, &2).unwrap_err();
    assert!(matches!(lost, Error::Abort(Abort::WriteConflict)));
    assert!(lost.is_retryable());
    assert!(matches!(second.commit(), Err(Error::Abort(_))));
    first.commit().unwrap();
}

#[test]
fn a_transaction_may_change_threads() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let txn = db.begin_blocking().unwrap();
    let ours = table.clone();
    let txn = thread::spawn(move || {
        txn.insert(&ours, &1, &1).unwrap();
        txn
    })
    .join()
    .unwrap();
    assert_eq!(txn.get(&table, &1).unwrap(), Some(1));
    txn.commit().unwrap();
}

#[test]
fn blocking_on_a_worker_is_refused() {
    let db = open();
    let inner = db.clone();
    db.run_blocking(async move |_: &Transaction| {
        let nested = inner.run_blocking(async |_: &Transaction| Ok(()));
        assert!(matches!(nested, Err(Error::WouldBlockWorker)));
        assert!(matches!(
            inner.begin_blocking(),
            Err(Error::WouldBlockWorker)
        ));
        Ok(())
    })
    .unwrap();
}
