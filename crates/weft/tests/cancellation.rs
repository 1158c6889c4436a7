//! Dropping a transaction's future rolls it back.

use std::{future::pending, sync::mpsc};

use weft::{Database, Options, Table, Transaction};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

/// A value that sends a message when it is dropped.
struct Told(mpsc::Sender<()>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn dropping_the_future_rolls_back() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let (started, has_started) = mpsc::channel();
    let (sender, dropped) = mpsc::channel();
    let ours = table.clone();
    let told = Told(sender);
    let running = db.run(async move |txn: &Transaction| {
        let _ = &told;
        txn.insert(&ours, &1, &1).await?;
        started.send(()).unwrap();
        pending::<()>().await;
        Ok(())
    });
    has_started.recv().unwrap();
    drop(running);
    dropped.recv().unwrap();
    let found = db.run_blocking(async move |txn: &Transaction| {
        txn.insert(&table, &1, &2).await?;
        txn.get(&table, &1).await
    });
    assert_eq!(found.unwrap(), Some(2));
}

#[test]
fn a_detached_transaction_runs_on() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let ours = table.clone();
    db.run(async move |txn: &Transaction| txn.insert(&ours, &1, &1).await)
        .detach();
    db.close();
    // The creation of the table is one of the commits.
    assert_eq!(db.stats().commits, 2);
}
