//! Indexes of a database that is opened again: their tables are read, and not written until the
//! indexes are there.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use weft::{BuildError, Database, Error, IndexDefinition, Options, Table, Transaction};

fn open(path: &Path) -> Database {
    Database::open(Options {
        data_dir: Some(path.to_owned()),
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

fn put(db: &Database, table: &Table<u64, String>, key: u64, value: &str) -> weft::Result<()> {
    let (table, value) = (table.clone(), value.to_owned());
    db.run_blocking(async move |txn: &Transaction| txn.upsert(&table, &key, &value).await)
}

fn by_value() -> IndexDefinition<String, u64, String> {
    IndexDefinition::unique("by value", |_, value: String| Some(value))
}

/// Returns the directory of a database, closed, with a table and a unique index of it.
fn with_index() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    let table = db.create_table("t").unwrap();
    put(&db, &table, 1, "one").unwrap();
    db.create_index_blocking(&table, by_value()).unwrap();
    db.close();
    directory
}

#[test]
fn writes_are_refused_until_the_index_is_there_again() {
    let directory = with_index();
    let db = open(directory.path());
    let table: Table<u64, String> = db.open_table("t").unwrap();
    let refused = put(&db, &table, 2, "one").unwrap_err();
    assert!(matches!(&refused, Error::IndexNotAttached(name) if *name == "by value"));
    assert!(refused.to_string().contains("create_index"), "{refused}");
    // Deletions are refused too, and the refusal does not end the transaction.
    let ours = table.clone();
    db.run_blocking(async move |txn: &Transaction| {
        let refused = txn.delete(&ours, &1).await;
        assert!(matches!(refused, Err(Error::IndexNotAttached(_))));
        assert_eq!(txn.get(&ours, &1).await?.as_deref(), Some("one"));
        Ok(())
    })
    .unwrap();
    let listed = db.indexes("t").unwrap();
    let index = &listed[0];
    assert_eq!((&*index.name, index.is_unique), ("by value", true));
    assert_eq!((&*index.key, index.is_attached), ("string", false));
    let index = db.create_index_blocking(&table, by_value()).unwrap();
    assert!(db.indexes("t").unwrap()[0].is_attached);
    let duplicate = put(&db, &table, 2, "one");
    assert!(matches!(duplicate, Err(Error::DuplicateIndexKey(name)) if name == "by value"));
    put(&db, &table, 2, "two").unwrap();
    let report = db.check_index(&index).wait().unwrap();
    assert_eq!((report.entries, report.flaw_count), (2, 0));
}

/// The end of the workers waited for a build to its end, minutes for a large table: the engine, whose end
/// the builder and its helpers looked for, is closed after them.
#[test]
fn closing_gives_a_build_up() {
    const RECORDS: u64 = 40_000;
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    db.run_blocking(async move |txn: &Transaction| {
        for key in 0..RECORDS {
            txn.insert(&table, &key, &!key).await?;
        }
        Ok(())
    })
    .unwrap();
    let given_up = |db: Database| {
        let read = Arc::new(AtomicU64::new(0));
        let (count, closing) = (read.clone(), db.clone());
        let definition = IndexDefinition::unique("by value", move |_, value: u64| {
            count.fetch_add(1, Relaxed);
            while !closing.is_closed() {
                thread::yield_now();
            }
            Some(value)
        });
        let building = db.create_index(&db.open_table::<u64, u64>("t").unwrap(), definition);
        while read.load(Relaxed) == 0 {
            thread::yield_now();
        }
        db.close();
        assert!(matches!(building.wait(), Err(Error::Closed)));
        assert!(read.load(Relaxed) < RECORDS);
    };
    given_up(db);
    // All workers attach an index of a database that was opened again.
    let db = open(directory.path());
    let table: Table<u64, u64> = db.open_table("t").unwrap();
    let by_value = || IndexDefinition::unique("by value", |_, value: u64| Some(value));
    db.create_index_blocking(&table, by_value()).unwrap();
    db.close();
    given_up(open(directory.path()));
    let db = open(directory.path());
    let table: Table<u64, u64> = db.open_table("t").unwrap();
    let index = db.create_index_blocking(&table, by_value()).unwrap();
    let report = db.check_index(&index).wait().unwrap();
    assert_eq!((report.entries, report.flaw_count), (RECORDS, 0));
}

#[test]
fn another_index_is_not_taken_for_the_one_of_its_name() {
    let directory = with_index();
    let db = open(directory.path());
    let table: Table<u64, String> = db.open_table("t").unwrap();
    let differs = |error| match error {
        Error::Index(error) => error.reason == BuildError::Different,
        _ => false,
    };
    let loose = IndexDefinition::non_unique("by value", |_, value: String| Some(value));
    assert!(differs(
        db.create_index_blocking(&table, loose).unwrap_err()
    ));
    let length = |_, value: String| Some(value.len() as u64);
    let by_length = IndexDefinition::unique("by value", length);
    assert!(differs(
        db.create_index_blocking(&table, by_length).unwrap_err()
    ));
    let covering = |_, value: String| Some((value, 7_u32));
    let covering = IndexDefinition::unique_covering("by value", covering);
    assert!(differs(
        db.create_index_blocking(&table, covering).unwrap_err()
    ));
    assert!(matches!(
        put(&db, &table, 2, "one"),
        Err(Error::IndexNotAttached(_))
    ));
}

#[test]
fn an_index_without_use_is_dropped_by_its_name() {
    let directory = with_index();
    let db = open(directory.path());
    let table: Table<u64, String> = db.open_table("t").unwrap();
    db.rename_index("by value", "old").unwrap();
    let refused = put(&db, &table, 2, "one");
    assert!(matches!(refused, Err(Error::IndexNotAttached(name)) if name == "old"));
    let missing = db.drop_index_named("by value");
    assert!(matches!(missing, Err(Error::NoSuchIndex(name)) if name == "by value"));
    let taken = db.rename_index("old", "t");
    assert!(matches!(taken, Err(Error::TableExists(name)) if name == "t"));
    db.drop_index_named("old").unwrap();
    put(&db, &table, 2, "one").unwrap();
    db.close();
    let db = open(directory.path());
    assert_eq!(db.indexes("t").unwrap(), []);
    let missing = db.indexes("u");
    assert!(matches!(missing, Err(Error::NoSuchTable(name)) if name == "u"));
    put(&db, &db.open_table("t").unwrap(), 3, "one").unwrap();
}

#[test]
fn a_local_database_refuses_and_attaches_as_well() {
    let directory = with_index();
    let options = Options {
        data_dir: Some(directory.path().to_owned()),
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    };
    let db = Database::open_local(options).unwrap();
    let table: Table<u64, String> = db.open_table("t").unwrap();
    let put = |key: u64| {
        let table = table.clone();
        db.run(async move |txn: &Transaction| txn.insert(&table, &key, "two").await)
    };
    assert!(matches!(put(2), Err(Error::IndexNotAttached(_))));
    let index = db.create_index(&table, by_value()).unwrap();
    put(2).unwrap();
    assert!(matches!(put(3), Err(Error::DuplicateIndexKey(_))));
    db.rename_index("by value", "renamed").unwrap();
    assert_eq!(db.indexes("t").unwrap()[0].name, "renamed");
    assert!(db.drop_index(&index).unwrap());
    assert!(!db.drop_index(&index).unwrap());
    put(3).unwrap();
    let dropped = db.drop_index_named("renamed");
    assert!(matches!(dropped, Err(Error::NoSuchIndex(_))));
}
