//! Indexes of a run: built while its transactions go on, maintained by them, and
//! compared with their table in the end.
//!
//! No transaction reads by them, so histories must be the same with indexes and
//! without. Their builders are tasks like others: they are cancelled, meet injected
//! panics and exhausted memory, and then begin again.

use std::sync::{Arc, Mutex, MutexGuard};

use engine::{BuildError, Extractor, Index, IndexOptions, Session};
use interleave::{Sequential, run_inline, sleep};

use super::Simulation;
use crate::{dice::Dice, failure::Reason, world::World};

/// Indexes that are ready.
#[derive(Clone, Default)]
pub(super) struct Indexes {
    ready: Arc<Mutex<Vec<Index>>>,
}

impl Indexes {
    fn ready(&self) -> MutexGuard<'_, Vec<Index>> {
        self.ready.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Number of kinds of indexes: unique, by the key; by the beginning of the value; by
/// each of some bytes of the value.
const KINDS: usize = 3;

fn kind(number: usize) -> (IndexOptions, Extractor) {
    let options = IndexOptions {
        unique: number == 0,
        prefix_free: false,
    };
    let extract: Extractor = match number {
        0 => Arc::new(|key, value, keys| keys.push_covering(key, &value[value.len() / 2..])),
        1 => Arc::new(|_, value, keys| keys.push(&value[..value.len().min(3)])),
        _ => Arc::new(|_, value, keys| value.iter().take(4).for_each(|byte| keys.push(&[*byte]))),
    };
    (options, extract)
}

/// Builds an index of the run's table, some time after the beginning.
async fn build(
    world: Arc<World>,
    session: std::rc::Rc<Session>,
    indexes: Indexes,
    number: usize,
    seed: u64,
) {
    let mut dice = Dice::new(seed);
    sleep(std::time::Duration::from_micros(dice.below(3000) as u64)).await;
    let (options, extract) = kind(number);
    let name = format!("{number} {seed}");
    let Ok(build) = session.begin_index(&world.table, &name, options, extract) else {
        return;
    };
    match build.run(|_| {}).await {
        Ok(index) => indexes.ready().push(index),
        Err(BuildError::Engine(engine::Error::MemoryExhausted)) => {}
        Err(error) => panic!("an index cannot be built: {error}"),
    }
}

impl Simulation {
    /// Begins to build a few indexes, on any workers.
    pub(super) fn build_indexes(&mut self) {
        for _ in 0..self.world.parameters.indexes {
            let (world, indexes) = (self.world.clone(), self.indexes.clone());
            let (number, seed) = (self.dice.below(KINDS), self.dice.seed());
            let worker = self.dice.below(self.berths.len());
            let task = self.berths[worker]
                .submit(move |session| build(world, session.clone(), indexes, number, seed));
            self.tasks.push(task);
        }
    }

    /// Compares all indexes that are ready with their table.
    pub(super) fn check_indexes(&mut self) -> Result<(), Reason> {
        let session = self.berths[0].session();
        for index in self.indexes.ready().iter() {
            let report = run_inline(session.check_index::<Sequential>(index));
            let report = report.map_err(|error| Reason::Setup(error.to_string()))?;
            if report.flaw_count > 0 {
                let (name, flaws) = (index.name(), &report.flaws);
                return Err(Reason::Index(format!("{name:?}: {flaws:?}")));
            }
            self.report.indexes += 1;
            self.report.index_entries += report.entries;
        }
        Ok(())
    }
}
