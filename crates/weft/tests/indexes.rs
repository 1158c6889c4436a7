//! Secondary indexes through the typed interface.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use weft::{
    BuildError, Database, Error, Index, IndexDefinition, Isolation, Options, Prefix, Table,
    Transaction,
};

/// Name, town, age.
type Person = (String, Option<String>, u32);

/// A value type for the tests: tuples have no codec of their own.
struct Stored(Person);

impl weft::Value for Stored {
    type Encoded<'v> = Vec<u8>;

    fn type_name() -> std::borrow::Cow<'static, str> {
        "person".into()
    }

    fn encode(&self) -> Vec<u8> {
        let (name, town, age) = &self.0;
        let town = town.as_deref().unwrap_or("-");
        format!("{name},{town},{age}").into_bytes()
    }

    fn decode(bytes: &[u8]) -> Result<Stored, weft::DecodeError> {
        let text = String::decode(bytes)?;
        let mut parts = text.split(',').map(str::to_owned);
        let mut part = || parts.next().ok_or(weft::DecodeError::new("three parts"));
        let (name, town, age) = (part()?, part()?, part()?);
        let age = age.parse().map_err(weft::DecodeError::new)?;
        Ok(Stored((name, (town != "-").then_some(town), age)))
    }
}

fn person(name: &str, town: Option<&str>, age: u32) -> Stored {
    Stored((name.to_owned(), town.map(str::to_owned), age))
}

struct Setup {
    db: Database,
    people: Table<u64, Stored>,
    by_name: Index<String, u64, Stored>,
    by_town: Index<(Option<String>, u32), u64, Stored, u32>,
}

fn by_name() -> IndexDefinition<String, u64, Stored> {
    // A record without a name is not in the index.
    IndexDefinition::unique("by name", |_, Stored((name, ..))| {
        (!name.is_empty()).then_some(name)
    })
}

fn setup() -> Setup {
    let db = Database::open(Options {
        workers: 2,
        ..Options::default()
    })
    .unwrap();
    let people = db.create_table("people").unwrap();
    let by_name = db.create_index_blocking(&people, by_name()).unwrap();
    let by_town = IndexDefinition::non_unique_covering("by town", |_, Stored((_, town, age))| {
        Some(((town, age), age))
    });
    let by_town = db.create_index_blocking(&people, by_town).unwrap();
    Setup {
        db,
        people,
        by_name,
        by_town,
    }
}

#[test]
fn records_are_found_by_other_keys_than_their_own() {
    let Setup {
        db,
        people,
        by_name,
        by_town,
    } = setup();
    let txn = db.begin_blocking().unwrap();
    txn.insert(&people, &1, &person("ann", Some("oslo"), 40))
        .unwrap();
    txn.insert(&people, &2, &person("bob", None, 30)).unwrap();
    txn.insert(&people, &3, &person("cid", Some("oslo"), 20))
        .unwrap();
    txn.insert(&people, &4, &person("", Some("bern"), 20))
        .unwrap();
    txn.insert(&people, &5, &person("", None, 30)).unwrap();

    let (id, Stored(found)) = txn.get_by(&by_name, "bob").unwrap().unwrap();
    assert_eq!((id, found.2), (2, 30));
    assert!(txn.get_by(&by_name, "").unwrap().is_none());
    let keys = |rows: Vec<(_, u64, Stored)>| rows.into_iter().map(|row| row.1).collect::<Vec<_>>();
    assert_eq!(keys(txn.scan_by(&by_name, .., 9).unwrap()), [1, 2, 3]);
    let from = "b".to_owned()..;
    assert_eq!(keys(txn.scan_by(&by_name, from, 1).unwrap()), [2]);

    // Missing towns come first; then rows sort by town, then by age.
    let rows = txn.scan_covered(&by_town, .., 9).unwrap();
    let rows: Vec<_> = rows
        .into_iter()
        .map(|((_, age), id, covered)| (age == covered, id))
        .collect();
    assert_eq!(
        rows,
        [(true, 2), (true, 5), (true, 4), (true, 3), (true, 1)]
    );
    let oslo = Prefix((Some("oslo".to_owned()),));
    let rows = txn.scan_by(&by_town, oslo, 9).unwrap();
    assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>(), [3, 1]);
    txn.commit().unwrap();

    let counted = db.run_blocking({
        let by_town = by_town.clone();
        async move |txn: &Transaction| {
            let mut backwards = Vec::new();
            txn.scan_by(&by_town, ..)
                .rev()
                .for_each(|_, id, _| {
                    backwards.push(id);
                    ControlFlow::Continue(())
                })
                .await?;
            assert_eq!(backwards, [1, 3, 4, 5, 2]);
            txn.scan_by(&by_town, Prefix((None::<String>,)))
                .count()
                .await
        }
    });
    assert_eq!(counted.unwrap(), 2);
    for index in [
        db.check_index(&by_name).wait(),
        db.check_index(&by_town).wait(),
    ] {
        assert_eq!(index.unwrap().flaws, []);
    }
}

