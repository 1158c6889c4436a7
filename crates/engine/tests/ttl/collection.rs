//! The deletion of records that have expired.

use super::*;

#[test]
fn expired_records_are_collected_and_give_their_memory_back() {
    let setup = Setup::new();
    let index = setup.index(false);
    setup.collect();
    let empty = setup.database.memory();
    for key in 0..1000 {
        setup.put(&key.to_string(), "value");
    }
    setup.wall.set(WallTime(1050));
    setup.put("500", "value");
    setup.wall.set(WallTime(1100));
    setup.session.tend();
    let writes = setup.database.stats().writes;
    for _ in 0..10 {
        setup.collect();
    }
    let stats = setup.database.stats();
    assert_eq!((stats.expired, stats.writes - writes), (999, 999));
    let txn = setup.begin(Isolation::Snapshot);
    assert_eq!(keys(&txn, &setup.table), ["500"]);
    drop(txn);
    setup.check(&index, 1);
    setup.wall.advance(TTL);
    setup.collect();
    assert_eq!(setup.database.stats().expired, 1000);
    assert_eq!(setup.database.memory().version_bytes, empty.version_bytes);
}

#[test]
fn collection_gives_way_to_writers() {
    let setup = Setup::new();
    setup.put("a", "1");
    setup.put("b", "1");
    setup.wall.advance(TTL);
    let txn = setup.begin(Isolation::Snapshot);
    put(&txn, &setup.table, "a", "2").unwrap();
    setup.collect();
    assert_eq!(setup.database.stats().expired, 0);
    run_inline(txn.commit()).unwrap();
    setup.collect();
    assert_eq!(
        setup.database.stats().expired,
        1,
        "what was left, the next walk finds"
    );
    assert_eq!(setup.get("a"), Some("2".to_owned()));
}

/// A transaction that sees a record alive, because its present is earlier, and the session that
/// collects the record have no order except that of their writes.
#[test]
fn a_writer_of_a_record_collected_meanwhile_aborts() {
    let setup = Setup::new();
    setup.put("a", "1");
    let txn = setup.begin(Isolation::Snapshot);
    assert_eq!(get(&txn, &setup.table, "a"), Some("1".to_owned()));
    setup.wall.advance(TTL);
    setup.collect();
    assert_eq!(setup.database.stats().expired, 1);
    assert_eq!(
        get(&txn, &setup.table, "a"),
        Some("1".to_owned()),
        "its snapshot has it"
    );
    let refused = put(&txn, &setup.table, "a", "2");
    assert_eq!(refused, Err(Error::Abort(Abort::SnapshotTooOld)));
}

#[test]
fn the_walk_passes_to_another_session() {
    let setup = Setup::new();
    setup.put("a", "1");
    setup.wall.advance(TTL);
    let other = Session::with_clock(&setup.database, Clock::Manual(setup.time.clone())).unwrap();
    for _ in 0..10 {
        other.before_sleep();
    }
    assert_eq!(
        setup.database.stats().expired,
        0,
        "it is one session's business"
    );
    let Setup {
        session,
        time,
        database,
        ..
    } = setup;
    drop(session);
    time.set(time.get() + Duration::from_secs(100));
    for _ in 0..10 {
        other.before_sleep();
    }
    assert_eq!(database.stats().expired, 1);
}
