//! The change stream: all commits, once, in commit order, from any position that is kept, through
//! crashes and openings of the database.

use crate::durable;

use std::{collections::BTreeMap, ops::Range, rc::Rc, sync::Arc};

use durable::{Durable, LOG, open_with, open_within};
use engine::{
    ChangedTransaction, ChangesError, ChangesFrom, Database, DatabaseConfig, Direction, Durability,
    Error, Isolation, LogConfig, RecoveryConfig, Session, Table, Timestamp,
};
use interleave::{Clock, Interleaved, Sequential, Worker, WorkerConfig, run_inline};
use io::{Directory, Faults, SimulatedDisk};

type Changed = (Vec<u8>, Option<Vec<u8>>);
type Commits = Vec<(Timestamp, Vec<Changed>)>;

/// Log settings that keep more than any of these tests writes.
const KEEPS_ALL: LogConfig = LogConfig {
    change_retention_bytes: 1 << 40,
    ..LOG
};

fn open(disk: &SimulatedDisk, log: LogConfig) -> Durable {
    let mut durable = open_with(disk.directory(), log, RecoveryConfig::default()).unwrap();
    if durable.database.table("t").is_none() {
        durable.create_table("t", &[]).unwrap();
    }
    durable
}

fn table(database: &Database) -> Arc<Table> {
    database.table("t").expect("made when it was opened")
}

/// Returns the writes of transaction `number`: some records of all lengths, some deletions.
fn records(number: u32) -> Vec<Changed> {
    let mut records = BTreeMap::new();
    for part in 0..number % 4 + 1 {
        let key = format!("{}", (number * 7 + part * 3) % 40).into_bytes();
        let bytes = (number * 577 + part * 91) as usize % 3000;
        records.insert(key, Some(vec![number as u8; bytes]));
    }
    // The record was written by one of the four transactions before, at least once.
    let earlier = format!("{}", (number.saturating_sub(1) * 7) % 40).into_bytes();
    if number % 3 == 2 && !records.contains_key(&earlier) {
        records.insert(earlier, None);
    }
    records.into_iter().collect()
}

/// Commits one transaction after the other.
fn write(durable: &mut Durable, numbers: Range<u32>, commits: &mut Commits) {
    let table = table(&durable.database);
    for number in numbers {
        let at = durable.write(&table, records(number)).expect("commits");
        commits.push((at, records(number)));
    }
}

/// Commits one transaction after the other, in a lane of another session.
fn write_elsewhere(durable: &Durable, numbers: Range<u32>, commits: &mut Commits) {
    write_all_elsewhere(durable, numbers.map(records), commits);
}

/// Commits a transaction for each list of records, in a lane of another session.
fn write_all_elsewhere(
    durable: &Durable,
    transactions: impl Iterator<Item = Vec<Changed>>,
    commits: &mut Commits,
) {
    let session = Session::new(&durable.database).expect("a session");
    let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
    for records in transactions {
        let (table, written) = (table(&durable.database), records.clone());
        let task = worker.handle().submit(move |session: &Rc<Session>| {
            let session = session.clone();
            async move {
                let transaction = session.begin(Isolation::Snapshot)?;
                for (key, value) in written {
                    match value {
                        Some(value) => {
                            transaction
                                .upsert::<Interleaved>(&table, &key, &value)
                                .await?
                        }
                        None => drop(transaction.delete::<Interleaved>(&table, &key).await?),
                    }
                }
                transaction.commit().await
            }
        });
        let at = worker.run_until(task).expect("the task ends");
        commits.push((at.expect("commits"), records));
    }
}

fn changed(transaction: &ChangedTransaction) -> (Timestamp, Vec<Changed>) {
    let records = transaction.records().map(|record| {
        let value = record.value.map(<[u8]>::to_vec);
        (record.key.to_vec(), value)
    });
    let records: Vec<Changed> = records.collect();
    assert_eq!(records.len(), transaction.len());
    (transaction.timestamp(), records)
}

/// Returns the commits after one position, up to another.
fn stream(
    durable: &mut Durable,
    from: ChangesFrom,
    up_to: Timestamp,
) -> Result<Commits, ChangesError> {
    durable.run(async move |session: Rc<Session>| {
        let mut reader = session.changes(from).await?;
        let mut all = Vec::new();
        while reader.position() < up_to {
            let batch = reader.next(&session).await?;
            // The table is made by a transaction that changes no record.
            let of_records = batch
                .iter()
                .filter(|transaction| transaction.records().next().is_some());
            all.extend(of_records.map(changed));
        }
        Ok(all)
    })
}

