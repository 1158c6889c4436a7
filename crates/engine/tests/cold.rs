//! Records that leave memory and come back without a visible difference.

use crate::durable;
use crate::rng;

use std::{
    collections::BTreeMap,
    ops::{Bound, ControlFlow, Range},
    pin::pin,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use durable::{Durable, LOG, open_configured};
use engine::{
    Abort, ColdConfig, DatabaseConfig, Direction, Durability, Error, Extractor, IfLocked, Index,
    IndexOptions, Isolation, Priority, RecoveryConfig, ScanPosition, Session, Strength, Table,
    TableOptions, Transaction, WallClock, WallTime,
};
use interleave::{
    Clock, InFlight, Interleaved, JoinHandle, Scheduling, Worker, WorkerConfig, WorkerLocal,
    together,
};
use io::{Directory, Faults, SimulatedDisk};
use rng::Rng;

fn open(directory: Arc<dyn Directory>) -> Durable {
    open_within(256 << 20, directory)
}

fn open_within(memory_bytes_max: usize, directory: Arc<dyn Directory>) -> Durable {
    open_with(memory_bytes_max, ColdConfig::default(), directory)
}

/// Opens a database with cold files of `file_bytes`, whose dead part is to be as small as possible.
fn open_with_files_of(file_bytes: u64, directory: Arc<dyn Directory>) -> Durable {
    let cold = ColdConfig {
        file_bytes,
        dead_percent_max: 10,
        ..ColdConfig::default()
    };
    open_with(256 << 20, cold, directory)
}

fn open_with(memory_bytes_max: usize, cold: ColdConfig, directory: Arc<dyn Directory>) -> Durable {
    let config = DatabaseConfig {
        cold_tier: Some(cold),
        ..DatabaseConfig::with_memory(memory_bytes_max)
    };
    open_configured(config, directory, LOG, RecoveryConfig::default()).unwrap()
}

fn key(i: u64) -> Vec<u8> {
    format!("key {i:06}").into_bytes()
}

fn value(i: u64) -> Vec<u8> {
    i.to_le_bytes().repeat(1 + i as usize % 30)
}

async fn get(transaction: &Transaction, table: &Table, i: u64) -> Option<Vec<u8>> {
    let key = key(i);
    let read = transaction.get::<Interleaved, _>(table, &key, <[u8]>::to_vec);
    read.await.unwrap()
}

/// Runs work on the worker's thread that is not one of its tasks.
fn step<T>(durable: &mut Durable, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(done) => return done,
            Poll::Pending => durable.worker.run_until_idle(),
        }
    }
}

/// Makes a table with `count` records.
fn with_records(durable: &mut Durable, count: u64) -> Arc<Table> {
    let table = durable.create_table("t", b"").unwrap();
    let records = (0..count).map(|i| (key(i), Some(value(i)))).collect();
    durable.write(&table, records).unwrap();
    table
}

/// Demotes all records that can leave memory; returns how many did.
fn demote_all(durable: &mut Durable) -> u64 {
    demote_in_blocks_of(u64::MAX, durable)
}

/// Demotes all records that can leave memory, with at most `looks` records looked at for each block;
/// returns how many left memory.
fn demote_in_blocks_of(looks: u64, durable: &mut Durable) -> u64 {
    let before = durable.session().database().stats().demoted;
    durable.run(async move |session: Rc<Session>| {
        session.tend();
        // The clock goes around twice: the first time it clears the marks of requests. It passes some
        // hundreds of records at least.
        let around = 1 + 20_000 / looks.max(500);
        let mut in_vain = 0;
        while in_vain < 3 * around {
            session.tend();
            let demoted = session.demote(looks).await.unwrap().unwrap();
            in_vain += u64::from(demoted.records == 0);
        }
        session.tend();
    });
    durable.session().tend();
    durable.session().database().stats().demoted - before
}

/// Compacts cold files until there is nothing to do; returns how many it went through.
fn compact_all(durable: &mut Durable) -> u64 {
    durable.run(async |session: Rc<Session>| {
        let mut files = 0;
        loop {
            let compacted = session.compact_cold_files().await.unwrap().unwrap();
            session.tend();
            files += compacted.files;
            if compacted.files == 0 {
                return files;
            }
        }
    })
}

fn take_checkpoint(durable: &mut Durable) {
    durable.run(async |session: Rc<Session>| {
        session.checkpoint().await.unwrap();
        session.tend();
    });
}

/// Changes a bit of a record in a cold file.
fn damage(directory: &Arc<dyn Directory>, name: &str, i: u64) {
    let file = directory.open(name, io::OpenMode::Write, false).unwrap();
    let mut bytes = vec![0; 256 << 10];
    let read = file.read_at(&mut bytes, 0).unwrap();
    let at = bytes[..read].windows(10).position(|w| w == key(i)).unwrap();
    file.write_at(&[bytes[at] ^ 1], at as u64).unwrap();
}

/// Returns the number of cold files, and the name of the first.
fn cold_files(directory: &Arc<dyn Directory>) -> (usize, String) {
    let names = directory.list().unwrap().into_iter();
    let mut names: Vec<_> = names.filter(|name| name.starts_with("cold-")).collect();
    names.sort();
    (names.len(), names.swap_remove(0))
}

fn demoted_after(durable: &mut Durable, count: u64) -> Arc<Table> {
    demoted_in_blocks_of(u64::MAX, durable, count)
}

fn demoted_in_blocks_of(looks: u64, durable: &mut Durable, count: u64) -> Arc<Table> {
    let table = with_records(durable, count);
    assert_eq!(demote_in_blocks_of(looks, durable), count);
    table
}

#[test]
fn many_sessions_open_under_a_small_limit() {
    // The blocks that each session reserves memory for would exceed the limit.
    let durable = open_within(
        64 << 20,
        SimulatedDisk::new(1, Faults::default()).directory(),
    );
    let database = durable.session().database().clone();
    let sessions: Vec<_> = (0..60).map(|_| Session::new(&database).unwrap()).collect();
    let memory = database.memory();
    let logs = (sessions.len() + 1) * LOG.session_bytes();
    assert!(memory.reserved_bytes > logs as u64, "{memory:?}");
    assert!(memory.reserved_bytes < memory.limit_bytes / 4, "{memory:?}");
}

