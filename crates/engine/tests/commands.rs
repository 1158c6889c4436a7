//! Commands: statements whose reads do not see their own writes (`transaction/command.rs`).

use crate::by_hand;
use crate::rng;

use std::{collections::BTreeMap, ops::ControlFlow};

use by_hand::Setup;
use engine::{Error, IfLocked, Isolation, RowOutcome, Strength, Transaction};
use interleave::{Sequential, run_inline};
use rng::Rng;

const LEVELS: [Isolation; 3] = [
    Isolation::ReadCommitted,
    Isolation::Snapshot,
    Isolation::Serializable,
];

impl Setup {
    fn set_row(&self, txn: &Transaction, key: &str, value: &str) -> RowOutcome {
        let change = |_: &[u8], new: &mut Vec<u8>| {
            new.extend_from_slice(value.as_bytes());
            ControlFlow::Continue(Strength::NoKeyUpdate)
        };
        let by = Some(txn);
        let written = txn.modify_row::<Sequential>(&self.table, key.as_bytes(), by, change);
        run_inline(written).unwrap().outcome
    }
}

#[test]
fn a_command_sees_what_was_there_before_it() {
    for level in LEVELS {
        let s = Setup::new();
        let txn = s.begin(level);
        s.put(&txn, "x", "own").unwrap();
        s.insert(&txn, "w", "own").unwrap();
        let command = txn.command().unwrap();
        assert_eq!(s.set_row(&txn, "x", "changed"), RowOutcome::Done);
        assert_eq!(s.delete_row(&txn, "y").outcome, RowOutcome::Done);
        assert_eq!(s.delete_row(&txn, "w").outcome, RowOutcome::Done);
        s.insert(&txn, "z", "new").unwrap();
        assert_eq!(s.get(&txn, "x").as_deref(), Some("own"));
        assert_eq!(s.get(&txn, "z"), None);
        assert_eq!(s.keys(&txn), ["w", "x", "y"]);
        // Unique keys are looked at in their current state.
        assert_eq!(s.insert(&txn, "z", "again"), Err(Error::DuplicateKey));
        s.insert(&txn, "y", "again").unwrap();
        assert_eq!(s.get(&txn, "y").as_deref(), Some("0"));
        drop(command);
        assert_eq!(s.get(&txn, "x").as_deref(), Some("changed"));
        assert_eq!(s.get(&txn, "y").as_deref(), Some("again"));
        assert_eq!(s.keys(&txn), ["x", "y", "z"]);
        run_inline(txn.commit()).unwrap();
        assert_eq!(s.keys(&s.begin(Isolation::Snapshot)), ["x", "y", "z"]);
    }
}

#[test]
fn a_command_writes_a_row_once() {
    let s = Setup::new();
    let txn = s.begin(Isolation::ReadCommitted);
    s.put(&txn, "x", "own").unwrap();
    let command = txn.command().unwrap();
    for key in ["x", "y"] {
        assert_eq!(s.set_row(&txn, key, "1"), RowOutcome::Done);
        assert_eq!(s.set_row(&txn, key, "2"), RowOutcome::Already);
        assert_eq!(s.delete_row(&txn, key).outcome, RowOutcome::Already);
        let (strength, if_locked) = (Strength::Update, IfLocked::Wait);
        let (key, by) = (key.as_bytes(), Some(&txn));
        let locked = txn.lock_row::<Sequential, _>(&s.table, key, by, strength, if_locked, |_| ());
        assert_eq!(
            run_inline(locked).unwrap().found.outcome,
            RowOutcome::Already
        );
    }
    drop(command);
    // The next command may write the record.
    let command = txn.command().unwrap();
    assert_eq!(s.set_row(&txn, "x", "3"), RowOutcome::Done);
    drop(command);
    assert_eq!(s.get(&txn, "x").as_deref(), Some("3"));
    assert_eq!(s.get(&txn, "y").as_deref(), Some("1"));
}

/// Versions of its own that the transaction replaces are kept for savepoints and for commands
/// alike.
#[test]
fn commands_and_savepoints_agree_with_a_model() {
    for seed in 0..300 {
        let mut rng = Rng(seed + 1);
        let s = Setup::new();
        let txn = s.begin(LEVELS[rng.below(3) as usize]);
        let mut now: BTreeMap<String, String> = ["x", "y"]
            .map(|key| (key.to_owned(), "0".to_owned()))
            .into();
        let mut savepoints = Vec::new();
        for at in 0..30 {
            match rng.below(6) {
                0 => savepoints.push((txn.savepoint().unwrap(), now.clone())),
                1 => {
                    if let Some((savepoint, before)) = savepoints.last() {
                        txn.rollback_to(savepoint).unwrap();
                        now = before.clone();
                    }
                }
                2 => {
                    if let Some((savepoint, _)) = savepoints.pop() {
                        txn.release_savepoint(&savepoint).unwrap();
                    }
                }
                _ => {
                    let command = txn.command().unwrap();
                    let seen = now.clone();
                    for _ in 0..rng.below(5) {
                        let key = ["v", "w", "x", "y"][rng.below(4) as usize].to_owned();
                        if rng.below(3) == 0 {
                            let was_there = s.delete(&txn, &key).unwrap();
                            assert_eq!(was_there, now.remove(&key).is_some(), "seed {seed}");
                        } else {
                            let value = format!("{at}{}", "-".repeat(rng.below(40) as usize));
                            s.put(&txn, &key, &value).unwrap();
                            now.insert(key, value);
                        }
                        for key in ["v", "w", "x", "y"] {
                            let read = s.get(&txn, key);
                            assert_eq!(read.as_ref(), seen.get(key), "seed {seed}, key {key}");
                        }
                        let keys: Vec<String> = seen.keys().cloned().collect();
                        assert_eq!(s.keys(&txn), keys, "seed {seed}");
                    }
                    drop(command);
                }
            }
            for key in ["v", "w", "x", "y"] {
                assert_eq!(s.get(&txn, key).as_ref(), now.get(key), "seed {seed}");
            }
        }
        run_inline(txn.commit()).unwrap();
        s.collect();
        let reader = s.begin(Isolation::Snapshot);
        for key in ["v", "w", "x", "y"] {
            assert_eq!(s.get(&reader, key).as_ref(), now.get(key), "seed {seed}");
        }
    }
}
