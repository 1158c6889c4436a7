//! Tables created, dropped, truncated and renamed in transactions, in memory.

use crate::stepping;

use std::{
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::Arc,
};

use engine::{
    Abort, Certifier, Database, DatabaseConfig, Direction, Error, Isolation, Session, Table,
    Transaction, TransactionOptions,
};
use interleave::{Sequential, WorkerLocal, run_inline};
use stepping::{Stepping, finish, poll};

struct Setup {
    database: Arc<Database>,
    session: Rc<Session>,
}

impl Setup {
    fn new() -> Setup {
        Setup::with(Certifier::default())
    }

    fn with(certifier: Certifier) -> Setup {
        let config = DatabaseConfig {
            certifier,
            ..DatabaseConfig::with_memory(64 << 20)
        };
        let database = Database::new(config).unwrap();
        let session = Session::new(&database).unwrap();
        Setup { database, session }
    }

    fn begin(&self) -> Transaction {
        self.session.begin(Isolation::Snapshot).unwrap()
    }

    fn serializable(&self) -> Transaction {
        self.session.begin(Isolation::Serializable).unwrap()
    }

    /// Makes a table with one record, whose key and value are `key`.
    fn table(&self, name: &str, key: &str) -> Arc<Table> {
        let txn = self.begin();
        let table = create(&txn, name).unwrap();
        put(&txn, &table, key, key).unwrap();
        run_inline(txn.commit()).unwrap();
        table
    }

    fn collect_all(&self) {
        for _ in 0..10_000 {
            self.session.tend();
            if self.session.before_sleep().is_none() {
                return;
            }
        }
        panic!("there is always something left to collect");
    }
}

fn create(txn: &Transaction, name: &str) -> Result<Arc<Table>, Error> {
    run_inline(txn.create_table::<Sequential>(name, b""))
}

fn open(txn: &Transaction, name: &str) -> Result<Arc<Table>, Error> {
    run_inline(txn.open_table::<Sequential>(name))
}

fn rename(txn: &Transaction, from: &str, to: &str) -> Result<(), Error> {
    run_inline(txn.rename_table::<Sequential>(from, to))
}

fn drop_table(txn: &Transaction, name: &str) -> Result<(), Error> {
    run_inline(txn.drop_table::<Sequential>(name))
}

fn truncate(txn: &Transaction, name: &str) -> Result<Arc<Table>, Error> {
    run_inline(txn.truncate_table::<Sequential>(name))
}

fn put(txn: &Transaction, table: &Table, key: &str, value: &str) -> Result<(), Error> {
    run_inline(txn.upsert::<Sequential>(table, key.as_bytes(), value.as_bytes()))
}

fn has(txn: &Transaction, table: &Table, key: &str) -> Result<bool, Error> {
    let found = run_inline(txn.get::<Sequential, _>(table, key.as_bytes(), |_| ()));
    found.map(|found| found.is_some())
}

fn commit(txn: Transaction) -> Result<(), Error> {
    run_inline(txn.commit()).map(drop)
}

/// Returns the result of each transaction; those without an error commit.
fn commit_all(
    txns: impl Iterator<Item = Transaction>,
    does: impl Fn(&Transaction, usize) -> Result<bool, Error>,
) -> Vec<Result<bool, Error>> {
    let told = txns.enumerate().map(|(at, txn)| {
        let told = does(&txn, at)?;
        commit(txn).map(|()| told)
    });
    told.collect()
}

#[test]
fn a_creation_is_its_makers_until_it_commits() {
    let s = Setup::new();
    let (maker, other) = (s.begin(), s.begin());
    let table = create(&maker, "t").unwrap();
    put(&maker, &table, "x", "1").unwrap();
    assert_eq!(open(&other, "t").err(), Some(Error::NoSuchTable));
    assert_eq!(has(&other, &table, "x"), Err(Error::TableDropped));
    assert!(s.database.table("t").is_none());
    commit(maker).unwrap();
    assert_eq!(open(&other, "t").err(), Some(Error::NoSuchTable));
    let later = s.begin();
    let opened = open(&later, "t").unwrap();
    assert_eq!(has(&later, &opened, "x"), Ok(true));
}

