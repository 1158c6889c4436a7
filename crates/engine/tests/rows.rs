//! Rows that a statement has found, under read committed, and that other transactions have changed since: a write or
//! lock then reaches the row, wherever it lies, and nothing else (`transaction/row.rs`).

use crate::by_hand;
use crate::rng;

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use by_hand::Setup;
use engine::{
    Extractor, IfLocked, IndexOptions, Isolation, RowFound, RowOutcome, Strength, Transaction,
};
use interleave::{Sequential, run_inline};
use rng::Rng;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn found(outcome: RowOutcome, moved_to: Option<&str>) -> RowFound {
    let moved_to = moved_to.map(|key| key.as_bytes().into());
    RowFound { outcome, moved_to }
}

impl Setup {
    /// Moves a row as an update of its key does in SQL.
    fn move_row(&self, txn: &Transaction, from: &str, to: &str) {
        let value = self.get(txn, from).unwrap();
        assert_eq!(self.delete(txn, from), Ok(true));
        self.insert(txn, to, &value).unwrap();
        txn.note_move(&self.table, from.as_bytes(), to.as_bytes())
            .unwrap();
    }

    /// Appends a letter to a row that `txn` has found; returns the row's previous value.
    fn mark(&self, txn: &Transaction, key: &str) -> (RowFound, Option<String>) {
        let mut before = None;
        let change = |old: &[u8], new: &mut Vec<u8>| {
            before = Some(text(old));
            new.extend_from_slice(old);
            new.push(b'!');
            ControlFlow::Continue(Strength::NoKeyUpdate)
        };
        let key = key.as_bytes();
        let written = txn.modify_row::<Sequential>(&self.table, key, Some(txn), change);
        (run_inline(written).unwrap(), before)
    }

    fn lock_row(&self, txn: &Transaction, key: &str) -> (RowFound, Option<String>) {
        let (key, by) = (key.as_bytes(), Some(txn));
        let (strength, if_locked) = (Strength::Update, IfLocked::Fail);
        let locked = txn.lock_row::<Sequential, _>(&self.table, key, by, strength, if_locked, text);
        let locked = run_inline(locked).unwrap();
        (locked.found, locked.read)
    }

    /// Finds a row that the transaction will write next; returns its value.
    fn find_row(&self, txn: &Transaction, key: &str) -> Option<String> {
        run_inline(txn.find_row::<Sequential, _>(&self.table, key.as_bytes(), text)).unwrap()
    }

    fn at_once(&self, act: impl FnOnce(&Transaction)) {
        let txn = self.begin(Isolation::ReadCommitted);
        act(&txn);
        run_inline(txn.commit()).unwrap();
        self.collect();
    }
}

#[test]
fn a_row_is_followed_to_its_new_key() {
    let s = Setup::new();
    let txn = s.begin(Isolation::ReadCommitted);
    let statement = txn.statement_snapshot().unwrap();
    s.at_once(|other| s.move_row(other, "x", "w"));
    s.at_once(|other| s.move_row(other, "w", "v"));
    s.at_once(|other| s.put(other, "v", "1").unwrap());
    let (row, before) = s.mark(&txn, "x");
    assert_eq!(row, found(RowOutcome::Done, Some("v")));
    assert_eq!(before.as_deref(), Some("1"));
    drop(statement);
    run_inline(txn.commit()).unwrap();
    let reader = s.begin(Isolation::Snapshot);
    assert_eq!(s.get(&reader, "v").as_deref(), Some("1!"));
    assert_eq!(s.keys(&reader), ["v", "y"]);
}

/// A row that is put under a key which has become free is another row: of the same transaction, where the chain of
/// versions shows no tombstone, or of a later one.
#[test]
fn a_row_that_was_replaced_is_gone() {
    for apart in [false, true] {
        let s = Setup::new();
        let txn = s.begin(Isolation::ReadCommitted);
        let statement = txn.statement_snapshot().unwrap();
        if apart {
            s.at_once(|other| assert_eq!(s.delete(other, "x"), Ok(true)));
            s.at_once(|other| s.insert(other, "x", "new").unwrap());
        } else {
            s.at_once(|other| {
                assert_eq!(s.delete(other, "x"), Ok(true));
                s.insert(other, "x", "new").unwrap();
            });
        }
        assert_eq!(s.mark(&txn, "x").0, found(RowOutcome::Absent, None));
        assert_eq!(s.lock_row(&txn, "x").0, found(RowOutcome::Absent, None));
        assert_eq!(s.delete_row(&txn, "x"), found(RowOutcome::Absent, None));
        drop(statement);
        // The next statement finds the row.
        let statement = txn.statement_snapshot().unwrap();
        assert_eq!(s.lock_row(&txn, "x").1.as_deref(), Some("new"));
        drop(statement);
    }
}

