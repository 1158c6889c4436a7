//! Aborted transactions are run again, until they commit or the limit is reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weft::{Context, Database, Error, Interleaved, Isolation, Options, Table, Transaction};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

#[test]
fn concurrent_increments_are_all_counted() {
    const TIMES: u64 = 1000;
    let db = open();
    let table: Table<u8, u64> = db.create_table("counters").unwrap();
    let clients: Vec<_> = (0..2)
        .map(|_| {
            let (db, table) = (db.clone(), table.clone());
            std::thread::spawn(move || {
                for _ in 0..TIMES {
                    let table = table.clone();
                    db.run_blocking(async move |txn: &Transaction| {
                        let count = txn.get(&table, &0).await?.unwrap_or(0);
                        txn.upsert(&table, &0, &(count + 1)).await
                    })
                    .unwrap();
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    let count = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &0).await);
    assert_eq!(count.unwrap(), Some(2 * TIMES));
}

#[test]
fn a_batch_of_conflicting_transactions_commits_whatever_is_in_flight() {
    for in_flight in [weft::InFlight::Fixed(1), weft::InFlight::Fixed(32)] {
        let db = Database::open(Options {
            workers: 2,
            in_flight,
            ..Options::default()
        })
        .unwrap();
        let table: Table<u8, u64> = db.create_table("counters").unwrap();
        let running: Vec<_> = (0..500)
            .map(|_| {
                let table = table.clone();
                db.run(async move |txn: &Transaction| {
                    let count = txn.get(&table, &0).await?.unwrap_or(0);
                    txn.upsert(&table, &0, &(count + 1)).await
                })
            })
            .collect();
        for running in running {
            running.wait().unwrap();
        }
        let count = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &0).await);
        assert_eq!(count.unwrap(), Some(500));
    }
}

#[test]
fn retries_end_at_the_limit() {
    let db = Database::open(Options {
        workers: 1,
        retries_max: 5,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u8, u64> = db.create_table("t").unwrap();
    let holder = db.begin_blocking().unwrap();
    holder.insert(&table, &0, &1).unwrap();
    let ours = table.clone();
    let result = db.run_blocking(async move |txn: &Transaction| txn.upsert(&ours, &0, &2).await);
    let Err(Error::RetriesExhausted(exhausted)) = result else {
        panic!("{result:?}");
    };
    assert_eq!(
        (exhausted.attempts, exhausted.last),
        (6, weft::Abort::WriteConflict)
    );
    holder.commit().unwrap();
    db.run_blocking(async move |txn: &Transaction| txn.upsert(&table, &0, &2).await)
        .unwrap();
}

#[test]
fn an_abort_that_the_closure_ignores_is_retried_all_the_same() {
    let db = open();
    let table: Table<u8, u64> = db.create_table("t").unwrap();
    let holder = db.begin_blocking().unwrap();
    holder.insert(&table, &0, &1).unwrap();
    let (sender, attempts) = std::sync::mpsc::channel();
    let ours = table.clone();
    let running = db.run(async move |txn: &Transaction| {
        let _ = txn.upsert(&ours, &0, &2).await;
        let _ = sender.send(());
        Ok(())
    });
    attempts.recv().unwrap();
    holder.commit().unwrap();
    running.wait().unwrap();
    let value = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &0).await);
    assert_eq!(value.unwrap(), Some(2));
}

/// A transaction that takes its time between reading a record and writing it met, again and again,
/// shorter ones that had written the record meanwhile: it was given up after all its attempts. Now
/// it waits in line after some attempts, and then locks the record first.
#[test]
fn a_transaction_aborted_again_and_again_gets_its_turn() {
    const PAUSES: u32 = 100;
    const SLOW: u64 = 5;
    let db = Database::open(Options {
        workers: 1,
        in_flight: weft::InFlight::Fixed(8),
        retries_max: 100,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u8, u64> = db.create_table("counters").unwrap();
    async fn add(txn: &Transaction, table: &Table<u8, u64>, pauses: u32) -> weft::Result<()> {
        let count = txn.get(table, &0).await?.unwrap_or(0);
        for _ in 0..pauses {
            interleave::yield_now().await;
        }
        txn.upsert(table, &0, &(count + 1)).await
    }
    // Short transactions run one after another, as many at once as there is room for.
    let over = Arc::new(AtomicBool::new(false));
    let (ended, short) = std::sync::mpsc::channel();
    let (ours, until) = (table.clone(), over.clone());
    db.workers()[0].supply(move |context: Context| {
        move || {
            if until.load(Ordering::Relaxed) {
                return None;
            }
            let (context, table, ended) = (context.clone(), ours.clone(), ended.clone());
            Some(move || async move {
                let closure = async |txn: &Transaction| add(txn, &table, 0).await;
                let done = context.run(Isolation::Snapshot, &closure).await;
                // The receiver waits for all messages.
                let _ = ended.send(done);
            })
        }
    });
    for _ in 0..SLOW {
        let ours = table.clone();
        let slow = async move |txn: &Transaction| add(txn, &ours, PAUSES).await;
        db.run_with::<Interleaved, _, _>(Isolation::Snapshot, slow)
            .wait()
            .unwrap();
    }
    over.store(true, Ordering::Relaxed);
    let short: u64 = short.iter().map(|done| done.map(|()| 1).unwrap()).sum();
    let count = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &0).await);
    assert_eq!(count.unwrap(), Some(short + SLOW));
}

/// A wait in vain is an abort like any other, in the statistics too.
#[test]
fn a_turn_that_does_not_come_is_counted() {
    let db = Database::open(Options {
        workers: 1,
        retries_max: 20,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u8, u64> = db.create_table("t").unwrap();
    let holder = db.begin_blocking().unwrap();
    holder.insert(&table, &0, &1).unwrap();
    let ours = table.clone();
    let result = db.run_blocking(async move |txn: &Transaction| txn.upsert(&ours, &0, &2).await);
    let Err(Error::RetriesExhausted(exhausted)) = result else {
        panic!("{result:?}");
    };
    assert_eq!(
        (exhausted.attempts, exhausted.last),
        (21, weft::Abort::WriteConflict)
    );
    // The worker publishes its counters now and then.
    let since = Instant::now();
    while db.stats().aborts_write_conflict < 21 && since.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(db.stats().aborts_write_conflict, 21);
    holder.commit().unwrap();
}
