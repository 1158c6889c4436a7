//! Which anomalies each isolation level allows and forbids, by name (Adya's, and
//! those of Berenson et al.). Two transactions in one session, stepped by hand.

use std::{ops::Bound, ops::ControlFlow, rc::Rc, sync::Arc};

use engine::{
    Abort, Database, DatabaseConfig, Direction, Error, Isolation, Session, Table, Transaction,
};
use interleave::{Sequential, run_inline};

struct Setup {
    session: Rc<Session>,
    table: Arc<Table>,
}

impl Setup {
    fn new() -> Setup {
        let database = Database::new(DatabaseConfig::with_memory(64 << 20)).unwrap();
        let table = database.create_table("t", &[]).unwrap();
        let setup = Setup {
            session: Session::new(&database).unwrap(),
            table,
        };
        let txn = setup.begin(Isolation::Snapshot);
        setup.put(&txn, "x", "0").unwrap();
        setup.put(&txn, "y", "0").unwrap();
        run_inline(txn.commit()).unwrap();
        setup
    }

    fn begin(&self, isolation: Isolation) -> Transaction {
        self.session.begin(isolation).unwrap()
    }

    fn get(&self, txn: &Transaction, key: &str) -> Option<String> {
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        run_inline(txn.get::<Sequential, _>(&self.table, key.as_bytes(), text)).unwrap()
    }

    fn put(&self, txn: &Transaction, key: &str, value: &str) -> Result<(), Error> {
        run_inline(txn.upsert::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    fn insert(&self, txn: &Transaction, key: &str, value: &str) -> Result<(), Error> {
        run_inline(txn.insert::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    fn update(&self, txn: &Transaction, key: &str, value: &str) -> Result<bool, Error> {
        run_inline(txn.update::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    fn delete(&self, txn: &Transaction, key: &str) -> Result<bool, Error> {
        run_inline(txn.delete::<Sequential>(&self.table, key.as_bytes()))
    }

    fn keys(&self, txn: &Transaction) -> Vec<String> {
        let mut keys = Vec::new();
        let range = (Bound::Unbounded, Bound::Unbounded);
        run_inline(
            txn.scan::<Sequential>(&self.table, range, Direction::Forward, |key, _| {
                keys.push(String::from_utf8(key.to_vec()).unwrap());
                ControlFlow::Continue(())
            }),
        )
        .unwrap();
        keys
    }
}

const LEVELS: [Isolation; 2] = [Isolation::ReadCommitted, Isolation::Snapshot];

#[test]
fn g0_dirty_write_is_forbidden() {
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        s.put(&a, "x", "a").unwrap();
        assert_eq!(s.put(&b, "x", "b"), Err(Error::Abort(Abort::WriteConflict)));
        run_inline(a.commit()).unwrap();
        assert_eq!(s.get(&s.begin(level), "x").as_deref(), Some("a"));
        assert_eq!(
            run_inline(b.commit()),
            Err(Error::Abort(Abort::WriteConflict))
        );
    }
}

#[test]
fn g1a_aborted_read_is_forbidden() {
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        s.put(&a, "x", "a").unwrap();
        assert_eq!(s.get(&b, "x").as_deref(), Some("0"));
        a.rollback();
        assert_eq!(s.get(&b, "x").as_deref(), Some("0"));
    }
}

#[test]
fn g1b_intermediate_read_is_forbidden() {
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        s.put(&a, "x", "1").unwrap();
        assert_eq!(s.get(&b, "x").as_deref(), Some("0"));
        s.put(
            &a,
            "x",
            "a rather longer second value, which needs a block of its own",
        )
        .unwrap();
        assert_eq!(s.get(&b, "x").as_deref(), Some("0"));
        s.put(&a, "x", "2").unwrap();
        run_inline(a.commit()).unwrap();
        let seen = s.get(&b, "x");
        assert_eq!(
            seen.as_deref(),
            Some(if level == Isolation::Snapshot {
                "0"
            } else {
                "2"
            })
        );
    }
}

#[test]
fn g1c_circular_information_flow_is_forbidden() {
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        s.put(&a, "x", "a").unwrap();
        s.put(&b, "y", "b").unwrap();
        assert_eq!(s.get(&a, "y").as_deref(), Some("0"));
        assert_eq!(s.get(&b, "x").as_deref(), Some("0"));
        run_inline(a.commit()).unwrap();
        run_inline(b.commit()).unwrap();
    }
}

#[test]
fn fuzzy_read_is_forbidden_by_snapshot_and_allowed_by_read_committed() {
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        assert_eq!(s.get(&a, "x").as_deref(), Some("0"));
        s.put(&b, "x", "b").unwrap();
        run_inline(b.commit()).unwrap();
        let again = s.get(&a, "x");
        assert_eq!(
            again.as_deref(),
            Some(if level == Isolation::Snapshot {
                "0"
            } else {
                "b"
            })
        );
    }
}

#[test]
fn g_single_read_skew_is_forbidden_by_snapshot() {
    let s = Setup::new();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    assert_eq!(s.get(&a, "x").as_deref(), Some("0"));
    s.put(&b, "x", "b").unwrap();
    s.put(&b, "y", "b").unwrap();
    run_inline(b.commit()).unwrap();
    assert_eq!(s.get(&a, "y").as_deref(), Some("0"));
}

#[test]
fn p4_lost_update_is_forbidden_by_snapshot_and_allowed_by_read_committed() {
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        s.get(&a, "x");
        s.get(&b, "x");
        s.put(&a, "x", "a").unwrap();
        run_inline(a.commit()).unwrap();
        let second = s.put(&b, "x", "b");
        if level == Isolation::Snapshot {
            assert_eq!(second, Err(Error::Abort(Abort::SnapshotTooOld)));
        } else {
            assert_eq!(second, Ok(()));
            run_inline(b.commit()).unwrap();
        }
    }
}