#[test]
fn a_duplicate_names_the_index_and_leaves_nothing() {
    let Setup {
        db,
        people,
        by_name,
        by_town,
    } = setup();
    let txn = db.begin_blocking().unwrap();
    txn.insert(&people, &1, &person("ann", Some("oslo"), 40))
        .unwrap();
    let again = txn.insert(&people, &2, &person("ann", Some("bern"), 40));
    assert!(matches!(again, Err(Error::DuplicateIndexKey(name)) if name == "by name"));
    assert!(txn.get(&people, &2).unwrap().is_none());
    assert_eq!(txn.scan_by(&by_town, .., 9).unwrap().len(), 1);
    txn.insert(&people, &2, &person("bob", None, 1)).unwrap();
    let changed = txn.update(&people, &2, &person("ann", None, 1));
    assert!(matches!(changed, Err(Error::DuplicateIndexKey(_))));
    let (_, Stored(found)) = txn.get_by(&by_name, "bob").unwrap().unwrap();
    assert_eq!(found.0, "bob");
    let long = "x".repeat(weft::KEY_BYTES_MAX);
    let changed = txn.update(&people, &2, &person("bob", Some(&long), 1));
    assert!(matches!(changed, Err(Error::IndexKeyTooLong(name)) if name == "by town"));
    txn.commit().unwrap();
    assert!(matches!(
        db.begin_blocking()
            .unwrap()
            .get_by(&by_town, &(None::<String>, 1)),
        Err(Error::IndexNotUnique)
    ));
}

#[test]
fn an_index_of_records_that_are_not_unique_is_not_made() {
    let Setup { db, people, .. } = setup();
    let txn = db.begin_blocking().unwrap();
    for id in 1..=2 {
        let name = id.to_string();
        txn.insert(&people, &id, &person(&name, None, 7)).unwrap();
    }
    txn.commit().unwrap();
    let by_age = || IndexDefinition::unique("by age", |_, Stored((.., age))| Some(age));
    let failed = db.create_index_blocking(&people, by_age()).unwrap_err();
    let Error::Index(failed) = failed else {
        panic!("{failed}");
    };
    assert_eq!(failed.index, "by age");
    assert!(matches!(failed.reason, BuildError::Duplicate { .. }));
    let again = db.create_index_blocking(&people, by_name()).unwrap_err();
    assert!(matches!(again, Error::Index(error) if error.reason == BuildError::Exists));
    // Nothing is left of the index.
    let txn = db.begin_blocking().unwrap();
    txn.update(&people, &1, &person("1", None, 8)).unwrap();
    txn.commit().unwrap();
    let by_age = db.create_index_blocking(&people, by_age()).unwrap();
    assert!(db.drop_index(&by_age).unwrap());
    assert!(!db.drop_index(&by_age).unwrap());
    let txn = db.begin_blocking().unwrap();
    assert!(matches!(txn.get_by(&by_age, &8), Err(Error::IndexNotReady)));
    let other = Database::open(Options::default()).unwrap();
    assert!(matches!(
        other.drop_index(&by_age),
        Err(Error::ForeignTable(_))
    ));
    let foreign = other.create_index_blocking(&people, by_name());
    assert!(matches!(foreign, Err(Error::ForeignTable(_))));
}

#[test]
fn a_panic_in_the_key_function_ends_the_transaction_alone() {
    let db = Database::open(Options::default()).unwrap();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let odd = IndexDefinition::unique("odd", |_, value: u64| {
        assert!(value % 2 == 1, "the test's panic");
        Some(value)
    });
    let odd = db.create_index_blocking(&table, odd).unwrap();
    for value in [1, 2] {
        let table = table.clone();
        let ended = db
            .run_blocking(async move |txn: &Transaction| txn.insert(&table, &value, &value).await);
        assert_eq!(ended.is_ok(), value == 1);
        assert!(!matches!(ended, Err(ref error) if !matches!(error, Error::Panicked(_))));
    }
    assert_eq!(db.check_index(&odd).wait().unwrap().records, 1);
}

