//! Transactions that wait for each other, on real threads: storms on one record and in circles, and
//! everything that can happen to a waiting transaction.

use std::{
    future::{pending, poll_fn},
    pin::pin,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    sync::{Arc, mpsc},
    task::Poll,
    time::{Duration, Instant},
};

use weft::{
    Database, Error, IfLocked, InFlight, Isolation, OnConflict, Options, Strength, Table,
    Transaction,
};

fn open(options: Options) -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        on_conflict: OnConflict::Wait,
        ..options
    })
    .unwrap()
}

/// TPC-C with one warehouse fell to 0.4 of sequential: every payment that met another waited for it
/// and let the next one begin, until a thousand waited, each with a snapshot.
#[test]
fn a_waiting_transaction_counts_as_in_flight() {
    const IN_FLIGHT: u32 = 8;
    for workers in [1, 2] {
        let db = Database::open(Options {
            workers,
            in_flight: InFlight::Fixed(IN_FLIGHT as usize),
            isolation: Isolation::ReadCommitted,
            on_conflict: OnConflict::Wait,
            ..Options::default()
        })
        .unwrap();
        let table: Table<u8, u64> = db.create_table("counters").unwrap();
        let ours = table.clone();
        db.run_blocking(async move |txn: &Transaction| txn.insert(&ours, &0, &0).await)
            .unwrap();
        let (open, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let is_crowded = Arc::new(AtomicBool::new(false));
        // The first holds the record until all others have been handed in, however slowly this thread does that.
        let first = {
            let (table, is_crowded) = (table.clone(), is_crowded.clone());
            db.run(async move |txn: &Transaction| {
                txn.modify(&table, &0, |count| *count += 1).await?;
                while !is_crowded.load(Ordering::Relaxed) {
                    interleave::yield_now().await;
                }
                Ok(())
            })
        };
        let began = Instant::now();
        let running: Vec<_> = (0..1000)
            .map(|_| {
                let (table, open, most) = (table.clone(), open.clone(), most.clone());
                db.run(async move |txn: &Transaction| {
                    let now = open.fetch_add(1, Ordering::Relaxed) + 1;
                    most.fetch_max(now, Ordering::Relaxed);
                    txn.modify(&table, &0, |count| *count += 1).await?;
                    // Others have their turn while this transaction holds the record.
                    interleave::yield_now().await;
                    open.fetch_sub(1, Ordering::Relaxed);
                    Ok(())
                })
            })
            .collect();
        is_crowded.store(true, Ordering::Relaxed);
        for running in running.into_iter().chain([first]) {
            running.wait().unwrap();
        }
        let most = most.load(Ordering::Relaxed);
        // Twice as many may wait, and one holds the record; beyond that, a worker begins one task in a millisecond at
        // most, which adds up where other programs have the processors.
        let overdue = began.elapsed().as_millis() as u32 + 1;
        let most_allowed = workers as u32 * (2 * IN_FLIGHT + 1 + overdue);
        assert!(most <= most_allowed, "{most} were open at once");
        assert!(db.stats().lock_waits > 500, "they met");
        let total = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &0).await);
        assert_eq!(total.unwrap(), Some(1001));
    }
}

/// Returns a database with a record 1, and a transaction that has written it.
fn with_owner() -> (Database, Table<u64, u64>, weft::BlockingTransaction) {
    let db = open(Options::default());
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let ours = table.clone();
    db.run_blocking(async move |txn: &Transaction| txn.insert(&ours, &1, &0).await)
        .unwrap();
    let owner = db.begin_blocking().unwrap();
    owner.update(&table, &1, &1).unwrap();
    (db, table, owner)
}

fn until_waiting(db: &Database, waits: u64) {
    while db.stats().lock_waits < waits {
        std::thread::yield_now();
    }
}

/// A client holds a lock while it thinks, and more transactions wait for it than a worker keeps in
/// flight: transactions that access other records must not wait.
#[test]
fn a_lock_that_is_held_for_long_is_in_no_other_way() {
    let db = Database::open(Options {
        workers: 1,
        in_flight: InFlight::Fixed(2),
        isolation: Isolation::ReadCommitted,
        on_conflict: OnConflict::Wait,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let ours = table.clone();
    db.run_blocking(async move |txn: &Transaction| txn.insert(&ours, &1, &0).await)
        .unwrap();
    let owner = db.begin_blocking().unwrap();
    owner.update(&table, &1, &1).unwrap();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let table = table.clone();
            db.run(async move |txn: &Transaction| {
                txn.modify(&table, &1, |value| *value += 1).await.map(drop)
            })
        })
        .collect();
    until_waiting(&db, 4);
    let ours = table.clone();
    db.run_blocking(async move |txn: &Transaction| txn.insert(&ours, &2, &0).await)
        .unwrap();
    owner.commit().unwrap();
    for waiting in waiting {
        waiting.wait().unwrap();
    }
    let total = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &1).await);
    assert_eq!(total.unwrap(), Some(21));
    // The worker publishes its counters before it sleeps.
    while db.stats().waits_lock < 4 {
        std::thread::yield_now();
    }
    let stats = db.stats();
    assert!(stats.waits_event >= stats.waits_lock + stats.waits_client);
}