#[test]
fn nodes_of_cold_records_only_are_counted() {
    let mut durable = open(SimulatedDisk::new(1, Faults::default()).directory());
    let table = with_records(&mut durable, 1000);
    let count = |durable: &mut Durable| {
        durable.run(async |session: Rc<Session>| session.count_cold_nodes().await)
    };
    let hot = count(&mut durable);
    // The catalog has records, too.
    assert!(hot.records >= 1000 && hot.nodes >= 1000 / 15, "{hot:?}");
    assert_eq!((hot.cold_nodes, hot.cold_records), (0, 0));
    assert_eq!(demote_all(&mut durable), 1000);
    let cold = count(&mut durable);
    assert_eq!((cold.records, cold.nodes), (hot.records, hot.nodes));
    assert_eq!(cold.cold_records, 1000);
    assert_eq!(cold.records_of_cold_nodes, 1000);
    // One record comes back, and its node is not cold any more.
    let table = Arc::clone(&table);
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        assert_eq!(get(&transaction, &table, 500).await, Some(value(500)));
        transaction.commit().await.unwrap();
    });
    let mixed = count(&mut durable);
    assert_eq!(mixed.cold_records, 999);
    assert_eq!(mixed.cold_nodes, cold.cold_nodes - 1);
    assert!(
        (985..999).contains(&mixed.records_of_cold_nodes),
        "{mixed:?}"
    );
}

#[test]
fn what_left_memory_is_read_in_points_groups_and_scans() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(disk.directory());
    let table = with_records(&mut durable, 1000);
    let before = durable.database.memory().version_bytes;
    assert_eq!(demote_all(&mut durable), 1000);
    for _ in 0..10 {
        durable.session().tend();
    }
    let after = durable.database.memory().version_bytes;
    assert!(after < before / 10, "{after} of {before}");

    // Scans show the cold records, and leave them where they are.
    let all = durable.read(&table);
    let expected: Vec<_> = (0..1000).map(|i| (key(i), value(i))).collect();
    assert!(all == expected);
    assert_eq!(durable.database.stats().promoted, 0);
    let backwards = {
        let table = table.clone();
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            let mut keys = Vec::new();
            let (from, to) = (key(100), key(130));
            let range = (Bound::Excluded(&*from), Bound::Included(&*to));
            let scan =
                transaction.scan::<Interleaved>(&table, range, Direction::Backward, |key, _| {
                    keys.push(key.to_vec());
                    match keys.len() < 20 {
                        true => ControlFlow::Continue(()),
                        false => ControlFlow::Break(()),
                    }
                });
            assert_eq!(scan.await, Ok(20));
            keys
        })
    };
    assert_eq!(backwards, (111..=130).rev().map(key).collect::<Vec<_>>());
    let unordered = {
        let table = table.clone();
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            let unordered = transaction.unordered().unwrap();
            let (mut values, mut from) = (Vec::new(), Some(ScanPosition::default()));
            while let Some(position) = from {
                let piece = unordered.scan::<Interleaved>(&table, position, |value| {
                    values.push(value.to_vec());
                    match values.len() % 300 {
                        0 => ControlFlow::Break(()),
                        _ => ControlFlow::Continue(()),
                    }
                });
                from = piece.await.unwrap();
            }
            values.sort();
            values
        })
    };
    let mut expected: Vec<_> = (0..1000).map(value).collect();
    expected.sort();
    assert!(unordered == expected);

    let session = durable.session();
    session.tend();
    let reads = session.database().stats().cold_reads;
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        for _ in 0..2 {
            let read = get(&transaction, &table, 7).await;
            assert_eq!(read, Some(value(7)));
        }
        let keys: Vec<_> = (200..300).map(key).collect();
        let mut found = BTreeMap::new();
        let read = |at: usize, value: &[u8]| drop(found.insert(at, value.to_vec()));
        let group = transaction.multi_get::<Interleaved, _>(&table, keys.iter(), read);
        assert_eq!(group.await, Ok(100));
        let expected = (200..300).map(value);
        assert!(found.into_values().eq(expected));
        let missing = transaction.get::<Interleaved, _>(&table, b"key 0000070", |_| ());
        assert_eq!(missing.await, Ok(None));
    });
    session.tend();
    let stats = session.database().stats();
    assert_eq!((stats.cold_reads - reads, stats.promoted), (101, 101));
}

/// The builder waits for memory as a group does, within a turn. It once waited for the device as well,
/// and no task looked at the device meanwhile.
#[test]
fn an_index_is_built_over_what_left_memory() {
    let disk = SimulatedDisk::new(7, Faults::default());
    let mut durable = open(disk.directory());
    let table = demoted_after(&mut durable, 500);
    let index = durable.run(async move |session: Rc<Session>| {
        let by_value: Extractor = Arc::new(|_, value, keys| keys.push(value));
        let options = IndexOptions::default();
        let build = session.begin_index(&table, "by value", options, by_value);
        build.unwrap().run(|_| {}).await.unwrap()
    });
    demote_all(&mut durable);
    durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let mut found = BTreeMap::new();
        let all = (Bound::Unbounded, Bound::Unbounded);
        let scan =
            transaction.scan_by::<Interleaved>(&index, all, Direction::Forward, |_, key, value| {
                found.insert(key.to_vec(), value.to_vec());
                ControlFlow::Continue(())
            });
        assert_eq!(scan.await, Ok(500));
        assert!(found.into_iter().eq((0..500).map(|i| (key(i), value(i)))));
    });
}