/// Checks that the stream from every position that is not older than `oldest` has the commits that
/// follow.
fn assert_streams(durable: &mut Durable, commits: &Commits, oldest: Timestamp) {
    let up_to = commits.last().expect("something was committed").0;
    for (index, &(position, _)) in commits.iter().enumerate() {
        if position < oldest || (commits.len() > 100 && index % 17 > 0) {
            continue;
        }
        let found = stream(durable, ChangesFrom::After(position), up_to).expect("is kept");
        assert!(
            found == commits[index + 1..],
            "{} after {position:?} in place of {}",
            found.len(),
            commits.len() - index - 1,
        );
    }
}

fn checkpoint(durable: &mut Durable) -> u64 {
    let taken = durable.run(async |session: Rc<Session>| session.checkpoint().await);
    taken.expect("a checkpoint").log_files_freed
}

fn oldest(durable: &mut Durable) -> Timestamp {
    match stream(durable, ChangesFrom::Beginning, Timestamp(1)) {
        Ok(_) => Timestamp(0),
        Err(ChangesError::NotKept { oldest, .. }) => oldest,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn all_lanes_in_commit_order_from_every_position() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, LOG);
    let mut commits = Commits::new();
    write(&mut durable, 0..20, &mut commits);
    write_elsewhere(&durable, 20..40, &mut commits);
    write(&mut durable, 40..45, &mut commits);
    write_elsewhere(&durable, 45..60, &mut commits);
    // The other lane is idle from now on.
    write(&mut durable, 60..80, &mut commits);
    assert!(commits.is_sorted_by_key(|commit| commit.0));
    assert_streams(&mut durable, &commits, Timestamp(0));
    let all = stream(&mut durable, ChangesFrom::Beginning, commits[79].0).unwrap();
    assert!(all == commits);
}

#[test]
fn goes_on_across_checkpoints_crashes_and_openings() {
    let mut disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, KEEPS_ALL);
    let mut commits = Commits::new();
    for round in 0..6 {
        let first = round * 1000;
        write(&mut durable, first..first + 30, &mut commits);
        write_elsewhere(&durable, first + 30..first + 60, &mut commits);
        if round % 3 == 1 {
            checkpoint(&mut durable);
            write(&mut durable, first + 60..first + 70, &mut commits);
            // Superseded blocks of one lane are in a file that the lane goes on writing.
            checkpoint(&mut durable);
        }
        assert_streams(&mut durable, &commits, Timestamp(0));
        if round % 2 == 0 {
            disk.crash();
            drop(durable);
            disk = disk.after_crash(round.into());
        } else {
            drop(durable);
        }
        durable = open(&disk, KEEPS_ALL);
        assert_streams(&mut durable, &commits, Timestamp(0));
    }
}

/// Fills several log files.
fn write_much(durable: &mut Durable, rounds: Range<u32>, commits: &mut Commits) {
    for round in rounds {
        write(durable, round * 400..round * 400 + 400, commits);
        write_elsewhere(durable, round * 400..round * 400 + 20, commits);
        checkpoint(durable);
    }
}

fn log_bytes(disk: &SimulatedDisk) -> u64 {
    let directory = disk.directory();
    let names = directory.list().unwrap().into_iter();
    let logs = names.filter(|name| name.starts_with("log-"));
    let length = |name: String| {
        let file = directory.open(&name, io::OpenMode::Read, false).unwrap();
        file.length().unwrap()
    };
    logs.map(length).sum()
}

