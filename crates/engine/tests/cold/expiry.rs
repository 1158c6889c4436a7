//! Cold records that expire.

use super::*;

const TTL: Duration = Duration::from_micros(100);

/// Opens a database with small files, at a time that is set by hand.
fn open_at(wall: &WallClock, directory: Arc<dyn Directory>) -> Durable {
    let durable = open_with_files_of(16 << 10, directory);
    assert!(durable.database.set_wall_clock(wall.clone()));
    durable
}

/// Makes a table whose records expire.
fn expiring_table(durable: &mut Durable) -> Arc<Table> {
    durable.run(async |session: Rc<Session>| {
        let options = TableOptions { ttl: Some(TTL) };
        session.create_table_with("t", b"", options).await.unwrap()
    })
}

/// Writes records, which live from now on.
fn put(durable: &mut Durable, table: &Arc<Table>, records: impl Iterator<Item = u64>) {
    let records = records.map(|i| (key(i), Some(value(i)))).collect();
    durable.write(table, records).unwrap();
}

/// Deletes records on the device that are known to have expired; returns how many.
fn expire_all(durable: &mut Durable) -> u64 {
    durable.run(async |session: Rc<Session>| {
        let mut expired = 0;
        loop {
            let done = session.expire_cold_records().await.unwrap().unwrap();
            session.tend();
            expired += done.expired;
            if done.files == 0 {
                return expired;
            }
        }
    })
}

/// Returns the records that are left of a table whose records have expired.
fn left(durable: &mut Durable, wall: &WallClock, table: &Arc<Table>) -> Vec<Vec<u8>> {
    let now = wall.now();
    wall.set(WallTime(1000));
    let left = durable.read(table).into_iter().map(|(key, _)| key);
    wall.set(now);
    left.collect()
}

fn entries(durable: &mut Durable, index: &Index) -> u64 {
    let index = index.clone();
    durable.run(async move |session: Rc<Session>| {
        let report = session.check_index::<Interleaved>(&index).await.unwrap();
        assert_eq!(report.flaws, []);
        report.entries
    })
}

/// Expired records on the device are deleted, with their entries, and their files are removed: without
/// a look at the device before all that a file has of a table has expired, and without a read for each
/// record.
#[test]
fn records_that_expire_on_the_device_are_deleted() {
    let disk = SimulatedDisk::new(15, Faults::default());
    let directory = disk.directory();
    let wall = WallClock::manual(WallTime(1000));
    let mut durable = open_at(&wall, directory.clone());
    let table = expiring_table(&mut durable);
    let of_table = table.clone();
    let index = durable.run(async move |session: Rc<Session>| {
        let by_value: Extractor = Arc::new(|_, value, keys| keys.push(value));
        let options = IndexOptions::default();
        let build = session.begin_index(&of_table, "by value", options, by_value);
        build.unwrap().run(|_| {}).await.unwrap()
    });
    put(&mut durable, &table, 0..1000);
    assert_eq!(demote_in_blocks_of(1, &mut durable), 1000);
    wall.set(WallTime(1050));
    put(&mut durable, &table, [7].into_iter().chain(1000..1100));
    assert_eq!(demote_in_blocks_of(1, &mut durable), 101);
    take_checkpoint(&mut durable);
    let (files, _) = cold_files(&directory);
    assert!(files > 3, "{files}");

    wall.set(WallTime(1099));
    durable.session().tend();
    let before = durable.database.stats();
    assert_eq!(expire_all(&mut durable), 0);
    durable.session().tend();
    assert_eq!(durable.database.stats().device_reads, before.device_reads);
    wall.set(WallTime(1100));
    assert_eq!(expire_all(&mut durable), 999);
    durable.session().tend();
    let stats = durable.database.stats();
    assert_eq!((stats.expired, stats.cold_reads), (999, before.cold_reads));
    assert!(stats.device_reads - before.device_reads < 50, "{stats:?}");
    assert_eq!(entries(&mut durable, &index), 101);
    let live = durable.read(&table).into_iter();
    let expected = [7].into_iter().chain(1000..1100);
    assert!(live.eq(expected.map(|i| (key(i), value(i)))));

    // Records that the check has read leave again.
    assert_eq!(demote_in_blocks_of(1, &mut durable), 101);
    wall.set(WallTime(1150));
    assert_eq!(expire_all(&mut durable), 101);
    assert_eq!(entries(&mut durable, &index), 0);
    assert_eq!(left(&mut durable, &wall, &table), [[0; 0]; 0]);
    compact_all(&mut durable);
    assert_eq!(durable.database.cold_usage().live_bytes, 0);
    put(&mut durable, &table, 0..1);
    take_checkpoint(&mut durable);
    // The last file, to which blocks may still go.
    assert_eq!(cold_files(&directory).0, 1);
    for _ in 0..10 {
        durable.session().tend();
    }
    // Records were removed with their entries.
    assert_eq!(durable.database.stats().records_removed, 2200);
}

