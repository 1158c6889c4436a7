//! Cold files after an opening: found, missing, damaged.

use super::*;

/// A checkpoint refers to cold records, and the opened database does, too, whatever comes after them in
/// the log; a backup has them; the check knows them.
#[test]
fn cold_records_stay_cold_when_the_database_is_opened() {
    let disk = SimulatedDisk::new(9, Faults::default());
    let mut durable = open(disk.directory());
    let table = demoted_after(&mut durable, 1000);
    let before = durable.run(async |session: Rc<Session>| session.checkpoint().await.unwrap());
    assert!(before.bytes < 100 << 10, "{before:?}");
    // After the checkpoint some records change, some are deleted, and some only leave memory.
    let changed = |i| (key(i), Some(b"changed".to_vec()));
    let changes = (0..50).map(changed).chain((50..60).map(|i| (key(i), None)));
    durable.write(&table, changes.collect()).unwrap();
    let new = (2000..2100).map(|i| (key(i), Some(value(i)))).collect();
    durable.write(&table, new).unwrap();
    demote_all(&mut durable);
    let mut model: BTreeMap<_, _> = (60..1000).map(|i| (key(i), value(i))).collect();
    model.extend((0..50).map(|i| (key(i), b"changed".to_vec())));
    model.extend((2000..2100).map(|i| (key(i), value(i))));
    let backup = SimulatedDisk::new(10, Faults::default());
    let to = backup.directory();
    durable
        .database
        .backup(&to, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    disk.crash();
    drop(durable);

    for (disk, has_others) in [(disk.after_crash(1), true), (backup, false)] {
        let report = engine::inspect::check(&disk.directory(), &mut |_| ()).unwrap();
        assert!(report.is_sound(), "{report}");
        let mut durable = open(disk.directory());
        let table = durable.database.table("t").unwrap();
        let versions = durable.database.memory().version_bytes;
        assert!(versions < 50 << 10, "{versions} bytes were read");
        assert!(
            durable.read(&table).into_iter().eq(model.clone()),
            "{has_others}"
        );
        // The records that were cold before are in the next checkpoint, too.
        let again = durable.run(async |session: Rc<Session>| session.checkpoint().await.unwrap());
        assert_eq!(again.records, model.len() as u64 + before.records - 1000);
        disk.crash();
        let disk = disk.after_crash(2);
        drop(durable);
        let mut durable = open(disk.directory());
        let table = durable.database.table("t").unwrap();
        assert!(durable.read(&table).into_iter().eq(model.clone()));
    }
}

/// The check finds a cold file that is missing, or has lost a record; without the file the database
/// does not open.
#[test]
fn missing_parts_of_a_cold_file_are_named() {
    let disk = SimulatedDisk::new(11, Faults::default());
    let mut durable = open(disk.directory());
    demoted_after(&mut durable, 100);
    durable.run(async |session: Rc<Session>| session.checkpoint().await.unwrap());
    drop(durable);
    let (name, directory) = ("cold-00000000", disk.directory());
    let file = directory.open(name, io::OpenMode::Write, false).unwrap();
    file.write_at(b"!", 4096).unwrap();
    let report = engine::inspect::check(&directory, &mut |_| ()).unwrap();
    let found: Vec<_> = report.damages().collect();
    assert_eq!((found.len(), &*found[0].file), (1, name), "{report}");
    assert!(
        found[0].offset.is_some_and(|offset| offset <= 4096),
        "{report}"
    );
    directory.remove(name).unwrap();
    let report = engine::inspect::check(&directory, &mut |_| ()).unwrap();
    assert!(
        report.to_string().contains("the file is missing"),
        "{report}"
    );
    let config = DatabaseConfig {
        cold_tier: Some(ColdConfig::default()),
        ..DatabaseConfig::with_memory(64 << 20)
    };
    let opened = open_configured(config, directory, LOG, RecoveryConfig::default());
    let Err(error) = opened else {
        panic!("it has opened")
    };
    assert!(error.to_string().contains(name), "{error}");
}

/// With salvage, destroyed records of cold files are given up, one by one, and then the directory is
/// sound.
#[test]
fn destroyed_parts_of_a_cold_file_are_given_up() {
    let disk = SimulatedDisk::new(11, Faults::default());
    let (name, directory) = ("cold-00000000", disk.directory());
    let mut durable = open(directory.clone());
    demoted_after(&mut durable, 100);
    take_checkpoint(&mut durable);
    drop(durable);
    let kept_without = |destroy: &dyn Fn()| {
        destroy();
        let report = engine::inspect::check(&directory, &mut |_| ()).unwrap();
        assert!(!report.is_sound(), "{report}");
        let config = DatabaseConfig {
            cold_tier: Some(ColdConfig::default()),
            ..DatabaseConfig::with_memory(64 << 20)
        };
        let salvage = RecoveryConfig { salvage: true };
        let mut durable = open_configured(config, directory.clone(), LOG, salvage).unwrap();
        let table = durable.database.table("t").unwrap();
        let kept = durable.read(&table);
        take_checkpoint(&mut durable);
        drop(durable);
        let report = engine::inspect::check(&directory, &mut |_| ()).unwrap();
        assert!(report.is_sound(), "{report}");
        kept
    };
    let kept = kept_without(&|| damage(&directory, name, 50));
    let others = (0..100).filter(|i| *i != 50);
    assert!(kept.into_iter().eq(others.map(|i| (key(i), value(i)))));
    let kept = kept_without(&|| directory.remove(name).unwrap());
    assert_eq!(kept, []);
}

/// A record that the device has lost fails its readers, and no other transaction.
#[test]
fn a_damaged_record_fails_its_readers_alone() {
    let disk = SimulatedDisk::new(6, Faults::default());
    let mut durable = open(disk.directory());
    let table = demoted_after(&mut durable, 100);
    let name = "cold-00000000";
    let directory = disk.directory();
    damage(&directory, name, 50);
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let read = transaction
            .get::<Interleaved, _>(&table, &key(50), |_| ())
            .await;
        let Err(error) = read else { panic!("{read:?}") };
        assert!(matches!(
            error,
            Error::ColdRecord {
                is_damaged: true,
                ..
            }
        ));
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(get(&transaction, &table, 49).await, Some(value(49)));
        assert_eq!(get(&transaction, &table, 51).await, Some(value(51)));
        transaction
            .update::<Interleaved>(&table, &key(52), b"goes on")
            .await
            .unwrap();
        transaction.commit().await.unwrap();
    });
}