#[test]
fn definitions_that_are_rolled_back_were_never_there() {
    let s = Setup::new();
    let kept = s.table("kept", "x");
    let before = s.database.memory();
    let txn = s.begin();
    let made = create(&txn, "made").unwrap();
    put(&txn, &made, "y", "1").unwrap();
    rename(&txn, "kept", "gone").unwrap();
    drop_table(&txn, "gone").unwrap();
    assert_eq!(has(&txn, &kept, "x"), Err(Error::TableDropped));
    txn.rollback();
    let later = s.begin();
    assert_eq!(has(&later, &kept, "x"), Ok(true));
    assert_eq!(has(&later, &made, "y"), Err(Error::TableDropped));
    assert_eq!(open(&later, "made").err(), Some(Error::NoSuchTable));
    assert_eq!(s.database.table_names(), ["kept"]);
    drop(later);
    s.collect_all();
    let after = s.database.memory();
    let used = |usage: engine::Usage| (usage.indirection_bytes, usage.version_bytes);
    assert_eq!(used(after), used(before));
}

#[test]
fn two_tables_exchange_their_names() {
    let s = Setup::new();
    s.table("a", "of a");
    s.table("b", "of b");
    let (swap, old) = (s.begin(), s.begin());
    assert_eq!(rename(&swap, "a", "b"), Err(Error::TableExists));
    rename(&swap, "a", "c").unwrap();
    rename(&swap, "b", "a").unwrap();
    rename(&swap, "c", "b").unwrap();
    commit(swap).unwrap();
    for (txn, a) in [(&old, "of a"), (&s.begin(), "of b")] {
        let table = open(txn, "a").unwrap();
        assert_eq!(has(txn, &table, a), Ok(true));
    }
    assert_eq!(&*s.database.table("a").unwrap().name(), "a");
}

#[test]
fn the_first_of_two_that_take_a_name_or_change_a_table_wins() {
    let s = Setup::new();
    s.table("t", "x");
    let (a, b, c) = (s.begin(), s.begin(), s.begin());
    create(&a, "new").unwrap();
    let conflict = Some(Error::Abort(Abort::WriteConflict));
    assert_eq!(create(&b, "new").err(), conflict);
    commit(a).unwrap();
    let too_old = Some(Error::Abort(Abort::SnapshotTooOld));
    assert_eq!(create(&c, "new").err(), too_old);
    for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
        let (a, b) = (s.begin(), s.session.begin(isolation).unwrap());
        truncate(&a, "t").unwrap();
        assert_eq!(drop_table(&b, "t").err(), conflict, "{isolation:?}");
    }
}

#[test]
fn older_snapshots_go_on_and_handles_get_stale() {
    let s = Setup::new();
    let table = s.table("t", "x");
    let (old, truncater) = (s.begin(), s.begin());
    let new = truncate(&truncater, "t").unwrap();
    assert_eq!(has(&truncater, &new, "x"), Ok(false));
    put(&truncater, &new, "y", "1").unwrap();
    commit(truncater).unwrap();
    s.session.tend();
    assert_eq!(has(&old, &table, "x"), Ok(true));
    let later = s.begin();
    assert_eq!(has(&later, &table, "x"), Err(Error::TableDropped));
    let current = later.current(&table).unwrap();
    assert_eq!(current.number(), new.number());
    assert_eq!(has(&later, &current, "y"), Ok(true));
    drop_table(&later, "t").unwrap();
    assert_eq!(later.current(&table).err(), Some(Error::TableDropped));
}

#[test]
fn between_a_drop_and_a_writer_the_first_to_commit_wins() {
    for writer_first in [true, false] {
        for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
            let s = Setup::new();
            let (table, other) = (s.table("t", "x"), s.table("other", "x"));
            let (writer, dropper) = (s.session.begin(isolation).unwrap(), s.begin());
            put(&writer, &table, "x", "2").unwrap();
            put(&writer, &other, "y", "2").unwrap();
            drop_table(&dropper, "t").unwrap();
            if writer_first {
                commit(writer).unwrap();
                commit(dropper).unwrap();
            } else {
                commit(dropper).unwrap();
                // The memory of the transaction's writes stays until it ends.
                for _ in 0..100 {
                    s.session.tend();
                }
                assert_eq!(commit(writer), Err(Error::Abort(Abort::TableDropped)));
            }
            assert_eq!(has(&s.begin(), &other, "y"), Ok(writer_first));
        }
    }
}