/// The upkeep finds expired records after a crash as well: the expiry of the records in the files is
/// unknown then.
#[test]
fn records_expired_on_the_device_are_deleted_after_a_crash() {
    for is_deleted_before in [false, true] {
        let disk = SimulatedDisk::new(16, Faults::default());
        let wall = WallClock::manual(WallTime(1000));
        let mut durable = open_at(&wall, disk.directory());
        let table = expiring_table(&mut durable);
        put(&mut durable, &table, 0..1000);
        assert_eq!(demote_in_blocks_of(1, &mut durable), 1000);
        take_checkpoint(&mut durable);
        wall.set(WallTime(1100));
        if is_deleted_before {
            assert_eq!(expire_all(&mut durable), 1000);
        }
        disk.crash();
        drop(durable);

        let mut durable = open_at(&wall, disk.after_crash(1).directory());
        let table = durable.database.table("t").unwrap();
        // Log that no commit waited for is lost, or not.
        let expired = left(&mut durable, &wall, &table).len() as u64;
        assert!(is_deleted_before || expired == 1000, "{expired}");
        let upkeep = durable.worker.handle();
        let upkeep = upkeep.submit(|session: &Rc<Session>| session.clone().upkeep());
        for _ in 0..5000 {
            durable.run(async |session: Rc<Session>| {
                interleave::sleep(Duration::from_millis(1)).await;
                session.tend();
            });
            if durable.database.stats().expired == expired {
                break;
            }
        }
        assert_eq!(durable.database.stats().expired, expired);
        assert_eq!(left(&mut durable, &wall, &table), [[0; 0]; 0]);
        durable.session().wind_up();
        durable.worker.run_until(upkeep).unwrap();
    }
}

/// A damaged record among them is counted, and does not keep the others from being deleted; the
/// deletion is not tried again and again.
#[test]
fn a_damaged_record_does_not_keep_others_from_being_deleted() {
    let disk = SimulatedDisk::new(17, Faults::default());
    let directory = disk.directory();
    let wall = WallClock::manual(WallTime(1000));
    let mut durable = open_at(&wall, directory.clone());
    let table = expiring_table(&mut durable);
    put(&mut durable, &table, 0..1000);
    assert_eq!(demote_in_blocks_of(1, &mut durable), 1000);
    let (_, name) = cold_files(&directory);
    damage(&directory, &name, 9);
    wall.set(WallTime(1100));
    assert_eq!(expire_all(&mut durable), 999);
    durable.session().tend();
    let stats = durable.database.stats();
    let damaged = durable.database.cold_usage().damaged_blocks;
    assert_eq!((stats.cold_reads_failed, damaged), (1, 1));
    compact_all(&mut durable);
    put(&mut durable, &table, [2000].into_iter());
    take_checkpoint(&mut durable);
    let (files, first) = cold_files(&directory);
    assert_eq!((files, first), (2, name));
    let is_left_alone = |durable: &mut Durable| {
        let reads = durable.database.stats().device_reads;
        assert_eq!(expire_all(durable), 0);
        durable.session().tend();
        assert_eq!(durable.database.stats().device_reads, reads);
    };
    is_left_alone(&mut durable);
    drop((durable, table));

    // After the database is opened again, the deletion is tried once.
    let mut durable = open_at(&wall, directory);
    for _ in 0..2 {
        compact_all(&mut durable);
        assert_eq!(expire_all(&mut durable), 0);
        durable.session().tend();
    }
    compact_all(&mut durable);
    is_left_alone(&mut durable);
}

/// Compaction deletes expired records instead of moving them; moved records expire at their new places.
#[test]
fn compaction_deletes_what_has_expired() {
    let disk = SimulatedDisk::new(18, Faults::default());
    let wall = WallClock::manual(WallTime(1000));
    let mut durable = open_at(&wall, disk.directory());
    let table = expiring_table(&mut durable);
    put(&mut durable, &table, (0..1000).step_by(2));
    wall.set(WallTime(1050));
    put(&mut durable, &table, (1..1000).step_by(2));
    assert_eq!(demote_in_blocks_of(1, &mut durable), 1000);
    wall.set(WallTime(1100));
    assert_eq!(expire_all(&mut durable), 0);
    put(&mut durable, &table, (1..1000).step_by(4));
    assert_eq!(demote_in_blocks_of(1, &mut durable), 250);
    assert!(compact_all(&mut durable) > 1);
    durable.session().tend();
    let stats = durable.database.stats();
    assert!((300..=500).contains(&stats.expired), "{stats:?}");
    assert!((100..=250).contains(&stats.compacted), "{stats:?}");
    let live = durable.read(&table).into_iter();
    assert!(live.eq((1..1000).step_by(2).map(|i| (key(i), value(i)))));

    wall.set(WallTime(1200));
    expire_all(&mut durable);
    durable.session().tend();
    assert_eq!(durable.database.stats().expired, 1000);
    assert_eq!(left(&mut durable, &wall, &table), [[0; 0]; 0]);
}

/// Records that were in memory while their file was gone through, and have returned to their places,
/// are found when they expire.
#[test]
fn a_record_that_returned_to_its_file_is_deleted_when_it_expires() {
    let disk = SimulatedDisk::new(19, Faults::default());
    let wall = WallClock::manual(WallTime(990));
    let mut durable = open_at(&wall, disk.directory());
    let table = expiring_table(&mut durable);
    put(&mut durable, &table, 5..100);
    wall.set(WallTime(1000));
    put(&mut durable, &table, 0..5);
    assert_eq!(demote_all(&mut durable), 100);
    take_checkpoint(&mut durable);
    drop((durable, table));

    let mut durable = open_at(&wall, disk.directory());
    let table = durable.database.table("t").unwrap();
    let asked = table.clone();
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        for i in 0..5 {
            assert_eq!(get(&transaction, &asked, i).await, Some(value(i)));
        }
    });
    // The count finds the other records, and the pass over the file does when they expire.
    assert_eq!(compact_all(&mut durable), 0);
    assert_eq!(expire_all(&mut durable), 0);
    wall.set(WallTime(1090));
    assert_eq!(expire_all(&mut durable), 95);
    assert_eq!(demote_all(&mut durable), 5);
    assert_eq!(durable.database.stats().demoted_unchanged, 5);
    wall.set(WallTime(1100));
    assert_eq!(expire_all(&mut durable), 5);
    assert_eq!(left(&mut durable, &wall, &table), [[0; 0]; 0]);
}