#[test]
fn rows_that_have_swapped_their_keys_are_told_apart() {
    let s = Setup::new();
    s.put_at_once("x", "first");
    s.put_at_once("y", "second");
    let txn = s.begin(Isolation::ReadCommitted);
    let statement = txn.statement_snapshot().unwrap();
    s.at_once(|other| {
        s.move_row(other, "x", "between");
        s.move_row(other, "y", "x");
        s.move_row(other, "between", "y");
    });
    let (row, before) = s.lock_row(&txn, "x");
    assert_eq!(row, found(RowOutcome::Done, Some("y")));
    assert_eq!(before.as_deref(), Some("first"));
    let (row, before) = s.mark(&txn, "y");
    assert_eq!(row, found(RowOutcome::Done, Some("x")));
    assert_eq!(before.as_deref(), Some("second"));
    drop(statement);
}

/// A move that was undone never was: by a return to a savepoint, by a rollback.
#[test]
fn a_move_that_was_undone_is_not_followed() {
    let s = Setup::new();
    let txn = s.begin(Isolation::ReadCommitted);
    let statement = txn.statement_snapshot().unwrap();
    s.at_once(|other| {
        let savepoint = other.savepoint().unwrap();
        s.move_row(other, "x", "w");
        other.rollback_to(&savepoint).unwrap();
        s.put(other, "x", "1").unwrap();
    });
    let rolled_back = s.begin(Isolation::ReadCommitted);
    s.move_row(&rolled_back, "y", "v");
    rolled_back.rollback();
    assert_eq!(s.mark(&txn, "x").1.as_deref(), Some("1"));
    assert_eq!(s.mark(&txn, "y").0, found(RowOutcome::Done, None));
    drop(statement);
}

/// If the transaction has not found the row, the row is the record under the key.
#[test]
fn a_key_alone_is_not_followed() {
    let s = Setup::new();
    let txn = s.begin(Isolation::ReadCommitted);
    let statement = txn.statement_snapshot().unwrap();
    s.at_once(|other| {
        s.move_row(other, "x", "w");
        s.insert(other, "x", "new").unwrap();
    });
    let check = |_: &[u8]| ControlFlow::Continue(());
    let deleted = txn.delete_row::<Sequential>(&s.table, b"x", None, check);
    let deleted = run_inline(deleted).unwrap();
    assert_eq!(deleted, found(RowOutcome::Done, None));
    drop(statement);
}

/// A transaction that has found a row by its key, or by an index, does not descend again to write or to lock it.
#[test]
fn a_row_that_was_found_is_written_without_another_descent() {
    let s = Setup::new();
    let options = IndexOptions {
        unique: true,
        prefix_free: false,
    };
    let extract: Extractor = Arc::new(|key, _, keys| keys.push(key));
    let txn = s.begin(Isolation::Snapshot);
    let created = txn.create_index::<Sequential>(&s.table, "i", b"", options, extract);
    let by_key = run_inline(created).unwrap();
    run_inline(txn.commit()).unwrap();
    let spared = || {
        s.collect();
        s.session.database().stats().descents_spared
    };
    for isolation in [Isolation::ReadCommitted, Isolation::Serializable] {
        let before = spared();
        let txn = s.begin(isolation);
        let statement = txn.statement_snapshot().unwrap();
        s.find_row(&txn, "x").unwrap();
        assert_eq!(s.mark(&txn, "x").0.outcome, RowOutcome::Done);
        assert_eq!(spared(), before + 1);
        s.find_row(&txn, "y").unwrap();
        assert_eq!(s.lock_row(&txn, "y").0.outcome, RowOutcome::Done);
        assert_eq!(spared(), before + 2);
        let found = txn.find_row_by::<Sequential, _>(&by_key, b"y", |key, _| text(key));
        assert_eq!(run_inline(found).unwrap().as_deref(), Some("y"));
        assert_eq!(s.delete_row(&txn, "y").outcome, RowOutcome::Done);
        assert_eq!(spared(), before + 3);
        // The transaction has not found the row.
        s.mark(&txn, "x");
        assert_eq!(spared(), before + 3);
        drop(statement);
        txn.rollback();
    }
}

