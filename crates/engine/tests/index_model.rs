//! Random operations of several open transactions on a table with three unique and
//! two other indexes, against a multi-version model that is simple enough to be
//! believed: every result of every write, read and scan is predicted exactly.
//!
//! In the model an entry is one more record, under its own name, with the conflicts that records
//! have; and an operation that fails leaves nothing. The operations run also with records that
//! expire, by a clock that jumps, forwards and back: to reads by table and by index alike, an
//! expired record is absent, and expired records are collected now and then.

mod run;

use crate::rng;

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, ControlFlow, RangeBounds},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use engine::{
    Abort, BuildStep, Database, DatabaseConfig, Direction, Error, Extractor, Index, IndexOptions,
    Isolation, Savepoint, Session, Table, TableOptions, Transaction, WallClock, WallTime,
};
use interleave::{Clock, Interleaved, Policy, Prefetching, Sequential, WorkerLocal, run_inline};
use rng::Rng;
use run::Run;

type Bytes = Vec<u8>;

impl Rng {
    fn indexed_key(&mut self) -> Bytes {
        let i = self.below(16);
        match i % 2 {
            0 => vec![b'k', i as u8],
            _ => format!("a long common prefix {i}").into_bytes(),
        }
    }

    /// Returns a value of five columns, of few values each, and some bytes behind them.
    fn indexed_value(&mut self) -> Bytes {
        let mut value: Bytes = (0..5).map(|_| self.below(12) as u8).collect();
        let bytes = [0, 1, 40, 300][self.below(4) as usize];
        value.extend(std::iter::repeat_n(self.below(4) as u8, bytes));
        value
    }

    fn index_key(&mut self) -> Bytes {
        column(self.below(12) as u8)
    }
}

/// Returns a column's value as an index key: some are prefixes of others.
fn column(value: u8) -> Bytes {
    match value % 4 {
        0 => vec![0; value as usize],
        1 => vec![b'x', value],
        _ => format!("common beginning {value}").into_bytes(),
    }
}

/// Returns the keys and covered bytes that a record has in an index.
fn keys_of(index: usize, value: &[u8]) -> BTreeMap<Bytes, Bytes> {
    let covered = value.get(5).map_or(Bytes::new(), |&byte| vec![byte]);
    match index {
        // Unique indexes: over one column, nullable, and over two columns.
        0 => [(column(value[0]), Bytes::new())].into(),
        1 if value[1] < 4 => BTreeMap::new(),
        1 => [(column(value[1]), covered)].into(),
        2 => {
            let composite = [column(value[2]), vec![value[3]]].concat();
            [(composite, Bytes::new())].into()
        }
        // Indexes that are not unique: one key, and up to two of them.
        3 => [(column(value[3] % 3), covered)].into(),
        _ => [
            (column(value[4]), Bytes::new()),
            (column(value[3]), Bytes::new()),
        ]
        .into(),
    }
}

fn extractor(index: usize) -> Extractor {
    Arc::new(move |_, value, keys| {
        for (key, covered) in keys_of(index, value) {
            keys.push_covering(&key, &covered);
        }
    })
}

const INDEXES: usize = 5;

fn is_unique(index: usize) -> bool {
    index < 3
}

/// Name of a write's target: a record of the table, or an entry by index, index key and, if the
/// index is not unique, primary key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Record(Bytes),
    Entry(usize, Bytes, Bytes),
}

fn entry(index: usize, key: &[u8], primary_key: &[u8]) -> Name {
    let breaker = match is_unique(index) {
        true => Bytes::new(),
        false => primary_key.to_vec(),
    };
    Name::Entry(index, key.to_vec(), breaker)
}

/// A record's value, or an entry's primary key, with its expiry. `None`: absent.
type Content = Option<(Bytes, u64)>;

#[derive(Default)]
struct Model {
    history: BTreeMap<Name, Vec<(u64, Content)>>,
    commits: u64,
}

struct Open {
    txn: Transaction,
    isolation: Isolation,
    snapshot: u64,
    writes: BTreeMap<Name, Content>,
    /// Savepoints, with the writes up to each.
    savepoints: Vec<(Savepoint, BTreeMap<Name, Content>)>,
    /// Records of others that the transaction has read, as long as its snapshot may move.
    reads: Option<Vec<Name>>,
}

/// Maximum records that a transaction may have read when its snapshot moves.
const READS_TO_MOVE_MAX: usize = 8;

impl Open {
    /// Notes a read of stored content.
    fn note(&mut self, name: &Name) {
        if !self.writes.contains_key(name) {
            if let Some(reads) = &mut self.reads {
                reads.push(name.clone());
            }
            self.reads.take_if(|reads| reads.len() > READS_TO_MOVE_MAX);
        }
    }
}

impl Model {
    fn at(&self, name: &Name, snapshot: u64) -> Content {
        let versions = self.history.get(name)?;
        let mut versions = versions.iter().rev();
        versions.find(|(at, _)| *at <= snapshot)?.1.clone()
    }

    fn commit(&mut self, writes: BTreeMap<Name, Content>) {
        self.commits += 1;
        for (name, content) in writes {
            let versions = self.history.entry(name).or_default();
            versions.push((self.commits, content));
        }
    }

    fn changed_since(&self, name: &Name, snapshot: u64) -> bool {
        let versions = self.history.get(name);
        versions.is_some_and(|versions| versions.iter().any(|(at, _)| *at > snapshot))
    }
}

enum Outcome {
    Done(bool),
    Duplicate,
    DuplicateIn(usize),
    Abort(Abort),
}

fn all_as_predicted<P: Policy>(seeds: std::ops::RangeInclusive<u64>, ttl: u64) {
    let (mut duplicates, mut expired) = (0, 0);
    for seed in seeds {
        let mut run = Run::<P>::new(seed * 0x9e37_79b9, ttl);
        for _ in 0..1500 {
            run.step();
        }
        let counts = run.finish();
        duplicates += counts.0;
        expired += counts.1;
    }
    assert!(
        ttl == 0 || expired > 100,
        "expired records are to be deleted now and then: {expired}"
    );
    assert!(
        duplicates > 100,
        "operations are to be taken back now and then"
    );
}

#[test]
fn every_result_is_as_the_model_predicts() {
    all_as_predicted::<Sequential>(1..=30, 0);
}

#[test]
fn every_result_is_as_the_model_predicts_when_records_expire() {
    all_as_predicted::<Sequential>(1..=30, 2000);
}

#[test]
fn every_result_is_as_the_model_predicts_when_records_expire_interleaved() {
    all_as_predicted::<Interleaved>(51..=60, 2000);
}

#[test]
fn every_result_is_as_the_model_predicts_with_prefetching() {
    all_as_predicted::<Prefetching>(31..=40, 0);
}

#[test]
fn every_result_is_as_the_model_predicts_interleaved() {
    all_as_predicted::<Interleaved>(41..=50, 0);
}
