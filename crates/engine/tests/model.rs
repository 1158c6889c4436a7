//! Random operations of several open transactions, against a multi-version model that is simple
//! enough to be believed: every result, including every abort, is predicted exactly.

use crate::in_memory;
use crate::rng;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::Arc,
};

use engine::{
    Abort, DatabaseConfig, Direction, Error, Isolation, ScanPosition, Session, Table, Transaction,
};
use in_memory::in_memory;
use interleave::{Sequential, run_inline};
use rng::Rng;

type Key = Vec<u8>;
type Value = Vec<u8>;

impl Rng {
    fn key(&mut self) -> Key {
        let i = self.below(24);
        // Short keys, long keys with a shared prefix, prefixes of each other.
        match i % 3 {
            0 => vec![b'k', i as u8],
            1 => format!("a long common prefix {i}").into_bytes(),
            _ => vec![b'p'; i as usize],
        }
    }

    fn value(&mut self) -> Value {
        let bytes = [0, 3, 8, 40, 41, 300][self.below(6) as usize];
        vec![self.below(256) as u8; bytes]
    }
}

/// Committed history of every key, newest last.
#[derive(Default)]
struct Model {
    history: BTreeMap<Key, Vec<(u64, Option<Value>)>>,
    commits: u64,
}

struct Open {
    txn: Transaction,
    isolation: Isolation,
    snapshot: u64,
    writes: BTreeMap<Key, Option<Value>>,
    /// Records of others that the transaction has read, as long as its snapshot may move.
    reads: Option<Vec<Key>>,
}

/// Maximum records that a transaction may have read when its snapshot moves.
const READS_TO_MOVE_MAX: usize = 8;

impl Open {
    /// Notes a read of a record that exists.
    fn note(&mut self, key: &Key) {
        if !self.writes.contains_key(key) {
            if let Some(reads) = &mut self.reads {
                reads.push(key.clone());
            }
            self.reads.take_if(|reads| reads.len() > READS_TO_MOVE_MAX);
        }
    }
}

impl Model {
    fn at(&self, key: &Key, snapshot: u64) -> Option<&Value> {
        let versions = self.history.get(key)?;
        versions
            .iter()
            .rev()
            .find(|(at, _)| *at <= snapshot)?
            .1
            .as_ref()
    }

    fn changed_since(&self, key: &Key, snapshot: u64) -> bool {
        self.history
            .get(key)
            .is_some_and(|versions| versions.iter().any(|(at, _)| *at > snapshot))
    }
}

struct Run {
    rng: Rng,
    session: Rc<Session>,
    table: Arc<Table>,
    /// Bytes of the versions that describe the table.
    catalog_bytes: u64,
    model: Model,
    open: Vec<Open>,
    /// Number of snapshots that moved.
    moves: u64,
}

impl Run {
    fn new(seed: u64) -> Run {
        let (session, table) = in_memory(DatabaseConfig::with_memory(64 << 20));
        let catalog_bytes = session.database().memory().version_bytes;
        Run {
            catalog_bytes,
            rng: Rng(seed | 1),
            session,
            table,
            model: Model::default(),
            open: Vec::new(),
            moves: 0,
        }
    }

    fn snapshot_of(&self, open: &Open) -> u64 {
        match open.isolation {
            Isolation::Snapshot | Isolation::Serializable => open.snapshot,
            Isolation::ReadCommitted => self.model.commits,
        }
    }

    fn sees<'m>(&'m self, open: &'m Open, key: &Key) -> Option<&'m Value> {
        match open.writes.get(key) {
            Some(own) => own.as_ref(),
            None => self.model.at(key, self.snapshot_of(open)),
        }
    }

    /// Returns the abort that a write of `key` by transaction `me` must meet, if its snapshot does
    /// not move instead.
    fn conflict(&mut self, me: usize, key: &Key) -> Option<Abort> {
        let open = &self.open[me];
        if open.writes.contains_key(key) {
            return None;
        }
        if self
            .open
            .iter()
            .enumerate()
            .any(|(i, other)| i != me && other.writes.contains_key(key))
        {
            return Some(Abort::WriteConflict);
        }
        let snapshot = self.snapshot_of(open);
        if !self.model.changed_since(key, snapshot) {
            return None;
        }
        let is_current = |key: &Key| !self.model.changed_since(key, snapshot);
        if !(open.reads.as_ref()).is_some_and(|reads| reads.iter().all(is_current)) {
            return Some(Abort::SnapshotTooOld);
        }
        self.open[me].snapshot = self.model.commits;
        self.moves += 1;
        None
    }

