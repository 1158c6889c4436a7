//! Snapshots that sessions on several threads share.

use crate::by_hand::Setup;
use crate::in_memory::in_memory;

use std::{
    num::NonZeroU64,
    rc::Rc,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use engine::{
    Abort, Certifier, Database, DatabaseConfig, Error, Isolation, Session, SharedSnapshot, Table,
    TableOptions, Transaction, TransactionOptions, WallClock, WallTime,
};
use interleave::{Sequential, run_inline};

const READ_ONLY: TransactionOptions = TransactionOptions {
    isolation: Isolation::Serializable,
    read_only: true,
};

/// Work for a session's thread.
type Job = Box<dyn FnOnce(&Rc<Session>) + Send>;

/// A second worker: a thread with a session of its own, which runs closures one after the other.
struct Other {
    jobs: mpsc::Sender<Job>,
    thread: thread::JoinHandle<()>,
}

impl Other {
    fn new(database: &Arc<Database>) -> Other {
        let database = database.clone();
        let (jobs, next) = mpsc::channel::<Job>();
        let thread = thread::spawn(move || {
            let session = Session::new(&database).unwrap();
            next.iter().for_each(|job| job(&session));
        });
        Other { jobs, thread }
    }

    /// Runs `job` on the thread, and returns its result.
    fn run<T: Send + 'static>(&self, job: impl FnOnce(&Rc<Session>) -> T + Send + 'static) -> T {
        let (result, wait) = mpsc::channel();
        let job = move |session: &Rc<Session>| drop(result.send(job(session)));
        self.jobs.send(Box::new(job)).unwrap();
        wait.recv().expect("the job ends")
    }

    fn end(self) {
        drop(self.jobs);
        self.thread.join().unwrap();
    }
}

fn share(txn: &Transaction) -> Result<SharedSnapshot, Error> {
    txn.statement_snapshot()?.share()
}

fn get(txn: &Transaction, table: &Table, key: &str) -> Option<String> {
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    run_inline(txn.get::<Sequential, _>(table, key.as_bytes(), text)).unwrap()
}

/// Reads `key` at the snapshot, in a transaction of its own.
fn get_at(
    session: &Rc<Session>,
    snapshot: &SharedSnapshot,
    table: &Table,
    key: &str,
) -> Option<String> {
    let txn = session.begin_at(snapshot).unwrap();
    let value = get(&txn, table, key);
    run_inline(txn.commit()).unwrap();
    value
}

/// The maker has ended, and what its snapshot saw is superseded, deleted and due for collection. If
/// the handle did not hold the horizon, the collector would free the versions that the other worker
/// is about to read.
#[test]
fn versions_stay_as_long_as_a_handle_on_whatever_worker() {
    for options in [
        Isolation::ReadCommitted.into(),
        Isolation::Snapshot.into(),
        READ_ONLY,
    ] {
        let s = Setup::new();
        let database = s.session.database().clone();
        let other = Other::new(&database);
        s.collect();
        let collected = database.stats().versions_collected;
        let maker = s.begin(options);
        let snapshot = share(&maker).unwrap();
        run_inline(maker.commit()).unwrap();
        for round in 1..50 {
            s.put_at_once("x", &round.to_string());
            s.collect();
        }
        s.delete_at_once("y");
        s.put_at_once("z", "new");
        s.collect();
        assert_eq!(database.horizon(), snapshot.timestamp());
        assert_eq!(database.stats().versions_collected, collected);
        let table = s.table.clone();
        let read = other.run(move |session| {
            // The session's floor goes down to the snapshot, and the horizon stays.
            let txn = session.begin_at(&snapshot).unwrap();
            session.tend();
            drop(snapshot);
            assert_eq!(session.database().horizon(), txn.snapshot());
            let read = ["x", "y", "z"].map(|key| get(&txn, &table, key));
            run_inline(txn.commit()).unwrap();
            session.tend();
            read
        });
        assert_eq!(read, [Some("0".to_owned()), Some("0".to_owned()), None]);
        s.collect();
        assert_eq!(database.horizon(), database.now());
        assert!(database.stats().versions_collected >= collected + 49);
        other.end();
    }
}

/// Handles that are passed on, and transactions at them, are one snapshot; its end is that of the
/// last of them.
#[test]
fn the_last_owner_ends_the_snapshot() {
    let s = Setup::new();
    let database = s.session.database().clone();
    let other = Other::new(&database);
    let maker = s.begin(Isolation::Snapshot);
    let first = share(&maker).unwrap();
    drop(maker);
    s.put_at_once("x", "1");
    // A snapshot that is shared again is the same one, also where the maker is at it by a handle.
    let second = other.run({
        let first = first.clone();
        move |session| share(&session.begin_at(&first).unwrap()).unwrap()
    });
    assert_eq!(second.timestamp(), first.timestamp());
    drop(first);
    s.collect();
    assert_eq!(database.horizon(), second.timestamp());
    assert_eq!(
        get_at(&s.session, &second, &s.table, "x").as_deref(),
        Some("0")
    );
    other.run(|session| {
        drop(second);
        session.tend();
    });
    s.collect();
    assert_eq!(database.horizon(), database.now());
    other.end();
}