#[test]
fn a_local_database_has_indexes_too() {
    let db = Database::open_local(Options::default()).unwrap();
    let words: Table<u64, String> = db.create_table("words").unwrap();
    // The index has several keys per record.
    let letters = IndexDefinition::non_unique("letters", |_, word: String| {
        word.bytes().collect::<Vec<u8>>()
    });
    let letters = db.create_index(&words, letters).unwrap();
    let by_letter = letters.clone();
    let found = db.run(async move |txn: &Transaction| {
        txn.insert(&words, &1, "loom").await?;
        txn.insert(&words, &2, "yarn").await?;
        txn.insert(&words, &3, "room").await?;
        let rows = txn.scan_by(&by_letter, b'o'..=b'r').collect().await?;
        Ok(rows.into_iter().map(|row| row.1).collect::<Vec<_>>())
    });
    assert_eq!(found.unwrap(), [1, 3, 2, 3]);
    assert_eq!(db.check_index(&letters).unwrap().entries, 10);
    assert!(db.drop_index(&letters).unwrap());
}

/// Real threads: writers on all workers, while indexes are built beside them.
#[test]
fn indexes_are_built_while_writers_run() {
    const RECORDS: u64 = 5_000;
    const WRITERS: u64 = 6;
    let db = Database::open(Options {
        workers: 3,
        retries_max: u32::MAX,
        ..Options::default()
    })
    .unwrap();
    let table: Table<u64, u64> = db.create_table("t").unwrap();
    let ours = table.clone();
    db.run_blocking(async move |txn: &Transaction| {
        for key in 0..RECORDS {
            txn.insert(&ours, &key, &(key * WRITERS)).await?;
        }
        Ok(())
    })
    .unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let written = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (db, table) = (db.clone(), table.clone());
            let (stop, written) = (stop.clone(), written.clone());
            std::thread::spawn(move || {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    let table = table.clone();
                    let isolation = match round % 3 {
                        0 => Isolation::ReadCommitted,
                        1 => Isolation::Snapshot,
                        _ => Isolation::Serializable,
                    };
                    let run = async move |txn: &Transaction| {
                        for at in 0..3 {
                            let key = (round * 7919 + writer * 31 + at * 1009) % RECORDS;
                            // No two writers ever write the same value.
                            let value = ((RECORDS + round * 3 + at) * WRITERS) + writer;
                            if round % 5 == 0 && at == 0 {
                                txn.delete(&table, &key).await?;
                            } else {
                                txn.upsert(&table, &key, &value).await?;
                            }
                        }
                        Ok(())
                    };
                    db.run_with::<weft::Interleaved, _, _>(isolation, run)
                        .wait()
                        .unwrap();
                    written.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let seen = Arc::new(AtomicU64::new(0));
    let progress = seen.clone();
    let unique =
        IndexDefinition::unique("unique", |_, value: u64| Some(value)).on_progress(move |done| {
            progress.fetch_max(done.records_done, Ordering::Relaxed);
        });
    let unique = db.create_index_blocking(&table, unique).unwrap();
    let coarse = IndexDefinition::non_unique("coarse", |_, value: u64| Some(value / 1000));
    let coarse = db.create_index_blocking(&table, coarse).unwrap();
    // The indexes are right while writers go on.
    let checked = written.load(Ordering::Relaxed);
    while written.load(Ordering::Relaxed) < checked + 100 {
        assert_eq!(db.check_index(&unique).wait().unwrap().flaws, []);
    }
    stop.store(true, Ordering::Relaxed);
    writers
        .into_iter()
        .for_each(|writer| writer.join().unwrap());
    assert!(seen.load(Ordering::Relaxed) > RECORDS / 2);
    for index in [
        db.check_index(&unique).wait(),
        db.check_index(&coarse).wait(),
    ] {
        let report = index.unwrap();
        assert_eq!(report.flaws, []);
        assert_eq!(report.records, report.entries);
    }
}

/// Indexes are not stored; they are built again from the recovered records.
#[test]
fn indexes_are_built_again_after_opening() {
    let directory = tempfile::tempdir().unwrap();
    let options = || Options {
        data_dir: Some(directory.path().to_owned()),
        ..Options::default()
    };
    let by_value = || IndexDefinition::unique("by value", |_, value: u64| Some(value));
    {
        let db = Database::open(options()).unwrap();
        let table: Table<u64, u64> = db.create_table("t").unwrap();
        db.create_index_blocking(&table, by_value()).unwrap();
        db.run_blocking(async move |txn: &Transaction| {
            for key in 0..100 {
                txn.insert(&table, &key, &(key + 1000)).await?;
            }
            Ok(())
        })
        .unwrap();
        db.close();
    }
    let db = Database::open(options()).unwrap();
    let table: Table<u64, u64> = db.open_table("t").unwrap();
    let index = db.create_index_blocking(&table, by_value()).unwrap();
    let report = db.check_index(&index).wait().unwrap();
    assert_eq!(
        (report.records, report.entries, report.flaw_count),
        (100, 100, 0)
    );
    let txn = db.begin_blocking().unwrap();
    assert_eq!(txn.get_by(&index, &1007).unwrap(), Some((7, 1007)));
}
