//! Records that expire, beside everything else, by a wall clock that jumps in both
//! directions: in a table and an index of their own, so that no history knows of them.
//!
//! Each value holds its expiry. Each record that a transaction finds must still live in
//! its present; and reads by table, by index and in the index alone must find the same
//! records. In the end the index is compared with the table, all of them expire, and
//! nothing may be left of them.

use std::{
    collections::BTreeMap,
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use engine::{
    BuildStep, Database, Direction, Error, Index, IndexOptions, Isolation, Session, Table,
    TableOptions, Transaction, WallClock, WallTime,
};
use interleave::{Interleaved, Sequential, run_inline, sleep, yield_now};

use super::Simulation;
use crate::{dice::Dice, failure::Reason, parameters::Planted};

const TTL: u64 = 2000;
const START: u64 = 1 << 40;
const KEYS: usize = 12;
/// Number of values of the column of the unique index: so few that they are often taken.
const COLUMNS: usize = 16;
const TRANSACTIONS: usize = 25;
const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);

/// A table whose records expire, and its clock.
pub(crate) struct Expiring {
    pub(crate) table: Arc<Table>,
    pub(crate) wall: WallClock,
    /// Whether the clock jumps back at times: records that have come back may be deleted
    /// or not.
    pub(crate) goes_back: bool,
}

impl Expiring {
    /// Returns the table of an unused database.
    pub(crate) fn new(database: &Arc<Database>) -> Expiring {
        let wall = WallClock::manual(WallTime(START));
        assert!(database.set_wall_clock(wall.clone()), "nobody has asked");
        let options = TableOptions {
            ttl: Some(Duration::from_micros(TTL)),
        };
        let table = database
            .create_table_with("expiring", &[], options)
            .expect("an empty database has room for a table");
        Expiring {
            table,
            wall,
            goes_back: true,
        }
    }
}

fn value(column: usize, expires: WallTime) -> Vec<u8> {
    let mut value = vec![column as u8];
    value.extend_from_slice(&expires.0.to_be_bytes());
    value
}

fn expiry(value: &[u8]) -> WallTime {
    let bytes = value[1..].try_into().expect("values have an expiry");
    WallTime(u64::from_be_bytes(bytes))
}

fn build_index(session: &Rc<Session>, table: &Arc<Table>) -> Index {
    let options = IndexOptions {
        unique: true,
        prefix_free: true,
    };
    let by_column = Arc::new(|_: &[u8], value: &[u8], keys: &mut engine::IndexKeys| {
        keys.push_covering(&value[..1], &value[1..]);
    });
    let build = session.begin_index(table, "by column", options, by_column);
    let mut build = build.expect("an empty table can have an index");
    while run_inline(build.step::<Sequential>()).expect("it is empty") != BuildStep::Ready {
        session.tend();
    }
    build.index().clone()
}

/// Records kept by a reader that may read expired ones: by key, their expiry.
type Kept = BTreeMap<[u8; 1], (WallTime, Option<WallTime>)>;

/// Runs some transactions, one after the other. Aborted transactions are given up.
async fn work(
    session: Rc<Session>,
    table: Arc<Table>,
    index: Index,
    seed: u64,
    planted: Option<Planted>,
) {
    let mut dice = Dice::new(seed);
    let mut kept = (planted == Some(Planted::ReadExpired)).then(BTreeMap::new);
    for _ in 0..TRANSACTIONS {
        sleep(Duration::from_micros(dice.below(300) as u64)).await;
        let levels = [
            Isolation::ReadCommitted,
            Isolation::Snapshot,
            Isolation::Serializable,
        ];
        let Ok(transaction) = session.begin(levels[dice.below(3)]) else {
            return;
        };
        match operate(&transaction, &table, &index, &mut dice, &mut kept).await {
            Ok(()) => drop(transaction.commit().await),
            Err(Error::Abort(_) | Error::MemoryExhausted) => {}
            Err(error) => panic!("an expiring record: {error}"),
        }
    }
}