/// A write skew of which one half is a drop or a truncation: each transaction reads what the other
/// replaces, so neither may come first.
#[test]
fn a_serializable_reader_and_a_drop_do_not_pass_each_other() {
    for certifier in [Certifier::Ssn, Certifier::Validation] {
        for reader_first in [true, false] {
            for drops in [true, false] {
                let s = Setup::with(certifier);
                let (table, notes) = (s.table("t", "x"), s.table("notes", "x"));
                let (reader, changer) = (s.serializable(), s.serializable());
                assert_eq!(has(&reader, &table, "x"), Ok(true));
                put(&reader, &notes, "x", "t has x").unwrap();
                assert_eq!(has(&changer, &notes, "x"), Ok(true));
                match drops {
                    true => drop_table(&changer, "t").unwrap(),
                    false => drop(truncate(&changer, "t").unwrap()),
                }
                let (first, second) = match reader_first {
                    true => (reader, changer),
                    false => (changer, reader),
                };
                let refused = Err(Error::Abort(Abort::NotSerializable));
                assert_eq!(commit(first), Ok(()));
                let story = format!("{certifier:?}, {reader_first}, {drops}");
                assert_eq!(commit(second), refused, "{story}");
            }
        }
    }
}

/// A reader may rely on a table's being empty: on a node, not on a record.
#[test]
fn a_reader_that_found_a_table_empty_has_used_it() {
    let s = Setup::new();
    let (table, notes) = (s.table("t", "x"), s.table("notes", "x"));
    let (reader, changer) = (s.serializable(), s.serializable());
    assert_eq!(has(&reader, &table, "y"), Ok(false));
    put(&reader, &notes, "x", "t has no y").unwrap();
    assert_eq!(has(&changer, &notes, "x"), Ok(true));
    let new = truncate(&changer, "t").unwrap();
    put(&changer, &new, "y", "1").unwrap();
    commit(changer).unwrap();
    let refused = Err(Error::Abort(Abort::NotSerializable));
    assert_eq!(commit(reader), refused);
}

#[test]
fn a_reader_of_a_table_may_be_serial_before_its_drop() {
    for certifier in [Certifier::Ssn, Certifier::Validation] {
        let s = Setup::with(certifier);
        let (table, notes) = (s.table("t", "x"), s.table("notes", "x"));
        let (writer, reader, changer) = (s.serializable(), s.serializable(), s.begin());
        for txn in [&writer, &reader] {
            assert_eq!(has(txn, &table, "x"), Ok(true));
        }
        put(&writer, &notes, "x", "t has x").unwrap();
        drop_table(&changer, "t").unwrap();
        commit(changer).unwrap();
        assert_eq!(has(&writer, &table, "x"), Ok(true));
        // Validation knows no order but that of the commits.
        let expected = match certifier {
            Certifier::Ssn => Ok(()),
            Certifier::Validation => Err(Error::Abort(Abort::NotSerializable)),
        };
        assert_eq!(commit(writer), expected);
        assert_eq!(commit(reader), Ok(()));
    }
}

#[test]
fn drops_of_other_tables_abort_no_transaction() {
    let s = Setup::with(Certifier::Validation);
    let (table, other) = (s.table("t", "x"), s.table("other", "x"));
    let txn = s.serializable();
    assert_eq!(has(&txn, &other, "x"), Ok(true));
    put(&txn, &other, "y", "1").unwrap();
    let changer = s.begin();
    drop_table(&changer, "t").unwrap();
    commit(changer).unwrap();
    assert!(!table.is_live());
    commit(txn).unwrap();
}

/// A handle from another transaction on a table that is newer than the snapshot: the table was not
/// there, or had other records, and must not seem to be empty.
#[test]
fn a_table_newer_than_the_snapshot_is_not_used() {
    let audit = TransactionOptions {
        read_only: true,
        ..Isolation::Serializable.into()
    };
    for options in [
        Isolation::Snapshot.into(),
        Isolation::Serializable.into(),
        audit,
    ] {
        let s = Setup::new();
        let old = s.table("t", "x");
        let begun: Vec<_> = (0..4).map(|_| s.session.begin(options).unwrap()).collect();
        let truncater = s.begin();
        let new = truncate(&truncater, "t").unwrap();
        commit(truncater).unwrap();
        let made = s.table("made", "x");
        let too_old = Error::Abort(Abort::SnapshotTooOld);
        assert_eq!(has(&begun[0], &new, "x"), Err(too_old));
        assert_eq!(
            commit_all(begun.into_iter().skip(1), |txn, at| match at {
                0 => has(txn, &made, "x"),
                1 => has(txn, &txn.current(&old).unwrap(), "x"),
                _ => has(txn, &old, "x"),
            }),
            [Err(too_old), Ok(true), Ok(true)]
        );
    }
    // A transaction that looks anew each time finds the current table.
    let s = Setup::new();
    s.table("t", "x");
    let txn = s.session.begin(Isolation::ReadCommitted).unwrap();
    let made = s.table("made", "x");
    assert_eq!(has(&txn, &made, "x"), Ok(true));
}

