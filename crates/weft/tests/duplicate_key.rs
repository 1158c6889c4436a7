//! Inserting a key twice is an error after which the transaction goes on.

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
fn a_duplicate_key_is_refused_and_the_transaction_goes_on() {
    let db = open();
    let table: Table<u32, String> = db.create_table("names").unwrap();
    let names = table.clone();
    db.run_blocking(async move |txn: &Transaction| {
        txn.insert(&names, &1, "first").await?;
        let second = txn.insert(&names, &1, "second").await;
        assert!(matches!(second, Err(Error::DuplicateKey)));
        assert!(!second.unwrap_err().is_retryable());
        txn.insert(&names, &2, "other").await
    })
    .unwrap();
    let names = table.clone();
    let again = db.run_blocking(async move |txn: &Transaction| txn.insert(&names, &1, "x").await);
    assert!(matches!(again, Err(Error::DuplicateKey)));
    let found = db
        .run_blocking(async move |txn: &Transaction| txn.multi_get(&table, &[1, 2, 3]).await)
        .unwrap();
    assert_eq!(
        found,
        [Some("first".to_owned()), Some("other".to_owned()), None]
    );
}

#[test]
fn a_deleted_key_can_be_inserted_again() {
    let db = open();
    let table: Table<u32, u8> = db.create_table("t").unwrap();
    let value = db
        .run_blocking(async move |txn: &Transaction| {
            txn.insert(&table, &1, &1).await?;
            assert!(txn.delete(&table, &1).await?);
            assert!(!txn.delete(&table, &1).await?);
            assert!(!txn.update(&table, &1, &2).await?);
            txn.insert(&table, &1, &3).await?;
            txn.get(&table, &1).await
        })
        .unwrap();
    assert_eq!(value, Some(3));
}
