//! Threads that create, fill, truncate, rename and drop tables, while others read and write the
//! same tables.
//!
//! Each table has, under [`SUM`], the sum of its other records, which every writer keeps right. A
//! transaction that sees half of another one, records of another storage, or a table that is not
//! the one of its snapshot finds a wrong sum.

use crate::rng;

use std::{
    collections::BTreeMap,
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::{Arc, Mutex},
};

use engine::{
    Certifier, Database, DatabaseConfig, Direction, Error, Isolation, Session, Table, Transaction,
    Usage,
};
use interleave::{Sequential, WorkerLocal, run_inline};
use rng::Rng;

const THREADS: u64 = 4;
const STEPS: usize = 1500;
const NAMES: u64 = 3;
const RECORDS: u64 = 40;
const SUM: &[u8] = b"sum";

/// Successful operations, by kind.
type Counts = BTreeMap<&'static str, usize>;

struct Storm {
    database: Arc<Database>,
    /// Handles from all threads, for all threads, including those of tables that are gone.
    handles: Mutex<Vec<Arc<Table>>>,
}

struct Thread<'s> {
    storm: &'s Storm,
    session: Rc<Session>,
    rng: Rng,
    counts: Counts,
}

impl Thread<'_> {
    fn step(&mut self) {
        let isolation = match self.rng.below(2) {
            0 => Isolation::Snapshot,
            _ => Isolation::Serializable,
        };
        let txn = self.session.begin(isolation).unwrap();
        let mut done = Vec::new();
        for _ in 0..=self.rng.below(2) {
            match self.something(&txn) {
                Ok(what) => done.push(what),
                Err(Error::NoSuchTable | Error::TableExists | Error::TableDropped) => {}
                Err(Error::Abort(_)) => return,
                Err(error) => panic!("{error:?}"),
            }
        }
        match run_inline(txn.commit()) {
            Ok(_) => done
                .into_iter()
                .for_each(|what| *self.counts.entry(what).or_default() += 1),
            Err(Error::Abort(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }

    fn something(&mut self, txn: &Transaction) -> Result<&'static str, Error> {
        let name = format!("table {}", self.rng.below(NAMES));
        match self.rng.below(10) {
            0 | 1 => {
                let table = run_inline(txn.create_table::<Sequential>(&name, b""))?;
                self.keep(&table);
                self.fill(txn, &table)?;
                Ok("create")
            }
            2 => run_inline(txn.drop_table::<Sequential>(&name)).map(|()| "drop"),
            3 => {
                let table = run_inline(txn.truncate_table::<Sequential>(&name))?;
                self.keep(&table);
                assert_eq!(sum(txn, &table)?, (0, 0));
                Ok("truncate")
            }
            4 => {
                let to = format!("table {}", self.rng.below(NAMES));
                run_inline(txn.rename_table::<Sequential>(&name, &to)).map(|()| "rename")
            }
            5 => {
                let table = self.handle()?;
                agrees(txn, &table).map(|()| "read by handle")
            }
            6 => {
                let table = self.handle()?;
                self.fill(txn, &table).map(|()| "write by handle")
            }
            7 => {
                let table = run_inline(txn.open_table::<Sequential>(&name))?;
                self.fill(txn, &table).map(|()| "write")
            }
            _ => {
                let table = run_inline(txn.open_table::<Sequential>(&name))?;
                agrees(txn, &table).map(|()| "read")
            }
        }
    }

    /// Changes a few records, and the sum.
    fn fill(&mut self, txn: &Transaction, table: &Table) -> Result<(), Error> {
        for _ in 0..=self.rng.below(8) {
            let key = self.rng.below(RECORDS).to_be_bytes();
            let value = self.rng.below(100);
            let (sum, old) = (number(txn, table, SUM)?, number(txn, table, &key)?);
            match self.rng.below(4) {
                0 => {
                    run_inline(txn.delete::<Sequential>(table, &key))?;
                    put(txn, table, SUM, sum - old)?;
                }
                _ => {
                    put(txn, table, &key, value)?;
                    put(txn, table, SUM, sum - old + value)?;
                }
            }
        }
        Ok(())
    }

    fn keep(&self, table: &Arc<Table>) {
        let mut handles = self.storm.handles.lock().unwrap();
        if handles.len() == 12 {
            handles.remove(0);
        }
        handles.push(table.clone());
    }

    fn handle(&mut self) -> Result<Arc<Table>, Error> {
        let handles = self.storm.handles.lock().unwrap();
        if handles.is_empty() {
            return Err(Error::NoSuchTable);
        }
        Ok(handles[self.rng.below(handles.len() as u64) as usize].clone())
    }
}

fn number(txn: &Transaction, table: &Table, key: &[u8]) -> Result<u64, Error> {
    let read = |value: &[u8]| u64::from_be_bytes(value[..8].try_into().unwrap());
    Ok(run_inline(txn.get::<Sequential, _>(table, key, read))?.unwrap_or(0))
}

fn put(txn: &Transaction, table: &Table, key: &[u8], value: u64) -> Result<(), Error> {
    let mut bytes = value.to_be_bytes().to_vec();
    bytes.resize(8 + value as usize, 0xcc);
    run_inline(txn.upsert::<Sequential>(table, key, &bytes))
}

/// Returns the sum that a table has under its key, and the actual sum.
fn sum(txn: &Transaction, table: &Table) -> Result<(u64, u64), Error> {
    let (mut told, mut found) = (0, 0);
    let all = (Bound::Unbounded, Bound::Unbounded);
    run_inline(
        txn.scan::<Sequential>(table, all, Direction::Forward, |key, value| {
            let number = u64::from_be_bytes(value[..8].try_into().unwrap());
            match key == SUM {
                true => told = number,
                false => found += number,
            }
            ControlFlow::Continue(())
        }),
    )?;
    Ok((told, found))
}

fn agrees(txn: &Transaction, table: &Table) -> Result<(), Error> {
    let (told, found) = sum(txn, table)?;
    assert_eq!(told, found, "{table:?}");
    Ok(())
}

impl Storm {
    fn new(certifier: Certifier) -> Storm {
        let config = DatabaseConfig {
            certifier,
            ..DatabaseConfig::with_memory(256 << 20)
        };
        Storm {
            database: Database::new(config).unwrap(),
            handles: Mutex::default(),
        }
    }

    /// Runs all threads at once, until each has done its steps; returns the counts of their
    /// operations.
    fn rage(&self, seed: u64) -> Counts {
        let run = |number: u64| {
            let mut thread = Thread {
                storm: self,
                session: Session::new(&self.database).unwrap(),
                rng: Rng(seed * THREADS + number + 1),
                counts: Counts::new(),
            };
            for step in 0..STEPS {
                thread.step();
                if step % 8 == 0 {
                    thread.session.tend();
                    thread.session.before_sleep();
                }
            }
            thread.counts
        };
        let mut counts = Counts::new();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || run(n))).collect();
            for thread in threads {
                for (what, count) in thread.join().unwrap() {
                    *counts.entry(what).or_default() += count;
                }
            }
        });
        counts
    }

    /// Compares the tables with the catalog, drops all of them, and collects the rest.
    fn clear(&self) -> Usage {
        let session = Session::new(&self.database).unwrap();
        let txn = session.begin(Isolation::Serializable).unwrap();
        let listed = run_inline(txn.list_tables::<Sequential>()).unwrap();
        let listed: Vec<String> = listed.into_iter().map(|(name, _)| name).collect();
        assert_eq!(listed, self.database.table_names());
        for name in listed {
            let table = run_inline(txn.open_table::<Sequential>(&name)).unwrap();
            agrees(&txn, &table).unwrap();
            let known = self.database.table(&name).unwrap();
            assert_eq!((known.number(), &*known.name()), (table.number(), &*name));
            run_inline(txn.drop_table::<Sequential>(&name)).unwrap();
        }
        run_inline(txn.commit()).unwrap();
        for _ in 0..100_000 {
            session.tend();
            if session.before_sleep().is_none() {
                return self.database.memory();
            }
        }
        panic!("there is always something left to collect");
    }
}

#[test]
fn no_change_is_seen_by_halves_and_all_memory_comes_back() {
    for certifier in [Certifier::Ssn, Certifier::Validation] {
        let storm = Storm::new(certifier);
        let mut counts = Counts::new();
        let mut after = Vec::new();
        for round in 0..4 {
            for (what, count) in storm.rage(round) {
                *counts.entry(what).or_default() += count;
            }
            after.push(storm.clear());
        }
        let all = [
            "create",
            "drop",
            "truncate",
            "rename",
            "read",
            "write",
            "read by handle",
            "write by handle",
        ];
        for what in all {
            assert!(counts.contains_key(what), "{what}: {counts:?}");
        }
        // The catalog keeps the memory that it has once needed. Each storage had a segment and a
        // node at least.
        let storages = (counts["create"] + counts["truncate"]) as u64;
        assert!(storages > 400, "{counts:?}");
        for usage in after {
            assert_eq!(usage.version_bytes, 0);
            let kept = usage.indirection_bytes + usage.index_bytes;
            assert!(kept < storages * 512, "{storages} storages, {usage:?}");
        }
    }
}