    fn step(&mut self) {
        if self.open.is_empty() || (self.open.len() < 5 && self.rng.below(8) == 0) {
            let isolation = if self.rng.below(3) == 0 {
                Isolation::ReadCommitted
            } else {
                Isolation::Snapshot
            };
            let txn = self.session.begin(isolation).unwrap();
            let snapshot = self.model.commits;
            self.open.push(Open {
                txn,
                isolation,
                snapshot,
                writes: BTreeMap::new(),
                reads: Some(Vec::new()),
            });
            return;
        }
        let me = self.rng.below(self.open.len() as u64) as usize;
        match self.rng.below(16) {
            0 => self.commit(me),
            1 => drop(self.open.swap_remove(me)),
            2 => self.scan(me),
            3 => self.session.tend(),
            4..8 => self.read(me),
            _ => self.write(me),
        }
    }

    fn commit(&mut self, me: usize) {
        let open = self.open.swap_remove(me);
        run_inline(open.txn.commit()).unwrap();
        if !open.writes.is_empty() {
            self.model.commits += 1;
            for (key, value) in open.writes {
                self.model
                    .history
                    .entry(key)
                    .or_default()
                    .push((self.model.commits, value));
            }
        }
    }

    fn read(&mut self, me: usize) {
        let key = self.rng.key();
        let open = &self.open[me];
        let read = run_inline(
            open.txn
                .get::<Sequential, _>(&self.table, &key, <[u8]>::to_vec),
        )
        .unwrap();
        assert_eq!(read.as_ref(), self.sees(open, &key), "read of {key:?}");
        match read {
            Some(_) => self.open[me].note(&key),
            None => self.open[me].reads = None,
        }
    }