/// Every transaction commits, the second time at the latest: the retry locks the record before it
/// takes its snapshot. A transaction that locks the record before reading it, and has read nothing
/// before that has changed, commits the first time.
#[test]
fn writers_of_one_record_all_get_their_turn() {
    const TIMES: u64 = 2000;
    for (isolation, locks, attempts_max) in [
        (Isolation::Snapshot, false, 2),
        (Isolation::Snapshot, true, 1),
        (Isolation::Serializable, true, 1),
        (Isolation::ReadCommitted, true, 1),
    ] {
        for in_flight in [InFlight::Fixed(1), InFlight::Fixed(32)] {
            let db = open(Options {
                in_flight,
                isolation,
                ..Options::default()
            });
            let table: Table<u8, u64> = db.create_table("counters").unwrap();
            let ours = table.clone();
            db.run_blocking(async move |txn: &Transaction| {
                txn.insert(&ours, &0, &0).await?;
                txn.insert(&ours, &1, &1).await
            })
            .unwrap();
            let running: Vec<_> = (0..TIMES)
                .map(|_| {
                    let table = table.clone();
                    let attempts = AtomicU32::new(0);
                    db.run(async move |txn: &Transaction| {
                        let attempt = attempts.fetch_add(1, Ordering::Relaxed) + 1;
                        let step = txn.get(&table, &1).await?.unwrap();
                        let count = match locks {
                            true => txn.get_for_update(&table, &0).await?,
                            false => txn.get(&table, &0).await?,
                        };
                        txn.update(&table, &0, &(count.unwrap() + step)).await?;
                        Ok(attempt)
                    })
                })
                .collect();
            for running in running {
                let attempts = running.wait().unwrap();
                assert!(
                    attempts <= attempts_max,
                    "{isolation:?}, locks {locks}: {attempts} attempts"
                );
            }
            let count = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &0).await);
            assert_eq!(count.unwrap(), Some(TIMES));
            assert_eq!(db.memory().reserved_bytes, 0, "the lock table is empty");
        }
    }
}

/// Transfers between few accounts, locked in any order: deadlocks are found, all transfers take
/// place, and no money is lost.
#[test]
fn a_storm_of_deadlocks_ends() {
    const ACCOUNTS: u64 = 5;
    for isolation in [
        Isolation::ReadCommitted,
        Isolation::Snapshot,
        Isolation::Serializable,
    ] {
        let db = open(Options {
            isolation,
            in_flight: InFlight::Fixed(16),
            retries_max: u32::MAX,
            ..Options::default()
        });
        let table: Table<u64, u64> = db.create_table("accounts").unwrap();
        let ours = table.clone();
        db.run_blocking(async move |txn: &Transaction| {
            for account in 0..ACCOUNTS {
                txn.insert(&ours, &account, &1_000_000).await?;
            }
            Ok(())
        })
        .unwrap();
        let transfer = |number: u64| {
            let table = table.clone();
            let from = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let (from, to) = (from % ACCOUNTS, (from / ACCOUNTS) % ACCOUNTS);
            db.run(async move |txn: &Transaction| {
                if from == to {
                    return Ok(());
                }
                let balance = txn.get_for_update(&table, &from).await?.unwrap();
                txn.update(&table, &from, &(balance - 1)).await?;
                let balance = txn.get_for_update(&table, &to).await?.unwrap();
                txn.update(&table, &to, &(balance + 1)).await?;
                Ok(())
            })
        };
        // All transfers run at once. While queues were merely first come, first served, a
        // transaction that held one record waited for the next at the end of its queue, where
        // nearly every wait closed a circle: 78 aborts per commit.
        let running: Vec<_> = (0..2000).map(transfer).collect();
        for running in running {
            running.wait().unwrap();
        }
        let sum = db.run_blocking(async move |txn: &Transaction| {
            let rows = txn.scan(&table, ..).collect().await?;
            Ok(rows.iter().map(|row| row.1).sum::<u64>())
        });
        assert_eq!(sum.unwrap(), ACCOUNTS * 1_000_000);
        assert!(db.stats().aborts_deadlock > 0, "that was no storm");
        assert_eq!(db.memory().reserved_bytes, 0, "the lock table is empty");
    }
}

