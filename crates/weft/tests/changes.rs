//! The change stream: what real threads commit, from any runtime.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    path::Path,
    pin::Pin,
    thread,
};

use weft::{
    Changes, ChangesError, ChangesFrom, Database, Error, Isolation, Options, Position,
    StorageOptions, Table, Transaction,
};

fn open(path: &Path, change_retention_bytes: u64) -> Database {
    Database::open(Options {
        data_dir: Some(path.to_owned()),
        workers: 3,
        memory_bytes_max: Some(256 << 20),
        storage: StorageOptions {
            log_segment_bytes: 1 << 20,
            checkpoint_log_bytes: 0,
            change_retention_bytes,
            ..StorageOptions::default()
        },
        ..Options::default()
    })
    .unwrap()
}

/// A transaction that moves something between two records, and counts itself.
fn transfer(db: &Database, table: &Table<u64, i64>, from: u64, to: u64) {
    let table = table.clone();
    db.run_blocking(async move |txn: &Transaction| {
        for (key, change) in [(from, -1), (to, 1), (1000, 1)] {
            let value = txn.get(&table, &key).await?.unwrap_or(0);
            txn.upsert(&table, &key, &(value + change)).await?;
        }
        Ok(())
    })
    .unwrap();
}

type State = BTreeMap<u64, i64>;

fn apply(state: &mut State, table: &Table<u64, i64>, transaction: &weft::ChangedTransaction) {
    for change in transaction.changes() {
        match change.for_table(table).unwrap() {
            Some((key, Some(value))) => drop(state.insert(key, value)),
            Some((key, None)) => drop(state.remove(&key)),
            None => panic!("there is no other table"),
        }
    }
}

fn copy(db: &Database, table: &Table<u64, i64>) -> (Position, State) {
    let table = table.clone();
    db.run_blocking(async move |txn: &Transaction| {
        let mut state = State::new();
        let mut rows = txn.range(&table, ..);
        while let Some((key, value)) = rows.next().await? {
            state.insert(key, value);
        }
        Ok((txn.snapshot(), state))
    })
    .unwrap()
}

/// Follows until so many transactions have counted themselves. Every one of them is seen
/// whole: nothing is lost between two records.
fn follow(changes: &mut Changes, state: &mut State, table: &Table<u64, i64>, until: i64) {
    let mut last = changes.position();
    while state.get(&1000).copied().unwrap_or(0) < until {
        let before = state.get(&1000).copied().unwrap_or(0);
        let transaction = changes.next_blocking().unwrap();
        assert!(transaction.position() > last, "in commit order");
        last = transaction.position();
        assert_eq!(changes.position(), last);
        apply(state, table, &transaction);
        assert_eq!(state[&1000], before + 1, "each once");
        let moved = state.iter().filter(|&(key, _)| *key < 1000);
        assert_eq!(moved.map(|(_, value)| value).sum::<i64>(), 0, "each whole");
    }
}

const THREADS: u64 = 3;
const EACH: u64 = 150;

#[test]
fn what_threads_commit_while_checkpoints_are_taken() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path(), 1 << 30);
    let table: Table<u64, i64> = db.create_table("t").unwrap();
    let count = (THREADS * EACH) as i64;
    let (early, late) = thread::scope(|scope| {
        for number in 0..THREADS {
            let (db, table) = (&db, &table);
            scope.spawn(move || {
                for i in 0..EACH {
                    transfer(db, table, (i * 7 + number) % 20, (i * 11 + number * 3) % 20);
                }
            });
        }
        let early = scope.spawn(|| {
            let mut changes = db.changes_blocking(ChangesFrom::Beginning).unwrap();
            let mut state = State::new();
            follow(&mut changes, &mut state, &table, count);
            state
        });
        let late = scope.spawn(|| {
            for _ in 0..3 {
                db.checkpoint_blocking().unwrap();
            }
            let (position, mut state) = copy(&db, &table);
            let from = ChangesFrom::Position(position);
            let mut changes = db.changes_blocking(from).unwrap();
            assert_eq!(changes.position(), position);
            follow(&mut changes, &mut state, &table, count);
            state
        });
        (early.join().unwrap(), late.join().unwrap())
    });
    let (_, live) = copy(&db, &table);
    assert_eq!(early, live);
    assert_eq!(late, live);
}

