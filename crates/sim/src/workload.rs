//! Workloads: the operations of a run's transactions.
//!
//! | workload | keys | file |
//! | --- | --- | --- |
//! | append unique elements to lists | `a…` | `append.rs` |
//! | transfers between accounts, audits | `b…` | `bank.rs` |
//! | reads, appends, scans, rows that come and go, as `isolation` generates them | `g…` | `groups.rs` |
//! | keys come and go under scans | `p…` | `presence.rs` |
//! | registers with unique values | `r…` | `register.rs` |
//! | records in several tables at once, with indexes | `t…` | `tables.rs` |
//! | records that expire, with indexes | `x…` | `expiring.rs` |

pub(crate) mod append;
pub(crate) mod bank;
pub(crate) mod expiring;
pub(crate) mod groups;
mod presence;
mod register;
pub(crate) mod tables;

use std::{ops::Bound, rc::Rc, time::Duration};

use engine::{Durability, Error, Isolation, Session};
use interleave::{Interleaved, Policy, Prefetching, Sequential, run_inline, sleep, yield_now};

use crate::{
    client::{Client, Range},
    dice::Dice,
    parameters::{Levels, Planted},
    world::World,
};

/// Random choices of a transaction: its pauses and whims.
pub(crate) struct Mood<'w> {
    pub(crate) world: &'w World,
    pub(crate) dice: Dice,
    /// Whether event waits may last until the simulation ends them.
    pub(crate) parks: bool,
}

impl Mood<'_> {
    /// Goes on, or lets other transactions go first; called between two operations.
    pub(crate) async fn pause(&mut self) {
        if self.dice.chance(100) {
            yield_now().await;
        }
        if self.parks && self.dice.chance(self.world.parameters.faults.park) {
            if self.dice.chance(300) {
                let microseconds = self.dice.between(1, 5000) as u64;
                sleep(Duration::from_micros(microseconds)).await;
            } else {
                self.world.parking.park().await;
            }
        }
    }

    /// Returns whether to run two operations at once.
    pub(crate) fn joins(&mut self) -> bool {
        self.dice.chance(self.world.parameters.faults.join)
    }

    /// Draws a length to pad a value by: from nothing to several cache lines.
    pub(crate) fn padding(&mut self) -> usize {
        [0, 0, 0, 8, 33, 100, 300][self.dice.below(7)]
    }
}

/// Returns the range of all keys that begin with `prefix`.
pub(crate) fn prefixed(prefix: u8) -> Range {
    (
        Bound::Included(vec![prefix]),
        Bound::Excluded(vec![prefix + 1]),
    )
}

/// Runs transaction `number`, from its own seed, to its end.
pub(crate) async fn transact(
    world: &World,
    session: Rc<Session>,
    number: u64,
    seed: u64,
    parks: bool,
) {
    let mut mood = Mood {
        world,
        dice: Dice::new(seed),
        parks,
    };
    // An abort is not retried: the next transaction is as good.
    let _ = match mood.dice.below(12) {
        0 => attempt::<Sequential>(&mut mood, &session, number).await,
        1 => attempt::<Prefetching>(&mut mood, &session, number).await,
        _ => attempt::<Interleaved>(&mut mood, &session, number).await,
    };
}