/// A block with damage is not relied on: records that came back from there before are written anew when
/// they leave again, and compaction moves the rest elsewhere.
#[test]
fn nothing_is_left_in_a_damaged_block_that_can_be_read() {
    let disk = SimulatedDisk::new(6, Faults::default());
    let directory = disk.directory();
    let mut durable = open_with_files_of(16 << 10, directory.clone());
    let table = demoted_in_blocks_of(1, &mut durable, 2000);
    let (_, name) = cold_files(&directory);
    let asked = table.clone();
    let read = async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        for i in 5..15 {
            let key = key(i);
            let read = transaction.get::<Interleaved, _>(&asked, &key, <[u8]>::to_vec);
            match read.await {
                Ok(found) => assert_eq!(found, Some(value(i))),
                Err(error) => assert!(i == 9 && matches!(error, Error::ColdRecord { .. })),
            }
        }
    };
    // Half of the records come back before one of the others is found to be damaged.
    let back = table.clone();
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        for i in 10..15 {
            assert_eq!(get(&transaction, &back, i).await, Some(value(i)));
        }
    });
    damage(&directory, &name, 9);
    durable.run(read.clone());
    durable.session().tend();
    let stats = durable.database.stats();
    let damaged = |durable: &Durable| durable.database.cold_usage().damaged_blocks;
    assert_eq!((stats.cold_reads_failed, damaged(&durable)), (1, 1));
    let before = stats.demoted_unchanged;
    assert!(demote_in_blocks_of(1, &mut durable) >= 5);
    assert_eq!(durable.database.stats().demoted_unchanged, before);
    // Only the records that were written anew are dead: yet all records are moved, including those
    // behind the damaged one in its block.
    assert_eq!(compact_all(&mut durable), 1);
    durable.session().tend();
    assert!(durable.database.stats().compacted > 50);
    for i in (5..15).filter(|i| *i != 9) {
        damage(&directory, &name, i);
    }
    durable.run(read);
    let records = (0..2000).filter(|i| *i != 9);
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        for i in records {
            assert_eq!(get(&transaction, &table, i).await, Some(value(i)));
        }
    });
}