/// The place where a row was found is valid as long as the statement's snapshot is open: afterwards another record
/// may lie there.
#[test]
fn a_place_is_forgotten_with_the_snapshot() {
    let s = Setup::new();
    let txn = s.begin(Isolation::ReadCommitted);
    let statement = txn.statement_snapshot().unwrap();
    assert_eq!(s.find_row(&txn, "x").as_deref(), Some("0"));
    drop(statement);
    s.at_once(|other| assert_eq!(s.delete(other, "x"), Ok(true)));
    s.collect();
    // Enough records to take the place of `x`.
    s.at_once(|other| {
        for at in 0..5_000 {
            s.insert(other, &format!("new {at}"), "new").unwrap();
        }
    });
    let statement = txn.statement_snapshot().unwrap();
    assert_eq!(s.mark(&txn, "x").0, found(RowOutcome::Absent, None));
    assert_eq!(s.delete_row(&txn, "x"), found(RowOutcome::Absent, None));
    drop(statement);
}

/// A row of the transaction's own, which a return to a savepoint has removed, leaves no place to be written to.
#[test]
fn the_place_of_a_row_that_was_taken_back_is_not_written_to() {
    let s = Setup::new();
    let txn = s.begin(Isolation::Snapshot);
    let savepoint = txn.savepoint().unwrap();
    s.insert(&txn, "w", "mine").unwrap();
    assert_eq!(s.find_row(&txn, "w").as_deref(), Some("mine"));
    txn.rollback_to(&savepoint).unwrap();
    s.collect();
    for at in 0..5_000 {
        s.insert(&txn, &format!("new {at}"), "new").unwrap();
    }
    assert_eq!(s.mark(&txn, "w").0, found(RowOutcome::Absent, None));
    assert_eq!(s.delete_row(&txn, "w"), found(RowOutcome::Absent, None));
    run_inline(txn.commit()).unwrap();
}

/// Random transactions move, delete, insert and change rows that each have a name. A statement that has seen the
/// table before them finds each of its rows by that name, or finds that it is gone.
#[test]
fn rows_are_followed_as_a_model_says() {
    for seed in 0..400 {
        let mut rng = Rng(seed + 1);
        let s = Setup::new();
        s.at_once(|txn| {
            s.delete(txn, "x").unwrap();
            s.delete(txn, "y").unwrap();
        });
        // Keys, with the names of their rows.
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        let mut names = 0;
        let mut history = |model: &mut BTreeMap<String, String>, rng: &mut Rng, count: u64| {
            for _ in 0..count {
                let txn = s.begin(Isolation::ReadCommitted);
                let mut after = model.clone();
                let mut saved = None;
                for _ in 0..1 + rng.below(6) {
                    let (key, other) = (rng.below(5).to_string(), rng.below(5).to_string());
                    match (rng.below(6), after.get(&key).cloned()) {
                        (0, _) => saved = Some((txn.savepoint().unwrap(), after.clone())),
                        (1, _) => {
                            if let Some((savepoint, model)) = &saved {
                                txn.rollback_to(savepoint).unwrap();
                                after = model.clone();
                            }
                        }
                        (2, Some(_)) => {
                            assert_eq!(s.delete(&txn, &key), Ok(true));
                            after.remove(&key);
                        }
                        (3 | 4, Some(row)) if !after.contains_key(&other) => {
                            s.move_row(&txn, &key, &other);
                            after.remove(&key);
                            after.insert(other, row);
                        }
                        (_, Some(row)) => s.put(&txn, &key, &row).unwrap(),
                        (_, None) => {
                            names += 1;
                            s.insert(&txn, &key, &names.to_string()).unwrap();
                            after.insert(key, names.to_string());
                        }
                    }
                }
                if rng.below(4) > 0 {
                    run_inline(txn.commit()).unwrap();
                    *model = after;
                }
                s.collect();
            }
        };
        history(&mut model, &mut rng, 3);
        let before = model.clone();
        let txn = s.begin(Isolation::ReadCommitted);
        let statement = txn.statement_snapshot().unwrap();
        history(&mut model, &mut rng, 4);
        for (key, row) in &before {
            let now = model.iter().find(|(_, other)| *other == row);
            // The row is looked for where it was found, or by its key alone.
            if seed % 2 == 0 {
                assert_eq!(s.find_row(&txn, key).as_ref(), Some(row), "seed {seed}");
            }
            let (told, read) = s.lock_row(&txn, key);
            match now {
                Some((place, _)) => {
                    assert_eq!(told.outcome, RowOutcome::Done, "seed {seed}, row {row}");
                    let lies = told.moved_to.as_deref().map_or(key.clone(), text);
                    assert_eq!(&lies, place, "seed {seed}, row {row}");
                    assert_eq!(read.as_ref(), Some(row), "seed {seed}");
                }
                None => assert_eq!(told.outcome, RowOutcome::Absent, "seed {seed}, row {row}"),
            }
        }
        drop(statement);
    }
}
