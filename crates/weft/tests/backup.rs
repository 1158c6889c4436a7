//! A backup of an open database is restored elsewhere and opens.

use std::{ops::ControlFlow, path::Path};

use weft::{BackupError, Database, Error, Options, Table, Transaction, restore};

fn options(path: &Path) -> Options {
    Options {
        data_dir: Some(path.to_owned()),
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    }
}

fn write(db: &Database, table: &Table<u64, u64>, from: u64, to: u64) {
    for i in from..to {
        let ours = table.clone();
        db.run_blocking(async move |txn: &Transaction| txn.upsert(&ours, &i, &(i * i)).await)
            .unwrap();
    }
}

fn count(path: &Path) -> u64 {
    let db = Database::open(options(path)).unwrap();
    let table: Table<u64, u64> = db.open_table("squares").unwrap();
    db.run_blocking(async move |txn: &Transaction| txn.scan(&table, ..).count().await)
        .unwrap()
}

#[test]
fn a_backup_is_restored_and_opens() {
    let place = tempfile::tempdir().unwrap();
    let (original, kept, again) = (
        place.path().join("original"),
        place.path().join("kept"),
        place.path().join("deep/again"),
    );
    let db = Database::open(options(&original)).unwrap();
    let table: Table<u64, u64> = db.create_table("squares").unwrap();
    write(&db, &table, 0, 50);
    let mut told = 0;
    let report = db
        .backup_reporting(&kept, |progress| {
            told = progress.bytes_done;
            assert!(told <= progress.bytes_total);
            ControlFlow::Continue(())
        })
        .unwrap();
    // The definition of the table is two records of the catalog.
    assert_eq!(report.checkpoint_records, 52);
    assert!(told > 0);
    write(&db, &table, 50, 60);
    // Neither a backup nor a restoration overwrites anything.
    let twice = db.backup(&kept).unwrap_err();
    assert!(
        twice.to_string().contains("nothing is overwritten"),
        "{twice}"
    );
    let over = restore(&kept, &original).unwrap_err();
    assert!(over.to_string().contains("open elsewhere"), "{over}");
    db.close();
    drop(db);
    let over = restore(&kept, &original).unwrap_err();
    assert!(
        over.to_string().contains("nothing is overwritten"),
        "{over}"
    );
    restore(&kept, &again).unwrap();
    assert_eq!(
        (count(&again), count(&kept), count(&original)),
        (50, 50, 60)
    );
}

#[test]
fn databases_that_cannot_be_backed_up_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let db = Database::open(Options {
        workers: 1,
        ..Options::default()
    })
    .unwrap();
    assert!(db.backup(place.path().join("a")).is_err(), "in memory");
    let nothing = restore(place.path().join("b"), place.path().join("c"));
    assert!(matches!(nothing, Err(Error::System(_))));
    assert!(!place.path().join("b").exists());
    std::fs::create_dir(place.path().join("b")).unwrap();
    let empty = restore(place.path().join("b"), place.path().join("c"));
    let Err(Error::Backup(error)) = empty else {
        panic!("an empty directory was restored");
    };
    assert!(matches!(*error, BackupError::Source(_)), "{error}");
    // On a worker the backup would wait for itself.
    let (ours, to) = (db.clone(), place.path().join("d"));
    let inside = db.run_blocking(async move |_: &Transaction| ours.backup(&to).map(drop));
    assert!(matches!(inside, Err(Error::WouldBlockWorker)));
}

#[test]
fn a_local_database_is_backed_up_as_well() {
    let place = tempfile::tempdir().unwrap();
    let db = Database::open_local(options(&place.path().join("original"))).unwrap();
    let table: Table<u64, u64> = db.create_table("squares").unwrap();
    db.run(async move |txn: &Transaction| txn.insert(&table, &3, &9).await)
        .unwrap();
    db.backup(place.path().join("kept")).unwrap();
    assert_eq!(count(&place.path().join("kept")), 1);
}
