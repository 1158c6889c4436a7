//! Tables whose records expire, on real threads: by a clock that the test sets, and collected by
//! the workers beside everything else.

use std::{thread, time::Duration};

use weft::{
    ChangesFrom, Database, Error, IndexDefinition, Options, Table, TableOptions, Transaction,
    WallClock, WallTime,
};

const TTL: TableOptions = TableOptions {
    ttl: Some(Duration::from_secs(60)),
};

fn options(clock: &WallClock) -> Options {
    Options {
        workers: 2,
        memory_bytes_max: Some(64 << 20),
        wall_clock: clock.clone(),
        ..Options::default()
    }
}

fn count(db: &Database, table: &Table<u64, String>) -> u64 {
    let table = table.clone();
    db.run_blocking(async move |txn: &Transaction| txn.scan(&table, ..).count().await)
        .unwrap()
}

fn fill(db: &Database, table: &Table<u64, String>, keys: std::ops::Range<u64>) {
    let table = table.clone();
    db.run_blocking(async move |txn: &Transaction| {
        for key in keys.clone() {
            txn.upsert(&table, &key, "value").await?;
        }
        Ok(())
    })
    .unwrap();
}

/// Waits until the workers have deleted `expired` records.
fn wait_until_collected(db: &Database, expired: u64) {
    while db.stats().expired < expired {
        thread::yield_now();
    }
    assert_eq!(db.stats().expired, expired);
}

#[test]
fn records_expire_in_tables_and_indexes_and_are_collected() {
    let clock = WallClock::manual(WallTime(0));
    let db = Database::open(options(&clock)).unwrap();
    let table: Table<u64, String> = db.create_table_with("t", TTL).unwrap();
    assert_eq!(table.ttl(), TTL.ttl);
    let for_ever: Table<u64, String> = db.create_table("for ever").unwrap();
    assert_eq!(for_ever.ttl(), None);
    let by_value = IndexDefinition::non_unique("by value", |_, value: String| Some(value));
    let by_value = db.create_index_blocking(&table, by_value).unwrap();
    fill(&db, &table, 0..500);
    fill(&db, &for_ever, 0..10);
    clock.advance(Duration::from_secs(30));
    fill(&db, &table, 490..500);
    let (ours, other) = (table.clone(), for_ever.clone());
    let expiries = db.run_blocking(async move |txn: &Transaction| {
        Ok([
            txn.expires_at(&ours, &1).await?,
            txn.expires_at(&ours, &490).await?,
            txn.expires_at(&ours, &1000).await?,
            txn.expires_at(&other, &1).await?,
        ])
    });
    let at = |seconds: u64| Some(WallTime(seconds * 1_000_000));
    assert_eq!(expiries.unwrap(), [at(60), at(90), None, None]);
    clock.advance(Duration::from_secs(30));
    assert_eq!((count(&db, &table), count(&db, &for_ever)), (10, 10));
    let index = by_value.clone();
    let found = db
        .run_blocking(async move |txn: &Transaction| txn.scan_by(&index, ..).count().await)
        .unwrap();
    assert_eq!(found, 10);
    wait_until_collected(&db, 490);
    let report = db.check_index(&by_value).wait().unwrap();
    assert_eq!(
        (report.records, report.entries, report.flaw_count),
        (10, 10, 0)
    );
}

#[test]
fn a_time_to_live_is_the_tables_for_good_and_followers_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let clock = WallClock::manual(WallTime(0));
    let options = Options {
        data_dir: Some(directory.path().into()),
        ..options(&clock)
    };
    let db = Database::open(options.clone()).unwrap();
    let _: Table<u64, String> = db.create_table_with("t", TTL).unwrap();
    db.close();
    drop(db);

    let db = Database::open(options).unwrap();
    let table: Table<u64, String> = db.open_table("t").unwrap();
    assert_eq!(table.ttl(), TTL.ttl);
    let mut changes = db.changes_blocking(ChangesFrom::Now).unwrap();
    fill(&db, &table, 1..2);
    let told = changes.next_blocking().unwrap();
    let change = told.records().next().unwrap();
    let put = change.for_table(&table).unwrap();
    assert_eq!(put, Some((1, Some("value".to_owned()))));
    assert_eq!(change.expires_at(), Some(WallTime(60_000_000)));
    clock.advance(Duration::from_secs(60));
    assert_eq!(count(&db, &table), 0);
    // A worker deletes the record at some time.
    let told = changes.next_blocking().unwrap();
    let change = told.records().next().unwrap();
    assert_eq!(change.for_table(&table).unwrap(), Some((1, None)));
    assert_eq!(change.expires_at(), None);
}

#[test]
fn a_local_database_expires_and_collects_too() {
    let clock = WallClock::manual(WallTime(0));
    let db = Database::open_local(options(&clock)).unwrap();
    let table: Table<u64, String> = db.create_table_with("t", TTL).unwrap();
    let ours = table.clone();
    db.run(async move |txn: &Transaction| txn.insert(&ours, &1, "value").await)
        .unwrap();
    clock.advance(Duration::from_secs(60));
    let ours = table.clone();
    let found = db.run(async move |txn: &Transaction| txn.get(&ours, &1).await);
    assert_eq!(found.unwrap(), None);
    // The clock of the handle's database decides, whichever database is asked.
    let other = Database::open_local(Options::default()).unwrap();
    let foreign = other.run(async move |txn: &Transaction| txn.expires_at(&table, &1).await);
    assert!(matches!(foreign, Err(Error::ForeignTable(_))));
    while db.stats().expired == 0 {
        db.run_until_idle().unwrap();
    }
}
