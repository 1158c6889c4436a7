//! Room in memory: made by moving versions and by records that leave, and waited for.

use super::*;

/// Hot records lie between records that have left memory: they are moved together, and then there is
/// room for something else. No reader sees a difference, whether it has read before or reads meanwhile.
#[test]
fn versions_that_stay_in_memory_are_moved_together() {
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

/// The redo records of a large transaction are put together in memory before it commits, and records leave for them.
/// Once memory was full, each COPY of many rows was refused at its commit, with exhausted memory.
#[test]
fn room_is_made_for_the_commit_of_a_large_transaction() {
    const AT_ONCE: u64 = 5_000;
    const ALL: u64 = 12 * AT_ONCE;
    let disk = SimulatedDisk::new(8, Faults::default());
    let mut durable = open_within(SCARCE, disk.directory());
    let table = durable.create_table("t", b"").unwrap();
    let upkeep = durable.worker.handle();
    let upkeep = upkeep.submit(|session: &Rc<Session>| session.clone().upkeep());
    for from in (0..ALL).step_by(AT_ONCE as usize) {
        let filled = table.clone();
        let written = durable.run(async move |session: Rc<Session>| {
            let transaction = session.begin(Isolation::ReadCommitted)?;
            let (records, written) = (from..from + AT_ONCE, AtomicU64::new(0));
            write_beside_each_other(&transaction, &filled, records, &written).await?;
            transaction.commit().await
        });
        assert!(written.is_ok(), "{from}: {written:?}");
    }
    durable.session().wind_up();
    durable.worker.run_until(upkeep).unwrap();
    let records = durable.read(&table).into_iter();
    assert!(records.eq((0..ALL).map(|i| (key(i), large(i)))));
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
fn records_asked_for_once_drive_no_others_out() {
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
