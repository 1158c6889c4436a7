//! Records that expire, under reads, writes, locks, indexes and recovery, by a clock that is set by
//! hand.

mod collection;
mod indexes;

use crate::durable;
use crate::steps;

use std::{
    cell::Cell,
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use engine::{
    Abort, BuildError, BuildStep, ChangesFrom, Database, DatabaseConfig, Direction, Error,
    IfLocked, Index, IndexBuild, IndexOptions, Isolation, Session, Strength, Table, TableOptions,
    Transaction, WallClock, WallTime,
};
use interleave::{Clock, Sequential, WorkerLocal, run_inline};
use io::{Faults, SimulatedDisk};
use steps::Stepped;

const TTL: Duration = Duration::from_micros(100);
const OPTIONS: TableOptions = TableOptions { ttl: Some(TTL) };
const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);

struct Setup {
    database: Arc<Database>,
    session: Rc<Session>,
    /// Time that moves the session's collection on.
    time: Rc<Cell<Duration>>,
    wall: WallClock,
    table: Arc<Table>,
}

impl Setup {
    /// Makes a setup at time 1000, with an empty table. Nothing is collected until
    /// [`Setup::collect`].
    fn new() -> Setup {
        let database = Database::new(DatabaseConfig::with_memory(64 << 20)).unwrap();
        let wall = WallClock::manual(WallTime(1000));
        assert!(database.set_wall_clock(wall.clone()));
        let table = database.create_table_with("t", b"", OPTIONS).unwrap();
        let time = Rc::new(Cell::new(Duration::ZERO));
        let session = Session::with_clock(&database, Clock::Manual(time.clone())).unwrap();
        let setup = Setup {
            database,
            session,
            time,
            wall,
            table,
        };
        setup.collect();
        setup
    }

    fn begin(&self, isolation: Isolation) -> Transaction {
        self.session.begin(isolation).unwrap()
    }

    /// Writes a record in a transaction of its own.
    fn put(&self, key: &str, value: &str) {
        let txn = self.begin(Isolation::Snapshot);
        put(&txn, &self.table, key, value).unwrap();
        run_inline(txn.commit()).unwrap();
    }

    fn get(&self, key: &str) -> Option<String> {
        get(&self.begin(Isolation::Snapshot), &self.table, key)
    }

    /// Runs one walk through all tables, and frees what can be freed.
    fn collect(&self) {
        self.time.set(self.time.get() + Duration::from_secs(100));
        for _ in 0..50 {
            self.session.before_sleep();
        }
    }

    fn index(&self, unique: bool) -> Index {
        let mut build = self.begin_index(unique);
        while run_inline(build.step::<Sequential>()).unwrap() != BuildStep::Ready {
            self.session.tend();
        }
        build.index().clone()
    }

    /// Begins an index by the values.
    fn begin_index(&self, unique: bool) -> IndexBuild {
        let options = IndexOptions {
            unique,
            prefix_free: false,
        };
        let extract = Arc::new(|_: &[u8], value: &[u8], keys: &mut engine::IndexKeys| {
            keys.push_covering(value, b"covered");
        });
        let build = self
            .session
            .begin_index(&self.table, "by value", options, extract);
        build.unwrap()
    }

