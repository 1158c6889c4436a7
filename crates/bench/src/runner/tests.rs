//! The driver over a tree from the standard library, honest and dishonest.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use super::*;
use crate::keys::KeyShape;
use crate::measure::LatencySampler;
use crate::mode::Mode;
use crate::operations::Operation;
use crate::plan::tests::{asking, options};
use crate::values::ValueShape;
use crate::workload::OperationKind;
use commands::progress::Step;

/// A subject with one thread, no transactions, and every mode alike.
struct Tree<'a> {
    plan: &'a Plan,
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    modes: Vec<Mode>,
    seeds: Vec<u64>,
    restored: u64,
    indexes_agree: bool,
}

impl<'a> Tree<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            records: BTreeMap::new(),
            modes: vec![],
            seeds: vec![],
            restored: 0,
            indexes_agree: true,
        }
    }

    fn put(&mut self, record: u64, version: u16) {
        let mut value = vec![0; self.plan.value.bytes()];
        self.plan
            .value
            .write(self.plan.key.word(record), version, &mut value);
        self.records.insert(self.plan.key.key(record), value);
    }

    fn operation(&mut self, operation: Operation, loaded: u64, raw: &mut RawRun) {
        let Operation {
            kind,
            record,
            length,
        } = operation;
        let key = self.plan.key.key(record);
        match kind {
            OperationKind::Update => self.put(record, 1),
            OperationKind::Insert => self.put(record, 0),
            OperationKind::Scan => {
                for (key, value) in self.records.range(key..).take(length as usize) {
                    raw.verifier.check(KeyShape::word_of(key), value);
                }
            }
            OperationKind::Read | OperationKind::ReadModifyWrite => match self.records.get(&key) {
                Some(value) => {
                    raw.verifier.check(KeyShape::word_of(&key), value);
                    let version = ValueShape::version(value).wrapping_add(1);
                    if kind == OperationKind::ReadModifyWrite {
                        self.put(record, version);
                    }
                }
                None if record < loaded => raw.verifier.missing(),
                None => {}
            },
        }
    }
}

impl Subject for Tree<'_> {
    fn load(&mut self, step: &Step) -> Result<()> {
        for record in 0..self.plan.records {
            self.put(record, 0);
            step.advance(1);
        }
        Ok(())
    }

    fn run(&mut self, run: &Run) -> Result<RawRun> {
        self.modes.push(run.variant.mode);
        self.seeds.push(run.seed);
        let mut raw = RawRun {
            lines_touched: Some(0),
            ..RawRun::default()
        };
        let (mut source, mut transaction) = (run.source(0), Vec::new());
        let (mut sampler, start) = (LatencySampler::new(), Instant::now());
        while raw.elapsed < run.duration {
            let begin = sampler.start();
            source.transaction(&mut transaction);
            for &operation in &transaction {
                self.operation(operation, run.records.loaded(), &mut raw);
            }
            begin.inspect(|&begin| raw.latencies.record_since(begin));
            raw.transactions += 1;
            raw.operations += transaction.len() as u64;
            raw.elapsed = start.elapsed();
        }
        raw.lines_touched = Some(raw.operations * 5);
        Ok(raw)
    }

    fn check(&mut self, _: &Run) -> Result<bool> {
        Ok(self.indexes_agree)
    }

    fn restore(&mut self, added: Range<u64>) -> Result<()> {
        for record in added {
            self.restored += u64::from(self.records.remove(&self.plan.key.key(record)).is_some());
        }
        Ok(())
    }
}

#[test]
fn every_workload_runs_and_verifies() {
    for name in crate::workload::builtin::NAMES {
        let plan = options(name).plan().unwrap();
        let mut tree = Tree::new(&plan);
        let outcome = run(&mut tree, &plan, &Progress::hidden()).unwrap();
        assert!(outcome.verified(), "{name}");
        assert_eq!(outcome.repeats.len(), 3);
        assert_eq!(outcome.summaries.len(), plan.comparison.modes.len());
        assert_eq!(tree.records.len(), 1000, "{name}: inserts are taken back");
        assert_eq!(
            tree.restored > 0,
            ["insert", "d", "e"].contains(&name),
            "{name}"
        );
        for summary in &outcome.summaries {
            assert!(summary.median.operations_per_second > 0.0);
            assert!(summary.median.limit_lines_per_second > 1e6);
            assert_eq!(summary.median.lines_per_operation, Some(5.0));
            assert!(summary.median.latency_ns.p50 > 0);
        }
    }
}

#[test]
fn modes_rotate_and_share_the_seed_of_a_repeat() {
    let modes = vec![Mode::Sequential, Mode::Prefetch, Mode::Interleaved];
    let plan = asking("c", |it| it.modes = modes).plan().unwrap();
    let mut tree = Tree::new(&plan);
    run(&mut tree, &plan, &Progress::hidden()).unwrap();
    let (s, p, i) = (Mode::Sequential, Mode::Prefetch, Mode::Interleaved);
    assert_eq!(tree.modes, [s, p, i, p, i, s, i, s, p]);
    assert!(
        tree.seeds
            .chunks(3)
            .all(|repeat| repeat.iter().all(|seed| *seed == repeat[0]))
    );
    assert_ne!(tree.seeds[0], tree.seeds[3]);
}

#[test]
fn long_keys_and_values_verify_too() {
    let plan = crate::plan::Options {
        key_bytes: 64,
        value_bytes: Some(1000),
        ..options("f")
    };
    let plan = plan.plan().unwrap();
    assert!(
        run(&mut Tree::new(&plan), &plan, &Progress::hidden())
            .unwrap()
            .verified()
    );
}

/// A subject that fails in one way, chosen by the mode.
struct Broken<'a>(Tree<'a>);

impl Subject for Broken<'_> {
    fn load(&mut self, step: &Step) -> Result<()> {
        self.0.load(step)?;
        // Two records are swapped, one is lost: both must be noticed.
        let first = self.0.records[&self.0.plan.key.key(0)].clone();
        self.0.records.insert(self.0.plan.key.key(1), first);
        self.0.records.remove(&self.0.plan.key.key(2));
        Ok(())
    }

    fn run(&mut self, run: &Run) -> Result<RawRun> {
        match run.variant.mode {
            Mode::Prefetch => Ok(RawRun::default()),
            Mode::Interleaved => Err(Error::run("the store is on fire")),
            _ => self.0.run(run),
        }
    }

    fn restore(&mut self, added: Range<u64>) -> Result<()> {
        self.0.restore(added)
    }
}

fn broken(mode: Mode) -> Result<Outcome> {
    let plan = asking("c", |it| it.modes = vec![mode]).plan().unwrap();
    run(&mut Broken(Tree::new(&plan)), &plan, &Progress::hidden())
}

#[test]
fn wrong_answers_are_reported() {
    assert!(!broken(Mode::Sequential).unwrap().verified());
}

#[test]
fn indexes_that_disagree_are_wrong_answers() {
    let plan = options("c").plan().unwrap();
    let mut tree = Tree::new(&plan);
    tree.indexes_agree = false;
    let outcome = run(&mut tree, &plan, &Progress::hidden()).unwrap();
    assert!(!outcome.verified());
}

#[test]
fn a_run_without_commits_is_an_error() {
    let error = broken(Mode::Prefetch).unwrap_err().to_string();
    assert!(
        error.contains("prefetch") && error.contains("--seconds"),
        "{error}"
    );
}

#[test]
fn a_failing_subject_is_reported_as_it_says() {
    assert_eq!(
        broken(Mode::Interleaved).unwrap_err().to_string(),
        "the store is on fire"
    );
}
