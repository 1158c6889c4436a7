//! The change stream: commits of real threads, from any runtime.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    path::Path,
    pin::Pin,
    thread,
};

use weft::{
    Change, Changes, ChangesError, ChangesFrom, Database, Error, Isolation, Options, Position,
    StorageOptions, Table, Transaction, TypeTag,
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

/// Runs a transaction that moves something between two records, and counts itself.
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
    for record in transaction.records() {
        match record.for_table(table).unwrap() {
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

/// Follows the stream until `until` transactions have counted themselves. Every one of them is seen
/// whole: nothing is lost between two records.
fn follow(changes: &mut Changes, state: &mut State, table: &Table<u64, i64>, until: i64) {
    let mut last = changes.position();
    while state.get(&1000).copied().unwrap_or(0) < until {
        let before = state.get(&1000).copied().unwrap_or(0);
        let transaction = changes.next_blocking().unwrap();
        assert!(transaction.position() > last, "in commit order");
        last = transaction.position();
        assert_eq!(changes.position(), last);
        if transaction.len() == 0 {
            // The transaction is the table's creation.
            assert_eq!((transaction.changes().count(), before), (1, 0));
            continue;
        }
        apply(state, table, &transaction);
        assert_eq!(state[&1000], before + 1, "each once");
        let moved = state.iter().filter(|&(key, _)| *key < 1000);
        assert_eq!(moved.map(|(_, value)| value).sum::<i64>(), 0, "each whole");
    }
}

const THREADS: u64 = 3;
const EACH: u64 = 150;

#[test]
fn commits_of_threads_while_checkpoints_are_taken() {
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
        // Follows the rest of the round before, and half of this one.
        let mut changes = db
            .changes_blocking(ChangesFrom::Position(position))
            .unwrap();
        follow(&mut changes, &mut state, &table, round * 20 - 10);
        position = changes.position();
        db.close();
        // Transactions at hand are handed out, then the stream ends.
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
                    for change in transaction.records() {
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
    // A waiting stream does not keep the database from closing.
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
    // A stream that is dropped while it waits leaves its worker to others.
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
        // The writes may fill a file of each worker.
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
    let mut found = transaction.records();
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

/// Returns the changes that concern a copy of the table: its names, records and state.
fn told(transaction: &weft::ChangedTransaction, table: &Table<u64, i64>) -> Vec<String> {
    let told = transaction.changes().map(|change| match change {
        Change::Record(record) => {
            let (key, value) = record.for_table(table).unwrap().expect("of this table");
            format!("{} {key} {value:?}", record.table_name())
        }
        Change::Table(change) => {
            assert!(change.is_of(table).unwrap());
            assert_eq!(change.table_number(), table.number());
            assert_eq!(change.types(), Some(TypeTag::of::<u64, i64>()));
            format!("{} {:?}", change.table_name(), change.kind())
        }
        other => panic!("{other:?}"),
    });
    told.collect()
}

const STORY: [&str; 8] = [
    "a Created",
    "a 1 Some(1)",
    "a 2 Some(2)",
    "a Truncated",
    "a 3 Some(3)",
    "b Renamed { from: \"a\" }",
    "b 3 None",
    "b Dropped",
];

/// A table's handle and its number in the stream refer to the table whatever becomes of it, whether
/// the handle was opened before the table was truncated or after.
#[test]
fn a_table_is_the_same_before_and_after_it_was_truncated() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path(), 1 << 30);
    let early: Table<u64, i64> = db.create_table("a").unwrap();
    let put = |key: u64, value: Option<i64>| {
        let table = early.clone();
        db.run_blocking(async move |txn: &Transaction| match value {
            Some(value) => txn.upsert(&table, &key, &value).await,
            None => txn.delete(&table, &key).await.map(drop),
        })
        .unwrap();
    };
    put(1, Some(1));
    let ours = early.clone();
    db.run_blocking(async move |txn: &Transaction| {
        txn.insert(&ours, &2, &2).await?;
        txn.truncate_table("a").await?;
        txn.insert(&ours, &3, &3).await
    })
    .unwrap();
    let late: Table<u64, i64> = db.open_table("a").unwrap();
    assert_eq!((late.number(), late.ttl()), (early.number(), None));
    assert_eq!(db.table_name(late.number()).as_deref(), Some("a"));
    db.run_blocking(async |txn: &Transaction| txn.rename_table("a", "b").await)
        .unwrap();
    put(3, None);
    db.checkpoint_blocking().unwrap();
    db.run_blocking(async |txn: &Transaction| txn.drop_table("b").await)
        .unwrap();
    let mut positions = Vec::new();
    for table in [&early, &late] {
        let mut changes = db.changes_blocking(ChangesFrom::Beginning).unwrap();
        let mut story = Vec::new();
        positions.clear();
        while story.len() < STORY.len() {
            let transaction = changes.next_blocking().unwrap();
            story.extend(told(&transaction, table));
            positions.push((transaction.position(), story.len()));
        }
        assert_eq!(story, STORY);
    }
    db.close();
    drop((db, early, late));
    // The table is gone, its changes are not; the stream can begin at any place of them.
    let db = open(directory.path(), 1 << 30);
    for &(position, passed) in &positions {
        let from = ChangesFrom::Position(position);
        let mut changes = db.changes_blocking(from).unwrap();
        let mut names = Vec::new();
        while passed + names.len() < STORY.len() {
            let transaction = changes.next_blocking().unwrap();
            names.extend(transaction.changes().map(|change| match change {
                Change::Record(record) => record.table_name().to_owned(),
                Change::Table(change) => change.table_name().to_owned(),
                other => panic!("{other:?}"),
            }));
        }
        let expected = STORY[passed..].iter().map(|told| &told[..1]);
        assert!(names.iter().eq(expected), "{names:?} after {passed}");
    }
}

#[test]
fn of_a_database_without_threads() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        data_dir: Some(directory.path().to_owned()),
        ..Options::default()
    };
    let mut position = Position(0);
    let mut state = State::new();
    for round in 0..3_i64 {
        let db = Database::open_local(options.clone()).unwrap();
        let table: Table<u64, i64> = match round {
            0 => db.create_table("t").unwrap(),
            _ => db.open_table("t").unwrap(),
        };
        let mut changes = db.changes(ChangesFrom::Position(position)).unwrap();
        while let Some(transaction) = changes.next().unwrap() {
            apply(&mut state, &table, &transaction);
        }
        for i in 0..30 {
            let ours = table.clone();
            db.run(async move |txn: &Transaction| txn.upsert(&ours, &i, &round).await)
                .unwrap();
            // The stream can be polled any number of times while there is nothing to tell.
            if i % 10 == 0 {
                let transaction = changes.next().unwrap().expect("something was committed");
                assert_eq!(transaction.len(), 1);
                apply(&mut state, &table, &transaction);
                while let Some(transaction) = changes.next().unwrap() {
                    apply(&mut state, &table, &transaction);
                }
                assert_eq!(state[&i], round);
                assert!(changes.next().unwrap().is_none());
            }
        }
        // A transaction that was rolled back does not appear.
        let rolled_back = db.run(async move |txn: &Transaction| {
            txn.create_table::<u64, u64>("never").await?;
            Err::<(), _>(Error::Closed)
        });
        rolled_back.unwrap_err();
        position = changes.position();
        let inside = db.changes(ChangesFrom::Now).unwrap();
        assert!(inside.position() > position);
    }
    let in_memory = Database::open_local(Options::default()).unwrap();
    let refused = in_memory.changes(ChangesFrom::Now);
    assert!(matches!(refused, Err(Error::Changes(_))));
}
