//! Savepoints: a transaction that returns to a savepoint is as it was when the savepoint was made, and no other
//! transaction notices. Random transactions against copies of a `BTreeMap`, and the rules by name.

use crate::in_memory;
use crate::rng;

use std::{
    collections::BTreeMap,
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::Arc,
};

use engine::{DatabaseConfig, Direction, Error, Isolation, Savepoint, Session, Table, Transaction};
use in_memory::in_memory;
use interleave::{Sequential, run_inline};
use rng::Rng;

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

struct Setup {
    session: Rc<Session>,
    table: Arc<Table>,
}

impl Setup {
    fn new() -> Setup {
        let (session, table) = in_memory(DatabaseConfig::with_memory(64 << 20));
        Setup { session, table }
    }

    fn begin(&self) -> Transaction {
        self.session.begin(Isolation::Snapshot).unwrap()
    }

    fn put(&self, txn: &Transaction, key: &[u8], value: &[u8]) {
        run_inline(txn.upsert::<Sequential>(&self.table, key, value)).unwrap();
    }

    fn delete(&self, txn: &Transaction, key: &[u8]) -> bool {
        run_inline(txn.delete::<Sequential>(&self.table, key)).unwrap()
    }

    fn get(&self, txn: &Transaction, key: &[u8]) -> Option<Vec<u8>> {
        run_inline(txn.get::<Sequential, _>(&self.table, key, <[u8]>::to_vec)).unwrap()
    }

    fn contents(&self, txn: &Transaction) -> Contents {
        let mut contents = Contents::new();
        let all = (Bound::Unbounded, Bound::Unbounded);
        run_inline(
            txn.scan::<Sequential>(&self.table, all, Direction::Forward, |key, value| {
                contents.insert(key.to_vec(), value.to_vec());
                ControlFlow::Continue(())
            }),
        )
        .unwrap();
        contents
    }

    fn committed(&self) -> Contents {
        self.contents(&self.begin())
    }
}

impl Rng {
    fn short_value(&mut self) -> Vec<u8> {
        let bytes = [0, 3, 8, 40, 300][self.below(5) as usize];
        vec![self.below(256) as u8; bytes]
    }
}

/// Runs one transaction of random writes, savepoints, returns and releases, nested at random, up to its end:
/// afterwards the database holds the model's contents.
fn transact(setup: &Setup, rng: &mut Rng, before: &Contents) -> Contents {
    let txn = setup.begin();
    let mut now = before.clone();
    let mut savepoints: Vec<(Savepoint, Contents)> = Vec::new();
    for _ in 0..rng.below(40) {
        let key = vec![b'k', rng.below(8) as u8];
        match rng.below(10) {
            0..=3 => {
                let value = rng.short_value();
                setup.put(&txn, &key, &value);
                now.insert(key, value);
            }
            4 | 5 => assert_eq!(setup.delete(&txn, &key), now.remove(&key).is_some()),
            6 | 7 => savepoints.push((txn.savepoint().unwrap(), now.clone())),
            8 if !savepoints.is_empty() => {
                let at = rng.below(savepoints.len() as u64) as usize;
                txn.rollback_to(&savepoints[at].0).unwrap();
                for (gone, _) in savepoints.drain(at + 1..) {
                    assert_eq!(txn.rollback_to(&gone), Err(Error::NoSuchSavepoint));
                }
                now.clone_from(&savepoints[at].1);
            }
            9 if !savepoints.is_empty() => {
                let at = rng.below(savepoints.len() as u64) as usize;
                txn.release_savepoint(&savepoints[at].0).unwrap();
                for (gone, _) in savepoints.drain(at..) {
                    assert_eq!(txn.release_savepoint(&gone), Err(Error::NoSuchSavepoint));
                }
            }
            _ => {}
        }
        assert_eq!(setup.contents(&txn), now);
        for key in 0..8 {
            let key = [b'k', key];
            assert_eq!(setup.get(&txn, &key).as_ref(), now.get(&key[..]));
        }
        assert_eq!(&setup.committed(), before, "others see what was committed");
    }
    if rng.below(3) == 0 {
        txn.rollback();
        return before.clone();
    }
    run_inline(txn.commit()).unwrap();
    now
}