#[test]
fn kept_segments_are_bounded_and_complete() {
    for retention in [0, 2 << 20, 5 << 20] {
        let log = LogConfig {
            change_retention_bytes: retention,
            ..LOG
        };
        let disk = SimulatedDisk::new(1, Faults::default());
        let mut durable = open(&disk, log);
        let mut commits = Commits::new();
        let mut before = Timestamp(0);
        for round in 0..8 {
            write_much(&mut durable, round..round + 1, &mut commits);
            let oldest = oldest(&mut durable);
            assert!(oldest >= before);
            before = oldest;
            assert_streams(&mut durable, &commits, oldest);
        }
        assert!(before > Timestamp(0), "nothing was given up");
        // Besides, each of three lanes has two segments, and some segments are free.
        assert!(log_bytes(&disk) <= retention + (14 << 20));
        for _ in 0..2 {
            drop(durable);
            durable = open(&disk, log);
            assert_eq!(oldest(&mut durable), before);
            assert_streams(&mut durable, &commits, before);
        }
        let error = stream(&mut durable, ChangesFrom::Beginning, before).unwrap_err();
        assert!(error.to_string().contains("change_retention_bytes"));
    }
}

#[test]
fn a_slow_reader_is_told() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, LOG);
    let mut commits = Commits::new();
    write(&mut durable, 0..50, &mut commits);
    let slow = durable.run(async |session: Rc<Session>| {
        let mut reader = session.changes(ChangesFrom::Beginning).await.unwrap();
        let first = reader.next(&session).await.unwrap();
        (reader, first.len())
    });
    let (mut reader, _) = slow;
    write_much(&mut durable, 0..6, &mut commits);
    let position = reader.position();
    let (mut found, error) = durable.run(async move |session: Rc<Session>| {
        let mut found = Vec::new();
        loop {
            match reader.next(&session).await {
                Ok(batch) => found.extend(batch.iter().map(changed)),
                Err(error) => return (found, error),
            }
        }
    });
    // Commits that were read before are right.
    let rest = commits
        .iter()
        .position(|commit| commit.0 > position)
        .unwrap();
    found.truncate(1);
    assert!(found.is_empty() || found[0] == commits[rest]);
    assert!(matches!(error, ChangesError::NotKept { .. }), "{error}");
}

#[test]
fn a_copy_and_what_follows_is_the_table() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, LOG);
    let mut commits = Commits::new();
    write(&mut durable, 0..100, &mut commits);
    let ours = table(&durable.database);
    let (snapshot, mut copy) = durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let snapshot = transaction.snapshot();
        let mut copy = BTreeMap::new();
        // Another transaction writes between the snapshot and the copy.
        let other = session.begin(Isolation::Snapshot).unwrap();
        let write = other.upsert::<Interleaved>(&ours, b"late", b"v");
        write.await.unwrap();
        other.commit().await.unwrap();
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let scanned = transaction.scan::<Interleaved>(&ours, all, Direction::Forward, |k, v| {
            copy.insert(k.to_vec(), v.to_vec());
            std::ops::ControlFlow::Continue(())
        });
        scanned.await.unwrap();
        (snapshot, copy)
    });
    assert!(!copy.contains_key(&b"late"[..]));
    write(&mut durable, 100..150, &mut commits);
    let up_to = commits.last().unwrap().0;
    for (_, records) in stream(&mut durable, ChangesFrom::After(snapshot), up_to).unwrap() {
        for (key, value) in records {
            match value {
                Some(value) => drop(copy.insert(key, value)),
                None => drop(copy.remove(&key)),
            }
        }
    }
    let live: BTreeMap<_, _> = durable
        .read(&table(&durable.database))
        .into_iter()
        .collect();
    assert!(live == copy);
}

#[test]
fn a_position_is_durable_when_the_reader_is_there() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, LOG);
    let ours = table(&durable.database);
    let (snapshot, from_now) = durable.run(async move |session: Rc<Session>| {
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        transaction.set_durability(Durability::None);
        run_inline(transaction.upsert::<Sequential>(&ours, b"k", b"v")).unwrap();
        let at = transaction.commit().await.unwrap();
        assert!(session.database().durable_up_to() < Some(at));
        let after = ChangesFrom::After(at);
        let reader = session.changes(after).await.unwrap();
        assert!(session.database().durable_up_to() >= Some(at));
        let from_now = session.changes(ChangesFrom::Now).await.unwrap();
        (reader.position(), from_now.position())
    });
    assert_eq!(snapshot, from_now);
}