#[test]
fn goes_on_after_it_was_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut state = State::new();
    let mut position = Position(0);
    for round in 1..=3 {
        let db = open(directory.path(), 1 << 30);
        let table: Table<u64, i64> = match round {
            1 => db.create_table("t").unwrap(),
            _ => db.open_table("t").unwrap(),
        };
        for i in 0..20 {
            transfer(&db, &table, i, i + 1);
        }
        if round == 2 {
            db.checkpoint_blocking().unwrap();
        }
        // What is left of the round before, and half of this one.
        let mut changes = db
            .changes_blocking(ChangesFrom::Position(position))
            .unwrap();
        follow(&mut changes, &mut state, &table, round * 20 - 10);
        position = changes.position();
        db.close();
        // What is at hand is handed out, then that is all.
        let error = loop {
            match changes.next_blocking() {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Closed), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn is_a_stream_for_any_runtime() {
    use futures_core::Stream;
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path(), 0);
    let table: Table<u64, i64> = db.create_table("t").unwrap();
    let other: Table<String, String> = db.create_table("other").unwrap();
    let mut changes = db.changes(ChangesFrom::Now).await.unwrap();
    let ours = table.clone();
    let names = other.clone();
    let follower = tokio::spawn(async move {
        let mut keys = BTreeSet::new();
        let mut ended = Ok(());
        while let Some(next) = poll_fn(|cx| Pin::new(&mut changes).poll_next(cx)).await {
            match next {
                Ok(transaction) => {
                    for change in transaction.changes() {
                        let ours = change.for_table(&ours).unwrap();
                        let names = change.for_table(&names).unwrap();
                        assert!(ours.is_some() != names.is_some());
                        keys.extend(ours.map(|(key, _)| key));
                    }
                }
                Err(error) => ended = Err(error),
            }
        }
        (keys, ended)
    });
    for key in 0..50_u64 {
        let (table, other) = (table.clone(), other.clone());
        db.run(async move |txn: &Transaction| {
            txn.upsert(&table, &key, &1).await?;
            txn.upsert(&other, &key.to_string(), "name").await
        })
        .await
        .unwrap();
    }
    assert_eq!(db.table_name(other.number()).as_deref(), Some("other"));
    // A waiting stream is no reason not to close.
    tokio::task::spawn_blocking(move || db.close())
        .await
        .unwrap();
    let (keys, ended) = follower.await.unwrap();
    assert!(keys.is_subset(&(0..50).collect()));
    assert!(matches!(ended, Err(Error::Closed)));
}

#[test]
fn a_dropped_wait_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path(), 0);
    let table: Table<u64, i64> = db.create_table("t").unwrap();
    let mut changes = db.changes_blocking(ChangesFrom::Now).unwrap();
    for _ in 0..3 {
        let mut next = Box::pin(changes.next());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(next.as_mut().poll(&mut context).is_pending());
    }
    transfer(&db, &table, 1, 2);
    let mut state = State::new();
    follow(&mut changes, &mut state, &table, 1);
    // One that is dropped while it waits leaves its worker to others.
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut next = Box::pin(changes.next());
    assert!(next.as_mut().poll(&mut context).is_pending());
    drop(next);
    drop(changes);
    transfer(&db, &table, 2, 3);
}

#[test]
fn refusals_say_what_to_do() {
    let in_memory = Database::open(Options {
        workers: 1,
        memory_bytes_max: Some(64 << 20),
        ..Options::default()
    });
    let error = in_memory.unwrap().changes_blocking(ChangesFrom::Now);
    let error = error.unwrap_err();
    assert!(error.to_string().contains("in a directory"), "{error}");

    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path(), 0);
    let table: Table<u64, Vec<u8>> = db.create_table("t").unwrap();
    let mut oldest = Position(0);
    while oldest == Position(0) {
        // As much as fills a file of each worker, perhaps.
        for key in 0..40 {
            let ours = table.clone();
            db.run_blocking(async move |txn: &Transaction| {
                txn.upsert(&ours, &key, &vec![7; 100_000][..]).await
            })
            .unwrap();
        }
        db.checkpoint_blocking().unwrap();
        match db.changes_blocking(ChangesFrom::Beginning) {
            Ok(_) => {}
            Err(Error::Changes(error)) => match *error {
                ChangesError::NotKept { oldest: at, .. } => oldest = Position(at.0),
                other => panic!("{other}"),
            },
            Err(other) => panic!("{other}"),
        }
    }
    db.changes_blocking(ChangesFrom::Position(oldest)).unwrap();
    let other_directory = tempfile::tempdir().unwrap();
    let (other, elsewhere) = (open(other_directory.path(), 0), table);
    let table: Table<u64, i64> = other.create_table("t").unwrap();
    let mut changes = other.changes_blocking(ChangesFrom::Now).unwrap();
    transfer(&other, &table, 1, 2);
    let transaction = changes.next_blocking().unwrap();
    let mut found = transaction.changes();
    let foreign = found.next().unwrap().for_table(&elsewhere);
    assert!(matches!(foreign, Err(Error::ForeignTable(_))));
    let ahead = other.changes_blocking(ChangesFrom::Position(Position(1 << 40)));
    assert!(matches!(ahead, Err(Error::Changes(_))));
    let ours = other.clone();
    let inside = other.run_with(Isolation::Snapshot, async move |_: &Transaction| {
        Ok(ours.changes_blocking(ChangesFrom::Now).is_err())
    });
    assert!(inside.wait().unwrap(), "a worker would wait for itself");
}