    fn check(&self, index: &Index, entries: u64) {
        let report = run_inline(self.session.check_index::<Sequential>(index)).unwrap();
        assert_eq!(
            (report.flaws.as_slice(), report.entries),
            (&[][..], entries)
        );
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8(value.to_vec()).unwrap()
}

fn get(txn: &Transaction, table: &Table, key: &str) -> Option<String> {
    run_inline(txn.get::<Sequential, _>(table, key.as_bytes(), text)).unwrap()
}

fn put(txn: &Transaction, table: &Table, key: &str, value: &str) -> Result<(), Error> {
    run_inline(txn.upsert::<Sequential>(table, key.as_bytes(), value.as_bytes()))
}

fn insert(txn: &Transaction, table: &Table, key: &str, value: &str) -> Result<(), Error> {
    run_inline(txn.insert::<Sequential>(table, key.as_bytes(), value.as_bytes()))
}

fn keys(txn: &Transaction, table: &Table) -> Vec<String> {
    let mut keys = Vec::new();
    let scanned = txn.scan::<Sequential>(table, ALL, Direction::Forward, |key, _| {
        keys.push(text(key));
        ControlFlow::Continue(())
    });
    run_inline(scanned).unwrap();
    keys
}

/// Returns the keys that both kinds of scans by an index find, which must be the same records.
fn keys_by(txn: &Transaction, index: &Index) -> Vec<String> {
    let (mut read, mut covered) = (Vec::new(), Vec::new());
    run_inline(
        txn.scan_by::<Sequential>(index, ALL, Direction::Forward, |_, key, _| {
            read.push(text(key));
            ControlFlow::Continue(())
        }),
    )
    .unwrap();
    run_inline(
        txn.scan_covered::<Sequential>(index, ALL, Direction::Forward, |_, key, bytes| {
            assert_eq!(bytes, b"covered");
            covered.push(text(key));
            ControlFlow::Continue(())
        }),
    )
    .unwrap();
    assert_eq!(read, covered);
    read
}

#[test]
fn a_record_lives_for_its_time_and_no_longer() {
    let setup = Setup::new();
    setup.put("a", "1");
    setup.wall.set(WallTime(1099));
    assert_eq!(setup.get("a"), Some("1".to_owned()));
    setup.wall.set(WallTime(1100));
    assert_eq!(setup.get("a"), None);
    let txn = setup.begin(Isolation::Snapshot);
    assert_eq!(keys(&txn, &setup.table), [""; 0]);
    // A clock that goes back makes the record come back.
    setup.wall.set(WallTime(1050));
    assert_eq!(setup.get("a"), Some("1".to_owned()));
}

#[test]
fn writing_a_record_prolongs_its_life() {
    let setup = Setup::new();
    setup.put("a", "1");
    setup.wall.set(WallTime(1090));
    setup.put("a", "2");
    setup.wall.set(WallTime(1189));
    let txn = setup.begin(Isolation::Snapshot);
    let read = |value: &[u8], expires| (text(value), expires);
    let found = run_inline(txn.get_until::<Sequential, _>(&setup.table, b"a", read)).unwrap();
    assert_eq!(found, Some(("2".to_owned(), Some(WallTime(1190)))));
}

#[test]
fn a_transaction_has_one_present() {
    let setup = Setup::new();
    setup.put("a", "1");
    let old = setup.begin(Isolation::Serializable);
    assert_eq!(old.present(), WallTime(1000));
    let each = setup.begin(Isolation::ReadCommitted);
    assert_eq!(get(&each, &setup.table, "a"), Some("1".to_owned()));
    setup.wall.set(WallTime(2000));
    assert_eq!(get(&old, &setup.table, "a"), Some("1".to_owned()));
    assert_eq!(keys(&old, &setup.table), ["a"]);
    assert_eq!(
        get(&each, &setup.table, "a"),
        None,
        "each operation has its own"
    );
    // A written record lives for its time from the transaction's present on.
    put(&old, &setup.table, "b", "1").unwrap();
    assert_eq!(get(&old, &setup.table, "b"), Some("1".to_owned()));
    run_inline(old.commit()).unwrap();
    assert_eq!(setup.get("b"), None);
}

#[test]
fn under_read_committed_own_writes_expire_too() {
    let setup = Setup::new();
    let txn = setup.begin(Isolation::ReadCommitted);
    insert(&txn, &setup.table, "a", "1").unwrap();
    setup.wall.advance(TTL);
    assert_eq!(get(&txn, &setup.table, "a"), None);
    insert(&txn, &setup.table, "a", "2").unwrap();
    assert_eq!(get(&txn, &setup.table, "a"), Some("2".to_owned()));
    run_inline(txn.commit()).unwrap();
    assert_eq!(setup.get("a"), Some("2".to_owned()));
}

#[test]
fn writes_take_an_expired_record_for_absent() {
    let setup = Setup::new();
    setup.put("a", "1");
    setup.wall.advance(TTL);
    let txn = setup.begin(Isolation::Snapshot);
    let table = &setup.table;
    assert_eq!(
        run_inline(txn.update::<Sequential>(table, b"a", b"2")),
        Ok(false)
    );
    assert_eq!(run_inline(txn.delete::<Sequential>(table, b"a")), Ok(false));
    insert(&txn, table, "a", "3").unwrap();
    assert_eq!(insert(&txn, table, "a", "4"), Err(Error::DuplicateKey));
    run_inline(txn.commit()).unwrap();
    assert_eq!(setup.get("a"), Some("3".to_owned()));
}

#[test]
fn two_inserts_over_an_expired_record_conflict() {
    let setup = Setup::new();
    setup.put("a", "1");
    setup.wall.advance(TTL);
    let (one, other) = (
        setup.begin(Isolation::Snapshot),
        setup.begin(Isolation::Snapshot),
    );
    insert(&one, &setup.table, "a", "2").unwrap();
    let refused = insert(&other, &setup.table, "a", "3");
    assert_eq!(refused, Err(Error::Abort(Abort::WriteConflict)));
    run_inline(one.commit()).unwrap();
    assert_eq!(setup.get("a"), Some("2".to_owned()));
}

#[test]
fn an_expired_record_cannot_be_locked() {
    let setup = Setup::new();
    setup.put("a", "1");
    let txn = setup.begin(Isolation::Snapshot);
    let lock = |txn: &Transaction| {
        let (strength, if_locked) = (Strength::Update, IfLocked::Fail);
        run_inline(txn.lock::<Sequential, _>(&setup.table, b"a", strength, if_locked, text))
    };
    assert_eq!(lock(&txn), Ok(Some("1".to_owned())));
    drop(txn);
    setup.wall.advance(TTL);
    let (one, other) = (
        setup.begin(Isolation::Snapshot),
        setup.begin(Isolation::Snapshot),
    );
    assert_eq!((lock(&one), lock(&other)), (Ok(None), Ok(None)));
}

/// A lock that was waited for is of no use if the record has expired meanwhile: the next
/// transaction in the queue gets it.
#[test]
fn a_record_that_expires_while_it_is_waited_for_is_absent() {
    let setup = Setup::new();
    setup.put("a", "1");
    let holder = setup.begin(Isolation::ReadCommitted);
    let lock = async |txn: &Transaction| {
        let (table, exclusive) = (&setup.table, Strength::Update);
        let locked = txn.lock::<Sequential, _>(table, b"a", exclusive, IfLocked::Wait, text);
        locked.await
    };
    assert_eq!(run_inline(lock(&holder)), Ok(Some("1".to_owned())));
    let waiter = setup.begin(Isolation::ReadCommitted);
    let mut waiting = Stepped::new(lock(&waiter));
    assert!(waiting.step().is_none());
    put(&holder, &setup.table, "a", "2").unwrap();
    run_inline(holder.commit()).unwrap();
    assert!(waiting.is_woken());
    assert_eq!(
        waiting.step(),
        Some(Ok(Some("2".to_owned()))),
        "in one operation, one present"
    );
    drop(waiting);
    setup.wall.advance(TTL);
    assert_eq!(run_inline(lock(&waiter)), Ok(None));
}

/// The reader has found the record expired; a transaction that brings it back comes after the
/// reader in every serial order, as if it had inserted the record.
#[test]
fn an_expired_record_that_was_passed_over_was_read() {
    let setup = Setup::new();
    setup.put("a", "1");
    setup.put("b", "1");
    setup.wall.advance(TTL);
    let (one, other) = (
        setup.begin(Isolation::Serializable),
        setup.begin(Isolation::Serializable),
    );
    assert_eq!(get(&one, &setup.table, "a"), None);
    assert_eq!(get(&other, &setup.table, "b"), None);
    insert(&one, &setup.table, "b", "one found no a").unwrap();
    insert(&other, &setup.table, "a", "other found no b").unwrap();
    run_inline(one.commit()).unwrap();
    let refused = run_inline(other.commit());
    assert_eq!(
        refused,
        Err(Error::Abort(Abort::NotSerializable)),
        "write skew"
    );
}

#[test]
fn a_truncated_table_keeps_its_time_to_live() {
    let setup = Setup::new();
    setup.index(true);
    let txn = setup.begin(Isolation::Snapshot);
    let table = run_inline(txn.truncate_table::<Sequential>("t")).unwrap();
    put(&txn, &table, "a", "1").unwrap();
    run_inline(txn.commit()).unwrap();
    assert_eq!(table.ttl(), Some(TTL));
    let index = table.indexes().pop().unwrap();
    let seen = |setup: &Setup| {
        let txn = setup.begin(Isolation::Snapshot);
        (keys(&txn, &table), keys_by(&txn, &index))
    };
    assert_eq!(seen(&setup), (vec!["a".to_owned()], vec!["a".to_owned()]));
    setup.wall.advance(TTL);
    assert_eq!(seen(&setup), (vec![], vec![]));
    setup.collect();
    assert_eq!(setup.database.stats().expired, 1);
    let txn = setup.begin(Isolation::Snapshot);
    run_inline(txn.drop_table::<Sequential>("t")).unwrap();
    run_inline(txn.commit()).unwrap();
    setup.session.before_sleep();
    setup.collect();
    assert_eq!(
        setup.session.before_sleep(),
        None,
        "nothing expires any more"
    );
}

#[test]
fn values_that_leave_no_room_for_the_expiry_are_refused() {
    let setup = Setup::new();
    let longest = vec![7; engine::VALUE_BYTES_MAX - 8];
    let txn = setup.begin(Isolation::Snapshot);
    run_inline(txn.insert::<Sequential>(&setup.table, b"a", &longest)).unwrap();
    let too_long = vec![7; engine::VALUE_BYTES_MAX - 7];
    let bytes = too_long.len();
    let refused = run_inline(txn.insert::<Sequential>(&setup.table, b"b", &too_long));
    assert_eq!(refused, Err(Error::ValueTooLong { bytes }));
    run_inline(txn.commit()).unwrap();
}

/// Expiries survive in log and checkpoint, and the change stream has expiries and deletions.
#[test]
fn expiries_survive_reopening() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let open = |at: u64| {
        let log = engine::LogConfig {
            change_retention_bytes: 1 << 30,
            ..durable::LOG
        };
        let durable = durable::open_with(disk.directory(), log, Default::default()).unwrap();
        let wall = WallClock::manual(WallTime(at));
        assert!(durable.database.set_wall_clock(wall.clone()));
        (durable, wall)
    };
    let one = |key: &str| vec![(key.as_bytes().to_vec(), Some(b"value".to_vec()))];
    let (mut durable, wall) = open(1000);
    let table = durable.run(async |session: Rc<Session>| {
        session.create_table_with("t", b"", OPTIONS).await.unwrap()
    });
    durable.write(&table, one("in the checkpoint")).unwrap();
    wall.set(WallTime(1010));
    durable.run(async |session: Rc<Session>| session.checkpoint().await.unwrap());
    durable.write(&table, one("in the log")).unwrap();
    drop((durable, table));