#[test]
fn waits_for_what_comes() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, LOG);
    let mut commits = Commits::new();
    write(&mut durable, 0..10, &mut commits);
    let handle = durable.worker.handle();
    let task = handle.submit(|session: &Rc<Session>| {
        let session = session.clone();
        async move {
            let mut reader = session.changes(ChangesFrom::Now).await.unwrap();
            let mut found = Vec::new();
            while found.len() < 20 {
                let batch = reader.next(&session).await.unwrap();
                assert!(!batch.is_empty());
                found.extend(batch.iter().map(changed));
            }
            found
        }
    });
    // The reader has begun by the time that another task has had its turn.
    durable.run(async |_| interleave::yield_now().await);
    commits.clear();
    write_elsewhere(&durable, 10..20, &mut commits);
    write(&mut durable, 20..30, &mut commits);
    assert!(durable.worker.run_until(task).expect("ends") == commits);
}

/// A transaction that fails its certification has a timestamp by then, and leaves an empty
/// transaction in the log: the frontier counts on it, and the stream passes over it.
#[test]
fn transactions_that_were_not_certified_are_passed_over() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, LOG);
    let ours = table(&durable.database);
    let (before, after) = durable.run(async move |session: Rc<Session>| {
        let setup = session.begin(Isolation::Serializable).unwrap();
        for key in [b"a", b"b"] {
            setup.upsert::<Interleaved>(&ours, key, b"0").await.unwrap();
        }
        let before = setup.commit().await.unwrap();
        let [one, other] = [0, 1].map(|_| session.begin(Isolation::Serializable).unwrap());
        for (transaction, reads, writes) in [(&one, b"a", b"b"), (&other, b"b", b"a")] {
            let read = transaction.get::<Interleaved, _>(&ours, reads, <[u8]>::to_vec);
            read.await.unwrap();
            let write = transaction.upsert::<Interleaved>(&ours, writes, b"1");
            write.await.unwrap();
        }
        let after = one.commit().await.unwrap();
        other
            .commit()
            .await
            .expect_err("one of them comes too late");
        (before, after)
    });
    let aborted = durable.database.now();
    assert!(aborted > after, "it had a timestamp");
    let mut commits = Commits::new();
    write(&mut durable, 0..1, &mut commits);
    let up_to = commits[0].0;
    let found = stream(&mut durable, ChangesFrom::After(before), up_to).unwrap();
    let positions: Vec<Timestamp> = found.iter().map(|found| found.0).collect();
    assert_eq!(positions, [after, up_to]);
    let found = stream(&mut durable, ChangesFrom::After(aborted), up_to).unwrap();
    assert!(found == commits);
}

#[test]
fn an_end_of_the_session_ends_a_wait() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, LOG);
    let task = durable.worker.handle().submit(|session: &Rc<Session>| {
        let session = session.clone();
        async move {
            let mut reader = session.changes(ChangesFrom::Now).await.unwrap();
            reader.next(&session).await.map(drop)
        }
    });
    durable.run(async |_| interleave::yield_now().await);
    durable.session().wind_up();
    let ended = durable.worker.run_until(task).expect("ends");
    assert!(matches!(ended, Err(ChangesError::Engine(Error::Ended))));
}

/// The first transaction of a segment was once noted as the one behind the large one that had asked
/// for the segment: a reader that began there passed over the large one without an error.
#[test]
fn a_large_transaction_at_the_beginning_of_a_segment_is_in_the_stream() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, KEEPS_ALL);
    let large = |first: u8| -> Vec<Changed> {
        let keys = (0..30).map(|key| vec![first, key]);
        keys.map(|key| (key, Some(vec![first; 50_000]))).collect()
    };
    let mut commits = Commits::new();
    write(&mut durable, 0..10, &mut commits);
    for first in 100..103 {
        write_all_elsewhere(&durable, std::iter::once(large(first)), &mut commits);
        assert_streams(&mut durable, &commits, Timestamp(0));
    }
    write_all_elsewhere(&durable, (103..106).map(large), &mut commits);
    assert_streams(&mut durable, &commits, Timestamp(0));
}

