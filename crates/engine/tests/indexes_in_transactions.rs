//! Indexes that are created and dropped as parts of transactions.

use crate::by_hand;
use crate::index_kinds::{UNIQUE, by_value};
use crate::steps;

use std::{
    ops::{Bound, ControlFlow},
    sync::Arc,
};

use by_hand::Setup;
use engine::{
    BuildError, Direction, Error, IfLocked, Index, IndexOptions, IndexState, Isolation, OnConflict,
    Table, TableLockMode::RowExclusive, Transaction,
};
use interleave::{Sequential, run_inline};
use steps::Stepped;

const PLAIN: IndexOptions = IndexOptions {
    unique: false,
    prefix_free: false,
};

fn setup() -> Setup {
    Setup {
        on_conflict: OnConflict::Wait,
        ..Setup::new()
    }
}

impl Setup {
    fn create(
        &self,
        txn: &Transaction,
        table: &Arc<Table>,
        options: IndexOptions,
    ) -> Result<Index, BuildError> {
        let created = txn.create_index::<Sequential>(table, "i", b"", options, by_value());
        run_inline(created)
    }

    /// Writes as a statement does: with a lock on the table.
    fn write(&self, txn: &Transaction, key: &str, value: &str) -> Result<(), Error> {
        run_inline(txn.lock_table(&self.table, RowExclusive, IfLocked::Wait))?;
        self.put(txn, key, value)
    }

    fn names(&self) -> Vec<String> {
        let txn = self.begin(Isolation::Snapshot);
        let indexes = run_inline(txn.list_indexes::<Sequential>("t")).unwrap();
        indexes.into_iter().map(|index| index.name).collect()
    }

    /// Checks that the index agrees with its table.
    fn check(&self, index: &Index) {
        let report = run_inline(self.session.check_index::<Sequential>(index)).unwrap();
        assert_eq!(report.flaw_count, 0, "{report:?}");
    }
}

/// Returns index keys and primary keys, as the transaction finds them.
fn read(txn: &Transaction, index: &Index) -> Result<Vec<(String, String)>, Error> {
    let mut all = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let range = (Bound::Unbounded, Bound::Unbounded);
    let scanned = txn.scan_by::<Sequential>(index, range, Direction::Forward, |key, primary, _| {
        all.push((text(key), text(primary)));
        ControlFlow::Continue(())
    });
    run_inline(scanned)?;
    Ok(all)
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = pairs
        .iter()
        .map(|(key, primary)| ((*key).to_owned(), (*primary).to_owned()));
    owned.collect()
}

#[test]
fn it_has_all_records_its_maker_s_own_included_and_others_read_it_after_the_commit() {
    let s = setup();
    let (a, old) = (
        s.begin(Isolation::ReadCommitted),
        s.begin(Isolation::Snapshot),
    );
    s.get(&old, "x");
    s.put(&a, "z", "before").unwrap();
    let index = s.create(&a, &s.table, PLAIN).unwrap();
    s.put(&a, "w", "after").unwrap();
    s.put(&a, "z", "changed").unwrap();
    let all = pairs(&[("0", "x"), ("0", "y"), ("after", "w"), ("changed", "z")]);
    let sorted = |mut found: Vec<(String, String)>| {
        found.sort();
        found
    };
    assert!(a.can_read_by(&index));
    assert_eq!(sorted(read(&a, &index).unwrap()), all);
    let other = s.begin(Isolation::ReadCommitted);
    assert!(!other.can_read_by(&index));
    assert_eq!(read(&other, &index), Err(Error::IndexNotReady));
    run_inline(a.commit()).unwrap();
    assert!(other.can_read_by(&index));
    assert_eq!(sorted(read(&other, &index).unwrap()), all);
    assert!(!old.can_read_by(&index), "its snapshot is older");
    assert_eq!(s.names(), ["i"]);
    s.check(&index);
}

#[test]
fn writers_wait_for_the_end_and_maintain_it_then() {
    for commits in [true, false] {
        let s = setup();
        let (a, b) = (
            s.begin(Isolation::ReadCommitted),
            s.begin(Isolation::ReadCommitted),
        );
        let index = s.create(&a, &s.table, UNIQUE);
        assert!(
            matches!(index, Err(BuildError::Duplicate { .. })),
            "x and y"
        );
        s.put(&a, "y", "1").unwrap();
        let index = s.create(&a, &s.table, UNIQUE).unwrap();
        let mut write = Stepped::new(async {
            b.lock_table(&s.table, RowExclusive, IfLocked::Wait).await?;
            b.upsert::<Sequential>(&s.table, b"z", b"1").await
        });
        assert_eq!(write.step(), None);
        match commits {
            true => drop(run_inline(a.commit()).unwrap()),
            false => a.rollback(),
        }
        let written = write.step().expect("no transaction is in the way");
        drop(write);
        match commits {
            true => assert!(matches!(written, Err(Error::DuplicateIndexKey { .. }))),
            false => assert_eq!(written, Ok(())),
        }
        run_inline(b.commit()).unwrap();
        let state = index.state();
        if commits {
            assert_eq!(state, IndexState::Ready);
            s.check(&index);
        } else {
            assert_eq!(state, IndexState::Dropped);
            assert!(s.names().is_empty() && s.table.indexes().is_empty());
        }
    }
}