    fn scan(&mut self, me: usize) {
        let direction = if self.rng.below(2) == 0 {
            Direction::Forward
        } else {
            Direction::Backward
        };
        let (low, high) = (self.rng.key(), self.rng.key());
        let range = match self.rng.below(4) {
            0 => (Bound::Unbounded, Bound::Unbounded),
            1 => (Bound::Included(low.as_slice()), Bound::Unbounded),
            2 => (
                Bound::Excluded(low.as_slice()),
                Bound::Excluded(high.as_slice()),
            ),
            _ => (Bound::Unbounded, Bound::Included(high.as_slice())),
        };
        let limit = if self.rng.below(2) == 0 {
            usize::MAX
        } else {
            1 + self.rng.below(5) as usize
        };
        let open = &self.open[me];
        let mut rows = Vec::new();
        run_inline(
            open.txn
                .scan::<Sequential>(&self.table, range, direction, |key, value| {
                    rows.push((key.to_vec(), value.to_vec()));
                    if rows.len() == limit {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                }),
        )
        .unwrap();
        let inside = |key: &Key| {
            let above = match range.0 {
                Bound::Unbounded => true,
                Bound::Included(low) => key.as_slice() >= low,
                Bound::Excluded(low) => key.as_slice() > low,
            };
            let below = match range.1 {
                Bound::Unbounded => true,
                Bound::Included(high) => key.as_slice() <= high,
                Bound::Excluded(high) => key.as_slice() < high,
            };
            above && below
        };
        let keys: BTreeSet<&Key> = self
            .model
            .history
            .keys()
            .chain(open.writes.keys())
            .collect();
        let mut expected: Vec<(Key, Value)> = keys
            .into_iter()
            .filter(|key| inside(key))
            .filter_map(|key| Some((key.clone(), self.sees(open, key)?.clone())))
            .collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        expected.truncate(limit);
        assert_eq!(rows, expected);
        self.scan_unordered(me);
        self.open[me].reads = None;
    }

    /// Scans all records, in pieces; their values have to be the expected ones.
    fn scan_unordered(&mut self, me: usize) {
        let limit = 1 + self.rng.below(200) as usize;
        let open = &self.open[me];
        let Some(unordered) = open.txn.unordered() else {
            return;
        };
        let (mut values, mut from) = (Vec::new(), Some(ScanPosition::default()));
        while let Some(position) = from {
            let mut left = limit;
            let piece = unordered.scan::<Sequential>(&self.table, position, |value| {
                values.push(value.to_vec());
                left -= 1;
                match left {
                    0 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            });
            from = run_inline(piece).unwrap();
        }
        let keys: BTreeSet<&Key> = self
            .model
            .history
            .keys()
            .chain(open.writes.keys())
            .collect();
        let seen = keys.into_iter().filter_map(|key| self.sees(open, key));
        let mut expected: Vec<Value> = seen.cloned().collect();
        values.sort();
        expected.sort();
        assert_eq!(values, expected);
    }

    fn write(&mut self, me: usize) {
        let (key, value) = (self.rng.key(), self.rng.value());
        let kind = self.rng.below(5);
        let conflict = self.conflict(me, &key);
        let open = &self.open[me];
        let before = self.sees(open, &key);
        let seen = before.is_some();
        let (table, txn) = (&self.table, &open.txn);
        // The result, as an error or the new content of the key.
        let (result, expected) = match kind {
            0 => {
                let expected = match conflict {
                    Some(abort) => Err(Error::Abort(abort)),
                    None if seen => Err(Error::DuplicateKey),
                    None => Ok(true),
                };
                (
                    run_inline(txn.insert::<Sequential>(table, &key, &value)).map(|()| true),
                    expected,
                )
            }
            1 => {
                let expected = conflict.map_or(Ok(true), |abort| Err(Error::Abort(abort)));
                (
                    run_inline(txn.upsert::<Sequential>(table, &key, &value)).map(|()| true),
                    expected,
                )
            }
            _ => {
                // Changing a record that is absent for the snapshot conflicts with nothing.
                let expected = match conflict {
                    Some(abort) if seen => Err(Error::Abort(abort)),
                    _ => Ok(seen),
                };
                let result = match kind {
                    2 => run_inline(txn.update::<Sequential>(table, &key, &value)),
                    3 => run_inline(txn.delete::<Sequential>(table, &key)),
                    _ => run_inline(txn.modify::<Sequential>(table, &key, |old, new| {
                        assert_eq!(
                            Some(old),
                            before.as_ref().map(|value| &value[..]),
                            "{key:?}"
                        );
                        new.extend_from_slice(&value);
                        ControlFlow::Continue(())
                    })),
                };
                (result, expected)
            }
        };
        assert_eq!(result, expected, "write kind {kind} of {key:?}");
        match result {
            Ok(true) => {
                let content = (kind != 3).then_some(value);
                self.open[me].writes.insert(key, content);
            }
            Err(Error::Abort(abort)) => {
                let open = self.open.swap_remove(me);
                assert_eq!(run_inline(open.txn.commit()), Err(Error::Abort(abort)));
            }
            Err(_) => self.open[me].note(&key),
            Ok(false) => self.open[me].reads = None,
        }
    }

    /// Ends everything and checks that nothing but the live records remains. Returns how
    /// many snapshots moved.
    fn finish(mut self) -> u64 {
        while !self.open.is_empty() {
            self.commit(0);
        }
        for _ in 0..20 {
            self.session.tend();
        }
        assert_eq!(self.session.database().stats().snapshots_moved, self.moves);
        let live: Vec<&Value> = self
            .model
            .history
            .keys()
            .filter_map(|key| self.model.at(key, self.model.commits))
            .collect();
        // Block sizes: 16, 32, then whole lines; the header has 24 bytes. A block
        // may be larger than its value needs if it was rewritten in place.
        let least: u64 = live
            .iter()
            .map(|value| match 24 + value.len() {
                ..=32 => 32,
                bytes => bytes.next_multiple_of(64) as u64,
            })
            .sum();
        let used = self.session.database().memory().version_bytes - self.catalog_bytes;
        assert!(used >= least, "{used} < {least}: live versions were freed");
        assert!(used <= live.len() as u64 * 384, "{used}: versions leak");
        if live.is_empty() {
            assert_eq!(used, 0);
        }
        self.moves
    }
}

#[test]
fn every_result_of_concurrent_transactions_is_as_the_model_predicts() {
    let mut moves = 0;
    for seed in 1..=300 {
        let mut run = Run::new(seed * 0x9e37_79b9);
        for _ in 0..1500 {
            run.step();
        }
        moves += run.finish();
    }
    assert!(
        moves > 300,
        "{moves} snapshots moved: it does not reach what it is for"
    );
}
