//! A panic in a closure ends its transaction and nothing else.

use weft::{Database, Error, Options, Table, Transaction};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

#[test]
fn a_panic_is_reported_and_rolled_back() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let ours = table.clone();
    let result: Result<(), Error> = db.run_blocking(async move |txn: &Transaction| {
        txn.insert(&ours, &1, &1).await?;
        panic!("no more {}", "patience");
    });
    assert!(matches!(result, Err(Error::Panicked(message)) if message == "no more patience"));
    let found = db.run_blocking(async move |txn: &Transaction| {
        txn.insert(&table, &2, &2).await?;
        txn.get(&table, &1).await
    });
    assert_eq!(found.unwrap(), None);
}

#[test]
fn a_panic_ends_an_interactive_transaction() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let txn = db.begin_blocking().unwrap();
    txn.insert(&table, &1, &1).unwrap();
    let result: Result<(), Error> = txn.call(async |_: &Transaction| panic!("gone"));
    assert!(matches!(result, Err(Error::Panicked(message)) if message == "gone"));
    assert!(matches!(txn.get(&table, &1), Err(Error::Ended)));
    assert!(matches!(txn.commit(), Err(Error::Ended)));
    let count = db.run_blocking(async move |txn: &Transaction| txn.scan(&table, ..).count().await);
    assert_eq!(count.unwrap(), 0);
}
