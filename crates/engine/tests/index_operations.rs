//! Operations on a table with indexes, by name: the scenarios of paper 004 (section
//! 2.1), and operations that end in the middle.

use crate::in_memory;
use crate::stepping;

use std::{
    future::Future,
    ops::{Bound, ControlFlow},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
};

use engine::{
    Abort, BuildStep, DatabaseConfig, Direction, Error, Extractor, Index, IndexOptions, Isolation,
    KEY_BYTES_MAX, Session, Table, Transaction,
};
use in_memory::in_memory;
use interleave::{Sequential, run_inline};
use stepping::{Rng, Stepping, finish, interleave, poll, poll_times};

/// A table with two unique indexes and another one, each over one column of a byte; a column of `-`
/// has no entry, and a column of `!` makes the extractor panic.
struct Setup {
    session: Rc<Session>,
    table: Arc<Table>,
    indexes: Vec<Index>,
}

fn column(at: usize) -> Extractor {
    Arc::new(move |_, value, keys| match value[at] {
        b'-' => {}
        b'!' => panic!("the test's panic"),
        _ => keys.push(&value[at..=at]),
    })
}

impl Setup {
    fn new() -> Setup {
        Setup::with_memory(64 << 20)
    }

    fn with_memory(bytes: usize) -> Setup {
        let (session, table) = in_memory(DatabaseConfig::with_memory(bytes));
        let mut setup = Setup {
            session,
            table,
            indexes: Vec::new(),
        };
        for at in 0..3 {
            setup.index(&format!("column {at}"), at < 2, column(at));
        }
        setup
    }

    fn index(&mut self, name: &str, unique: bool, extract: Extractor) {
        let options = IndexOptions {
            unique,
            prefix_free: false,
        };
        let build = self
            .session
            .begin_index(&self.table, name, options, extract);
        let mut build = build.unwrap();
        while run_inline(build.step::<Sequential>()).unwrap() != BuildStep::Ready {
            self.session.tend();
        }
        self.indexes.push(build.index().clone());
    }

    /// Inserts enough records for walks through the trees to suspend.
    fn fill(&self) {
        let txn = self.begin();
        for byte in 128..=u8::MAX {
            let (key, value) = ([byte], [byte; 3]);
            let insert = txn.insert::<Sequential>(&self.table, &key, &value);
            run_inline(insert).unwrap();
        }
        self.commit(txn);
    }

    fn begin(&self) -> Transaction {
        self.session.begin(Isolation::Snapshot).unwrap()
    }

