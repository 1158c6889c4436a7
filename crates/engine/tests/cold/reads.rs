//! Cold records that are read: one by one, in groups, by scans; and records that are asked for again.

use super::*;

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
fn cold_records_are_read_in_points_groups_and_scans() {
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

/// Ranges whose cold records were read together are scanned without another wait. Ranges that are hot, empty or not
/// looked for are scanned as ever.
#[test]
fn cold_records_of_many_ranges_are_read_together() {
    let mut durable = open(SimulatedDisk::new(3, Faults::default()).directory());
    let table = with_records(&mut durable, 1000);
    assert_eq!(demote_all(&mut durable), 1000);
    // Every tenth record is hot.
    let changes = (0..1000).step_by(10).map(|i| (key(i), Some(value(i))));
    durable.write(&table, changes.collect()).unwrap();
    durable.run(async move |session: Rc<Session>| {
        let bounds: Vec<_> = (0..60).map(|i| [key(i * 17), key(i * 17 + 6)]).collect();
        let ranges = || {
            let ranges = bounds.iter();
            ranges.map(|[from, to]| (Bound::Included(&**from), Bound::Excluded(&**to)))
        };
        let transaction = session.begin(Isolation::Snapshot).unwrap();
        let thawed = transaction.thaw_ranges::<Interleaved>(&table, ranges().take(50));
        let thawed = thawed.await.unwrap();
        assert_eq!((thawed.ranges(), transaction.cold_stops()), (50, 0));
        for (at, range) in ranges().enumerate() {
            let mut found = Vec::new();
            let forward = Direction::Forward;
            let scan =
                transaction.scan_thawed::<Interleaved>(&table, range, forward, &thawed, |k, v| {
                    found.push((k.to_vec(), v.to_vec()));
                    ControlFlow::Continue(())
                });
            scan.await.unwrap();
            let expected = (at as u64 * 17..at as u64 * 17 + 6).filter(|i| *i < 1000);
            assert!(found.into_iter().eq(expected.map(|i| (key(i), value(i)))));
            let is_thawed = at < 50;
            assert!(!is_thawed || transaction.cold_stops() == 0, "range {at}");
        }
        let stops = transaction.cold_stops();
        assert!(
            stops >= 9,
            "{stops} stops in the ranges that were not thawed"
        );
        transaction.rollback();
    });
}
