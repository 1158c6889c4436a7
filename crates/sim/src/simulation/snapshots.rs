//! Snapshots that transactions of several workers share, in the middle of a run.
//!
//! Makers post a handle on their snapshot, with a digest of all records that they see there, and end.
//! Readers, on any worker, take a handle that was posted and compare their own digest. Meanwhile the
//! other transactions replace and delete what the snapshots see, and workers collect, nap, and are
//! replaced: a snapshot that is not held, or not wholly, shows in a digest (or in freed memory). In
//! runs with crashes, records also leave memory and move on the device meanwhile.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use engine::{Direction, Error, Isolation, Session, SharedSnapshot, Transaction};
use interleave::{Interleaved, sleep};

use super::Simulation;
use crate::{dice::Dice, world::World};

/// Number of tasks that make, and of tasks that read.
const TASKS: usize = 2;
/// Snapshots that each of them makes, or looks for.
const ROUNDS: usize = 6;
/// Maximum handles that are posted: they hold back the collection of all workers.
const POSTED_MAX: usize = 2;

/// Snapshots that readers have yet to take.
#[derive(Clone, Default)]
pub(crate) struct Snapshots(Arc<Mutex<Board>>);

#[derive(Default)]
struct Board {
    posted: Vec<(SharedSnapshot, u64)>,
    compared: u64,
}

impl Snapshots {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Forgets the handles that no reader has taken. Returns the number of comparisons.
    pub(crate) fn end(&self) -> u64 {
        let mut board = self.board();
        board.posted.clear();
        board.compared
    }
}

/// Returns a digest of all records of the run's table that `transaction` sees.
async fn digest(world: &World, transaction: &Transaction) -> Result<u64, Error> {
    let mut hasher = DefaultHasher::new();
    let all = (Bound::Unbounded, Bound::Unbounded);
    let scanned =
        transaction.scan::<Interleaved>(&world.table, all, Direction::Forward, |key, value| {
            (key, value).hash(&mut hasher);
            ControlFlow::Continue(())
        });
    scanned.await?;
    Ok(hasher.finish())
}

/// Makes snapshots and posts them.
async fn make(
    world: Arc<World>,
    session: Rc<Session>,
    snapshots: Snapshots,
    seed: u64,
) -> Result<(), Error> {
    let mut dice = Dice::new(seed);
    for _ in 0..ROUNDS {
        sleep(Duration::from_micros(dice.below(2000) as u64)).await;
        let maker = session.begin(Isolation::Snapshot)?;
        let snapshot = maker.statement_snapshot()?.share()?;
        let seen = digest(&world, &maker).await?;
        drop(maker);
        let mut board = snapshots.board();
        if board.posted.len() == POSTED_MAX {
            board.posted.remove(dice.below(POSTED_MAX));
        }
        board.posted.push((snapshot, seen));
    }
    Ok(())
}

/// Takes snapshots and compares what is seen at them.
async fn compare(
    world: Arc<World>,
    session: Rc<Session>,
    snapshots: Snapshots,
    seed: u64,
) -> Result<(), Error> {
    let mut dice = Dice::new(seed);
    for _ in 0..ROUNDS {
        sleep(Duration::from_micros(dice.below(3000) as u64)).await;
        let taken = snapshots.board().posted.pop();
        let Some((snapshot, seen)) = taken else {
            continue;
        };
        let reader = session.begin_at(&snapshot)?;
        // Either the reader or its handle keeps the snapshot.
        let handle = dice.chance(500).then_some(snapshot);
        assert_eq!(
            digest(&world, &reader).await?,
            seen,
            "a reader at a shared snapshot sees what its maker did not"
        );
        drop(reader);
        drop(handle);
        snapshots.board().compared += 1;
    }
    Ok(())
}

impl Simulation {
    /// Begins to make shared snapshots, and to read at them, on any workers.
    pub(crate) fn share_snapshots(&mut self) {
        for task in 0..TASKS * 2 {
            let (world, snapshots) = (self.world.clone(), self.snapshots.clone());
            let (worker, seed) = (self.dice.below(self.berths.len()), self.dice.seed());
            let task = self.berths[worker].submit(move |session| {
                let session = session.clone();
                async move {
                    // Memory may be exhausted: the run goes on without.
                    let _ = match task < TASKS {
                        true => make(world, session, snapshots, seed).await,
                        false => compare(world, session, snapshots, seed).await,
                    };
                }
            });
            self.tasks.push(task);
        }
    }
}