#[test]
fn a_transaction_returns_to_what_it_was() {
    for seed in 1..=150 {
        let setup = Setup::new();
        let mut rng = Rng(seed);
        let mut contents = Contents::new();
        let reader = setup.begin();
        for round in 0..30 {
            contents = transact(&setup, &mut rng, &contents);
            assert_eq!(setup.committed(), contents, "seed {seed}, round {round}");
            setup.session.tend();
        }
        assert!(setup.contents(&reader).is_empty(), "an old snapshot stays");
    }
}

/// Versions that savepoints keep are freed: by the end of the transaction, of any kind, and when the last
/// savepoint is released.
#[test]
fn no_memory_stays_behind() {
    let setup = Setup::new();
    let memory = || setup.session.database().memory().version_bytes;
    let settle = || {
        for _ in 0..4 {
            setup.session.tend();
        }
    };
    let txn = setup.begin();
    setup.put(&txn, b"x", &[1; 100]);
    run_inline(txn.commit()).unwrap();
    settle();
    let before = memory();
    for ending in 0..4 {
        let txn = setup.begin();
        for round in 0..50 {
            setup.put(&txn, b"x", &[round; 100]);
            setup.put(&txn, &[round], &[round; 100]);
            let savepoint = txn.savepoint().unwrap();
            setup.put(&txn, b"x", &[round; 90]);
            setup.delete(&txn, &[round]);
            if ending < 2 || round % 2 == 0 {
                txn.rollback_to(&savepoint).unwrap();
            } else if ending == 2 {
                txn.release_savepoint(&savepoint).unwrap();
            }
        }
        if ending % 2 == 0 {
            for round in 0..50 {
                setup.delete(&txn, &[round]);
            }
            setup.put(&txn, b"x", &[1; 100]);
            run_inline(txn.commit()).unwrap();
        } else {
            txn.rollback();
        }
        settle();
        assert_eq!(memory(), before, "ending {ending}");
    }
}

/// A savepoint that stayed while others were made and released within it once kept each version of a record
/// that was written meanwhile: 200,000 updates of one row, 200,000 versions.
#[test]
fn savepoints_that_come_and_go_within_another_keep_nothing() {
    let setup = Setup::new();
    let version_bytes = || {
        (0..4).for_each(|_| setup.session.tend());
        setup.session.database().memory().version_bytes
    };
    for depth in 1..4 {
        let txn = setup.begin();
        setup.put(&txn, b"x", &[0; 100]);
        // Savepoints, with the contents that each is to restore.
        let mut around = Vec::new();
        for level in 1..=depth {
            around.push((txn.savepoint().unwrap(), setup.contents(&txn)));
            setup.put(&txn, b"x", &[level; 100]);
            setup.put(&txn, &[level], &[level; 100]);
        }
        let mut before = None;
        for round in 0..200 {
            let outer = txn.savepoint().unwrap();
            setup.put(&txn, b"x", &[round; 100]);
            let inner = txn.savepoint().unwrap();
            setup.put(&txn, b"x", &[round + 1; 100]);
            setup.put(&txn, &[depth], &[round + 1; 100]);
            if round % 3 == 0 {
                txn.rollback_to(&inner).unwrap();
            } else {
                txn.release_savepoint(&inner).unwrap();
                assert_eq!(setup.get(&txn, b"x"), Some(vec![round + 1; 100]));
            }
            setup.put(&txn, b"x", &[round + 2; 100]);
            txn.release_savepoint(&outer).unwrap();
            let command = txn.command().unwrap();
            setup.put(&txn, b"x", &[round + 3; 100]);
            assert_eq!(setup.get(&txn, b"x"), Some(vec![round + 2; 100]));
            drop(command);
            let now = version_bytes();
            assert_eq!(*before.get_or_insert(now), now, "round {round}");
        }
        while let Some((savepoint, contents)) = around.pop() {
            txn.rollback_to(&savepoint).unwrap();
            assert_eq!(setup.contents(&txn), contents);
        }
        txn.rollback();
    }
}

