//! Cold records that are indexed, written, locked and deleted.

use super::*;

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
fn cold_records_are_written_locked_and_deleted() {
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