    let (mut durable, wall) = open(1099);
    let table = durable.database.table("t").unwrap();
    assert_eq!(table.ttl(), Some(TTL));
    assert_eq!(durable.read(&table).len(), 2);
    wall.set(WallTime(1100));
    assert_eq!(
        durable.read(&table),
        one("in the log")
            .into_iter()
            .map(|(key, value)| (key, value.unwrap()))
            .collect::<Vec<_>>()
    );
    wall.set(WallTime(1110));
    assert_eq!(durable.read(&table), []);
    // The collector does not wait for the log to have a file; this write does.
    durable.write(&table, one("late")).unwrap();
    while durable.database.stats().expired < 2 {
        durable.session().tend();
    }
    let told = durable.run(async |session: Rc<Session>| {
        let up_to = session.database().now();
        let mut changes = session.changes(ChangesFrom::Beginning).await.unwrap();
        let mut told = Vec::new();
        while changes.position() < up_to {
            for transaction in changes.next(&session).await.unwrap() {
                for record in transaction.records() {
                    let split = record.value.map(|stored| record.table.split(stored));
                    let split = split.map(|(expires, value)| (expires, value.to_vec()));
                    told.push((text(record.key), split));
                }
            }
        }
        told
    });
    let told = told
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    let told: Vec<_> = told.collect();
    let put = |at| Some((Some(WallTime(at)), b"value".to_vec()));
    assert_eq!(
        told,
        [
            ("in the checkpoint", put(1100)),
            ("in the log", put(1110)),
            ("late", put(1210)),
            ("in the checkpoint", None),
            ("in the log", None),
        ]
    );
}
