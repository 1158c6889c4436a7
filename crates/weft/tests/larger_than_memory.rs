//! In a directory a table may be larger than memory, without any setting of the options.

use weft::{Database, Isolation, Options, Result, Table, Transaction};

const MEMORY_BYTES: usize = 16 << 20;
const RECORDS: u64 = 60_000;

fn open(directory: &std::path::Path) -> Database {
    let options = Options {
        data_dir: Some(directory.to_owned()),
        workers: 2,
        memory_bytes_max: Some(MEMORY_BYTES),
        isolation: Isolation::Snapshot,
        ..Options::default()
    };
    Database::open(options).unwrap()
}

fn value(record: u64) -> Vec<u8> {
    record.to_le_bytes().repeat(100)
}

fn is_right(db: &Database, table: &Table<u64, Vec<u8>>) -> Result<bool> {
    let table = table.clone();
    db.run_blocking(async move |txn: &Transaction| {
        for record in (0..RECORDS).step_by(7) {
            if txn.get(&table, &record).await? != Some(value(record)) {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

#[test]
fn a_table_in_a_directory_may_be_larger_than_memory() -> Result<()> {
    let place = tempfile::tempdir().unwrap();
    let db = open(place.path());
    let table: Table<u64, Vec<u8>> = db.create_table("t")?;
    for from in (0..RECORDS).step_by(100) {
        let table = table.clone();
        db.run_blocking(async move |txn: &Transaction| {
            for record in from..from + 100 {
                txn.insert(&table, &record, &value(record)).await?;
            }
            Ok(())
        })?;
    }
    let stats = db.stats();
    assert!(stats.cold.bytes > 2 * MEMORY_BYTES as u64, "{stats}");
    assert!(stats.to_string().contains("cold files"), "{stats}");
    assert!(is_right(&db, &table)?);
    assert!(db.stats().cold_reads > 1000, "{}", db.stats());
    drop(db);

    let db = open(place.path());
    let table = db.open_table("t")?;
    assert!(is_right(&db, &table)?);
    Ok(())
}

/// Transactions at a shared snapshot, on both workers at once, find records that have left memory, beside
/// newer versions and deletions.
#[test]
fn a_shared_snapshot_includes_what_has_left_memory() -> Result<()> {
    let place = tempfile::tempdir().unwrap();
    let db = open(place.path());
    let table: Table<u64, Vec<u8>> = db.create_table("t")?;
    let write = |records: Vec<u64>, new: fn(u64) -> Option<Vec<u8>>| {
        records.chunks(100).try_for_each(|records| {
            let (table, records) = (table.clone(), records.to_vec());
            db.run_blocking(async move |txn: &Transaction| {
                for record in &records {
                    match new(*record) {
                        Some(new) => txn.upsert(&table, record, &new).await?,
                        None => drop(txn.delete(&table, record).await?),
                    }
                }
                Ok(())
            })
        })
    };
    const PART: u64 = RECORDS / 3;
    let original = |record| Some(value(record));
    write((0..2 * PART).collect(), original)?;
    let snapshot = db.run_blocking(async |txn: &Transaction| txn.share_snapshot())?;
    write((0..PART).step_by(20).collect(), |_| Some(b"new".to_vec()))?;
    write((1..PART).step_by(20).collect(), |_| None)?;
    let before = db.stats().cold_reads;
    let readers: Vec<_> = (0..2)
        .map(|reader| {
            let table = table.clone();
            db.run_at(&snapshot, async move |txn: &Transaction| {
                for record in (reader..2 * PART).step_by(7) {
                    assert_eq!(txn.get(&table, &record).await?, Some(value(record)));
                }
                txn.get(&table, &RECORDS).await
            })
        })
        .collect();
    for reader in readers {
        assert_eq!(reader.wait()?, None);
    }
    assert!(db.stats().cold_reads > before + 1000, "{}", db.stats());
    Ok(())
}