    fn insert(&self, txn: &Transaction, key: &str, value: &str) -> Result<(), Error> {
        run_inline(txn.insert::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    fn put(&self, txn: &Transaction, key: &str, value: &str) -> Result<(), Error> {
        run_inline(txn.upsert::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    fn delete(&self, txn: &Transaction, key: &str) -> Result<bool, Error> {
        run_inline(txn.delete::<Sequential>(&self.table, key.as_bytes()))
    }

    fn commit(&self, txn: Transaction) {
        run_inline(txn.commit()).unwrap();
    }

    fn duplicate_in(&self, at: usize) -> Error {
        Error::DuplicateIndexKey {
            index: self.indexes[at].number() as usize,
        }
    }

    /// Returns primary keys and values in the order of an index.
    fn by(&self, txn: &Transaction, at: usize) -> String {
        let mut rows = Vec::new();
        let scan = txn.scan_by::<Sequential>(
            &self.indexes[at],
            (Bound::Unbounded, Bound::Unbounded),
            Direction::Forward,
            |key, primary_key, value| {
                rows.push([key, b":", primary_key, b"=", value].concat());
                ControlFlow::Continue(())
            },
        );
        run_inline(scan).unwrap();
        String::from_utf8_lossy(&rows.join(&b' ')).into_owned()
    }

    fn all(&self, txn: &Transaction) -> Vec<String> {
        let mut rows = Vec::new();
        let range = (Bound::Unbounded, Bound::Unbounded);
        let scan = txn.scan::<Sequential>(&self.table, range, Direction::Forward, |key, value| {
            rows.push([key, b"=", value].concat());
            ControlFlow::Continue(())
        });
        run_inline(scan).unwrap();
        let mut all = vec![String::from_utf8_lossy(&rows.join(&b' ')).into_owned()];
        all.extend((0..self.indexes.len()).map(|at| self.by(txn, at)));
        all
    }

    fn check(&self) {
        for index in &self.indexes {
            let report = run_inline(self.session.check_index::<Sequential>(index)).unwrap();
            assert_eq!(report.flaws, []);
        }
    }
}

#[test]
fn double_row() {
    let setup = Setup::new();
    let (x, y) = (setup.begin(), setup.begin());
    setup.insert(&y, "y", "1a.").unwrap();
    // The primary key is free; the key in the second unique index is not, yet.
    assert_eq!(
        setup.insert(&x, "x", "2a."),
        Err(Error::Abort(Abort::WriteConflict))
    );
    assert_eq!(
        run_inline(x.commit()),
        Err(Error::Abort(Abort::WriteConflict))
    );
    setup.commit(y);
    let txn = setup.begin();
    assert_eq!(setup.all(&txn), ["y=1a.", "1:y=1a.", "a:y=1a.", ".:y=1a."]);
    setup.check();
}

#[test]
fn self_insert() {
    let setup = Setup::new();
    let txn = setup.begin();
    setup.insert(&txn, "x", "1a.").unwrap();
    let before = setup.all(&txn);
    assert_eq!(setup.insert(&txn, "y", "2a."), Err(setup.duplicate_in(1)));
    assert_eq!(setup.all(&txn), before, "the second insert left nothing");
    assert_eq!(setup.insert(&txn, "x", "2b."), Err(Error::DuplicateKey));
    setup.insert(&txn, "y", "2b.").unwrap();
    assert_eq!(setup.by(&txn, 2), ".:x=1a. .:y=2b.");
    setup.commit(txn);
    setup.check();
}

#[test]
fn clean_up_after_abort() {
    let setup = Setup::new();
    let used = |setup: &Setup| {
        for _ in 0..20 {
            setup.session.tend();
        }
        setup.session.database().memory().version_bytes
    };
    // The descriptions of the table and its indexes are there all the time.
    let catalog = used(&setup);
    for last in 0..3 {
        // All transactions that want one key are aborted; the last one leaves nothing.
        let mut all: Vec<_> = (0..3).map(|_| setup.begin()).collect();
        for (at, txn) in all.iter().enumerate() {
            let written = setup.insert(txn, &at.to_string(), "1a.");
            assert_eq!(written.is_ok(), at == 0);
        }
        drop(all.remove(last));
        drop(all);
        assert_eq!(used(&setup), catalog);
    }
    let txn = setup.begin();
    setup.insert(&txn, "x", "1a.").unwrap();
    setup.commit(txn);
    setup.check();
}

/// An insertion that fails over its index keys has told that the primary key is free; its changes
/// so far are taken back, and other transactions can insert the key.
#[test]
fn answers_of_a_failed_operation_are_certified() {
    let setup = Setup::new();
    let txn = setup.begin();
    setup.insert(&txn, "z", "1a.").unwrap();
    setup.commit(txn);
    let begin = || setup.session.begin(Isolation::Serializable).unwrap();
    let (a, b) = (begin(), begin());
    assert_eq!(setup.insert(&a, "x", "21."), Ok(()));
    assert_eq!(setup.insert(&a, "p", "3a."), Err(setup.duplicate_in(1)));
    assert_eq!(setup.insert(&b, "q", "4a."), Err(setup.duplicate_in(1)));
    setup.insert(&a, "q", "5b.").unwrap();
    setup.insert(&b, "p", "6c.").unwrap();
    // The two may not both commit, and neither does: phantoms are as coarse as nodes of the index.
    let committed = [a, b].map(|txn| run_inline(txn.commit()).is_ok());
    assert_ne!(committed, [true; 2], "write skew");
    setup.check();
}

#[test]
fn a_unique_key_passes_from_one_record_to_another_in_one_transaction() {
    let setup = Setup::new();
    let txn = setup.begin();
    setup.insert(&txn, "x", "1a.").unwrap();
    setup.commit(txn);
    let txn = setup.begin();
    assert_eq!(setup.insert(&txn, "y", "1b."), Err(setup.duplicate_in(0)));
    setup.put(&txn, "x", "2a.").unwrap();
    setup.insert(&txn, "y", "1b.").unwrap();
    assert_eq!(setup.put(&txn, "x", "1a."), Err(setup.duplicate_in(0)));
    assert!(setup.delete(&txn, "y").unwrap());
    // The record returns to its old keys, through the tombstones of its own entries.
    setup.put(&txn, "x", "1a.").unwrap();
    setup.insert(&txn, "y", "2b.").unwrap();
    setup.commit(txn);
    let txn = setup.begin();
    assert_eq!(setup.by(&txn, 0), "1:x=1a. 2:y=2b.");
    setup.check();
}

#[test]
fn a_record_deleted_and_inserted_again_has_its_entries() {
    let setup = Setup::new();
    for _ in 0..3 {
        let txn = setup.begin();
        setup.put(&txn, "x", "1a.").unwrap();
        assert!(setup.delete(&txn, "x").unwrap());
        assert_eq!(setup.all(&txn), [""; 4]);
        setup.insert(&txn, "x", "1b.").unwrap();
        assert_eq!(setup.by(&txn, 0), "1:x=1b.");
        setup.commit(txn);
        setup.check();
    }
}

#[test]
fn snapshots_read_the_entries_of_their_time() {
    let setup = Setup::new();
    let txn = setup.begin();
    setup.insert(&txn, "x", "1a.").unwrap();
    setup.commit(txn);
    let old = setup.begin();
    let txn = setup.begin();
    setup.put(&txn, "x", "2b,").unwrap();
    setup.insert(&txn, "y", "1a.").unwrap();
    setup.commit(txn);
    // Then the record is deleted, and everything that can be collected is.
    let txn = setup.begin();
    assert!(setup.delete(&txn, "x").unwrap());
    setup.commit(txn);
    for _ in 0..20 {
        setup.session.tend();
    }
    assert_eq!(setup.all(&old), ["x=1a.", "1:x=1a.", "a:x=1a.", ".:x=1a."]);
    let now = setup.begin();
    assert_eq!(setup.all(&now), ["y=1a.", "1:y=1a.", "a:y=1a.", ".:y=1a."]);
}

#[test]
fn records_without_a_key_are_not_in_the_index() {
    let setup = Setup::new();
    let txn = setup.begin();
    setup.insert(&txn, "x", "-a.").unwrap();
    setup.insert(&txn, "y", "-b.").unwrap();
    setup.insert(&txn, "z", "1c-").unwrap();
    assert_eq!(setup.by(&txn, 0), "1:z=1c-");
    assert_eq!(setup.by(&txn, 2), ".:x=-a. .:y=-b.");
    setup.put(&txn, "x", "2a-").unwrap();
    setup.put(&txn, "z", "-c.").unwrap();
    assert_eq!(setup.by(&txn, 0), "2:x=2a-");
    assert_eq!(setup.by(&txn, 2), ".:y=-b. .:z=-c.");
    setup.commit(txn);
    setup.check();
}

#[test]
fn a_panicking_extractor_leaves_nothing_of_the_operation() {
    let setup = Setup::new();
    let txn = setup.begin();
    setup.insert(&txn, "x", "1a.").unwrap();
    let before = setup.all(&txn);
    for value in ["!b.", "2!.", "2b!"] {
        let write = || setup.put(&txn, "x", value);
        assert!(catch_unwind(AssertUnwindSafe(write)).is_err());
        assert_eq!(setup.all(&txn), before);
    }
    setup.put(&txn, "x", "2b.").unwrap();
    setup.commit(txn);
    setup.check();
}

#[test]
fn an_index_key_that_is_too_long_leaves_nothing_of_the_operation() {
    let mut setup = Setup::new();
    let whole: Extractor = Arc::new(|_, value, keys| keys.push(&value[2..]));
    setup.index("whole value", false, whole.clone());
    let txn = setup.begin();
    setup.insert(&txn, "x", "1a.").unwrap();
    let before = setup.all(&txn);
    // The delimiter and the record's number are added.
    let long = format!("2b{}", ".".repeat(KEY_BYTES_MAX - 9));
    let index = setup.indexes[3].number() as usize;
    let expected = Err(Error::IndexKeyTooLong { index });
    assert_eq!(setup.put(&txn, "x", &long), expected);
    assert_eq!(setup.insert(&txn, "y", &long), expected);
    assert_eq!(setup.all(&txn), before);
    setup.put(&txn, "x", &long[..long.len() - 1]).unwrap();
    setup.commit(txn);
    setup.check();
}

#[test]
fn at_the_memory_limit_operations_happen_or_do_not_and_deletes_go_on() {
    let setup = Setup::with_memory(3 << 20);
    let txn = setup.begin();
    let mut records = 0;
    let padding = "x".repeat(100);
    let failed = loop {
        let key = format!("{records:06}");
        // Every record has different unique keys.
        let value = format!("--.{padding}");
        match setup.insert(&txn, &key, &value) {
            Ok(()) => records += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(failed, Error::MemoryExhausted);
    assert!(records > 1000);
    // If any allocation of the operation fails, the operation leaves nothing.
    for at in 0..200 {
        let key = format!("{:06}", records + at);
        let value = format!("--.{}", "y".repeat(at * 3));
        if setup.insert(&txn, &key, &value) == Ok(()) {
            let update = setup.put(&txn, &key, &format!("--,{}", "z".repeat(at * 7)));
            assert!(matches!(update, Ok(()) | Err(Error::MemoryExhausted)));
        }
    }
    setup.commit(txn);
    setup.check();
    for first in (0..records).step_by(50) {
        let txn = setup.begin();
        for record in first..records.min(first + 50) {
            assert!(setup.delete(&txn, &format!("{record:06}")).unwrap());
        }
        setup.commit(txn);
        for _ in 0..20 {
            setup.session.tend();
        }
    }
    setup.check();
    let txn = setup.begin();
    setup.insert(&txn, "again", "1a.").unwrap();
}

/// An operation that is dropped at any of its suspension points has happened or has not.
#[test]
fn a_dropped_operation_leaves_all_or_nothing() {
    type Operation = fn(&Setup, &Transaction, usize) -> Option<Result<bool, Error>>;
    let operations: [Operation; 4] = [
        |setup, txn, times| {
            let insert = txn.insert::<Stepping>(&setup.table, b"z", b"3c,");
            poll_times(insert, times).map(|done| done.map(|()| true))
        },
        |setup, txn, times| {
            let update = txn.update::<Stepping>(&setup.table, b"x", b"4d,");
            poll_times(update, times)
        },
        |setup, txn, times| {
            let delete = txn.delete::<Stepping>(&setup.table, b"y");
            poll_times(delete, times)
        },
        |setup, txn, times| {
            let upsert = txn.upsert::<Stepping>(&setup.table, b"y", b"1e.");
            poll_times(upsert, times).map(|done| done.map(|()| true))
        },
    ];
    for own in [false, true] {
        for (number, operation) in operations.iter().enumerate() {
            let mut times = 0;
            loop {
                let setup = Setup::new();
                setup.fill();
                let mut txn = setup.begin();
                setup.insert(&txn, "x", "1a.").unwrap();
                setup.insert(&txn, "y", "2b.").unwrap();
                if !own {
                    setup.commit(txn);
                    txn = setup.begin();
                }
                let before = setup.all(&txn);
                times += 1;
                let ended = operation(&setup, &txn, times);
                let after = setup.all(&txn);
                match ended {
                    None => assert_eq!(after, before, "{number} after {times} polls"),
                    Some(Ok(_)) => assert_ne!(after, before),
                    Some(Err(error)) => {
                        assert_eq!((number, error), (3, setup.duplicate_in(0)));
                        assert_eq!(after, before);
                    }
                }
                setup.commit(txn);
                setup.check();
                if ended.is_some() {
                    break;
                }
            }
            assert!(times > 4, "{times}: operations suspend");
        }
    }
}

/// Under a `join`, operations on one table take turns, and each finds the results of those before
/// it.
#[test]
fn operations_of_one_transaction_do_not_mix() {
    for seed in 1..=200 {
        let setup = Setup::new();
        let mut rng = Rng(seed * 0x9e37_79b9 + 1);
        let txn = setup.begin();
        let mut futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        for _ in 0..6 {
            let key = [b'a' + rng.below(3) as u8];
            let value: Vec<u8> = (0..3).map(|_| b'0' + rng.below(3) as u8).collect();
            let (setup, txn) = (&setup, &txn);
            let gives_up = rng.below(4) == 0;
            futures.push(Box::pin(async move {
                let write = txn.upsert::<Stepping>(&setup.table, &key, &value);
                if gives_up {
                    // The write is dropped where it is, while others wait for their turn.
                    let mut write = pin!(write);
                    for _ in 0..5 {
                        if poll(write.as_mut()).is_ready() {
                            return;
                        }
                        stepping::pause().await;
                    }
                    return;
                }
                match write.await {
                    Ok(()) | Err(Error::DuplicateIndexKey { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }));
        }
        interleave(&mut rng, futures, || {});
        setup.commit(txn);
        setup.check();
    }
}

/// A sibling under a `join` aborts the transaction while one operation is under way
/// and another waits for its turn: neither leaves anything.
#[test]
fn an_aborted_transaction_writes_no_more() {
    let setup = Setup::new();
    setup.fill();
    let plain = setup.session.database().create_table("plain", &[]).unwrap();
    let txn = setup.begin();
    let before = setup.all(&txn);
    let other = setup.begin();
    run_inline(other.upsert::<Sequential>(&plain, b"k", b"")).unwrap();
    for polls in 1..4 {
        let txn = setup.begin();
        {
            let mut first = pin!(txn.insert::<Stepping>(&setup.table, b"y", b"3c."));
            let mut second = pin!(txn.insert::<Stepping>(&setup.table, b"z", b"4d."));
            for _ in 0..polls {
                assert!(poll(first.as_mut()).is_pending());
                assert!(poll(second.as_mut()).is_pending());
            }
            let conflict = Err(Error::Abort(Abort::WriteConflict));
            let write = txn.upsert::<Sequential>(&plain, b"k", b"");
            assert_eq!(run_inline(write), conflict);
            assert_eq!(finish(first), conflict);
            assert_eq!(finish(second), conflict);
        }
        let ended = run_inline(txn.commit());
        assert_eq!(ended, Err(Error::Abort(Abort::WriteConflict)));
        assert_eq!(setup.all(&setup.begin()), before);
        setup.check();
    }
}