#[test]
fn a_wait_ends_with_the_lock_timeout_and_the_transaction_goes_on() {
    let (db, table, owner) = with_owner();
    let ours = table.clone();
    let told = db.run_blocking(async move |txn: &Transaction| {
        txn.set_lock_timeout(Some(Duration::from_millis(5)));
        let timed_out = matches!(txn.update(&ours, &1, &2).await, Err(Error::LockTimeout));
        txn.insert(&ours, &2, &2).await?;
        Ok(timed_out)
    });
    assert!(told.unwrap());
    owner.commit().unwrap();
    let ours = table.clone();
    let rows = db.run_blocking(async move |txn: &Transaction| txn.scan(&ours, ..).collect().await);
    assert_eq!(rows.unwrap(), [(1, 1), (2, 2)]);
}

#[test]
fn dropping_the_future_of_one_that_waits_leaves_the_queue() {
    let (db, table, owner) = with_owner();
    let write = |value: u64| {
        let table = table.clone();
        db.run(async move |txn: &Transaction| {
            assert!(txn.update(&table, &1, &value).await?);
            Ok(())
        })
    };
    let first = write(2);
    until_waiting(&db, 1);
    let second = write(3);
    until_waiting(&db, 2);
    drop(first);
    owner.rollback().unwrap();
    second.wait().unwrap();
    let value = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &1).await);
    assert_eq!(value.unwrap(), Some(3));
    assert_eq!(db.memory().reserved_bytes, 0, "the lock table is empty");
}

/// A waiting transaction panics in another branch of a `join`.
#[test]
fn a_panic_while_waiting_leaves_the_queue() {
    let (db, table, owner) = with_owner();
    let ours = table.clone();
    let told = db.run_blocking(async move |txn: &Transaction| {
        let mut write = pin!(txn.update(&ours, &1, &2));
        poll_fn(|context| {
            assert!(write.as_mut().poll(context).is_ready(), "it waits");
            Poll::Ready(())
        })
        .await;
        Ok(())
    });
    assert!(matches!(told, Err(Error::Panicked(_))));
    owner.commit().unwrap();
    let ours = table.clone();
    db.run_blocking(async move |txn: &Transaction| txn.update(&ours, &1, &3).await)
        .unwrap();
    assert_eq!(db.memory().reserved_bytes, 0, "the lock table is empty");
}

/// Closing rolls the owner back, which waits for its client; the transactions that wait for it were
/// submitted, and end.
#[test]
fn a_database_can_be_closed_while_transactions_wait() {
    let (db, table, owner) = with_owner();
    let running: Vec<_> = (0..4)
        .map(|_| {
            let table = table.clone();
            db.run(async move |txn: &Transaction| {
                let count = txn.get_for_update(&table, &1).await?.unwrap();
                txn.update(&table, &1, &(count + 1)).await
            })
        })
        .collect();
    until_waiting(&db, 4);
    db.close();
    for running in running {
        assert!(running.wait().unwrap());
    }
    assert!(matches!(owner.commit(), Err(Error::Closed)));
}

/// The owner is cancelled: its worker drops it, while others wait for it elsewhere.
#[test]
fn the_record_of_a_cancelled_transaction_is_handed_over() {
    let db = open(Options::default());
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let (ours, (sender, owned)) = (table.clone(), mpsc::channel());
    let owner = db.run(async move |txn: &Transaction| {
        txn.insert(&ours, &1, &1).await?;
        sender.send(()).unwrap();
        pending::<()>().await;
        Ok(())
    });
    owned.recv().unwrap();
    let ours = table.clone();
    let waiter = db.run(async move |txn: &Transaction| txn.insert(&ours, &1, &2).await);
    until_waiting(&db, 1);
    drop(owner);
    waiter.wait().unwrap();
}

#[test]
fn interactive_transactions_lock_wait_and_return_to_savepoints() {
    let (db, table, owner) = with_owner();
    let savepoint = owner.savepoint().unwrap();
    owner.insert(&table, &2, &2).unwrap();
    let other = db.begin_blocking().unwrap();
    let refused = other.lock(&table, &1, Strength::Share, IfLocked::Fail);
    assert!(matches!(refused, Err(Error::Locked)));
    other.set_on_conflict(OnConflict::Abort).unwrap();
    owner.rollback_to(&savepoint).unwrap();
    other.insert(&table, &2, &22).unwrap();
    owner.release_savepoint(&savepoint).unwrap();
    let gone = owner.rollback_to(&savepoint);
    assert!(matches!(gone, Err(Error::NoSuchSavepoint)));
    let (table, client) = (Arc::new(table), Arc::new(db.clone()));
    let waiter = {
        let (db, table) = (client.clone(), table.clone());
        std::thread::spawn(move || {
            let waiter = db.begin_blocking().unwrap();
            let found = waiter.get_for_update(&table, &1).unwrap();
            waiter.commit().unwrap();
            found
        })
    };
    until_waiting(&db, 1);
    owner.rollback().unwrap();
    assert_eq!(waiter.join().unwrap(), Some(0));
    other.commit().unwrap();
    assert_eq!(db.memory().reserved_bytes, 0, "the lock table is empty");
}
