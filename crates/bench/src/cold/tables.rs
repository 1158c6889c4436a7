//! The two tables: how they are filled, how one of them leaves memory, and what must be in
//! them at the end.

use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use weft::{Context, Database, Interleaved, Policy, Table, Transaction};

use super::Settings;
use super::source::Request;
use crate::keys::{InsertOrder, KeyShape};
use crate::loading::in_batches;
use crate::progress::Step;
use crate::values::{ValueShape, Verifier};
use crate::{Error, Result};

/// Records per transaction while loading and asking for all.
const BATCH: u64 = 64;
/// Parts of the range of keys that are compared by themselves.
const PARTS: u64 = 256;
/// Records that the clock may come by after it was to stop.
const LOOKS_TOO_MANY: u64 = 2048;
/// Times that the clock goes around in vain before the rest is left in memory.
const ROUNDS_MAX: u32 = 100;
/// Time between two rounds.
const PAUSE: Duration = Duration::from_millis(5);

type Records = Table<Vec<u8>, Vec<u8>>;

/// Both tables. Their keys are hashes of the records' numbers.
#[derive(Clone)]
pub(super) struct Tables {
    hot: Records,
    cold: Records,
    key: KeyShape,
    value: ValueShape,
}

/// A session of the worker that `context` belongs to.
pub(super) fn session(context: &Context) -> weft::Result<Rc<engine::Session>> {
    let txn = context.begin::<Interleaved>(weft::Isolation::Snapshot)?;
    Ok(Rc::clone(txn.engine().session()))
}

impl Tables {
    /// Creates and fills them, advancing `step` by records.
    ///
    /// # Errors
    /// [`Error::Run`] when the database refuses.
    pub(super) fn load(settings: &Settings, database: &Database, step: &Step) -> Result<Self> {
        let create = |name| database.create_table(name).map_err(Error::database);
        let tables = Self {
            hot: create("hot")?,
            cold: create("cold")?,
            key: KeyShape::new(KeyShape::BYTES_MIN, InsertOrder::Hashed)?,
            value: settings.value,
        };
        let all = [
            (&tables.hot, settings.hot_records),
            (&tables.cold, settings.cold_records),
        ];
        for (table, count) in all {
            let (key_shape, value_shape) = (tables.key, tables.value);
            in_batches(database, 0..count, BATCH, Some(step), |records| {
                let table = table.clone();
                async move |txn: &Transaction| {
                    let (mut key, mut value) =
                        (vec![0; key_shape.bytes()], vec![0; value_shape.bytes()]);
                    txn.set_durability(weft::Durability::Relaxed);
                    for record in records.clone() {
                        let word = key_shape.write(record, &mut key);
                        value_shape.write(word, 0, &mut value);
                        txn.insert(&table, &*key, &*value).await?;
                    }
                    Ok(())
                }
            })?;
        }
        Ok(tables)
    }

