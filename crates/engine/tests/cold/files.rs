//! Files of cold records: emptied, compacted, removed.

use super::*;

/// A record that has come back and was not changed is still on the device: no write is needed when it
/// leaves again, even if it has moved in memory. A changed record is written.
#[test]
fn a_record_that_came_back_unchanged_leaves_without_a_write() {
    let mut durable = open(SimulatedDisk::new(5, Faults::default()).directory());
    let table = demoted_after(&mut durable, 1000);
    let read_all = |durable: &mut Durable, changed: u64| {
        let table = table.clone();
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            for i in 0..1000 {
                let expected = if i < changed { value(i + 1) } else { value(i) };
                assert_eq!(get(&transaction, &table, i).await, Some(expected));
            }
            session.tend();
        });
    };
    read_all(&mut durable, 0);
    assert_eq!(durable.database.stats().promoted, 1000);
    durable.run(async |session: Rc<Session>| session.gather_room(1 << 20).await.unwrap());
    assert_eq!(demote_all(&mut durable), 1000);
    assert_eq!(durable.database.stats().demoted_unchanged, 1000);

    read_all(&mut durable, 0);
    let changes = (0..10).map(|i| (key(i), Some(value(i + 1)))).collect();
    durable.write(&table, changes).unwrap();
    assert_eq!(demote_all(&mut durable), 1000);
    assert_eq!(durable.database.stats().demoted_unchanged, 1990);
    read_all(&mut durable, 10);
}

/// Overwritten, deleted and dropped records do not take up room on the device for ever: their files are
/// emptied, and removed with the next checkpoint; not before, since the last checkpoint refers to them.
#[test]
fn dead_records_leave_the_device() {
    let disk = SimulatedDisk::new(5, Faults::default());
    let directory = disk.directory();
    let mut durable = open_with_files_of(64 << 10, directory.clone());
    let table = demoted_in_blocks_of(1, &mut durable, 10_000);
    let other = durable.create_table("other", b"").unwrap();
    let records = (0..3000).map(|i| (key(i), Some(value(i))));
    durable.write(&other, records.collect()).unwrap();
    assert_eq!(demote_in_blocks_of(1, &mut durable), 3000);
    take_checkpoint(&mut durable);
    assert_eq!(compact_all(&mut durable), 0);
    let (before, (count, first)) = (durable.database.cold_usage(), cold_files(&directory));
    assert!(count > 8 && before.live_bytes == before.bytes, "{before:?}");

    // Most of each file is overwritten.
    let changed = |i: u64| value(i + u64::from(!i.is_multiple_of(5)));
    let changes = (0..10_000u64).filter(|i| !i.is_multiple_of(5));
    let changes = changes.map(|i| (key(i), Some(changed(i)))).collect();
    durable.write(&table, changes).unwrap();
    durable.run(async |session: Rc<Session>| session.drop_table("other").await.unwrap());
    demote_in_blocks_of(1, &mut durable);
    assert!(compact_all(&mut durable) > count as u64 / 2);
    let (with_old, still) = cold_files(&directory);
    assert!(with_old > count && still == first, "{with_old}, {still}");
    let is_right = |durable: &mut Durable, table: &Arc<Table>| {
        let records = durable.read(table).into_iter();
        assert!(records.eq((0..10_000).map(|i| (key(i), changed(i)))));
    };
    is_right(&mut durable, &table);
    // The database recovers from the last checkpoint, which refers to the old files.
    let after_crash = disk.after_crash(1);
    let mut again = open_with_files_of(64 << 10, after_crash.directory());
    let same = again.database.table("t").unwrap();
    is_right(&mut again, &same);

    // A reader may be about to read there as long as nothing has happened since.
    durable
        .write(&table, vec![(key(0), Some(value(0)))])
        .unwrap();
    take_checkpoint(&mut durable);
    let (after, now_first) = cold_files(&directory);
    assert!(after < with_old && now_first > first, "{after}");
    let usage = durable.database.cold_usage();
    assert!(
        usage.bytes < before.bytes && usage.live_bytes * 10 > usage.bytes * 9,
        "{usage:?}"
    );
    durable.session().tend();
    let stats = durable.database.stats();
    assert_eq!(stats.cold_files_removed, (with_old - after) as u64);
    assert!(stats.compacted >= 1500, "{stats:?}");
    is_right(&mut durable, &table);
    let report = engine::inspect::check(&disk.after_crash(2).directory(), &mut |_| ()).unwrap();
    assert!(report.is_sound(), "{report}");
}

