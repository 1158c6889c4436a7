//! Keys and values beyond the maximum are errors after which the transaction goes
//! on.

use weft::{Database, Error, KEY_BYTES_MAX, Options, Table, Transaction, VALUE_BYTES_MAX};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

#[test]
fn long_keys_and_values_are_refused() {
    let db = open();
    let table: Table<Vec<u8>, Vec<u8>> = db.create_table("t").unwrap();
    let key_max = vec![7; KEY_BYTES_MAX];
    let key = vec![7; KEY_BYTES_MAX + 1];
    let value_max = vec![7; VALUE_BYTES_MAX];
    let value = vec![7; VALUE_BYTES_MAX + 1];
    db.run_blocking(async move |txn: &Transaction| {
        for result in [
            txn.insert(&table, &key, b"").await,
            txn.upsert(&table, &key, b"").await,
            txn.update(&table, &key, b"").await.map(drop),
            txn.delete(&table, &key).await.map(drop),
            txn.get(&table, &key).await.map(drop),
            txn.scan(&table, key.clone()..).count().await.map(drop),
        ] {
            assert!(
                matches!(result, Err(Error::KeyTooLong { bytes }) if bytes == KEY_BYTES_MAX + 1)
            );
        }
        for result in [
            txn.insert(&table, b"k", &value).await,
            txn.upsert(&table, b"k", &value).await,
            txn.update(&table, b"k", &value).await.map(drop),
        ] {
            assert!(
                matches!(result, Err(Error::ValueTooLong { bytes }) if bytes == VALUE_BYTES_MAX + 1)
            );
        }
        txn.insert(&table, &key_max, &value_max).await?;
        let bytes = txn.get_with(&table, &key_max, <[u8]>::len).await?;
        assert_eq!(bytes, Some(VALUE_BYTES_MAX));
        txn.insert(&table, b"", b"").await?;
        assert!(txn.contains(&table, b"").await?);
        Ok(())
    })
    .unwrap();
}
