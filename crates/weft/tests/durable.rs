//! A database in a directory: every acknowledged commit is there when it is opened again, with its
//! tables and types.

use std::path::Path;

use weft::{Database, Durability, Error, Options, Table, Transaction};

fn options(path: &Path) -> Options {
    Options {
        data_dir: Some(path.to_owned()),
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    }
}

#[test]
fn records_and_tables_are_there_again() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(options(directory.path())).unwrap();
    assert!(db.recovered().unwrap().is_new);
    let table: Table<u64, String> = db.create_table("names").unwrap();
    for durability in [
        Durability::Synchronous,
        Durability::Relaxed,
        Durability::None,
    ] {
        for i in 0..50_u64 {
            let ours = table.clone();
            let key = i + 100 * durability as u64;
            db.run_blocking(async move |txn: &Transaction| {
                txn.set_durability(durability);
                txn.insert(&ours, &key, &format!("name {key}")).await
            })
            .unwrap();
        }
    }
    // The worker publishes its counters before it sleeps.
    while db.stats().waits_log == 0 {
        std::thread::yield_now();
    }
    // Closing writes relaxed commits.
    db.close();
    drop(db);

    let db = Database::open(options(directory.path())).unwrap();
    let report = db.recovered().unwrap();
    // The definition of the table is two records of the catalog.
    assert_eq!((report.is_new, report.progress.log_records), (false, 152));
    assert!(matches!(
        db.open_table::<u64, u64>("names"),
        Err(Error::WrongType(_))
    ));
    let table: Table<u64, String> = db.open_table("names").unwrap();
    let ours = table.clone();
    let count = db
        .run_blocking(async move |txn: &Transaction| txn.scan(&ours, ..).count().await)
        .unwrap();
    assert_eq!(count, 150);
    let taken = db.checkpoint_blocking().unwrap();
    assert_eq!(taken.records, 152);
    drop(db);

    let db = Database::open(options(directory.path())).unwrap();
    let progress = db.recovered().unwrap().progress;
    assert_eq!(
        (progress.checkpoint_records, progress.log_records),
        (152, 0)
    );
    let table: Table<u64, String> = db.open_table("names").unwrap();
    let found = db
        .run_blocking(async move |txn: &Transaction| txn.get(&table, &207).await)
        .unwrap();
    assert_eq!(found.as_deref(), Some("name 207"));
}

#[test]
fn a_local_database_is_durable_as_well() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..3_u64 {
        let db = Database::open_local(options(directory.path())).unwrap();
        let table: Table<u64, u64> = match round {
            0 => db.create_table("t").unwrap(),
            _ => db.open_table("t").unwrap(),
        };
        let ours = table.clone();
        let count = db
            .run(async move |txn: &Transaction| {
                txn.insert(&ours, &round, &round).await?;
                txn.scan(&ours, ..).count().await
            })
            .unwrap();
        assert_eq!(count, round + 1);
        if round == 1 {
            assert_eq!(db.checkpoint().unwrap().records, 4);
        }
    }
}

/// Returns the names of this process's threads.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
    names
        .filter_map(Result::ok)
        .map(|name| name.trim().to_owned())
        .collect()
}

/// Flushing, the release of commits, checkpoints and collection are the workers'
/// own work.
#[test]
fn there_are_no_threads_but_the_workers() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(options(directory.path())).unwrap();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..300_u64 {
        let ours = table.clone();
        db.run_blocking(async move |txn: &Transaction| txn.upsert(&ours, &(i % 50), &i).await)
            .unwrap();
        if i % 100 == 50 {
            db.checkpoint_blocking().unwrap();
        }
        seen.extend(threads());
    }
    let of_weft: Vec<_> = seen
        .iter()
        .filter(|name| name.starts_with("weft"))
        .collect();
    assert_eq!(of_weft, ["weft-0", "weft-1"]);
}