/// A version in memory that came from a file which is gone since is written when it leaves again.
#[test]
fn a_record_from_a_file_that_is_gone_is_written_again() {
    let disk = SimulatedDisk::new(5, Faults::default());
    let directory = disk.directory();
    let mut durable = open_with_files_of(16 << 10, directory.clone());
    let table = demoted_in_blocks_of(1, &mut durable, 1000);
    let (before, first) = cold_files(&directory);
    let all = table.clone();
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        for i in 0..1000 {
            assert_eq!(get(&transaction, &all, i).await, Some(value(i)));
        }
        session.tend();
    });
    // All files but the last, to which blocks may still go.
    assert_eq!(compact_all(&mut durable), before as u64 - 1);
    durable
        .write(&table, vec![(key(0), Some(value(0)))])
        .unwrap();
    take_checkpoint(&mut durable);
    let (after, now_first) = cold_files(&directory);
    assert!(after == 1 && now_first > first, "{after}");
    assert_eq!(demote_all(&mut durable), 1000);
    let unchanged = durable.database.stats().demoted_unchanged;
    assert!((1..200).contains(&unchanged), "{unchanged}");
    let records = durable.read(&table).into_iter();
    assert!(records.eq((0..1000).map(|i| (key(i), value(i)))));
}

/// A file with a damaged record cannot be emptied. It is kept, and its other records are well.
#[test]
fn a_file_with_a_damaged_record_is_kept() {
    let disk = SimulatedDisk::new(6, Faults::default());
    let directory = disk.directory();
    let mut durable = open_with_files_of(16 << 10, directory.clone());
    let table = demoted_in_blocks_of(1, &mut durable, 5000);
    let (_, name) = cold_files(&directory);
    damage(&directory, &name, 9);
    let changes = (0..5000u64).filter(|i| !i.is_multiple_of(9));
    let changes = changes.map(|i| (key(i), Some(value(i + 1)))).collect();
    durable.write(&table, changes).unwrap();
    demote_in_blocks_of(1, &mut durable);
    assert!(compact_all(&mut durable) > 1);
    for _ in 0..2 {
        durable
            .write(&table, vec![(key(0), Some(value(0)))])
            .unwrap();
        take_checkpoint(&mut durable);
    }
    let (_, first) = cold_files(&directory);
    assert_eq!(first, name);
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        for i in (0..5000u64).filter(|i| *i != 9) {
            let expected = value(i + u64::from(!i.is_multiple_of(9)));
            assert_eq!(get(&transaction, &table, i).await, Some(expected));
        }
        let read = transaction
            .get::<Interleaved, _>(&table, &key(9), |_| ())
            .await;
        assert!(matches!(read, Err(Error::ColdRecord { .. })), "{read:?}");
    });
}

/// If the device often fails to read while files are compacted, no record is lost, and other files are
/// still emptied.
#[test]
fn a_device_that_fails_while_files_are_compacted_loses_nothing() {
    let disk = SimulatedDisk::new(14, Faults::default());
    let directory = disk.directory();
    let mut durable = open_with_files_of(16 << 10, directory.clone());
    let table = demoted_in_blocks_of(1, &mut durable, 5000);
    let changes = (0..5000u64).filter(|i| !i.is_multiple_of(9));
    let changes = changes.map(|i| (key(i), Some(value(i + 1)))).collect();
    durable.write(&table, changes).unwrap();
    demote_in_blocks_of(1, &mut durable);
    disk.set_faults(Faults {
        read_error_per_mille: 300,
        ..Faults::default()
    });
    assert!(compact_all(&mut durable) > 5);
    disk.set_faults(Faults::default());
    durable.session().tend();
    assert!(durable.database.stats().compacted > 100);
    assert!(durable.database.cold_usage().damaged_blocks > 0);
    let records = durable.read(&table).into_iter();
    let value = |i: u64| value(i + u64::from(!i.is_multiple_of(9)));
    assert!(records.eq((0..5000).map(|i| (key(i), value(i)))));
}
