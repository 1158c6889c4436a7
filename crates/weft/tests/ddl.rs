//! Tables created, dropped, truncated and renamed, through the typed interface: in
//! transactions, interactive ones, and beside them.

use weft::{
    Abort, Database, Error, IndexDefinition, Interleaved, Isolation, Options, Table, Transaction,
};

fn open() -> Database {
    open_at(Isolation::default())
}

fn open_at(isolation: Isolation) -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        isolation,
        ..Options::default()
    })
    .unwrap()
}

/// Creates a table with `1 => "one"`.
fn with_one(db: &Database, name: &str) -> Table<u64, String> {
    let table: Table<u64, String> = db.create_table(name).unwrap();
    put(db, &table, 1, "one").unwrap();
    table
}

fn put(db: &Database, table: &Table<u64, String>, key: u64, value: &str) -> weft::Result<()> {
    let (table, value) = (table.clone(), value.to_owned());
    db.run_blocking(async move |txn: &Transaction| txn.upsert(&table, &key, &value).await)
}

fn get(db: &Database, table: &Table<u64, String>, key: u64) -> weft::Result<Option<String>> {
    let table = table.clone();
    db.run_blocking(async move |txn: &Transaction| txn.get(&table, &key).await)
}

fn names(db: &Database) -> Vec<String> {
    db.tables().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_transaction_makes_fills_and_renames_a_table_or_none() {
    let db = open();
    for fails in [true, false] {
        let done = db.run_blocking(async move |txn: &Transaction| {
            let table: Table<u64, String> = txn.create_table("draft").await?;
            txn.insert(&table, &1, "one").await?;
            txn.rename_table("draft", "final").await?;
            let opened: Table<u64, String> = txn.open_table("final").await?;
            assert_eq!(txn.get(&opened, &1).await?.as_deref(), Some("one"));
            match fails {
                true => Err(Error::DuplicateKey),
                false => Ok(table),
            }
        });
        match done {
            Ok(table) => assert_eq!(get(&db, &table, 1).unwrap().as_deref(), Some("one")),
            Err(_) => assert_eq!(names(&db), [""; 0]),
        }
    }
    assert_eq!(names(&db), ["final"]);
}

#[test]
fn errors_name_the_table_and_the_transaction_goes_on() {
    let db = open();
    with_one(&db, "t");
    with_one(&db, "u");
    db.run_blocking(async |txn: &Transaction| {
        let made = txn.create_table::<u64, String>("t").await;
        assert!(matches!(made, Err(Error::TableExists(name)) if name == "t"));
        let missing = txn.open_table::<u64, String>("x").await;
        assert!(matches!(missing, Err(Error::NoSuchTable(name)) if name == "x"));
        let wrong = txn.open_table::<u64, u64>("t").await;
        assert!(matches!(wrong, Err(Error::WrongType(_))));
        let dropped = txn.drop_table("x").await;
        assert!(matches!(dropped, Err(Error::NoSuchTable(name)) if name == "x"));
        let truncated = txn.truncate_table("x").await;
        assert!(matches!(truncated, Err(Error::NoSuchTable(name)) if name == "x"));
        let renamed = txn.rename_table("x", "y").await;
        assert!(matches!(renamed, Err(Error::NoSuchTable(name)) if name == "x"));
        let taken = txn.rename_table("t", "u").await;
        assert!(matches!(taken, Err(Error::TableExists(name)) if name == "u"));
        let long = txn.create_table::<u64, String>(&"n".repeat(1025)).await;
        assert!(matches!(long, Err(Error::NameTooLong { bytes: 1025 })));
        txn.rename_table("t", "v").await
    })
    .unwrap();
    assert_eq!(names(&db), ["u", "v"]);
}

#[test]
fn handles_outlive_truncation_and_renaming_but_not_the_table() {
    let db = open();
    let table = with_one(&db, "t");
    db.rename_table("t", "renamed").unwrap();
    assert_eq!(get(&db, &table, 1).unwrap().as_deref(), Some("one"));
    for _ in 0..3 {
        db.truncate_table("renamed").unwrap();
        assert_eq!(get(&db, &table, 1).unwrap(), None);
        put(&db, &table, 1, "again").unwrap();
    }
    let (within, seen) = (table.clone(), table.clone());
    db.run_blocking(async move |txn: &Transaction| {
        txn.truncate_table("renamed").await?;
        assert_eq!(txn.get(&within, &1).await?, None);
        txn.insert(&within, &2, "two").await
    })
    .unwrap();
    assert_eq!(get(&db, &seen, 2).unwrap().as_deref(), Some("two"));
    db.drop_table("renamed").unwrap();
    // The error is the same if another table has its name.
    let other = with_one(&db, "renamed");
    let gone = get(&db, &table, 1);
    assert!(matches!(gone, Err(Error::TableDropped(name)) if name == "t"));
    assert_eq!(get(&db, &other, 1).unwrap().as_deref(), Some("one"));
}

#[test]
fn an_open_transaction_reads_what_is_dropped_and_does_not_write_it() {
    let db = open();
    let table = with_one(&db, "t");
    let reader = db.begin_blocking().unwrap();
    let writer = db.begin_blocking().unwrap();
    writer.upsert(&table, &1, "changed").unwrap();
    db.drop_table("t").unwrap();
    assert_eq!(reader.get(&table, &1).unwrap().as_deref(), Some("one"));
    reader.commit().unwrap();
    let refused = writer.commit();
    assert!(
        matches!(refused, Err(Error::Abort(Abort::TableDropped))),
        "{refused:?}"
    );
}

#[test]
fn interactive_transactions_change_tables_too() {
    let db = open();
    with_one(&db, "t");
    let txn = db.begin_blocking().unwrap();
    let made: Table<u64, u64> = txn.create_table("made").unwrap();
    txn.insert(&made, &1, &10).unwrap();
    txn.truncate_table("t").unwrap();
    txn.rename_table("t", "u").unwrap();
    let opened: Table<u64, String> = txn.open_table("u").unwrap();
    assert_eq!(txn.get(&opened, &1).unwrap(), None);
    txn.drop_table("u").unwrap();
    assert_eq!(names(&db), ["t"], "nobody else sees it");
    txn.commit().unwrap();
    assert_eq!(names(&db), ["made"]);
    // A transaction that began before has no such table.
    let older = db.begin_blocking().unwrap();
    let late = with_one(&db, "late");
    let refused = older.get(&late, &1);
    assert!(
        matches!(refused, Err(Error::Abort(Abort::SnapshotTooOld))),
        "{refused:?}"
    );
}

#[test]
fn an_index_is_emptied_with_its_table_and_goes_with_it() {
    let db = open();
    let table = with_one(&db, "t");
    let by_value = IndexDefinition::unique("by value", |_, value: String| Some(value));
    let by_value = db.create_index_blocking(&table, by_value).unwrap();
    let find = |value: &'static str| {
        let by_value = by_value.clone();
        db.run_blocking(async move |txn: &Transaction| {
            let found = txn.get_by(&by_value, value).await?;
            let scanned = txn.scan_by(&by_value, ..).count().await?;
            Ok((found.map(|(key, _)| key), scanned))
        })
    };
    let older = db.begin_blocking().unwrap();
    assert_eq!(find("one").unwrap(), (Some(1), 1));
    db.truncate_table("t").unwrap();
    assert_eq!(find("one").unwrap(), (None, 0));
    put(&db, &table, 7, "one").unwrap();
    assert_eq!(find("one").unwrap(), (Some(7), 1));
    let again = put(&db, &table, 8, "one");
    assert!(matches!(again, Err(Error::DuplicateIndexKey(name)) if name == "by value"));
    // A transaction that began before finds the old records.
    let found = older.get_by(&by_value, "one").unwrap();
    assert_eq!(found, Some((1, "one".to_owned())));
    drop(older);
    let report = db.check_index(&by_value).wait().unwrap();
    assert!(report.flaws.is_empty(), "{report:?}");
    assert!(db.drop_index(&by_value).unwrap());
    put(&db, &table, 8, "one").unwrap();
    assert!(matches!(find("one"), Err(Error::IndexNotReady)));
    db.drop_table("t").unwrap();
    assert!(matches!(find("one"), Err(Error::TableDropped(name)) if name == "t"));
}