/// A command still sees the versions that it has replaced after a savepoint around it is released.
#[test]
fn a_release_around_a_command_takes_nothing_from_it() {
    for is_within in [false, true] {
        let setup = Setup::new();
        let txn = setup.begin();
        let outermost = is_within.then(|| txn.savepoint().unwrap());
        setup.put(&txn, b"x", b"1");
        let savepoint = txn.savepoint().unwrap();
        let command = txn.command().unwrap();
        setup.put(&txn, b"x", b"22");
        txn.release_savepoint(&savepoint).unwrap();
        for _ in 0..4 {
            setup.session.tend();
            setup.put(&txn, b"y", b"22");
        }
        assert_eq!(setup.get(&txn, b"x").as_deref(), Some(&b"1"[..]));
        drop(command);
        assert_eq!(setup.get(&txn, b"x").as_deref(), Some(&b"22"[..]));
        if let Some(outermost) = outermost {
            txn.rollback_to(&outermost).unwrap();
            assert_eq!(setup.get(&txn, b"x"), None);
        }
        run_inline(txn.commit()).unwrap();
    }
}

/// A record that was deleted before, inserted again after a savepoint, and given back
/// by the return to it, is still collected.
#[test]
fn a_tombstone_that_was_covered_for_a_while_is_collected() {
    let setup = Setup::new();
    let txn = setup.begin();
    setup.put(&txn, b"x", b"1");
    run_inline(txn.commit()).unwrap();
    let txn = setup.begin();
    setup.delete(&txn, b"x");
    run_inline(txn.commit()).unwrap();
    let txn = setup.begin();
    let savepoint = txn.savepoint().unwrap();
    setup.put(&txn, b"x", b"2");
    // The collector meets the tombstone, finds it covered, and forgets it.
    setup.session.tend();
    txn.rollback_to(&savepoint).unwrap();
    run_inline(txn.commit()).unwrap();
    for _ in 0..4 {
        setup.session.tend();
    }
    assert_eq!(setup.session.database().stats().records_removed, 1);
}

#[test]
fn savepoints_are_between_operations_and_of_their_own_transaction() {
    let setup = Setup::new();
    let (txn, other) = (setup.begin(), setup.begin());
    let savepoint = txn.savepoint().unwrap();
    assert_eq!(other.rollback_to(&savepoint), Err(Error::NoSuchSavepoint));
    // The operation has begun and not ended.
    let mut visited = 0;
    let all = (Bound::Unbounded, Bound::Unbounded);
    setup.put(&txn, b"x", b"1");
    run_inline(
        txn.scan::<Sequential>(&setup.table, all, Direction::Forward, |_, _| {
            visited += 1;
            assert_eq!(txn.savepoint(), Err(Error::OperationUnderWay));
            assert_eq!(txn.rollback_to(&savepoint), Err(Error::OperationUnderWay));
            ControlFlow::Continue(())
        }),
    )
    .unwrap();
    assert_eq!(visited, 1);
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(setup.get(&txn, b"x"), None);
    run_inline(txn.commit()).unwrap();
}

/// A record that is written again after a savepoint is logged once, with its final value.
#[test]
fn records_written_twice_have_one_commit() {
    let setup = Setup::new();
    let txn = setup.begin();
    setup.put(&txn, b"x", b"1");
    let savepoint = txn.savepoint().unwrap();
    setup.put(&txn, b"x", b"22");
    txn.release_savepoint(&savepoint).unwrap();
    assert_eq!(txn.write_count(), 1);
    run_inline(txn.commit()).unwrap();
    assert_eq!(setup.committed()[&b"x"[..]], b"22");
}

/// A serializable transaction relies on absent records. Records that it inserted and took back come and go
/// there by its own hand.
#[test]
fn a_return_to_a_savepoint_is_no_phantom() {
    let setup = Setup::new();
    let txn = setup.begin();
    setup.put(&txn, b"x", b"1");
    run_inline(txn.commit()).unwrap();
    let txn = setup.session.begin(Isolation::Serializable).unwrap();
    assert_eq!(setup.get(&txn, b"a"), None);
    assert_eq!(setup.contents(&txn).len(), 1);
    let savepoint = txn.savepoint().unwrap();
    setup.put(&txn, b"b", b"2");
    setup.put(&txn, b"x", b"2");
    txn.rollback_to(&savepoint).unwrap();
    setup.put(&txn, b"c", b"3");
    run_inline(txn.commit()).unwrap();
    assert_eq!(setup.committed().len(), 2);
}