    /// Does what a transaction was asked for, and checks every value.
    pub(super) async fn access<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: Request,
        verifier: &RefCell<Verifier>,
    ) -> weft::Result<()> {
        for record in request.hot() {
            self.one(txn, &self.hot, record, request.writes, verifier)
                .await?;
        }
        for record in request.cold() {
            self.one(txn, &self.cold, record, request.writes, verifier)
                .await?;
        }
        Ok(())
    }

    async fn one<P: Policy>(
        &self,
        txn: &Transaction<P>,
        table: &Records,
        record: u64,
        writes: bool,
        verifier: &RefCell<Verifier>,
    ) -> weft::Result<()> {
        let mut key = [0; KeyShape::BYTES_MIN];
        let word = self.key.write(record, &mut key);
        let found = match writes {
            false => {
                let check = |found: &[u8]| verifier.borrow_mut().check(word, found);
                txn.get_with(table, &key[..], check).await?
            }
            true => {
                let count = |value: &mut Vec<u8>| {
                    verifier.borrow_mut().check(word, value);
                    let version = ValueShape::version(value).wrapping_add(1);
                    self.value.write(word, version, value);
                };
                txn.modify(table, &key[..], count).await?
            }
        };
        if found.is_none() {
            verifier.borrow_mut().missing();
        }
        Ok(())
    }

    /// Has all records of the cold table leave memory, and none of the hot one's; how many
    /// are out.
    ///
    /// The clock takes what nobody has asked for since it last came by. So hot records are
    /// asked for between two rounds, and no round is a whole one.
    ///
    /// # Errors
    /// [`Error::Run`] when the device refuses.
    pub(super) fn cool(&self, settings: &Settings, database: &Database) -> Result<u64> {
        for worker in database.workers() {
            worker.configure(weft::WorkerConfig::default());
        }
        let all = settings.hot_records + settings.cold_records;
        let round = all.saturating_sub(LOOKS_TOO_MANY).max(1);
        let (mut out, mut in_vain) = (0, 0);
        loop {
            move_clock(database, round)?;
            self.touch(settings.hot_records, database)?;
            // Until the workers have published what they counted.
            std::thread::sleep(PAUSE);
            let stats = database.stats();
            let before = std::mem::replace(&mut out, stats.demoted - stats.promoted);
            in_vain += u32::from(out == before);
            if out == settings.cold_records || in_vain == ROUNDS_MAX {
                return Ok(out);
            }
        }
    }

    /// Asks for every hot record.
    fn touch(&self, count: u64, database: &Database) -> Result<()> {
        let key_shape = self.key;
        in_batches(database, 0..count, BATCH, None, |records| {
            let table = self.hot.clone();
            async move |txn: &Transaction| {
                for record in records.clone() {
                    txn.get_with(&table, &*key_shape.key(record), |_| ())
                        .await?;
                }
                Ok(())
            }
        })
    }

    /// Whether every record is there, whole, and `changes` have been counted in all of them.
    ///
    /// # Errors
    /// [`Error::Run`] when the database refuses.
    pub(super) fn are_right(
        &self,
        settings: &Settings,
        database: &Database,
        changes: u64,
    ) -> Result<bool> {
        let (count, counted) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let are_whole = Arc::new(AtomicBool::new(true));
        for table in [&self.hot, &self.cold] {
            in_batches(database, 0..PARTS, 1, None, |part| {
                let (table, value_shape) = (table.clone(), self.value);
                let (count, counted) = (Arc::clone(&count), Arc::clone(&counted));
                let are_whole = Arc::clone(&are_whole);
                async move |txn: &Transaction| {
                    let bound = |part: u64| part.checked_mul(u64::MAX / PARTS + 1);
                    let [from, to] =
                        [part.start, part.end].map(|part| bound(part).map(u64::to_be_bytes));
                    let from = from
                        .as_ref()
                        .map_or(Bound::Unbounded, |from| Bound::Included(&from[..]));
                    // The last one has no end.
                    let to = to
                        .as_ref()
                        .map_or(Bound::Unbounded, |to| Bound::Excluded(&to[..]));
                    let (mut records, mut versions) = (0, 0);
                    let rows = txn.scan(&table, (from, to));
                    rows.for_each_bytes(|key, value| {
                        if !value_shape.is_whole(KeyShape::word_of(key), value) {
                            are_whole.store(false, Ordering::Relaxed);
                        }
                        records += 1;
                        versions += u64::from(ValueShape::version(value));
                        ControlFlow::Continue(())
                    })
                    .await?;
                    // Relaxed: they are looked at when all parts have ended.
                    count.fetch_add(records, Ordering::Relaxed);
                    counted.fetch_add(versions, Ordering::Relaxed);
                    Ok(())
                }
            })?;
        }
        let all = settings.hot_records + settings.cold_records;
        // Each record counts from zero again after 2^16.
        let are_counted = counted.load(Ordering::Relaxed) as u16 == changes as u16;
        let are_there = count.load(Ordering::Relaxed) == all;
        Ok(are_there && are_counted && are_whole.load(Ordering::Relaxed))
    }
}

/// Moves the clock on by about so many records.
fn move_clock(database: &Database, looks: u64) -> Result<()> {
    let worker = database.workers().first();
    let worker = worker.ok_or_else(|| Error::run("there is no worker; report this"))?;
    let (sender, receiver) = mpsc::channel();
    worker.supply(move |context: Context| {
        let mut once = Some(sender);
        move || {
            let sender = once.take()?;
            let context = context.clone();
            Some(move || async move {
                // The receiver gives up only with the whole measurement.
                let _ = sender.send(move_clock_here(&context, looks).await);
            })
        }
    });
    let moved = receiver.recv();
    moved.unwrap_or_else(|_| Err(Error::run("records did not leave memory; report this")))
}

async fn move_clock_here(context: &Context, looks: u64) -> Result<()> {
    let session = session(context).map_err(Error::database)?;
    let mut looked_at = 0;
    while looked_at < looks {
        session.tend();
        let moved = session.demote(looks - looked_at).await;
        let moved =
            moved.map_err(|error| Error::run(format!("records cannot leave memory: {error}")))?;
        let Some(moved) = moved.filter(|moved| moved.looked_at > 0) else {
            break;
        };
        looked_at += moved.looked_at;
    }
    session.tend();
    Ok(())
}