async fn attempt<P: Policy>(
    mood: &mut Mood<'_>,
    session: &Rc<Session>,
    number: u64,
) -> Result<(), Error> {
    let workload = mood.dice.weighted(&mood.world.parameters.mix);
    let isolation = match mood.world.parameters.levels {
        Levels::Snapshot => Isolation::Snapshot,
        Levels::ReadCommitted => Isolation::ReadCommitted,
        Levels::Serializable(_) if mood.world.parameters.planted == Some(Planted::NotCertified) => {
            Isolation::Snapshot
        }
        Levels::Serializable(_) => Isolation::Serializable,
        // The total of all accounts holds only if no transfer is lost.
        Levels::Mixed if workload <= 1 || mood.dice.chance(500) => Isolation::Snapshot,
        Levels::Mixed => Isolation::ReadCommitted,
    };
    let crosses_tables = mood.world.database.directory().is_some() && mood.dice.chance(250);
    let label = match workload {
        _ if crosses_tables => "tables",
        0 => "append",
        1 => "bank",
        2 => "presence",
        3 => "register",
        _ => "groups",
    };
    let client = Client::begin(mood.world, session, isolation, number, label)?;
    if mood.world.database.directory().is_some() {
        let levels = [
            Durability::Synchronous,
            Durability::Relaxed,
            Durability::None,
        ];
        client.set_durability(levels[mood.dice.weighted(&[2, 1, 1])]);
    }
    let waits = mood.world.parameters.waits;
    if waits > 0 && mood.dice.chance(waits) {
        let at_most = mood.dice.chance(250).then_some(Duration::from_micros(500));
        client.wait_for_others(at_most);
    }
    mood.pause().await;
    match workload {
        _ if crosses_tables => tables::run::<P>(&client, mood).await?,
        0 => append::run::<P>(&client, mood).await?,
        1 => bank::run::<P>(&client, mood).await?,
        2 => presence::run::<P>(&client, mood).await?,
        3 => register::run::<P>(&client, mood).await?,
        _ => groups::run::<P>(&client, mood).await?,
    }
    mood.pause().await;
    if mood.dice.chance(mood.world.parameters.faults.rollback) {
        client.rollback();
        return Ok(());
    }
    client.commit().await
}

/// Loads the initial records of the workloads, as transaction 0, into memory.
pub(crate) fn load(world: &World, session: &Rc<Session>, dice: &mut Dice) -> Result<(), Error> {
    run_inline(load_as(world, session, dice, 0))
}

/// Loads the initial records of the workloads, as transaction `number`.
pub(crate) async fn load_as(
    world: &World,
    session: &Rc<Session>,
    dice: &mut Dice,
    number: u64,
) -> Result<(), Error> {
    let client = Client::begin(world, session, Isolation::Snapshot, number, "load")?;
    bank::load(&client, world).await?;
    presence::load(&client, world, dice).await?;
    client.commit().await
}

/// Reads everything, in both directions, as the last transaction.
pub(crate) fn inspect(world: &World, session: &Rc<Session>, number: u64) -> Result<(), Error> {
    let client = Client::begin(world, session, Isolation::Snapshot, number, "inspect")?;
    run_inline(async {
        let all = || (Bound::Unbounded, Bound::Unbounded);
        let forward = client
            .scan::<Sequential>(all(), engine::Direction::Forward, usize::MAX)
            .await?;
        client
            .scan::<Sequential>(all(), engine::Direction::Backward, usize::MAX)
            .await?;
        for (key, _) in &forward {
            client.get::<Sequential>(key).await?;
        }
        Ok::<(), Error>(())
    })?;
    run_inline(client.commit())
}

/// Deletes everything, a few records at a time. Returns false if memory for the tombstones is lacking.
pub(crate) fn clear(world: &World, session: &Rc<Session>) -> Result<bool, Error> {
    loop {
        let transaction = session.begin(Isolation::Snapshot)?;
        let mut keys = Vec::new();
        run_inline(transaction.scan::<Sequential>(
            &world.table,
            (Bound::Unbounded, Bound::Unbounded),
            engine::Direction::Forward,
            |key, _| {
                keys.push(key.to_vec());
                std::ops::ControlFlow::Continue(())
            },
        ))?;
        if keys.is_empty() {
            return Ok(true);
        }
        for key in keys.iter().take(50) {
            match run_inline(transaction.delete::<Sequential>(&world.table, key)) {
                Ok(_) => {}
                Err(Error::MemoryExhausted) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        run_inline(transaction.commit())?;
        session.tend();
    }
}