#[test]
fn phantoms_are_forbidden_by_snapshot_and_allowed_by_read_committed() {
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        assert_eq!(s.keys(&a), ["x", "y"]);
        s.insert(&b, "xx", "b").unwrap();
        s.delete(&b, "y").unwrap();
        assert_eq!(s.keys(&a), ["x", "y"]);
        assert_eq!(s.keys(&b), ["x", "xx"]);
        run_inline(b.commit()).unwrap();
        if level == Isolation::Snapshot {
            assert_eq!(s.keys(&a), ["x", "y"]);
        } else {
            assert_eq!(s.keys(&a), ["x", "xx"]);
        }
    }
}

#[test]
fn write_skew_is_allowed_by_snapshot() {
    // Documented: snapshot isolation is not serializable.
    let s = Setup::new();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    assert_eq!(
        (s.get(&a, "y").as_deref(), s.get(&b, "x").as_deref()),
        (Some("0"), Some("0"))
    );
    s.put(&a, "x", "a").unwrap();
    s.put(&b, "y", "b").unwrap();
    run_inline(a.commit()).unwrap();
    run_inline(b.commit()).unwrap();
}

#[test]
fn own_writes_are_read_back_in_points_and_scans() {
    for level in LEVELS {
        let s = Setup::new();
        let a = s.begin(level);
        s.insert(&a, "n", "1").unwrap();
        assert_eq!(s.update(&a, "n", "2"), Ok(true));
        assert_eq!(s.get(&a, "n").as_deref(), Some("2"));
        assert_eq!(s.keys(&a), ["n", "x", "y"]);
        assert_eq!(s.delete(&a, "n"), Ok(true));
        assert_eq!(s.delete(&a, "n"), Ok(false));
        assert_eq!(s.delete(&a, "x"), Ok(true));
        assert_eq!(s.get(&a, "x"), None);
        assert_eq!(s.keys(&a), ["y"]);
        s.insert(&a, "x", "again").unwrap();
        assert_eq!(s.keys(&a), ["x", "y"]);
        assert_eq!(s.insert(&a, "x", "twice"), Err(Error::DuplicateKey));
        run_inline(a.commit()).unwrap();
        let b = s.begin(level);
        assert_eq!(s.get(&b, "x").as_deref(), Some("again"));
        assert_eq!(s.get(&b, "n"), None);
    }
}