#[test]
fn under_read_committed_each_operation_finds_the_tables_of_its_moment() {
    let db = open_at(Isolation::ReadCommitted);
    let table = with_one(&db, "t");
    let txn = db.begin_blocking().unwrap();
    assert_eq!(txn.get(&table, &1).unwrap().as_deref(), Some("one"));
    db.truncate_table("t").unwrap();
    assert_eq!(txn.get(&table, &1).unwrap(), None);
    db.drop_table("t").unwrap();
    let gone = txn.get(&table, &1);
    assert!(matches!(gone, Err(Error::TableDropped(name)) if name == "t"));
}

/// [`weft::Stats`] summed up the aborts for itself, without those for a dropped table.
#[test]
fn an_abort_for_a_dropped_table_is_counted() {
    let db = Database::open_local(Options::default()).unwrap();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let context = db.context();
    let told = db.block_on(async move {
        let writer = context.begin::<Interleaved>(Isolation::Snapshot)?;
        writer.insert(&table, &1, &1).await?;
        let dropper = context.begin::<Interleaved>(Isolation::Snapshot)?;
        dropper.drop_table("t").await?;
        dropper.commit().await?;
        writer.commit().await
    });
    let told = told.unwrap().map_err(|error| error.abort());
    assert_eq!(told, Err(Some(Abort::TableDropped)));
    let stats = db.stats();
    assert_eq!((stats.aborts_table_dropped, stats.aborts()), (1, 1));
}
