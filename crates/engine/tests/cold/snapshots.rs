//! Isolation over records that leave memory and come back.

use super::*;

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
fn no_transaction_can_tell_where_records_are() {
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

/// Handles on snapshots, and their readers on another worker, while records leave memory, cold files
/// are compacted and removed, and superseded versions are collected.
#[test]
fn a_shared_snapshot_does_not_depend_on_where_records_are() {
    let (mut compacted, mut promoted, mut collected) = (0, 0, 0);
    for seed in 1..=8 {
        let mut rng = Rng(seed);
        let disk = SimulatedDisk::new(seed, Faults::default());
        let mut durable = open_with_files_of(8 << 10, disk.directory());
        let table = with_records(&mut durable, 200);
        let session = Session::new(&durable.database).unwrap();
        let mut other = Worker::new(WorkerConfig::default(), session, Clock::real());
        let mut model: BTreeMap<_, _> = (0..200).map(|i| (key(i), value(i))).collect();
        let mut held: Vec<(SharedSnapshot, BTreeMap<_, _>)> = Vec::new();
        for turn in 0..300 {
            match rng.below(12) {
                0..2 => drop(demote_all(&mut durable)),
                2 => compacted += compact_all(&mut durable),
                3 if turn % 3 == 0 => take_checkpoint(&mut durable),
                4 => {
                    if held.len() == 3 {
                        held.swap_remove(rng.below(3) as usize);
                    }
                    let maker = durable.session().begin(Isolation::Snapshot).unwrap();
                    let snapshot = maker.statement_snapshot().unwrap().share().unwrap();
                    held.push((snapshot, model.clone()));
                }
                5..8 if !held.is_empty() => {
                    let (snapshot, seen) = &held[rng.below(held.len() as u64) as usize];
                    let before = durable.database.stats().promoted;
                    let read = read_at(&mut other, snapshot.clone(), table.clone());
                    assert!(read.into_iter().eq(seen.clone()), "{seed}, {turn}");
                    promoted += durable.database.stats().promoted - before;
                }
                _ => {
                    let records = (0..1 + rng.below(6)).map(|_| {
                        let (i, new) = (key(rng.below(220)), value(rng.below(1000)));
                        (i, (rng.below(4) > 0).then_some(new))
                    });
                    let records: Vec<_> = records.collect();
                    for (key, new) in &records {
                        match new {
                            Some(new) => drop(model.insert(key.clone(), new.clone())),
                            None => drop(model.remove(key)),
                        }
                    }
                    durable.write(&table, records).unwrap();
                    durable.session().tend();
                }
            }
        }
        drop(held);
        other.local().tend();
        durable.session().tend();
        collected += durable.database.stats().versions_collected;
        assert_eq!(durable.database.horizon(), durable.database.now());
    }
    assert!(promoted > 1000, "{promoted} are to be read on the device");
    assert!(
        compacted > 20 && collected > 200,
        "{compacted}, {collected}"
    );
}

/// Reads all records of `table` at `snapshot`, on the worker.
fn read_at(
    worker: &mut Worker<Session>,
    snapshot: SharedSnapshot,
    table: Arc<Table>,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let task = worker.handle().submit(move |session: &Rc<Session>| {
        let session = session.clone();
        async move {
            let transaction = session.begin_at(&snapshot).unwrap();
            drop(snapshot);
            // Scans leave cold records where they are; other reads bring them back.
            let mut found = Vec::new();
            for i in 0..220 {
                let read = get(&transaction, &table, i).await;
                found.extend(read.map(|value| (key(i), value)));
            }
            let mut all = Vec::new();
            let range = (Bound::Unbounded, Bound::Unbounded);
            let visit = |key: &[u8], value: &[u8]| {
                all.push((key.to_vec(), value.to_vec()));
                ControlFlow::Continue(())
            };
            let scan = transaction.scan::<Interleaved>(&table, range, Direction::Forward, visit);
            scan.await.unwrap();
            assert_eq!(all, found);
            transaction.commit().await.unwrap();
            session.tend();
            all
        }
    });
    worker.run_until(task).unwrap()
}