#[test]
fn a_record_inserted_and_deleted_at_once_leaves_nothing_behind() {
    let s = Setup::new();
    let a = s.begin(Isolation::Snapshot);
    s.insert(&a, "n", "1").unwrap();
    s.delete(&a, "n").unwrap();
    run_inline(a.commit()).unwrap();
    for _ in 0..10 {
        s.session.tend();
    }
    assert_eq!(s.session.database().stats().records_removed, 1);
    let b = s.begin(Isolation::Snapshot);
    s.insert(&b, "n", "2").unwrap();
    run_inline(b.commit()).unwrap();
}

#[test]
fn an_update_of_what_the_snapshot_does_not_see_finds_nothing() {
    let s = Setup::new();
    let (a, b) = (s.begin(Isolation::Snapshot), s.begin(Isolation::Snapshot));
    s.insert(&b, "n", "b").unwrap();
    assert_eq!(s.update(&a, "n", "a"), Ok(false));
    run_inline(b.commit()).unwrap();
    assert_eq!(s.update(&a, "n", "a"), Ok(false));
    assert_eq!(
        s.insert(&a, "n", "a"),
        Err(Error::Abort(Abort::SnapshotTooOld))
    );
}

#[test]
fn an_aborted_insert_frees_its_key() {
    for level in LEVELS {
        let s = Setup::new();
        let (a, b) = (s.begin(level), s.begin(level));
        s.insert(&a, "n", "a").unwrap();
        assert_eq!(
            s.insert(&b, "n", "b"),
            Err(Error::Abort(Abort::WriteConflict))
        );
        a.rollback();
        let c = s.begin(level);
        assert_eq!(s.get(&c, "n"), None);
        s.insert(&c, "n", "c").unwrap();
        run_inline(c.commit()).unwrap();
    }
}

#[test]
fn a_deleted_key_can_be_inserted_before_and_after_its_collection() {
    for collect in [false, true] {
        let s = Setup::new();
        let a = s.begin(Isolation::Snapshot);
        s.delete(&a, "x").unwrap();
        run_inline(a.commit()).unwrap();
        if collect {
            for _ in 0..10 {
                s.session.tend();
            }
            assert_eq!(s.session.database().stats().records_removed, 1);
        }
        let b = s.begin(Isolation::Snapshot);
        s.insert(&b, "x", "b").unwrap();
        run_inline(b.commit()).unwrap();
        for _ in 0..10 {
            s.session.tend();
        }
        assert_eq!(
            s.get(&s.begin(Isolation::Snapshot), "x").as_deref(),
            Some("b")
        );
    }
}

#[test]
fn an_old_snapshot_keeps_its_history_until_it_ends() {
    let s = Setup::new();
    let old = s.begin(Isolation::Snapshot);
    for i in 0..100 {
        let txn = s.begin(Isolation::Snapshot);
        s.put(&txn, "x", &i.to_string()).unwrap();
        if i == 50 {
            s.delete(&txn, "y").unwrap();
        }
        run_inline(txn.commit()).unwrap();
        s.session.tend();
    }
    assert_eq!(s.get(&old, "x").as_deref(), Some("0"));
    assert_eq!(s.keys(&old), ["x", "y"]);
    let before = s.session.database().memory().version_bytes;
    run_inline(old.commit()).unwrap();
    for _ in 0..10 {
        s.session.tend();
    }
    let after = s.session.database().memory().version_bytes;
    // One live record remains, in one block of 32 bytes.
    assert_eq!((after, before > 100 * 32), (32, true));
}

#[test]
fn a_table_of_another_database_is_refused() {
    // It was accepted once: its node numbers were followed in the wrong arena.
    let (s, other) = (Setup::new(), Setup::new());
    let txn = s.begin(Isolation::Snapshot);
    let read = txn.get::<Sequential, _>(&other.table, b"x", <[u8]>::to_vec);
    assert_eq!(run_inline(read), Err(Error::ForeignTable));
    s.put(&txn, "x", "1").unwrap();
    run_inline(txn.commit()).unwrap();
}