/// The reader sees nothing of the transaction that made the handle, before its commit and after.
#[test]
fn later_writes_of_the_maker_are_not_seen() {
    let s = Setup::new();
    let maker = s.begin(Isolation::Snapshot);
    let snapshot = share(&maker).unwrap();
    s.put(&maker, "x", "own").unwrap();
    let get = || get_at(&s.session, &snapshot, &s.table, "x");
    assert_eq!(get().as_deref(), Some("0"));
    run_inline(maker.commit()).unwrap();
    assert_eq!(get().as_deref(), Some("0"));
}

/// A snapshot that is shared does not move: the maker would read at another one than its readers.
#[test]
fn the_snapshot_of_the_maker_stays() {
    let s = Setup::new();
    let maker = s.begin(Isolation::Snapshot);
    let snapshot = share(&maker).unwrap();
    s.put_at_once("x", "1");
    let written = s.put(&maker, "x", "own");
    assert_eq!(written, Err(Error::Abort(Abort::SnapshotTooOld)));
    assert!(matches!(share(&maker), Err(Error::Abort(_))));
    // The handle outlives the abort.
    assert_eq!(
        get_at(&s.session, &snapshot, &s.table, "x").as_deref(),
        Some("0")
    );
}

/// Under read committed the statement's snapshot is shared, not the next one's.
#[test]
fn a_statement_of_read_committed_shares_its_own_snapshot() {
    let s = Setup::new();
    let maker = s.begin(Isolation::ReadCommitted);
    let statement = maker.statement_snapshot().unwrap();
    s.put_at_once("x", "1");
    let snapshot = statement.share().unwrap();
    drop(statement);
    assert_eq!(s.get(&maker, "x").as_deref(), Some("1"));
    assert_eq!(
        get_at(&s.session, &snapshot, &s.table, "x").as_deref(),
        Some("0")
    );
    assert_ne!(share(&maker).unwrap().timestamp(), snapshot.timestamp());
}

#[test]
fn a_transaction_with_writes_shares_no_snapshot() {
    let s = Setup::new();
    for isolation in [Isolation::ReadCommitted, Isolation::Snapshot] {
        let maker = s.begin(isolation);
        let savepoint = maker.savepoint().unwrap();
        s.put(&maker, "x", "own").unwrap();
        assert_eq!(share(&maker).err(), Some(Error::WritesNotShared));
        // A reader beside the writer sees its writes, too.
        let present = maker.read_present().unwrap();
        assert_eq!(share(&present).err(), Some(Error::WritesNotShared));
        drop(present);
        maker.rollback_to(&savepoint).unwrap();
        assert!(share(&maker).is_ok());
        let create = maker.create_table::<Sequential>("made", &[]);
        run_inline(create).unwrap();
        assert_eq!(share(&maker).err(), Some(Error::WritesNotShared));
    }
}

/// Reads at a handle are not certified, so only a transaction that is not certified shares.
#[test]
fn a_serializable_transaction_shares_if_it_was_declared_read_only() {
    for certifier in [Certifier::Ssn, Certifier::Validation] {
        let s = Setup::with(certifier);
        let maker = s.begin(Isolation::Serializable);
        assert_eq!(share(&maker).err(), Some(Error::ReadsNotCertified));
        let maker = s.begin(READ_ONLY);
        let snapshot = share(&maker).unwrap();
        assert_eq!(s.session.begin_at(&snapshot).unwrap().options(), READ_ONLY);
    }
}

/// The read-only anomaly: a reader that sees the commit of `deposit` and not that of `withdraw`, which
/// would have to come first in a serial order. The announcement of the maker protects a reader that
/// begins later, on another session, after the maker has ended.
#[test]
fn a_reader_at_the_handle_takes_part_in_the_serial_order() {
    let s = Setup::with(Certifier::Ssn);
    let other = Other::new(s.session.database());
    let withdraw = s.begin(Isolation::Serializable);
    assert_eq!(s.get(&withdraw, "x").as_deref(), Some("0"));
    assert_eq!(s.get(&withdraw, "y").as_deref(), Some("0"));
    s.put_at_once("y", "20");
    let maker = s.begin(READ_ONLY);
    let snapshot = share(&maker).unwrap();
    drop(maker);
    let written = s.put(&withdraw, "x", "-11");
    let committed = written.and_then(|()| run_inline(withdraw.commit()).map(drop));
    assert_eq!(committed, Err(Error::Abort(Abort::NotSerializable)));
    let table = s.table.clone();
    let read = other
        .run(move |session| ["x", "y"].map(|key| get_at(session, &snapshot, &table, key).unwrap()));
    assert_eq!(read, ["0", "20"]);
    other.end();
}

#[test]
fn readers_cannot_write_and_begin_again_at_the_same_snapshot() {
    let s = Setup::new();
    let snapshot = share(&s.begin(Isolation::Snapshot)).unwrap();
    s.put_at_once("x", "1");
    let reader = s.session.begin_at(&snapshot).unwrap();
    assert_eq!(s.put(&reader, "x", "2"), Err(Error::ReadOnly));
    assert!(reader.is_read_only());
    assert_eq!(reader.snapshot(), snapshot.timestamp());
    let again = run_inline(reader.restart::<Sequential>()).unwrap();
    drop(snapshot);
    s.collect();
    assert_eq!(s.get(&again, "x").as_deref(), Some("0"));
    assert_eq!(s.session.database().horizon(), again.snapshot());
}

