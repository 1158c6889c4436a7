//! A backup opens as the database was at one moment, while other sessions write.

use crate::durable;

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use durable::{Durable, open};
use engine::{
    Database, Durability, Error, Isolation, Session, Timestamp,
    backup::{self, BackupError, BackupReport},
    inspect,
};
use interleave::{Clock, Interleaved, Worker, WorkerConfig};
use io::{Directory, Faults, OpenMode, SimulatedDisk};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Writes = Vec<(Vec<u8>, Option<Vec<u8>>)>;
type History = BTreeMap<Timestamp, Writes>;

fn go_on(_: &inspect::Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn disk(seed: u64) -> SimulatedDisk {
    let faults = Faults {
        delay_reaps_max: (seed % 4) as u32 * 3,
        ..Faults::default()
    };
    SimulatedDisk::new(seed, faults)
}

fn checkpoint(durable: &mut Durable) {
    let taken = durable.run(async |session: Rc<Session>| session.checkpoint().await);
    taken.expect("a checkpoint");
}

/// Returns the writes of a writer's n-th transaction: a few of the same hundred keys.
fn writes(writer: u64, number: u64) -> Writes {
    let key = |i: u64| format!("key {:03}", (number * 7 + writer * 3 + i * 41) % 100);
    let value = format!("{writer} {number} ").repeat(1 + number as usize % 20);
    (0..3)
        .map(|i| {
            let deletes = (number + i).is_multiple_of(5);
            let value = (!deletes).then(|| value.clone().into_bytes());
            (key(i).into_bytes(), value)
        })
        .collect()
}

/// Commits until told to stop, in a session of its own; returns everything that it committed.
fn keep_writing(
    database: &Arc<Database>,
    writer: u64,
    stop: &AtomicBool,
    commits: &AtomicU64,
) -> History {
    let table = database.table("t").expect("there");
    let session = Session::new(database).expect("a session");
    let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
    let mut history = History::new();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (table, ours) = (table.clone(), writes(writer, number));
        let task = worker.handle().submit(move |session: &Rc<Session>| {
            let session = session.clone();
            async move {
                let transaction = session.begin(Isolation::Snapshot)?;
                if number % 3 == 0 {
                    transaction.set_durability(Durability::Relaxed);
                }
                let mut written = Writes::new();
                for (key, value) in ours {
                    let is_written = match &value {
                        Some(value) => {
                            let upsert = transaction.upsert::<Interleaved>(&table, &key, value);
                            upsert.await.map(|()| true)?
                        }
                        // A delete of a key that the snapshot does not have deletes nothing, though
                        // another transaction may have inserted the key by the time of the commit.
                        None => transaction.delete::<Interleaved>(&table, &key).await?,
                    };
                    if is_written {
                        written.push((key, value));
                    }
                }
                Ok::<_, Error>((transaction.commit().await?, written))
            }
        });
        match worker.run_until(task).expect("ends") {
            Ok((timestamp, written)) => {
                history.insert(timestamp, written);
                commits.fetch_add(1, Ordering::Relaxed);
            }
            // The next transaction may commit.
            Err(Error::Abort(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    history
}

/// Returns the state at a moment.
fn at(history: &History, up_to: Timestamp) -> Model {
    let mut model = Model::new();
    for (key, value) in history.range(..=up_to).flat_map(|(_, writes)| writes) {
        match value {
            Some(value) => drop(model.insert(key.clone(), value.clone())),
            None => drop(model.remove(key)),
        }
    }
    model
}

/// Opens the database in a directory, and returns its content.
fn contents(directory: Arc<dyn Directory>) -> (Timestamp, Model) {
    let mut durable = open(directory).expect("opens");
    let up_to = durable.report.recovered_up_to;
    let table = durable.database.table("t").expect("there");
    (up_to, durable.read(&table).into_iter().collect())
}

fn check(disk: &SimulatedDisk) {
    let report = inspect::check(&disk.directory(), &mut |_| {}).unwrap();
    assert!(report.is_sound(), "{report}");
    assert!(report.findings.is_empty(), "{report}");
}

#[test]
fn a_backup_under_concurrent_writers_is_the_state_at_one_moment() {
    for seed in 0..6 {
        let original = disk(seed);
        let mut durable = open(original.directory()).unwrap();
        durable.create_table("t", b"described").unwrap();
        let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut backups: Vec<(BackupReport, SimulatedDisk)> = Vec::new();
        let history = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2)
                .map(|writer| {
                    let (database, stop, commits) = (&durable.database, &stop, &commits);
                    scope.spawn(move || keep_writing(database, writer, stop, commits))
                })
                .collect();
            let mut worker = Worker::new(
                WorkerConfig::default(),
                Session::new(&durable.database).unwrap(),
                Clock::real(),
            );
            for number in 0..8 {
                // There are new commits between any two backups.
                let before = commits.load(Ordering::Relaxed);
                while commits.load(Ordering::Relaxed) < before + 30 {
                    std::thread::yield_now();
                }
                if number % 3 == 0 {
                    let task = worker.handle().submit(|session: &Rc<Session>| {
                        let session = session.clone();
                        async move { session.checkpoint().await }
                    });
                    worker.run_until(task).unwrap().unwrap();
                }
                let target = SimulatedDisk::new(seed, Faults::default());
                let report = durable.database.backup(&target.directory(), &mut go_on);
                backups.push((report.unwrap(), target));
            }
            drop(worker);
            stop.store(true, Ordering::Relaxed);
            let histories = writers.into_iter().map(|writer| writer.join().unwrap());
            histories.flatten().collect::<History>()
        });
        assert!(history.len() >= 240);
        for (report, target) in backups {
            check(&target);
            // A power failure right after the backup loses nothing.
            let target = target.after_crash(seed);
            let restored = SimulatedDisk::new(seed, Faults::default());
            let copied = backup::copy(&target.directory(), &restored.directory(), &mut go_on);
            assert_eq!(copied.unwrap().up_to, report.up_to);
            check(&restored);
            let expected = (report.up_to, at(&history, report.up_to));
            assert!(contents(target.directory()) == expected, "seed {seed}");
            assert!(contents(restored.directory()) == expected, "seed {seed}");
            // The restored directory goes on as a database, again and again.
            let again = contents(restored.directory());
            assert!(again == expected, "seed {seed}");
        }
        drop(durable);
        let last = history.keys().next_back().copied().unwrap_or_default();
        assert!(contents(original.directory()).1 == at(&history, last));
    }
}

/// Makes a database with a checkpoint and log behind it.
fn small() -> (SimulatedDisk, Durable) {
    let disk = disk(1);
    let mut durable = open(disk.directory()).unwrap();
    let table = durable.create_table("t", b"").unwrap();
    durable.write(&table, writes(0, 1)).unwrap();
    checkpoint(&mut durable);
    durable.write(&table, writes(0, 2)).unwrap();
    (disk, durable)
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left_of_a_failure() {
    let (original, durable) = small();
    let target = SimulatedDisk::new(1, Faults::default());
    let directory = target.directory();
    directory.open("mine", OpenMode::Create, false).unwrap();
    let refused = durable.database.backup(&directory, &mut go_on);
    assert!(matches!(refused, Err(BackupError::NotEmpty(_))));
    assert_eq!(directory.list().unwrap(), ["mine"]);
    directory.remove("mine").unwrap();

    let cancelled = durable
        .database
        .backup(&directory, &mut |_| ControlFlow::Break(()));
    assert!(matches!(cancelled, Err(BackupError::Cancelled)));
    assert!(directory.list().unwrap().is_empty());

    target.set_faults(Faults {
        capacity_bytes: Some(6000),
        ..Faults::default()
    });
    let full = durable.database.backup(&directory, &mut go_on);
    assert!(matches!(full, Err(BackupError::Device(_))), "{full:?}");
    assert!(directory.list().unwrap().is_empty());

    target.set_faults(Faults::default());
    let report = durable.database.backup(&directory, &mut go_on).unwrap();
    assert_eq!((report.files, report.checkpoint_records), (4, 5));
    drop(durable);
    // Copies of an open directory, and of an empty one, are refused too.
    let (other, held) = small();
    let empty = SimulatedDisk::new(1, Faults::default());
    let open = backup::copy(&other.directory(), &empty.directory(), &mut go_on);
    assert!(matches!(open, Err(BackupError::Source(_))), "{open:?}");
    drop(held);
    let nothing = backup::copy(&empty.directory(), &disk(2).directory(), &mut go_on);
    assert!(
        matches!(nothing, Err(BackupError::Source(_))),
        "{nothing:?}"
    );
    let itself = backup::copy(&original.directory(), &original.directory(), &mut go_on);
    assert!(matches!(itself, Err(BackupError::Target(_))), "{itself:?}");
}

#[test]
fn whenever_the_power_fails_there_is_a_whole_backup_or_none() {
    let written = [(Timestamp(1), writes(0, 1)), (Timestamp(2), writes(0, 2))];
    let expected = at(&History::from(written), Timestamp(2));
    let mut changes = 0;
    loop {
        let (_original, durable) = small();
        let target = SimulatedDisk::new(changes, Faults::default());
        target.crash_after(changes);
        let made = durable.database.backup(&target.directory(), &mut go_on);
        target.crash();
        let is_there = target
            .directory()
            .list()
            .unwrap()
            .iter()
            .any(|name| name == "MANIFEST");
        if is_there {
            check(&target);
            assert_eq!(contents(target.directory()).1, expected);
        } else {
            assert!(made.is_err(), "after {changes} changes");
            assert!(
                !target
                    .directory()
                    .list()
                    .unwrap()
                    .contains(&"MANIFEST".to_owned())
            );
        }
        if made.is_ok() {
            break;
        }
        changes += 1;
    }
    assert!(changes > 6, "{changes}");
}

#[test]
fn damaged_files_are_not_copied() {
    for name in ["checkpoint-00000000", "log-00000000"] {
        let (original, durable) = small();
        let flip = |offset| {
            let file = original
                .directory()
                .open(name, OpenMode::Write, false)
                .unwrap();
            let mut byte = [0];
            file.read_at(&mut byte, offset).unwrap();
            file.write_at(&[!byte[0]], offset).unwrap();
        };
        let offset = if name.starts_with('l') { 8192 + 40 } else { 70 };
        flip(offset);
        let target = SimulatedDisk::new(1, Faults::default());
        let refused = durable.database.backup(&target.directory(), &mut go_on);
        assert!(
            matches!(refused, Err(BackupError::Source(_))),
            "{refused:?}"
        );
        assert!(target.directory().list().unwrap().is_empty());
        drop(durable);
        flip(offset);
        // The last block of a log may be torn; a block in its middle may not.
        flip(if name.starts_with('l') { 4096 + 40 } else { 70 });
        let refused = backup::copy(&original.directory(), &target.directory(), &mut go_on);
        assert!(
            matches!(refused, Err(BackupError::Damaged(_))),
            "{refused:?}"
        );
        assert!(target.directory().list().unwrap().is_empty());
    }
}

#[test]
fn a_checkpoint_of_this_opening_is_needed() {
    let (disk, durable) = small();
    drop(durable);
    let durable = open(disk.directory()).unwrap();
    let target = SimulatedDisk::new(1, Faults::default());
    let refused = durable.database.backup(&target.directory(), &mut go_on);
    assert!(matches!(refused, Err(BackupError::NoCheckpoint)));
}