#[test]
fn an_index_is_created_in_a_transaction_over_what_left_memory() {
    let disk = SimulatedDisk::new(7, Faults::default());
    let mut durable = open(disk.directory());
    let table = demoted_after(&mut durable, 500);
    let index = durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::ReadCommitted).unwrap();
        let (changed, new) = (key(3), key(1000));
        for key in [&changed, &new] {
            let written = transaction.upsert::<Interleaved>(&table, key, b"own");
            written.await.unwrap();
        }
        let by_value: Extractor = Arc::new(|_, value, keys| keys.push(value));
        let options = IndexOptions::default();
        let name = "by value";
        let created = transaction.create_index::<Interleaved>(&table, name, b"", options, by_value);
        let index = created.await.unwrap();
        transaction.commit().await.unwrap();
        index
    });
    durable.run(async move |session: Rc<Session>| {
        let report = session.check_index::<Interleaved>(&index).await.unwrap();
        assert_eq!((report.records, report.entries), (501, 501));
        assert_eq!(report.flaw_count, 0, "{report:?}");
    });
}

#[test]
fn what_left_memory_is_written_locked_and_deleted() {
    let disk = SimulatedDisk::new(2, Faults::default());
    let mut durable = open(disk.directory());
    let table = demoted_after(&mut durable, 100);
    let expected = {
        let table = table.clone();
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            let keys: Vec<_> = (0..6).map(key).collect();
            let insert = transaction.insert::<Interleaved>(&table, &keys[0], b"new");
            assert_eq!(insert.await, Err(Error::DuplicateKey));
            let update = transaction.update::<Interleaved>(&table, &keys[1], b"new");
            assert_eq!(update.await, Ok(true));
            let upsert = transaction.upsert::<Interleaved>(&table, &keys[2], b"new");
            assert_eq!(upsert.await, Ok(()));
            let delete = transaction.delete::<Interleaved>(&table, &keys[3]);
            assert_eq!(delete.await, Ok(true));
            let append = |old: &[u8], new: &mut Vec<u8>| {
                new.extend_from_slice(old);
                new.push(b'!');
                ControlFlow::Continue(())
            };
            let modify = transaction.modify::<Interleaved>(&table, &keys[4], append);
            assert_eq!(modify.await, Ok(true));
            let (strength, wait) = (Strength::Update, IfLocked::Wait);
            let read = <[u8]>::to_vec;
            let lock = transaction.lock::<Interleaved, _>(&table, &keys[5], strength, wait, read);
            assert_eq!(lock.await, Ok(Some(value(5))));
            transaction.commit().await.unwrap();
        });
        let mut model: BTreeMap<_, _> = (0..100).map(|i| (key(i), value(i))).collect();
        model.insert(key(1), b"new".to_vec());
        model.insert(key(2), b"new".to_vec());
        model.remove(&key(3));
        model.get_mut(&key(4)).unwrap().push(b'!');
        model.into_iter().collect::<Vec<_>>()
    };
    assert!(durable.read(&table) == expected);
    demote_all(&mut durable);
    assert!(durable.read(&table) == expected);
}

#[test]
fn a_read_of_many_is_one_of_the_device() {
    let disk = SimulatedDisk::new(3, Faults::default());
    let mut durable = open(disk.directory());
    let table = demoted_after(&mut durable, 100);
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let table = table.clone();
            let read = move |session: &Rc<Session>| {
                let session = session.clone();
                async move {
                    let transaction = session.begin(Isolation::Snapshot).unwrap();
                    assert_eq!(get(&transaction, &table, 50).await, Some(value(50)));
                }
            };
            durable.worker.handle().submit(read)
        })
        .collect();
    for task in tasks {
        durable.worker.run_until(task).unwrap();
    }
    durable.session().tend();
    let stats = durable.database.stats();
    assert_eq!((stats.cold_reads, stats.promoted), (1, 1));
}