#[test]
fn its_maker_waits_for_writers() {
    let s = setup();
    let (a, b) = (
        s.begin(Isolation::ReadCommitted),
        s.begin(Isolation::ReadCommitted),
    );
    s.write(&b, "z", "b").unwrap();
    let created = a.create_index::<Sequential>(&s.table, "i", b"", PLAIN, by_value());
    let mut created = Stepped::new(created);
    assert!(created.step().is_none());
    run_inline(b.commit()).unwrap();
    let index = created.step().expect("the writer has ended").unwrap();
    drop(created);
    run_inline(a.commit()).unwrap();
    s.check(&index);
    let c = s.begin(Isolation::ReadCommitted);
    assert_eq!(read(&c, &index).unwrap().len(), 3);
}

/// A transaction whose snapshot is older than others' records still builds an index with these.
#[test]
fn on_an_old_snapshot_it_has_the_newest_records_and_cannot_be_read_there() {
    let s = setup();
    let a = s.begin(Isolation::Snapshot);
    s.get(&a, "x");
    s.put_at_once("x", "new");
    s.delete_at_once("y");
    let index = s.create(&a, &s.table, UNIQUE).unwrap();
    assert!(!a.can_read_by(&index));
    assert_eq!(read(&a, &index), Err(Error::IndexNotReady));
    assert_eq!(
        s.get(&a, "x").as_deref(),
        Some("0"),
        "the snapshot has not moved"
    );
    run_inline(a.commit()).unwrap();
    s.check(&index);
    let b = s.begin(Isolation::ReadCommitted);
    assert_eq!(read(&b, &index).unwrap(), pairs(&[("new", "x")]));
}

#[test]
fn of_a_table_of_the_same_transaction() {
    for (isolation, commits) in [
        (Isolation::ReadCommitted, true),
        (Isolation::Snapshot, true),
        (Isolation::Serializable, true),
        (Isolation::Serializable, false),
    ] {
        let s = setup();
        let a = s.begin(isolation);
        let table = run_inline(a.create_table::<Sequential>("new", b"")).unwrap();
        run_inline(a.insert::<Sequential>(&table, b"1", b"one")).unwrap();
        let index = s.create(&a, &table, UNIQUE).unwrap();
        run_inline(a.insert::<Sequential>(&table, b"2", b"two")).unwrap();
        let duplicate = run_inline(a.insert::<Sequential>(&table, b"3", b"one"));
        assert!(matches!(duplicate, Err(Error::DuplicateIndexKey { .. })));
        let both = pairs(&[("one", "1"), ("two", "2")]);
        assert_eq!(read(&a, &index).unwrap(), both);
        if !commits {
            continue;
        }
        run_inline(a.commit()).unwrap();
        let b = s.begin(Isolation::ReadCommitted);
        assert_eq!(read(&b, &index).unwrap(), both);
        s.check(&index);
    }
}

#[test]
fn a_savepoint_undoes_it_and_it_can_be_made_again() {
    let s = setup();
    let a = s.begin(Isolation::ReadCommitted);
    s.write(&a, "y", "1").unwrap();
    let savepoint = a.savepoint().unwrap();
    let index = s.create(&a, &s.table, UNIQUE).unwrap();
    s.put(&a, "y", "2").unwrap();
    a.rollback_to(&savepoint).unwrap();
    assert_eq!(index.state(), IndexState::Dropped);
    s.put(&a, "z", "1").unwrap();
    let again = s.create(&a, &s.table, UNIQUE);
    assert!(
        matches!(again, Err(BuildError::Duplicate { .. })),
        "y and z"
    );
    s.put(&a, "z", "3").unwrap();
    let again = s.create(&a, &s.table, UNIQUE).unwrap();
    run_inline(a.commit()).unwrap();
    s.check(&again);
    s.collect();
    let b = s.begin(Isolation::ReadCommitted);
    let all = pairs(&[("0", "x"), ("1", "y"), ("3", "z")]);
    assert_eq!(read(&b, &again).unwrap(), all);
}

#[test]
fn a_dropped_unique_index_is_in_its_dropper_s_way_no_more() {
    for commits in [true, false] {
        let s = setup();
        let a = s.begin(Isolation::ReadCommitted);
        s.put(&a, "y", "1").unwrap();
        let index = s.create(&a, &s.table, UNIQUE).unwrap();
        run_inline(a.commit()).unwrap();
        let b = s.begin(Isolation::ReadCommitted);
        s.write(&b, "w", "w").unwrap();
        let savepoint = b.savepoint().unwrap();
        run_inline(b.drop_index_named::<Sequential>("i")).unwrap();
        s.put(&b, "z", "1").unwrap();
        s.put(&b, "w", "0").unwrap();
        if !commits {
            b.rollback_to(&savepoint).unwrap();
            let duplicate = s.put(&b, "z", "1");
            assert!(matches!(duplicate, Err(Error::DuplicateIndexKey { .. })));
        }
        run_inline(b.commit()).unwrap();
        if commits {
            assert_eq!(index.state(), IndexState::Dropped);
            let c = s.begin(Isolation::ReadCommitted);
            assert_eq!(s.get(&c, "z").as_deref(), Some("1"));
        } else {
            s.check(&index);
        }
    }
}

