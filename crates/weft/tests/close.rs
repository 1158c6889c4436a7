//! A closed database refuses everything, and closing waits for submitted transactions.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

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
fn everything_is_refused_after_close() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    db.close();
    db.close();
    let run = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &1).await);
    assert!(matches!(run, Err(Error::Closed)));
    assert!(matches!(db.begin_blocking(), Err(Error::Closed)));
    assert!(matches!(
        db.create_table::<u64, u64>("u"),
        Err(Error::Closed)
    ));
    assert!(matches!(db.open_table::<u64, u64>("t"), Err(Error::Closed)));
}

#[test]
fn transactions_that_were_submitted_end_first() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let running: Vec<_> = (0..100_u64)
        .map(|key| {
            let table = table.clone();
            db.run(async move |txn: &Transaction| txn.insert(&table, &key, &key).await)
        })
        .collect();
    db.close();
    for running in running {
        running.wait().unwrap();
    }
    // The commits include the creation of the table.
    assert_eq!(db.stats().commits, 101);
}

#[test]
fn closing_rolls_open_interactive_transactions_back() {
    let db = open();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let txn = db.begin_blocking().unwrap();
    txn.insert(&table, &1, &1).unwrap();
    db.close();
    assert!(matches!(txn.get(&table, &1), Err(Error::Closed)));
    assert!(matches!(txn.commit(), Err(Error::Closed)));
    // The creation of the table committed.
    assert_eq!((db.stats().commits, db.stats().rollbacks), (1, 1));
}

/// A panic of a function that tells a task to end left `close`, with the tasks behind it untold: the end
/// of the workers then waited for them.
#[test]
fn a_task_whose_end_panics_keeps_no_other_from_being_told() {
    let db = open();
    let told = Arc::new(AtomicBool::new(false));
    let panics = || std::panic::resume_unwind(Box::new("the test's own"));
    let _first = db.when_closing(panics).unwrap();
    let second = told.clone();
    let _second = db.when_closing(move || second.store(true, Ordering::Relaxed));
    db.close();
    assert!(told.load(Ordering::Relaxed));
}

#[test]
fn a_transaction_may_close_the_database_and_hold_its_last_handle() {
    let db = open();
    let (sender, receiver) = std::sync::mpsc::channel();
    let last = db.clone();
    let running = db.run(async move |_: &Transaction| {
        last.close();
        sender.send(()).unwrap();
        Ok(())
    });
    drop(db);
    receiver.recv().unwrap();
    running.wait().unwrap();
}