#[test]
fn a_handle_is_for_its_database_and_outlives_it() {
    let s = Setup::new();
    let foreign = Setup::new();
    let snapshot = share(&foreign.begin(Isolation::Snapshot)).unwrap();
    assert_eq!(
        s.session.begin_at(&snapshot).err(),
        Some(Error::ForeignSnapshot)
    );
    foreign.session.database().close();
    assert_eq!(
        foreign.session.begin_at(&snapshot).err(),
        Some(Error::Ended)
    );
    let database = Arc::downgrade(foreign.session.database());
    drop(foreign);
    assert!(database.upgrade().is_none());
    drop(snapshot);
}

/// Records expire by the wall clock of the maker's statement for all readers. A reader with a present
/// of its own would miss a record that the maker sees.
#[test]
fn records_expire_for_all_readers_at_once() {
    let (session, _) = in_memory(DatabaseConfig::with_memory(64 << 20));
    let database = session.database().clone();
    let clock = WallClock::manual(WallTime(1000));
    assert!(database.set_wall_clock(clock.clone()));
    let ttl = Some(Duration::from_secs(1));
    let table = database.create_table_with("mortal", &[], TableOptions { ttl });
    let table = table.unwrap();
    let writer = session.begin(Isolation::Snapshot).unwrap();
    run_inline(writer.insert::<Sequential>(&table, b"x", b"0")).unwrap();
    run_inline(writer.commit()).unwrap();
    let maker = session.begin(Isolation::Snapshot).unwrap();
    let snapshot = share(&maker).unwrap();
    clock.advance(Duration::from_secs(2));
    for _ in 0..100 {
        session.tend();
    }
    assert_eq!(get(&maker, &table, "x").as_deref(), Some("0"));
    assert_eq!(
        get_at(&session, &snapshot, &table, "x").as_deref(),
        Some("0")
    );
    let now = session.begin(Isolation::Snapshot).unwrap();
    assert_eq!(get(&now, &table, "x"), None);
}

/// A table that was dropped, and whose memory would be freed, is there for the readers.
#[test]
fn a_dropped_table_stays_for_the_snapshot() {
    let s = Setup::new();
    let database = s.session.database().clone();
    let snapshot = share(&s.begin(Isolation::Snapshot)).unwrap();
    let before = database.memory();
    run_inline(s.session.drop_table("t")).unwrap();
    s.collect();
    assert_eq!(
        get_at(&s.session, &snapshot, &s.table, "x").as_deref(),
        Some("0")
    );
    drop(snapshot);
    s.collect();
    assert!(database.memory().version_bytes < before.version_bytes);
}

/// Many workers read at one snapshot while another moves money between records: each finds the sum
/// that there always is, and the same records as the others.
#[test]
fn workers_that_read_beside_a_writer_agree() {
    const RECORDS: u64 = 64;
    let s = Setup::new();
    let key = |number: u64| format!("{number:02}");
    for number in 0..RECORDS {
        s.put_at_once(&key(number), "100");
    }
    let others: Vec<_> = (0..2).map(|_| Other::new(s.session.database())).collect();
    let mut random = NonZeroU64::new(7).unwrap().get();
    for _ in 0..20 {
        let snapshot = share(&s.begin(Isolation::Snapshot)).unwrap();
        let waits: Vec<_> = others
            .iter()
            .map(|other| {
                let (result, wait) = mpsc::channel();
                let (snapshot, table) = (snapshot.clone(), s.table.clone());
                let job = move |session: &Rc<Session>| {
                    let txn = session.begin_at(&snapshot).unwrap();
                    let amounts = (0..RECORDS).map(|number| {
                        session.tend();
                        get(&txn, &table, &key(number)).unwrap().parse::<i64>()
                    });
                    result.send(amounts.map(Result::unwrap).collect()).unwrap();
                };
                other.jobs.send(Box::new(job)).unwrap();
                wait
            })
            .collect();
        drop(snapshot);
        for _ in 0..50 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (from, to) = (random >> 33, random >> 45);
            let (from, to) = (key(from % RECORDS), key(to % RECORDS));
            let txn = s.begin(Isolation::Snapshot);
            for (key, change) in [(from, -1), (to, 1)] {
                let amount = s.get(&txn, &key).unwrap().parse::<i64>().unwrap() + change;
                s.put(&txn, &key, &amount.to_string()).unwrap();
            }
            run_inline(txn.commit()).unwrap();
            s.session.tend();
        }
        let mut answers = waits.iter().map(|wait| wait.recv().unwrap());
        let first: Vec<i64> = answers.next().unwrap();
        assert_eq!(first.iter().sum::<i64>(), 100 * RECORDS as i64);
        assert!(answers.all(|answer| answer == first));
    }
    others.into_iter().for_each(Other::end);
}
