//! Transactions from tokio's tasks.

use weft::{Database, Options, Table, Transaction};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokio_tasks_run_transactions() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let tasks: Vec<_> = (0..100_u64)
        .map(|key| {
            let (db, table) = (db.clone(), table.clone());
            tokio::spawn(async move {
                db.run(async move |txn: &Transaction| txn.insert(&table, &key, &key).await)
                    .await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let count = db.run(async move |txn: &Transaction| txn.scan(&table, ..).count().await);
    assert_eq!(count.await.unwrap(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokio_tasks_drive_interactive_transactions() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let tasks: Vec<_> = (0..50_u64)
        .map(|key| {
            let (db, table) = (db.clone(), table.clone());
            tokio::spawn(async move {
                let txn = db.begin().await?;
                txn.insert(&table, &key, &1).await?;
                let value = txn.get(&table, &key).await?.unwrap_or(0);
                txn.update(&table, &key, &(value + key)).await?;
                if key % 2 == 0 {
                    txn.commit().await
                } else {
                    txn.rollback().await
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let txn = db.begin().await.unwrap();
    let rows = txn.scan(&table, .., 1000).await.unwrap();
    assert_eq!(rows.len(), 25);
    assert!(rows.iter().all(|(key, value)| *value == key + 1));
}

#[tokio::test]
async fn a_transaction_that_awaits_tokio_is_parked_meanwhile() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let (sender, receiver) = tokio::sync::oneshot::channel::<u64>();
    let receiver = std::sync::Mutex::new(Some(receiver));
    let ours = table.clone();
    let running = db.run(async move |txn: &Transaction| {
        let receiver = receiver.lock().unwrap().take().unwrap();
        let value = receiver.await.unwrap();
        txn.insert(&ours, &1, &value).await
    });
    sender.send(7).unwrap();
    running.await.unwrap();
    let value = db.run(async move |txn: &Transaction| txn.get(&table, &1).await);
    assert_eq!(value.await.unwrap(), Some(7));
}
