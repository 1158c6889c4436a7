//! The index alone under measurement: groups of lookups on threads of their own, without
//! transactions, records and versions (CoroBase, section 5.3). The result bounds the gain of
//! interleaving for whole transactions.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use index::{Tree, baseline};
use interleave::{Prefetching, Sequential, run_inline};
use memory::{Arena, Epochs, Exhausted, Local, Pin};

use super::{RawRun, Run, Subject};
use crate::databases;
use crate::keys::KeyShape;
use crate::limits::Region;
use crate::measure::LatencySampler;
use crate::mode::Mode;
use crate::plan::Plan;
use crate::values::ValueShape;
use commands::progress::Step;
use commands::{Error, Result};

/// Bytes that the index is allowed for each key, beyond those of the key itself.
const BYTES_PER_KEY: usize = 96;
/// Least bytes that the index is allowed.
const BYTES_MIN: usize = 64 << 20;
/// Bytes that the index stores for a key.
const VALUE_BYTES: usize = size_of::<u64>();
/// Number of groups between two readings of the clock.
const CLOCK_INTERVAL: u32 = 32;
/// Number of keys between two reports of progress.
const LOAD_INTERVAL: u64 = 10_000;

pub(super) struct Probes {
    arena: Arc<Arena>,
    epochs: Arc<Epochs>,
    tree: Tree,
    key: KeyShape,
    /// Shape of the stored bytes, which are as checkable as the value of a record.
    value: ValueShape,
    records: u64,
    threads: usize,
}

impl Probes {
    /// Makes an empty index for the plan's records.
    pub(super) fn open(plan: &Plan) -> Result<Self> {
        let bytes_per_key = BYTES_PER_KEY + 4 * plan.key.bytes();
        let bytes = (plan.records as usize).saturating_mul(bytes_per_key);
        let arena = Arena::new(bytes.max(BYTES_MIN)).map_err(exhausted)?;
        let epochs = Epochs::new();
        let tree = Tree::new(&Local::new(&arena, &epochs)).map_err(exhausted)?;
        Ok(Self {
            arena,
            epochs,
            tree,
            key: plan.key,
            value: ValueShape::new(VALUE_BYTES)?,
            records: plan.records,
            threads: plan.comparison.workers,
        })
    }

    fn local(&self) -> Local {
        Local::new(&self.arena, &self.epochs)
    }

    /// Returns the results of `work` on each of the threads, in their order.
    fn on_threads<T: Send>(&self, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
        std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| scope.spawn(move || work(thread)))
                .collect();
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().expect("a probing thread does not panic"));
            joined.collect()
        })
    }

    /// Inserts the keys of `records`.
    fn insert(&self, records: Range<u64>, step: &Step) -> Result<()> {
        let local = self.local();
        let mut key = vec![0; self.key.bytes()];
        let mut value = [0; VALUE_BYTES];
        for batch in records.clone().step_by(LOAD_INTERVAL as usize) {
            let pin = local.pin();
            let end = records.end.min(batch + LOAD_INTERVAL);
            for record in batch..end {
                let word = self.key.write(record, &mut key);
                self.value.write(word, 0, &mut value);
                let number = u64::from_le_bytes(value);
                let inserted = self.tree.insert::<Sequential>(&local, &pin, &key, number);
                run_inline(inserted)
                    .map_err(|error| Error::run(format!("the index refuses a key: {error}")))?;
            }
            step.advance(end - batch);
        }
        Ok(())
    }

    /// Looks up groups of keys until the time is over, on one thread.
    fn probe(&self, run: &Run, thread: usize) -> RawRun {
        let local = self.local();
        let mut source = run.source(thread);
        let mut sampler = LatencySampler::default();
        let mut group = Group::default();
        let mut raw = RawRun::default();
        let start = Instant::now();
        while start.elapsed() < run.duration {
            let pin = local.pin();
            for _ in 0..CLOCK_INTERVAL {
                source.transaction(&mut group.operations);
                let started = sampler.start();
                group.write_keys(self.key);
                group.look_up(&self.tree, &pin, run.variant.mode);
                for (&word, answer) in group.words.iter().zip(&group.answers) {
                    match answer {
                        Some(value) => raw.verifier.check(word, &value.to_le_bytes()),
                        None => raw.verifier.missing(),
                    }
                }
                raw.transactions += 1;
                raw.operations += group.words.len() as u64;
                if let Some(started) = started {
                    raw.latencies.record_since(started);
                }
            }
        }
        raw.elapsed = start.elapsed();
        raw
    }
}

/// The lookups of one group.
#[derive(Default)]
struct Group {
    operations: Vec<crate::operations::Operation>,
    /// Keys, as many as there have ever been operations; the first are this group's.
    keys: Vec<Vec<u8>>,
    words: Vec<u64>,
    answers: Vec<Option<u64>>,
}

impl Group {
    fn write_keys(&mut self, shape: KeyShape) {
        let count = self.operations.len();
        if self.keys.len() < count {
            self.keys.resize_with(count, || vec![0; shape.bytes()]);
        }
        let pairs = self.operations.iter().zip(&mut self.keys);
        let words = pairs.map(|(operation, key)| shape.write(operation.record, key));
        self.words.clear();
        self.words.extend(words);
        self.answers.clear();
        self.answers.resize(count, None);
    }

    fn look_up(&mut self, tree: &Tree, pin: &Pin<'_>, mode: Mode) {
        let count = self.words.len();
        let (keys, answers) = (&self.keys[..count], &mut self.answers[..]);
        match mode {
            Mode::AmacMultiget => baseline::multi_get_amac(tree, pin, keys, answers, count),
            Mode::CoroutineMultiget => {
                baseline::multi_get_coroutines(tree, pin, keys, answers, count);
            }
            Mode::Prefetch => {
                for (key, answer) in keys.iter().zip(answers) {
                    *answer = run_inline(tree.get::<Prefetching>(pin, key));
                }
            }
            _ => baseline::multi_get_sequential(tree, pin, keys, answers),
        }
    }
}

fn exhausted(_: Exhausted) -> Error {
    Error::run("the memory for the index cannot be had; give a smaller --scale")
}

impl Subject for Probes {
    fn load(&mut self, step: &Step) -> Result<()> {
        let part = self.records.div_ceil(self.threads as u64);
        self.on_threads(|thread| {
            let from = part * thread as u64;
            self.insert(from..self.records.min(from + part), step)
        })?;
        Ok(())
    }

    fn run(&mut self, run: &Run) -> Result<RawRun> {
        let mode = run.variant.mode;
        if !Mode::PROBES.contains(&mode) || !run.only_reads {
            return Err(Error::run(format!(
                "mode {mode} cannot probe an index alone, or the workload does more; report this"
            )));
        }
        let mut whole = RawRun::default();
        for part in self.on_threads(|thread| Ok(self.probe(run, thread)))? {
            whole.merge(&part);
        }
        Ok(whole)
    }

    fn restore(&mut self, _: Range<u64>) -> Result<()> {
        Ok(())
    }

    fn memory(&self) -> Option<Region<'_>> {
        databases::memory(&self.arena)
    }
}
