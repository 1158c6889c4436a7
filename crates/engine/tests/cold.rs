//! Records that leave memory and come back without a visible difference.

mod damage;
mod expiry;
mod files;
mod reads;
mod room;
mod scheduling;
mod snapshots;
mod writes;

use crate::durable;
use crate::rng;

use std::{
    collections::BTreeMap,
    ops::{Bound, ControlFlow, Range},
    pin::pin,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use durable::{Durable, LOG, open_configured};
use engine::{
    Abort, ColdConfig, DatabaseConfig, Direction, Durability, Error, Extractor, IfLocked, Index,
    IndexOptions, Isolation, Priority, RecoveryConfig, ScanPosition, Session, SharedSnapshot,
    Strength, Table, TableOptions, Transaction, WallClock, WallTime,
};
use interleave::{
    Clock, InFlight, Interleaved, JoinHandle, Scheduling, Worker, WorkerConfig, WorkerLocal,
    together,
};
use io::{Directory, Faults, SimulatedDisk};
use rng::Rng;

fn open(directory: Arc<dyn Directory>) -> Durable {
    open_within(256 << 20, directory)
}

fn open_within(memory_bytes_max: usize, directory: Arc<dyn Directory>) -> Durable {
    open_with(memory_bytes_max, ColdConfig::default(), directory)
}

/// Opens a database with cold files of `file_bytes`, whose dead part is to be as small as possible.
fn open_with_files_of(file_bytes: u64, directory: Arc<dyn Directory>) -> Durable {
    let cold = ColdConfig {
        file_bytes,
        dead_percent_max: 10,
        ..ColdConfig::default()
    };
    open_with(256 << 20, cold, directory)
}

fn open_with(memory_bytes_max: usize, cold: ColdConfig, directory: Arc<dyn Directory>) -> Durable {
    let config = DatabaseConfig {
        cold_tier: Some(cold),
        ..DatabaseConfig::with_memory(memory_bytes_max)
    };
    open_configured(config, directory, LOG, RecoveryConfig::default()).unwrap()
}

fn key(i: u64) -> Vec<u8> {
    format!("key {i:06}").into_bytes()
}

fn value(i: u64) -> Vec<u8> {
    i.to_le_bytes().repeat(1 + i as usize % 30)
}

async fn get(transaction: &Transaction, table: &Table, i: u64) -> Option<Vec<u8>> {
    let key = key(i);
    let read = transaction.get::<Interleaved, _>(table, &key, <[u8]>::to_vec);
    read.await.unwrap()
}

/// Runs work on the worker's thread that is not one of its tasks.
fn step<T>(durable: &mut Durable, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(done) => return done,
            Poll::Pending => durable.worker.run_until_idle(),
        }
    }
}

/// Makes a table with `count` records.
fn with_records(durable: &mut Durable, count: u64) -> Arc<Table> {
    let table = durable.create_table("t", b"").unwrap();
    let records = (0..count).map(|i| (key(i), Some(value(i)))).collect();
    durable.write(&table, records).unwrap();
    table
}

/// Demotes all records that can leave memory; returns how many did.
fn demote_all(durable: &mut Durable) -> u64 {
    demote_in_blocks_of(u64::MAX, durable)
}

/// Demotes all records that can leave memory, with at most `looks` records looked at for each block;
/// returns how many left memory.
fn demote_in_blocks_of(looks: u64, durable: &mut Durable) -> u64 {
    let before = durable.session().database().stats().demoted;
    durable.run(async move |session: Rc<Session>| {
        session.tend();
        // The clock goes around twice: the first time it clears the marks of requests. It passes some
        // hundreds of records at least.
        let around = 1 + 20_000 / looks.max(500);
        let mut in_vain = 0;
        while in_vain < 3 * around {
            session.tend();
            let demoted = session.demote(looks).await.unwrap().unwrap();
            in_vain += u64::from(demoted.records == 0);
        }
        session.tend();
    });
    durable.session().tend();
    durable.session().database().stats().demoted - before
}

/// Compacts cold files until there is nothing to do; returns how many it went through.
fn compact_all(durable: &mut Durable) -> u64 {
    durable.run(async |session: Rc<Session>| {
        let mut files = 0;
        loop {
            let compacted = session.compact_cold_files().await.unwrap().unwrap();
            session.tend();
            files += compacted.files;
            if compacted.files == 0 {
                return files;
            }
        }
    })
}

fn take_checkpoint(durable: &mut Durable) {
    durable.run(async |session: Rc<Session>| {
        session.checkpoint().await.unwrap();
        session.tend();
    });
}

/// Changes a bit of a record in a cold file.
fn damage(directory: &Arc<dyn Directory>, name: &str, i: u64) {
    let file = directory.open(name, io::OpenMode::Write, false).unwrap();
    let mut bytes = vec![0; 256 << 10];
    let read = file.read_at(&mut bytes, 0).unwrap();
    let at = bytes[..read].windows(10).position(|w| w == key(i)).unwrap();
    file.write_at(&[bytes[at] ^ 1], at as u64).unwrap();
}

/// Returns the number of cold files, and the name of the first.
fn cold_files(directory: &Arc<dyn Directory>) -> (usize, String) {
    let names = directory.list().unwrap().into_iter();
    let mut names: Vec<_> = names.filter(|name| name.starts_with("cold-")).collect();
    names.sort();
    (names.len(), names.swap_remove(0))
}

fn demoted_after(durable: &mut Durable, count: u64) -> Arc<Table> {
    demoted_in_blocks_of(u64::MAX, durable, count)
}

fn demoted_in_blocks_of(looks: u64, durable: &mut Durable, count: u64) -> Arc<Table> {
    let table = with_records(durable, count);
    assert_eq!(demote_in_blocks_of(looks, durable), count);
    table
}