/// The new index has another name: the old name is free again when the drop has committed.
#[test]
fn one_dropped_and_another_made_in_one_transaction() {
    let s = setup();
    let a = s.begin(Isolation::ReadCommitted);
    let plain = s.create(&a, &s.table, PLAIN).unwrap();
    run_inline(a.commit()).unwrap();
    let b = s.begin(Isolation::ReadCommitted);
    s.write(&b, "y", "1").unwrap();
    run_inline(b.drop_index_named::<Sequential>("i")).unwrap();
    assert!(matches!(
        s.create(&b, &s.table, UNIQUE),
        Err(BuildError::Engine(Error::TableExists))
    ));
    let created = b.create_index::<Sequential>(&s.table, "j", b"", UNIQUE, by_value());
    let unique = run_inline(created).unwrap();
    run_inline(b.commit()).unwrap();
    assert_eq!(plain.state(), IndexState::Dropped);
    s.check(&unique);
    assert_eq!(s.names(), ["j"]);
}

#[test]
fn made_and_dropped_in_one_transaction_it_was_never_there() {
    let s = setup();
    let a = s.begin(Isolation::ReadCommitted);
    let index = s.create(&a, &s.table, PLAIN).unwrap();
    run_inline(a.drop_index_named::<Sequential>("i")).unwrap();
    s.put(&a, "z", "1").unwrap();
    run_inline(a.commit()).unwrap();
    assert_eq!(index.state(), IndexState::Dropped);
    assert!(s.names().is_empty());
}

#[test]
fn a_truncation_after_it_leaves_it_empty() {
    for commits in [true, false] {
        let s = setup();
        let a = s.begin(Isolation::ReadCommitted);
        let index = s.create(&a, &s.table, PLAIN).unwrap();
        let new = run_inline(a.truncate_table::<Sequential>("t")).unwrap();
        run_inline(a.insert::<Sequential>(&new, b"k", b"v")).unwrap();
        let own = a.current_index(&index).unwrap();
        assert_eq!(read(&a, &own).unwrap(), pairs(&[("v", "k")]));
        match commits {
            true => drop(run_inline(a.commit()).unwrap()),
            false => a.rollback(),
        }
        assert_eq!(own.state() == IndexState::Ready, commits);
        if commits {
            s.check(&own);
        }
    }
}

#[test]
fn a_name_that_is_taken_is_refused_and_the_transaction_goes_on() {
    let s = setup();
    let a = s.begin(Isolation::ReadCommitted);
    let created = a.create_index::<Sequential>(&s.table, "t", b"", PLAIN, by_value());
    let taken = run_inline(created);
    assert!(matches!(taken, Err(BuildError::Engine(Error::TableExists))));
    s.create(&a, &s.table, PLAIN).unwrap();
    run_inline(a.commit()).unwrap();
}

/// An observer of commits gets the notes that were not rolled back, with the commit.
#[test]
fn notes_are_handed_over_at_the_commit() {
    use std::sync::Mutex;
    let s = setup();
    type Heard = Vec<(u64, Vec<u32>)>;
    let heard: Arc<Mutex<Heard>> = Arc::default();
    let log = heard.clone();
    let database = s.session.database();
    assert!(database.observe_commits(Box::new(move |at, notes| {
        let notes = notes.into_iter().map(|note| *note.downcast().unwrap());
        log.lock().unwrap().push((at.0, notes.collect()));
    })));
    assert!(!database.observe_commits(Box::new(|_, _| {})));
    let a = s.begin(Isolation::ReadCommitted);
    a.note_for_commit(Box::new(1_u32)).unwrap();
    let savepoint = a.savepoint().unwrap();
    a.note_for_commit(Box::new(2_u32)).unwrap();
    a.rollback_to(&savepoint).unwrap();
    a.note_for_commit(Box::new(3_u32)).unwrap();
    s.put(&a, "x", "1").unwrap();
    assert!(heard.lock().unwrap().is_empty());
    let at = run_inline(a.commit()).unwrap();
    let b = s.begin(Isolation::ReadCommitted);
    b.note_for_commit(Box::new(4_u32)).unwrap();
    drop(b);
    // The transaction writes nothing.
    let c = s.begin(Isolation::Snapshot);
    c.note_for_commit(Box::new(5_u32)).unwrap();
    let later = run_inline(c.commit()).unwrap();
    assert_eq!(
        *heard.lock().unwrap(),
        [(at.0, vec![1, 3]), (later.0, vec![5])]
    );
}