/// A record that has come back and was not changed is still on the device: no write is needed when it
/// leaves again, even if it has moved in memory. A changed record is written.
#[test]
fn what_came_back_unchanged_leaves_without_a_write() {
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
fn what_is_dead_leaves_the_device() {
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
fn what_came_from_a_file_that_is_gone_is_written_again() {
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

/// Makes a table whose records have left memory, on a slow device, for a worker with this scheduling.
fn on_slow_device(scheduling: Scheduling, count: u64) -> (Durable, Arc<Table>) {
    let faults = Faults {
        delay_reaps_min: 2,
        delay_reaps_max: 9,
        ..Faults::default()
    };
    let mut durable = open(SimulatedDisk::new(7, faults).directory());
    let table = demoted_after(&mut durable, count);
    durable.worker.configure(WorkerConfig {
        in_flight: InFlight::Fixed(8),
        scheduling,
        ..WorkerConfig::default()
    });
    (durable, table)
}

const RESERVED: Scheduling = Scheduling::Reserved { device_slots: 1 };
const DUAL: Scheduling = Scheduling::DualQueue {
    cold_slots: 1,
    visit_interval: 2,
};

/// Adds up records, incrementing the first of them, until the transaction commits.
async fn add_up(session: Rc<Session>, table: Arc<Table>, records: Vec<u64>) -> usize {
    loop {
        let attempt = async {
            let transaction = session.begin(Isolation::Snapshot)?;
            let mut sum = 0;
            for &i in &records {
                let key = key(i);
                let bytes = transaction.get::<Interleaved, _>(&table, &key, <[u8]>::len);
                sum += bytes.await?.unwrap_or(0);
            }
            let first = key(records[0]);
            transaction
                .update::<Interleaved>(&table, &first, &vec![0; sum])
                .await?;
            transaction.commit().await?;
            Ok(sum)
        };
        match attempt.await {
            Ok(sum) => return sum,
            Err(Error::Abort(Abort::ReadRefused)) => interleave::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn every_scheduler_runs_the_same_transactions() {
    let schedulers = [
        Scheduling::Sequential,
        Scheduling::StrictBatch,
        RESERVED,
        DUAL,
        Scheduling::Pipelined,
    ];
    for scheduling in schedulers {
        let (mut durable, table) = on_slow_device(scheduling, 1000);
        let tasks: Vec<_> = (0..100)
            .map(|i| {
                let table = table.clone();
                // Some tasks meet records that others have made hot.
                let records = vec![i, 500 + i / 2, 700 + i % 20];
                let add_up = move |session: &Rc<Session>| add_up(session.clone(), table, records);
                durable.worker.handle().submit(add_up)
            })
            .collect();
        for (i, task) in (0..).zip(tasks) {
            let expected = [i, 500 + i / 2, 700 + i % 20].map(|i| value(i).len());
            let sum = durable.worker.run_until(task).unwrap();
            assert_eq!(sum, expected.iter().sum::<usize>(), "{scheduling:?}");
        }
        durable.session().tend();
        let stats = durable.database.stats();
        assert!(stats.device_reads >= 170, "{scheduling:?}");
        assert_eq!(stats.device_reads, stats.device_reads_ended);
        let is_dual = scheduling == DUAL;
        assert_eq!(stats.aborts_read_refused > 0, is_dual, "{scheduling:?}");
        if is_dual || scheduling == RESERVED {
            // Never more than the one read.
            assert_eq!(stats.device_depth_sum, stats.device_reads);
        }
        // The number of reads that the gate itself lets in depends on how fast they come.
        if scheduling != Scheduling::Pipelined {
            let waits = scheduling == RESERVED;
            assert_eq!(stats.device_reads_held_back > 0, waits, "{scheduling:?}");
        }
    }
}

/// Reads a record with that priority.
fn read_as(
    durable: &Durable,
    table: &Arc<Table>,
    i: u64,
    priority: Priority,
    log: &Arc<Mutex<Vec<u64>>>,
) -> JoinHandle<(), Session> {
    let (table, log) = (table.clone(), log.clone());
    let read = move |session: &Rc<Session>| {
        let session = session.clone();
        async move {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            transaction.set_priority(priority);
            assert_eq!(get(&transaction, &table, i).await, Some(value(i)));
            log.lock().unwrap().push(i);
        }
    };
    durable.worker.handle().submit(read)
}

#[test]
fn reads_of_interactive_transactions_go_first() {
    let (mut durable, table) = on_slow_device(RESERVED, 1000);
    let log = Arc::default();
    let read = |i, priority| read_as(&durable, &table, i, priority, &log);
    let tasks: Vec<_> = (0..4)
        .map(|i| read(i * 100, Priority::Batch))
        .chain((4..8).map(|i| read(i * 100, Priority::Interactive)))
        .collect();
    for task in tasks {
        durable.worker.run_until(task).unwrap();
    }
    let order = [0, 400, 500, 600, 700, 100, 200, 300];
    assert_eq!(*log.lock().unwrap(), order);
}

#[test]
fn who_is_cancelled_in_front_of_the_device_is_not_missed() {
    let (mut durable, table) = on_slow_device(RESERVED, 1000);
    let log = Arc::default();
    let mut tasks: Vec<_> = (0..8)
        .map(|i| read_as(&durable, &table, i * 100, Priority::Interactive, &log))
        .collect();
    durable.worker.step_intake();
    while durable.worker.step_choices() > 0 {
        durable.worker.step(0);
    }
    // Removes the task that reads, and some of those that wait.
    tasks.retain({
        let mut at = 0;
        move |_| {
            at += 1;
            at % 3 != 1
        }
    });
    for task in tasks {
        durable.worker.run_until(task).unwrap();
    }
    assert_eq!(*log.lock().unwrap(), [100, 200, 400, 500, 700]);
    let last = read_as(&durable, &table, 900, Priority::Batch, &log);
    durable.worker.run_until(last).unwrap();
}

#[test]
fn who_reads_many_is_not_refused_for_what_it_reads_itself() {
    let (mut durable, table) = on_slow_device(DUAL, 3000);
    let found = durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let keys: Vec<_> = (0..6).map(|i| key(i * 500)).collect();
        let read = |at: usize, bytes: &[u8]| assert_eq!(bytes, value(at as u64 * 500));
        transaction
            .multi_get::<Interleaved, _>(&table, keys.iter(), read)
            .await
    });
    assert_eq!(found, Ok(6));
    durable.session().tend();
    let stats = durable.database.stats();
    assert_eq!((stats.device_reads, stats.device_depth_sum), (6, 6));
}

/// A transaction's view does not depend on where records are, and versions that it sees do not leave
/// memory.
#[test]
fn an_older_snapshot_keeps_what_it_sees() {
    let disk = SimulatedDisk::new(4, Faults::default());
    let mut durable = open(disk.directory());
    let table = with_records(&mut durable, 10);
    let old = durable.session().begin(Isolation::Snapshot).unwrap();
    durable
        .write(&table, vec![(key(1), Some(b"newer".to_vec()))])
        .unwrap();
    assert_eq!(demote_all(&mut durable), 9);
    let read = |transaction: Transaction, durable: &mut Durable| {
        let table = table.clone();
        step(durable, async move {
            [
                get(&transaction, &table, 1).await,
                get(&transaction, &table, 2).await,
            ]
        })
    };
    assert_eq!(read(old, &mut durable), [Some(value(1)), Some(value(2))]);
    let new = durable.session().begin(Isolation::Snapshot).unwrap();
    let newer = Some(b"newer".to_vec());
    assert_eq!(read(new, &mut durable), [newer, Some(value(2))]);
    // Now no snapshot sees the older version.
    durable.session().tend();
    assert!(demote_all(&mut durable) >= 1);
}

/// Two transactions each read a record that the other writes: one of them must abort, wherever the
/// records were when they were read, and are when the first commits.
#[test]
fn marks_of_readers_survive_that_records_leave_and_come_back() {
    for when in 0..4 {
        let disk = SimulatedDisk::new(5, Faults::default());
        let mut durable = open(disk.directory());
        let table = demoted_after(&mut durable, 10);
        let session = durable.session();
        let begin = || {
            let transaction = session.begin(Isolation::Serializable).unwrap();
            transaction.set_durability(Durability::None);
            transaction
        };
        let (a, b) = (begin(), begin());
        let maybe_demote = |durable: &mut Durable, at: i32| {
            if when == at {
                demote_all(durable);
            }
        };
        let (ta, tb) = (table.clone(), table.clone());
        let a = step(&mut durable, async move {
            assert!(get(&a, &ta, 1).await.is_some());
            a
        });
        maybe_demote(&mut durable, 1);
        let b = step(&mut durable, async move {
            assert!(get(&b, &tb, 2).await.is_some());
            b
        });
        maybe_demote(&mut durable, 2);
        let (ta, tb) = (table.clone(), table.clone());
        let first = step(&mut durable, async move {
            a.update::<Interleaved>(&ta, &key(2), b"a").await?;
            a.commit().await.map(drop)
        });
        maybe_demote(&mut durable, 3);
        let second = step(&mut durable, async move {
            b.update::<Interleaved>(&tb, &key(1), b"b").await?;
            b.commit().await.map(drop)
        });
        let committed = usize::from(first.is_ok()) + usize::from(second.is_ok());
        assert_eq!(committed, 1, "{when}: {first:?}, {second:?}");
    }
}

/// Transactions at random, and among them records that leave memory, a checkpoint, a crash.
#[test]
fn nobody_can_tell_where_records_are() {
    for seed in 1..=8 {
        let mut rng = Rng(seed);
        let disk = SimulatedDisk::new(seed, Faults::default());
        let mut durable = open_with_files_of(8 << 10, disk.directory());
        let mut table = with_records(&mut durable, 200);
        let (mut compacted, mut removed) = (0, 0);
        let mut model: BTreeMap<_, _> = (0..200).map(|i| (key(i), value(i))).collect();
        for turn in 0..300 {
            match rng.below(12) {
                0 => drop(demote_all(&mut durable)),
                1 if turn % 3 == 0 => {
                    let before = durable.database.stats().cold_files_removed;
                    take_checkpoint(&mut durable);
                    removed += durable.database.stats().cold_files_removed - before;
                }
                1 => compacted += compact_all(&mut durable),
                2 if turn % 5 == 0 => {
                    disk.crash();
                    durable = open_with_files_of(8 << 10, disk.directory());
                    table = durable.database.table("t").unwrap();
                }
                3 => {
                    let all = durable.read(&table);
                    assert!(all.into_iter().eq(model.clone()), "{seed}, {turn}");
                }
                _ => {
                    let isolation = match rng.below(3) {
                        0 => Isolation::ReadCommitted,
                        1 => Isolation::Snapshot,
                        _ => Isolation::Serializable,
                    };
                    let (mut after, commits) = (model.clone(), rng.below(4) > 0);
                    let steps: Vec<_> = (0..1 + rng.below(6))
                        .map(|_| (rng.below(4), rng.below(220), rng.below(1000)))
                        .collect();
                    let table = table.clone();
                    let done = durable.run(async move |session: Rc<Session>| {
                        let transaction = session.begin(isolation).unwrap();
                        for (what, i, new) in steps {
                            let (key, new) = (key(i), value(new));
                            let old = after.get(&key).cloned();
                            match what {
                                0 => assert_eq!(get(&transaction, &table, i).await, old),
                                1 => {
                                    let update =
                                        transaction.update::<Interleaved>(&table, &key, &new);
                                    assert_eq!(update.await, Ok(old.is_some()));
                                    if old.is_some() {
                                        after.insert(key, new);
                                    }
                                }
                                2 => {
                                    let upsert =
                                        transaction.upsert::<Interleaved>(&table, &key, &new);
                                    assert_eq!(upsert.await, Ok(()));
                                    after.insert(key, new);
                                }
                                _ => {
                                    let delete = transaction.delete::<Interleaved>(&table, &key);
                                    assert_eq!(delete.await, Ok(after.remove(&key).is_some()));
                                }
                            }
                        }
                        if commits {
                            transaction.commit().await.unwrap();
                        }
                        after
                    });
                    if commits {
                        model = done;
                    }
                }
            }
        }
        let stats = durable.database.stats();
        assert!(durable.read(&table).into_iter().eq(model), "{seed}");
        assert!(stats.demoted > 0 && stats.promoted > 0);
        assert!(compacted > 10 && removed > 1, "{compacted}, {removed}");
    }
}

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
fn what_is_missing_of_a_cold_file_is_named() {
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
fn what_is_destroyed_of_a_cold_file_is_given_up() {
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
fn what_expires_on_the_device_is_deleted() {
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
fn what_has_expired_on_the_device_is_deleted_after_a_crash() {
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
fn what_returned_to_its_file_is_deleted_when_it_expires() {
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

/// Hot records lie between records that have left memory: they are moved together, and then there is
/// room for something else. No reader sees a difference, whether it has read before or reads meanwhile.
#[test]
fn what_stays_in_memory_is_moved_together() {
    let disk = SimulatedDisk::new(12, Faults::default());
    let mut durable = open_within(24 << 20, disk.directory());
    let count = 40_000;
    let table = with_records(&mut durable, count);
    // A record that is requested between two rounds of the clock stays.
    for _ in 0..3 {
        let hot = table.clone();
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::Snapshot).unwrap();
            for i in (0..count).step_by(9) {
                assert_eq!(get(&transaction, &hot, i).await, Some(value(i)));
            }
            drop(transaction);
            session.tend();
            let mut looked_at = 0;
            while looked_at < count {
                let left = count - looked_at;
                looked_at += session.demote(left).await.unwrap().unwrap().looked_at;
                session.tend();
            }
        });
    }
    let memory = |durable: &mut Durable| {
        (0..5).for_each(|_| durable.session().tend());
        durable.database.memory()
    };
    let before = memory(&mut durable);
    assert!(
        before.version_bytes * 3 < before.version_claimed_bytes,
        "{before:?}"
    );
    // Two transactions each read a record that the other writes, as in `marks_of_readers_..`: `a` has
    // read before.
    let session = durable.session();
    let begin = || {
        let transaction = session.begin(Isolation::Serializable).unwrap();
        transaction.set_durability(Durability::None);
        transaction
    };
    let (a, b) = (begin(), begin());
    let (ta, tb) = (table.clone(), table.clone());
    let (a, b) = step(&mut durable, async move {
        assert_eq!(get(&a, &ta, 9).await, Some(value(9)));
        assert_eq!(get(&b, &tb, 18).await, Some(value(18)));
        (a, b)
    });
    for _ in 0..4 {
        durable.run(async |session: Rc<Session>| {
            session.gather_room(usize::MAX).await.unwrap();
            session.tend();
        });
    }
    let (ta, tb) = (table.clone(), table.clone());
    let (first, second) = step(&mut durable, async move {
        a.update::<Interleaved>(&ta, &key(18), b"a").await.unwrap();
        let first = a.commit().await;
        let second = match b.update::<Interleaved>(&tb, &key(9), b"b").await {
            Ok(_) => b.commit().await.map(drop),
            Err(error) => Err(error),
        };
        (first, second)
    });
    assert!(first.is_ok() && second.is_err(), "{first:?}, {second:?}");
    let after = memory(&mut durable);
    let moved = durable.database.stats().moved;
    assert!(moved > 500, "{moved}");
    assert!(
        after.version_claimed_bytes * 2 < before.version_claimed_bytes,
        "{before:?}, {after:?}"
    );
    let expected = |i| match i {
        18 => b"a".to_vec(),
        _ => value(i),
    };
    let records = durable.read(&table).into_iter();
    assert!(records.eq((0..count).map(|i| (key(i), expected(i)))));
}

/// Writes records in a transaction, again if it has to give way to others.
async fn write_in_turn(session: &Rc<Session>, table: &Table, records: &[(Vec<u8>, Vec<u8>)]) {
    loop {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        transaction.set_durability(Durability::Relaxed);
        let write = async {
            for (key, value) in records {
                transaction.upsert::<Interleaved>(table, key, value).await?;
            }
            Ok(())
        };
        match write.await {
            Ok(()) => {
                transaction.commit().await.unwrap();
                return;
            }
            Err(Error::Abort(Abort::OutOfRoom)) => session.admission().await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Much more than fits into memory is written, read and changed; no transaction fails with exhausted
/// memory, and no more memory is used than was given.
#[test]
fn a_table_grows_far_beyond_memory() {
    const LIMIT: usize = 24 << 20;
    const RECORDS: u64 = 100_000;
    let disk = SimulatedDisk::new(8, Faults::default());
    let mut durable = open_within(LIMIT, disk.directory());
    let table = durable.create_table("t", b"").unwrap();
    let upkeep = durable.worker.handle();
    let upkeep = upkeep.submit(|session: &Rc<Session>| session.clone().upkeep());
    let large = |i: u64, turn: u64| (i ^ turn).to_le_bytes().repeat(100);
    // Several transactions at a time, as clients do: a transaction that waits for room waits for the
    // others' end, too.
    let mut work = |turn: u64, read: bool| {
        let tasks: Vec<_> = (0..8)
            .map(|part| {
                let table = table.clone();
                durable
                    .worker
                    .handle()
                    .submit(move |session: &Rc<Session>| {
                        let session = session.clone();
                        async move {
                            let records = (0..RECORDS).skip(part).step_by(8);
                            for i in records {
                                if read {
                                    let transaction = session.begin(Isolation::Snapshot).unwrap();
                                    let before = (turn > 0).then(|| large(i, turn - 1));
                                    assert!(get(&transaction, &table, i).await == before, "{i}");
                                }
                                let record = (key(i), large(i, turn));
                                write_in_turn(&session, &table, &[record]).await;
                            }
                        }
                    })
            })
            .collect();
        for task in tasks {
            durable.worker.run_until(task).unwrap();
        }
    };
    work(0, false);
    work(1, true);
    durable.session().wind_up();
    durable.worker.run_until(upkeep).unwrap();
    let memory = durable.database.memory();
    assert!(memory.claimed_bytes + memory.reserved_bytes <= LIMIT as u64);
    let stats = durable.database.stats();
    assert!(stats.demoted > RECORDS && stats.demotions_failed == 0);
    let check = |durable: &mut Durable, table: &Arc<Table>| {
        let records = durable.read(table).into_iter();
        assert!(records.eq((0..RECORDS).map(|i| (key(i), large(i, 1)))));
    };
    check(&mut durable, &table);
    drop((durable, table));

    // There is no checkpoint: all records are in the log, twice, and are to be loaded. Records that
    // have left memory meanwhile are met again by later ones.
    let mut durable = open_within(LIMIT, disk.directory());
    assert_eq!(durable.report.progress.checkpoint_records, 0);
    let memory = durable.database.memory();
    assert!(memory.claimed_bytes + memory.reserved_bytes <= LIMIT as u64);
    durable.session().tend();
    let stats = durable.database.stats();
    assert!(stats.demoted > RECORDS / 2 && stats.cold_reads > RECORDS / 4);
    let table = durable.database.table("t").unwrap();
    check(&mut durable, &table);
}

/// Memory limit of tests in which memory is scarce.
const SCARCE: usize = 24 << 20;

/// Returns a record of 800 bytes; 40,000 of them exceed [`SCARCE`].
fn large(i: u64) -> Vec<u8> {
    i.to_le_bytes().repeat(100)
}

/// Transactions that could all be open at once write more than memory holds: transactions that would
/// only wait for room do not begin.
#[test]
fn many_that_write_much_wait_their_turn() {
    const TASKS: u64 = 1500;
    const RECORDS: u64 = 40;
    let disk = SimulatedDisk::new(8, Faults::default());
    let mut durable = open_within(SCARCE, disk.directory());
    let table = durable.create_table("t", b"").unwrap();
    let upkeep = durable.worker.handle();
    let upkeep = upkeep.submit(|session: &Rc<Session>| session.clone().upkeep());
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let table = table.clone();
            let write = move |session: &Rc<Session>| {
                let session = session.clone();
                async move {
                    let records = task * RECORDS..(task + 1) * RECORDS;
                    let records: Vec<_> = records.map(|i| (key(i), large(i))).collect();
                    write_in_turn(&session, &table, &records).await;
                }
            };
            durable.worker.handle().submit(write)
        })
        .collect();
    for task in tasks {
        durable.worker.run_until(task).unwrap();
    }
    durable.session().wind_up();
    durable.worker.run_until(upkeep).unwrap();
    let records = durable.read(&table).into_iter();
    assert!(records.eq((0..TASKS * RECORDS).map(|i| (key(i), large(i)))));
}

/// Writes records in one transaction, some of them concurrently, until a write is refused. Counts the
/// records written.
async fn write_beside_each_other(
    transaction: &Transaction,
    table: &Table,
    records: Range<u64>,
    written: &AtomicU64,
) -> Result<(), Error> {
    for from in records.clone().step_by(100) {
        let some = from..records.end.min(from + 100);
        let mut refused = Ok(());
        let writes = some.map(async |i| {
            let (key, value) = (key(i), large(i));
            let write = transaction.insert::<Interleaved>(table, &key, &value);
            write.await
        });
        let done = |done: Result<(), Error>| match done {
            Ok(()) => drop(written.fetch_add(1, Ordering::Relaxed)),
            Err(error) => refused = Err(error),
        };
        Box::pin(together::<Interleaved, _>(writes, done)).await;
        refused?;
    }
    Ok(())
}

/// The writes of one transaction are in the way of no other, and the transaction would need as much
/// again if it were run again: it fails with exhausted memory, and soon. As long as its writes wait,
/// other transactions begin.
#[test]
fn a_transaction_that_is_larger_than_memory_is_told_so_soon() {
    let disk = SimulatedDisk::new(8, Faults::default());
    let mut durable = open_within(SCARCE, disk.directory());
    let table = durable.create_table("t", b"").unwrap();
    let upkeep = durable.worker.handle();
    let upkeep = upkeep.submit(|session: &Rc<Session>| session.clone().upkeep());
    let written = Arc::new(AtomicU64::new(0));
    let ended = Arc::new(AtomicBool::new(false));
    let neighbour = {
        let (written, ended) = (written.clone(), ended.clone());
        durable
            .worker
            .handle()
            .submit(move |session: &Rc<Session>| {
                let session = session.clone();
                async move {
                    let (mut before, mut stood_still, mut admitted) = (u64::MAX, 0, 0);
                    while !ended.load(Ordering::Relaxed) {
                        interleave::sleep(Duration::from_millis(1)).await;
                        let now = written.load(Ordering::Relaxed);
                        if std::mem::replace(&mut before, now) == now {
                            stood_still += 1;
                            admitted += u64::from(session.admits());
                        }
                    }
                    (stood_still, admitted)
                }
            })
    };
    let (error, waited) = {
        let table = table.clone();
        durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::ReadCommitted).unwrap();
            let began = Instant::now();
            let refused = write_beside_each_other(&transaction, &table, 0..100_000, &written).await;
            ended.store(true, Ordering::Relaxed);
            (refused, began.elapsed())
        })
    };
    let (stood_still, admitted) = durable.worker.run_until(neighbour).unwrap();
    assert!(stood_still > 5, "{stood_still}");
    assert_eq!(admitted, stood_still);
    assert_eq!(error, Err(Error::MemoryExhausted));
    assert!(waited < Duration::from_secs(5), "{waited:?}");
    // The transaction has left nothing, and there is room again.
    let records = (0..40).map(|i| (key(i), large(i))).collect::<Vec<_>>();
    let expected = records.clone();
    let filled = table.clone();
    durable.run(async move |session: Rc<Session>| write_in_turn(&session, &filled, &records).await);
    assert_eq!(durable.read(&table), expected);
    durable.session().wind_up();
    durable.worker.run_until(upkeep).unwrap();
}

/// A transaction that fills a large part of memory goes on as long as records of others can leave.
#[test]
fn room_is_made_for_a_large_transaction() {
    let disk = SimulatedDisk::new(8, Faults::default());
    let mut durable = open_within(SCARCE, disk.directory());
    let table = durable.create_table("t", b"").unwrap();
    let upkeep = durable.worker.handle();
    let upkeep = upkeep.submit(|session: &Rc<Session>| session.clone().upkeep());
    let in_memory = 40_000;
    for from in (0..in_memory).step_by(50) {
        let records = (from..from + 50).map(|i| (key(i), Some(large(i))));
        durable.write(&table, records.collect()).unwrap();
    }
    let filled = table.clone();
    let written = durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::ReadCommitted)?;
        let (all, written) = (in_memory + 9000, AtomicU64::new(0));
        // More than a quarter of memory.
        write_beside_each_other(&transaction, &filled, in_memory..all, &written).await?;
        let read = get(&transaction, &filled, all - 1).await;
        Ok::<_, Error>(read == Some(large(all - 1)))
    });
    assert_eq!(written, Ok(true));
    durable.session().wind_up();
    durable.worker.run_until(upkeep).unwrap();
    let records = durable.read(&table).into_iter();
    assert!(records.eq((0..in_memory).map(|i| (key(i), large(i)))));
}

/// Memory is full of records of one size, and others come back: room for them is made although no write
/// waits for it.
#[test]
fn records_of_another_size_come_back() {
    const LIMIT: usize = 24 << 20;
    let disk = SimulatedDisk::new(8, Faults::default());
    let mut durable = open_within(LIMIT, disk.directory());
    let table = durable.create_table("t", b"").unwrap();
    let upkeep = durable.worker.handle();
    let upkeep = upkeep.submit(|session: &Rc<Session>| session.clone().upkeep());
    let bytes = |i: u64| i.to_le_bytes().repeat(if i < 2000 { 60 } else { 125 });
    for from in (0..40_000).step_by(50) {
        let records = (from..from + 50).map(|i| (key(i), Some(bytes(i))));
        durable.write(&table, records.collect()).unwrap();
    }
    let before = durable.database.stats().promoted;
    for _ in 0..20 {
        let table = table.clone();
        durable.run(async move |session: Rc<Session>| {
            for i in 0..2000 {
                let transaction = session.begin(Isolation::Snapshot).unwrap();
                assert_eq!(get(&transaction, &table, i).await, Some(bytes(i)));
            }
            session.tend();
            interleave::sleep(std::time::Duration::from_millis(5)).await;
        });
    }
    let promoted = durable.database.stats().promoted - before;
    assert!(promoted >= 1000, "{promoted}");
    durable.session().wind_up();
    durable.worker.run_until(upkeep).unwrap();
}

/// Many records that are requested once do not drive out records that are requested often.
#[test]
fn who_is_asked_for_once_drives_nobody_out() {
    const OFTEN: u64 = 5000;
    const ALL: u64 = 60_000;
    let disk = SimulatedDisk::new(8, Faults::default());
    let mut durable = open_within(24 << 20, disk.directory());
    let table = durable.create_table("t", b"").unwrap();
    let upkeep = durable.worker.handle();
    let upkeep = upkeep.submit(|session: &Rc<Session>| session.clone().upkeep());
    let bytes = |i: u64| i.to_le_bytes().repeat(100);
    for from in (0..ALL).step_by(50) {
        let records = (from..from + 50).map(|i| (key(i), Some(bytes(i))));
        durable.write(&table, records.collect()).unwrap();
    }
    // Reads of the device, with the upkeep in between.
    let read = |durable: &mut Durable, from: u64, to: u64| {
        let before = durable.database.stats().cold_reads;
        for from in (from..to).step_by(1000) {
            let table = table.clone();
            durable.run(async move |session: Rc<Session>| {
                for i in from..from + 1000 {
                    let transaction = session.begin(Isolation::Snapshot).unwrap();
                    assert_eq!(get(&transaction, &table, i).await, Some(bytes(i)));
                }
                session.tend();
                interleave::sleep(std::time::Duration::from_millis(2)).await;
            });
        }
        durable.database.stats().cold_reads - before
    };
    let mut missed = OFTEN;
    for _ in 0..20 {
        missed = read(&mut durable, 0, OFTEN);
    }
    assert!(missed < OFTEN / 20, "{missed}");
    let others = read(&mut durable, OFTEN, ALL);
    assert!(others > (ALL - OFTEN) / 2, "{others}");
    let missed = read(&mut durable, 0, OFTEN);
    assert!(missed < OFTEN / 5, "{missed}");
    durable.session().wind_up();
    durable.worker.run_until(upkeep).unwrap();
}

/// A builder that finds no room waits until records have left memory.
#[test]
fn an_index_is_built_where_there_is_little_room() {
    const RECORDS: u64 = 60_000;
    let disk = SimulatedDisk::new(8, Faults::default());
    let mut durable = open_within(16 << 20, disk.directory());
    let upkeep = durable.worker.handle();
    let upkeep = upkeep.submit(|session: &Rc<Session>| session.clone().upkeep());
    let table = durable.create_table("t", b"").unwrap();
    for from in (0..RECORDS).step_by(100) {
        let records = (from..from + 100).map(|i| (key(i), Some(i.to_le_bytes().repeat(50))));
        durable.write(&table, records.collect()).unwrap();
    }
    let index = {
        let table = table.clone();
        durable.run(async move |session: Rc<Session>| {
            let extract: Extractor = Arc::new(|_, value, keys| keys.push(&value[..8]));
            let options = IndexOptions::default();
            let build = session.begin_index(&table, "by value", options, extract);
            build.unwrap().run(|_| ()).await
        })
    };
    assert!(index.is_ok(), "{index:?}");
    let found = durable.run(async move |session: Rc<Session>| {
        let index = index.unwrap();
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let mut keys = Vec::new();
        let all = (Bound::Unbounded, Bound::Unbounded);
        let scan =
            transaction.scan_by::<Interleaved>(&index, all, Direction::Forward, |_, key, _| {
                keys.push(key.to_vec());
                ControlFlow::Continue(())
            });
        scan.await.map(|_| keys)
    });
    let mut found = found.unwrap();
    found.sort_unstable();
    assert!(found.into_iter().eq((0..RECORDS).map(key)));
    durable.session().wind_up();
    durable.worker.run_until(upkeep).unwrap();
}

/// One thread demotes and moves records all the time, in memory and on the device, and takes
/// checkpoints; another overwrites them, and finds its own writes.
#[test]
fn records_leave_and_move_while_others_write_them() {
    const RECORDS: u64 = 3000;
    let disk = SimulatedDisk::new(13, Faults::default());
    let cold = ColdConfig {
        file_bytes: 64 << 10,
        ..ColdConfig::default()
    };
    let mut writer = open_with(8 << 20, cold, disk.directory());
    let table = with_records(&mut writer, RECORDS);
    let mut model: Vec<_> = (0..RECORDS).map(|i| (key(i), value(i))).collect();
    let (database, ended) = (writer.database.clone(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = Session::new(&database).unwrap();
            let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
            for turn in 0.. {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let task = worker.handle().submit(move |session: &Rc<Session>| {
                    let session = session.clone();
                    async move {
                        // The clock goes around repeatedly, or the other thread has read all records
                        // again meanwhile.
                        for _ in 0..2 {
                            session.demote(u64::MAX).await.unwrap();
                        }
                        session.gather_room(1 << 20).await.unwrap();
                        session.compact_cold_files().await.unwrap();
                        if turn % 8 == 0 {
                            session.checkpoint().await.unwrap();
                        }
                        session.tend();
                    }
                });
                worker.run_until(task).unwrap();
            }
        });
        let has_seen_all = || {
            let stats = database.stats();
            stats.demoted > 100 && stats.compacted > 0 && stats.cold_files_removed > 0
        };
        for turn in 1..1000 {
            if turn > 40 && has_seen_all() {
                break;
            }
            // The sizes differ each time: freed memory serves something else at once.
            let changed: Vec<_> = (0..RECORDS).filter(|i| (i + turn) % 3 > 0).collect();
            for &i in &changed {
                model[i as usize].1 = value(i + turn);
            }
            let new = |&i: &u64| (key(i), Some(value(i + turn)));
            writer
                .write(&table, changed.iter().map(new).collect())
                .unwrap();
            assert!(writer.read(&table) == model);
        }
        ended.store(true, Ordering::Relaxed);
    });
    let stats = writer.database.stats();
    assert!(stats.demoted > 100 && stats.compacted > 0, "{stats:?}");
    assert!(stats.cold_files_removed > 0, "{stats:?}");
}
