//! With its memory exhausted a database refuses writes, keeps serving reads and
//! deletes, and takes writes again after deletes.

use weft::{Database, Error, Options, Table, Transaction};

const VALUE_BYTES: usize = 4000;

/// Returns a database that has refused a record, its table, and the number of records.
fn full() -> (Database, Table<u64, Vec<u8>>, u64) {
    let db = Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(8 << 20),
        ..Options::default()
    })
    .unwrap();
    let table: Table<u64, Vec<u8>> = db.create_table("t").unwrap();

    let mut records = 0;
    let refused = loop {
        let ours = table.clone();
        let result = db.run_blocking(async move |txn: &Transaction| {
            txn.insert(&ours, &records, &[1; VALUE_BYTES]).await
        });
        match result {
            Ok(()) => records += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::MemoryExhausted));
    assert!(records > 500, "only {records} records fit into 8 MiB");

    let ours = table.clone();
    let count = db.run_blocking(async move |txn: &Transaction| txn.scan(&ours, ..).count().await);
    assert_eq!(count.unwrap(), records);
    (db, table, records)
}

#[test]
fn exhausted_memory_is_an_error_and_reads_go_on() {
    let (db, table, records) = full();
    let txn = db.begin_blocking().unwrap();
    // The worker that runs this transaction may have some free memory in stock.
    let refused = (records..2 * records)
        .map(|key| txn.insert(&table, &key, &vec![1; VALUE_BYTES]))
        .find_map(Result::err);
    assert!(matches!(refused, Some(Error::MemoryExhausted)));
    assert_eq!(
        txn.get(&table, &0).unwrap().map(|value| value.len()),
        Some(VALUE_BYTES)
    );
    txn.commit().unwrap();
}

#[test]
fn exhausted_memory_is_an_error_that_deletes_cure() {
    let (db, table, records) = full();
    for key in 0..records / 2 {
        let ours = table.clone();
        let deleted = db.run_blocking(async move |txn: &Transaction| txn.delete(&ours, &key).await);
        assert!(deleted.unwrap());
    }
    // Versions are collected by the workers, between transactions.
    for key in 0..records / 4 {
        loop {
            let ours = table.clone();
            let result = db.run_blocking(async move |txn: &Transaction| {
                txn.upsert(&ours, &key, &[2; VALUE_BYTES]).await
            });
            match result {
                Ok(()) => break,
                Err(Error::MemoryExhausted) => std::thread::yield_now(),
                Err(other) => panic!("{other}"),
            }
        }
    }
}