async fn operate(
    txn: &Transaction,
    table: &Table,
    index: &Index,
    dice: &mut Dice,
    kept: &mut Option<Kept>,
) -> Result<(), Error> {
    for _ in 0..dice.between(1, 5) {
        let key = [dice.below(KEYS) as u8];
        // Under read committed the operation may have a later present.
        let is_known = txn.isolation() != Isolation::ReadCommitted;
        let present = is_known.then(|| txn.present());
        match dice.below(8) {
            0 | 1 => {
                let read = |value: &[u8], expires| (expiry(value), expires);
                let mut found = txn.get_until::<Interleaved, _>(table, &key, read).await?;
                if let Some(kept) = kept {
                    found = found.or_else(|| kept.get(&key).copied());
                    kept.extend(found.map(|found| (key, found)));
                }
                if let Some((said, expires)) = found
                    && let Some(present) = present
                {
                    assert_eq!(Some(said), expires);
                    assert!(said > present, "{said:?} in {present:?}");
                }
            }
            2 => drop(txn.delete::<Interleaved>(table, &key).await?),
            3 | 4 if let Some(present) = present => compare(txn, table, index, present).await?,
            kind if let Some(present) = present => {
                let value = value(dice.below(COLUMNS), WallTime(present.0 + TTL));
                let written = match kind {
                    5 => txn.insert::<Interleaved>(table, &key, &value).await,
                    6 => txn
                        .update::<Interleaved>(table, &key, &value)
                        .await
                        .map(drop),
                    _ => txn.upsert::<Interleaved>(table, &key, &value).await,
                };
                match written {
                    Err(Error::DuplicateKey | Error::DuplicateIndexKey { .. }) => {}
                    written => written?,
                }
            }
            _ => {}
        }
        if dice.chance(200) {
            yield_now().await;
        }
    }
    Ok(())
}

/// Checks that each way of reading finds the same records, and that all of them live.
async fn compare(
    txn: &Transaction,
    table: &Table,
    index: &Index,
    present: WallTime,
) -> Result<(), Error> {
    let mut rows = [Vec::new(), Vec::new(), Vec::new()];
    let [records, read, covered] = &mut rows;
    let go_on = ControlFlow::Continue(());
    let forward = Direction::Forward;
    txn.scan::<Interleaved>(table, ALL, forward, |key, value| {
        records.push((value[0], key.to_vec(), expiry(value)));
        go_on
    })
    .await?;
    txn.scan_by::<Interleaved>(index, ALL, forward, |column, key, value| {
        read.push((column[0], key.to_vec(), expiry(value)));
        go_on
    })
    .await?;
    txn.scan_covered::<Interleaved>(index, ALL, forward, |column, key, bytes| {
        let value = [column, bytes].concat();
        covered.push((column[0], key.to_vec(), expiry(&value)));
        go_on
    })
    .await?;
    records.sort();
    assert_eq!(records, read, "by table and by index");
    assert_eq!(records, covered, "by table and in the index alone");
    let expired = records.iter().find(|(.., expires)| *expires <= present);
    assert_eq!(expired, None, "at {present:?}");
    Ok(())
}

impl Simulation {
    /// Begins to use the table whose records expire, on all workers.
    pub(super) fn begin_expiring(&mut self) {
        let world = self.world.clone();
        let Some(expiring) = &world.expiring else {
            return;
        };
        let index = build_index(&self.berths[0].session(), &expiring.table);
        for _ in 0..world.parameters.expiring {
            let (table, index, seed) = (expiring.table.clone(), index.clone(), self.dice.seed());
            let (worker, planted) = (self.dice.below(self.berths.len()), world.parameters.planted);
            let task = self.berths[worker]
                .submit(move |session| work(session.clone(), table, index, seed, planted));
            self.tasks.push(task);
        }
    }

    /// Makes the wall clock jump: mostly forward, at times back.
    pub(super) fn move_wall_clock(&mut self) {
        let Some(expiring) = &self.world.expiring else {
            return;
        };
        let (now, step) = (
            expiring.wall.now().0,
            self.dice.below(TTL as usize / 2) as u64,
        );
        let back = expiring.goes_back && self.dice.chance(200);
        let to = if back { now - step / 2 } else { now + step };
        expiring.wall.set(WallTime(to));
    }

    /// Compares the index, lets everything expire, and waits until it is collected.
    pub(super) fn end_expiring(&mut self) -> Result<(), Reason> {
        let world = self.world.clone();
        let Some(expiring) = &world.expiring else {
            return Ok(());
        };
        for index in expiring.table.indexes() {
            let session = self.berths[0].session();
            let report = run_inline(session.check_index::<Sequential>(&index));
            let report = report.map_err(|error| Reason::Setup(error.to_string()))?;
            if report.flaw_count > 0 {
                let flaws = &report.flaws;
                return Err(Reason::Index(format!("of what expires: {flaws:?}")));
            }
        }
        expiring.wall.advance(Duration::from_secs(3600));
        for _ in 0..3 {
            self.clock.set(self.clock.get() + Duration::from_secs(100));
            self.collect_all()?;
        }
        self.report.expired += world.database.stats().expired;
        // The tables' records in the catalog do not expire.
        let session = self.berths[0].session();
        for table in [&world.table, &expiring.table] {
            for index in table.indexes() {
                let dropped = run_inline(session.drop_index(&index));
                dropped.map_err(|error| Reason::Setup(error.to_string()))?;
            }
        }
        drop(session);
        self.collect_all()?;
        let left = world.version_bytes();
        if left > 0 && !world.parameters.memory_is_scarce() {
            let story = format!("{left} bytes of versions are left of what has expired");
            return Err(Reason::Memory(story));
        }
        Ok(())
    }
}