/// The transaction was once told that its snapshot was too old for the table, which no snapshot
/// has.
#[test]
fn a_table_made_and_dropped_by_one_transaction_was_never_there() {
    let s = Setup::new();
    let early = s.begin();
    let maker = s.begin();
    let table = create(&maker, "t").unwrap();
    drop_table(&maker, "t").unwrap();
    commit(maker).unwrap();
    assert_eq!(has(&early, &table, "a"), Err(Error::TableDropped));
    assert_eq!(has(&s.begin(), &table, "a"), Err(Error::TableDropped));
}

#[test]
fn a_savepoint_takes_tables_back() {
    let s = Setup::new();
    let table = s.table("t", "x");
    let txn = s.begin();
    create(&txn, "before").unwrap();
    let savepoint = txn.savepoint().unwrap();
    let after = create(&txn, "after").unwrap();
    drop_table(&txn, "t").unwrap();
    truncate(&txn, "before").unwrap();
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(has(&txn, &after, "x"), Err(Error::TableDropped));
    assert_eq!(has(&txn, &table, "x"), Ok(true));
    commit(txn).unwrap();
    assert_eq!(s.database.table_names(), ["before", "t"]);
}

/// A scan that is under way goes on with the table of its snapshot, wherever it is suspended while
/// the table is dropped, collected around it and created again.
#[test]
fn a_scan_goes_on_through_the_drop_of_its_table() {
    const RECORDS: usize = 60;
    for pauses in 0.. {
        let s = Setup::new();
        let filler = s.begin();
        let table = create(&filler, "t").unwrap();
        for key in 0..RECORDS {
            put(&filler, &table, &format!("{key:09}"), "x").unwrap();
        }
        commit(filler).unwrap();
        let reader = s.begin();
        let mut visited = 0;
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut scan =
            Box::pin(
                reader.scan::<Stepping>(&table, all, Direction::Forward, |_, _| {
                    visited += 1;
                    ControlFlow::Continue(())
                }),
            );
        let ended_early = (0..pauses).any(|_| poll(scan.as_mut()).is_ready());
        if ended_early {
            assert!(pauses > 10, "it was suspended {pauses} times");
            break;
        }
        let dropper = s.begin();
        drop_table(&dropper, "t").unwrap();
        commit(dropper).unwrap();
        s.table("t", "another");
        for _ in 0..50 {
            s.session.tend();
        }
        assert_eq!(finish(scan), Ok(RECORDS as u64));
        assert_eq!(visited, RECORDS);
        drop(reader);
        s.collect_all();
        assert_eq!(s.database.stats().aborts(), 0);
        assert!(
            s.database
                .table("t")
                .is_some_and(|t| t.number() != table.number())
        );
    }
}

#[test]
fn cycles_of_create_fill_and_drop_take_no_more_and_more_memory() {
    let s = Setup::new();
    let mut after_first = None;
    for cycle in 0..6 {
        let txn = s.begin();
        let table = create(&txn, "t").unwrap();
        for key in 0..3000 {
            let key = format!("a long beginning that all of them share {key}");
            put(&txn, &table, &key, &key).unwrap();
        }
        commit(txn).unwrap();
        // Versions of every kind: superseded, deleted, and a reader of all of them.
        let reader = s.begin();
        let txn = s.begin();
        for key in 0..1000 {
            let key = format!("a long beginning that all of them share {key}");
            match key.len() % 2 {
                0 => put(&txn, &table, &key, "changed").unwrap(),
                _ => drop(run_inline(txn.delete::<Sequential>(&table, key.as_bytes()))),
            }
        }
        commit(txn).unwrap();
        let txn = s.begin();
        match cycle % 2 {
            0 => drop_table(&txn, "t").unwrap(),
            _ => {
                truncate(&txn, "t").unwrap();
                drop_table(&txn, "t").unwrap();
            }
        }
        commit(txn).unwrap();
        s.session.tend();
        let key = "a long beginning that all of them share 2999";
        assert_eq!(has(&reader, &table, key), Ok(true));
        drop(reader);
        s.collect_all();
        let usage = s.database.memory();
        let first = *after_first.get_or_insert(usage);
        assert_eq!(usage.index_bytes, first.index_bytes, "cycle {cycle}");
        assert_eq!(usage.version_bytes, 0, "cycle {cycle}");
        assert_eq!(usage.indirection_bytes, first.indirection_bytes);
    }
}