#[test]
fn large_transactions_count_as_memory() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let limit = 48 << 20;
    let durable = open_within(limit, disk.directory(), LOG, RecoveryConfig::default());
    let mut durable = durable.unwrap();
    let table = durable.create_table("t", &[]).unwrap();
    let large = (0..30_u8).map(|key| (vec![key], Some(vec![key; 200_000])));
    let large: Vec<Changed> = large.collect();
    let mut commits = Commits::new();
    write(&mut durable, 0..10, &mut commits);
    let at = durable.write(&table, large.clone()).unwrap();
    commits.push((at, large));
    write(&mut durable, 10..20, &mut commits);
    assert_streams(&mut durable, &commits, Timestamp(0));

    let reserved = |durable: &Durable| durable.database.memory().reserved_bytes;
    let before = reserved(&durable);
    let from = ChangesFrom::After(commits[9].0);
    let (mut reader, batch) = durable.run(async move |session: Rc<Session>| {
        let mut reader = session.changes(from).await.unwrap();
        let batch = reader.next(&session).await.unwrap();
        (reader, batch)
    });
    assert!(reserved(&durable) >= before + 6_000_000);
    let arena = durable.database.arena().clone();
    let mut rest = Vec::new();
    for bytes in [1 << 20, 1 << 12] {
        rest.extend(std::iter::from_fn(|| arena.reserve(bytes).ok()));
    }
    let (mut reader, refused) = durable.run(async move |session: Rc<Session>| {
        let refused = session.changes(from).await;
        let refused = refused.unwrap().next(&session).await;
        reader.next(&session).await.ok();
        (reader, refused)
    });
    let exhausted = ChangesError::Engine(Error::MemoryExhausted);
    assert_eq!(refused.unwrap_err().to_string(), exhausted.to_string());
    drop((rest, batch));
    let up_to = commits.last().unwrap().0;
    let last = durable.run(async move |session: Rc<Session>| {
        while reader.position() < up_to {
            reader.next(&session).await.unwrap();
        }
        reader.position()
    });
    assert_eq!(last, up_to);
    assert_eq!(reserved(&durable), before);
}

#[test]
fn refusals_say_why() {
    let database = Database::new(DatabaseConfig::with_memory(4 << 20)).unwrap();
    let session = Session::new(&database).unwrap();
    let in_memory = run_inline(session.changes(ChangesFrom::Now));
    assert!(matches!(in_memory, Err(ChangesError::InMemory)));

    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, LOG);
    let mut commits = Commits::new();
    write(&mut durable, 0..3, &mut commits);
    let newest = commits[2].0;
    let later = Timestamp(newest.0 + 1);
    let early = stream(&mut durable, ChangesFrom::After(later), later).unwrap_err();
    assert!(
        matches!(early, ChangesError::Unreached { position, newest: at } if position == later && at == newest)
    );
}

#[test]
fn a_destroyed_history_is_no_silent_loss() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, KEEPS_ALL);
    let mut commits = Commits::new();
    write_much(&mut durable, 0..4, &mut commits);
    assert_eq!(oldest(&mut durable), Timestamp(0));
    drop(durable);
    // Damage is reported as damage, and a missing file makes the history shorter: neither keeps the
    // database from opening.
    assert!(disk.rot("log-00000000", 13_096..13_196, 1));
    let mut durable = open(&disk, KEEPS_ALL);
    let up_to = commits.last().unwrap().0;
    let damaged = stream(&mut durable, ChangesFrom::Beginning, up_to);
    assert!(matches!(damaged, Err(ChangesError::Damaged(_))));
    drop(durable);
    disk.directory().remove("log-00000000").unwrap();
    let mut durable = open(&disk, KEEPS_ALL);
    let later = oldest(&mut durable);
    assert!(later > Timestamp(0) && later < up_to);
    assert_streams(&mut durable, &commits, later);
}

#[test]
fn a_backup_begins_with_its_checkpoint() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut durable = open(&disk, KEEPS_ALL);
    let mut commits = Commits::new();
    write_much(&mut durable, 0..3, &mut commits);
    let since = commits.last().unwrap().0;
    write(&mut durable, 2000..2020, &mut commits);
    let copy = SimulatedDisk::new(2, Faults::default());
    let to: Arc<dyn Directory> = copy.directory();
    let go_on = &mut |_: &_| std::ops::ControlFlow::Continue(());
    durable.database.backup(&to, go_on).unwrap();
    let offline = SimulatedDisk::new(3, Faults::default());
    drop(durable);
    let (from, to): (Arc<dyn Directory>, Arc<dyn Directory>) =
        (disk.directory(), offline.directory());
    engine::backup::copy(&from, &to, go_on).unwrap();
    for copy in [copy, offline] {
        let mut durable = open(&copy, KEEPS_ALL);
        assert_eq!(oldest(&mut durable), since);
        assert_streams(&mut durable, &commits, since);
    }
}
