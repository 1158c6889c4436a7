//! Tests of every engine alike.

use std::ops::ControlFlow;
use std::sync::Arc;

use bench::comparison::Asked;
use bench::distribution::Records;
use bench::measure::Durability;
use bench::mode::Mode;
use bench::plan::Options;
use bench::values::ValueShape;
use bench::workload::{Workload, builtin};
use commands::progress::Progress;

use super::*;
use crate::body::Transaction;
use crate::peers;

const VALUE_BYTES: u64 = 100;

fn plan(workload: &str, records: u64, operations: Option<u64>) -> Plan {
    Options {
        records: Some(records),
        operations,
        value_bytes: Some(VALUE_BYTES),
        asked: Asked {
            modes: vec![Mode::Interleaved],
            durabilities: vec![Durability::None],
            seconds: 0.05,
            repeats: 1,
            ..Asked::default()
        },
        ..Options::of(Workload::named_or_file(workload).unwrap())
    }
    .plan()
    .unwrap()
}

const DURABILITIES: [Durability; 3] = [
    Durability::Synchronous,
    Durability::Relaxed,
    Durability::None,
];

/// Calls `check` with a loaded store.
fn with_store<P: Peer>(
    plan: &Plan,
    durability: Durability,
    open: impl Fn(&Setup<'_>) -> Result<P>,
    check: impl FnOnce(&mut PeerEngine<'_, P>),
) {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup {
        plan,
        durability,
        window: Duration::from_millis(5),
        cache_bytes: 16 << 20,
        memory_bytes: None,
        weft_clients: 1,
        threads_max: 4,
        directory: directory.path(),
    };
    let mut engine = PeerEngine::new(open(&setup).unwrap(), &setup);
    let step = Progress::hidden().step("loading", plan.records);
    engine.load(&step).unwrap();
    check(&mut engine);
}

fn run_of(plan: &Plan) -> Run {
    let variant = plan.comparison.variants()[0];
    Run::new(plan, variant, Arc::new(Records::new(plan.records)), 1).unwrap()
}

/// An operation of a transaction in a test, and the expected answer.
#[derive(Debug)]
enum Act<'a> {
    Write(&'a [u8], &'a [u8]),
    Update(&'a [u8], &'a [u8]),
    Delete(&'a [u8]),
    Read(&'a [u8], Option<&'a [u8]>),
    Modify(&'a [u8], &'a [u8]),
    /// A scan from a key over a number of records, and their keys.
    Scan(&'a [u8], usize, &'a [&'a [u8]]),
}

struct Acts<'a>(&'a [Act<'a>]);

impl Body for Acts<'_> {
    fn run<T: Transaction>(&mut self, txn: &mut T) -> Result<()> {
        let mut answer = None;
        for act in self.0 {
            match act {
                Act::Write(key, value) => txn.write(key, value)?,
                Act::Update(key, value) => assert!(txn.update(key, value)?, "{act:?}"),
                Act::Delete(key) => txn.delete(key)?,
                Act::Read(key, expected) => {
                    let found = txn.read(key, |value| answer = Some(value.to_vec()))?;
                    assert_eq!(found, expected.is_some(), "{act:?}");
                    assert_eq!(answer.take().as_deref(), *expected, "{act:?}");
                }
                Act::Modify(key, value) => {
                    assert!(txn.read_for_update(key, |_| ())?, "{act:?}");
                    txn.write(key, value)?;
                }
                Act::Scan(from, length, expected) => {
                    let mut keys = Vec::new();
                    txn.scan(from, |key, _| {
                        keys.push(key.to_vec());
                        if keys.len() == *length {
                            ControlFlow::Break(())
                        } else {
                            ControlFlow::Continue(())
                        }
                    })?;
                    assert_eq!(keys, *expected, "{act:?}");
                }
            }
        }
        Ok(())
    }
}

/// Checks that each way to run a transaction does what its operations say.
fn operations_do_what_they_say<P: Peer>(open: impl Fn(&Setup<'_>) -> Result<P>) {
    use Act::{Delete, Modify, Read, Scan, Update, Write};
    // Below every key that is loaded.
    let keys: Vec<[u8; 8]> = (1..=4_u64).map(u64::to_be_bytes).collect();
    let [a, b, c, d] = [&keys[0][..], &keys[1], &keys[2], &keys[3]];
    let script: &[(Demand, &[Act<'_>])] = &[
        (Demand::ReadOne, &[Read(a, None)]),
        (Demand::WriteOne, &[Write(a, b"one")]),
        (Demand::ReadOne, &[Read(a, Some(b"one"))]),
        (Demand::WriteOne, &[Update(a, b"another")]),
        (Demand::Write, &[Write(c, b"three"), Write(b, b"two")]),
        (
            Demand::Read,
            &[
                Read(a, Some(b"another")),
                Read(b, Some(b"two")),
                Read(d, None),
                Scan(b, 2, &[b, c]),
                Scan(a, 3, &[a, b, c]),
            ],
        ),
        (
            Demand::ReadWrite,
            &[
                Read(c, Some(b"three")),
                Modify(b, b"more"),
                Read(b, Some(b"more")),
                Write(d, b"four"),
                Delete(c),
            ],
        ),
        (Demand::ReadOne, &[Scan(b, 2, &[b, d])]),
        (Demand::Read, &[Read(b, Some(b"more")), Read(c, None)]),
        (Demand::Write, &[Delete(a), Delete(c)]),
        (Demand::WriteOne, &[Delete(b)]),
        (Demand::WriteOne, &[Delete(d)]),
    ];
    let plan = plan("a", 1000, None);
    for durability in DURABILITIES {
        with_store(&plan, durability, &open, |engine| {
            engine
                .peer
                .session(|client| {
                    for (demand, acts) in script {
                        let outcome = client.transact(*demand, &mut Acts(acts))?;
                        assert_eq!(outcome, Outcome::Committed);
                    }
                    Ok(())
                })
                .unwrap();
            engine.peer.sync().unwrap();
            engine.settle().unwrap();
            assert!(engine.audit().unwrap());
        });
    }
}

/// Checks that every workload at every durability has right answers from several threads, and
/// leaves the records it found.
fn every_workload_is_verified<P: Peer>(open: impl Fn(&Setup<'_>) -> Result<P>) {
    for (position, name) in builtin::NAMES.iter().enumerate() {
        let plan = plan(name, 1000, None);
        let durability = DURABILITIES[position % DURABILITIES.len()];
        with_store(&plan, durability, &open, |engine| {
            let run = run_of(&plan);
            let raw = engine.run(3, &run).unwrap();
            assert!(
                raw.transactions > 0 && raw.elapsed > Duration::ZERO,
                "{name}"
            );
            assert!(raw.verifier.verified(), "{name}: {:?}", raw.verifier);
            assert!(raw.latencies.count() > 0, "{name}");
            engine
                .restore(run.records.loaded()..run.records.end())
                .unwrap();
            engine.settle().unwrap();
            assert!(engine.audit().unwrap(), "{name}");
        });
    }
}

/// Checks that read-modify-writes of one record from several threads all count.
fn no_update_is_lost<P: Peer>(open: impl Fn(&Setup<'_>) -> Result<P>) {
    // The workload `rmw` has one read-modify-write in five operations.
    let plan = plan("rmw", 1, Some(5));
    with_store(&plan, Durability::None, &open, |engine| {
        let raw = engine.run(4, &run_of(&plan)).unwrap();
        let mut version = VersionOf(plan.key.key(0), 0);
        let outcome = engine
            .peer
            .session(|client| client.transact(Demand::ReadOne, &mut version));
        assert_eq!(outcome.unwrap(), Outcome::Committed);
        assert_eq!(version.1, raw.transactions as u16);
    });
}

/// Checks that every update changes the value, so no engine can skip it.
fn updates_change_values<P: Peer>(open: impl Fn(&Setup<'_>) -> Result<P>) {
    let plan = plan("update-only", 1, Some(1));
    with_store(&plan, Durability::None, &open, |engine| {
        let mut versions = Vec::new();
        let mut work = Operations::new(&plan, 0);
        run_of(&plan).source(0).transaction(&mut work.operations);
        let outcome = engine.peer.session(|client| {
            for _ in 0..3 {
                let mut version = VersionOf(plan.key.key(0), 0);
                let written = client.transact(Demand::WriteOne, &mut work)?;
                let read = client.transact(Demand::ReadOne, &mut version)?;
                assert_eq!((written, read), (Outcome::Committed, Outcome::Committed));
                versions.push(version.1);
            }
            Ok(())
        });
        outcome.unwrap();
        versions.dedup();
        assert_eq!(versions.len(), 3);
    });
}

struct VersionOf(Vec<u8>, u16);

impl Body for VersionOf {
    fn run<T: Transaction>(&mut self, txn: &mut T) -> Result<()> {
        txn.read(&self.0, |value| self.1 = ValueShape::version(value))?;
        Ok(())
    }
}

/// Checks that a damaged value and a missing record are noticed.
fn damage_is_found<P: Peer>(open: impl Fn(&Setup<'_>) -> Result<P>) {
    // Uniform: every record is read.
    let plan = plan("read-only", 100, None);
    let key = plan.key.key(7);
    for act in [
        Act::Write(&key, &[0; VALUE_BYTES as usize]),
        Act::Delete(&key),
    ] {
        with_store(&plan, Durability::None, &open, |engine| {
            let damage = |client: &mut P::Client<'_>| {
                client.transact(Demand::WriteOne, &mut Acts(std::slice::from_ref(&act)))
            };
            assert_eq!(engine.peer.session(damage).unwrap(), Outcome::Committed);
            assert!(!engine.audit().unwrap());
            let raw = engine.run(1, &run_of(&plan)).unwrap();
            assert!(!raw.verifier.verified(), "{act:?}");
        });
    }
}

macro_rules! tests_of {
    ($engine:ident, $store:ty) => {
        mod $engine {
            use super::*;

            #[test]
            fn operations_do_what_they_say() {
                super::operations_do_what_they_say(<$store>::open);
            }

            #[test]
            fn every_workload_is_verified() {
                super::every_workload_is_verified(<$store>::open);
            }

            #[test]
            fn no_update_is_lost() {
                super::no_update_is_lost(<$store>::open);
            }

            #[test]
            fn updates_change_values() {
                super::updates_change_values(<$store>::open);
            }

            #[test]
            fn damage_is_found() {
                super::damage_is_found(<$store>::open);
            }
        }
    };
}

tests_of!(redb, peers::redb::Redb);
tests_of!(fjall, peers::fjall::Fjall);
tests_of!(lmdb, peers::lmdb::Lmdb);
#[cfg(feature = "rocksdb")]
tests_of!(rocksdb, peers::rocksdb::RocksDb);
tests_of!(sqlite, peers::sqlite::Sqlite);
