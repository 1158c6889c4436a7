//! A small multi-version database that keeps to a level, or violates it in a known
//! way. It has one thread, and every choice comes from a seed.

use std::collections::BTreeMap;

use rand::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::history::{Action, Key, Operation, Outcome, Transaction, Value, Version};

pub(super) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Ways in which the database isolates transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Snapshots; a commit validates all that was read.
    Serializable,
    /// Snapshots; the first committer wins.
    Snapshot,
    /// Every operation sees what was committed when it began.
    ReadCommitted,
    /// Snapshots, without a check for conflicts.
    LosesUpdates,
    /// Read committed, but writes are seen at once.
    ReadsDirty,
    /// Snapshots, sometimes of the past.
    ReadsStale,
    /// Serializable, but scans are not validated.
    ForgetsPhantoms,
}

/// Composition of the transactions of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    pub(super) transactions: usize,
    pub(super) open: usize,
    pub(super) operations: usize,
    pub(super) lists: usize,
    /// Whether records are deleted and registers written blindly, which hides
    /// versions from a checker.
    pub(super) hides: bool,
}

impl Mix {
    pub(super) const ALL: Mix = Mix {
        transactions: 60,
        open: 5,
        operations: 5,
        lists: 3,
        hides: true,
    };
}

const REGISTERS: Key = 100;
const ROWS: Key = 200;

struct Open {
    record: Transaction,
    snapshot: u64,
    writes: BTreeMap<Key, Option<Value>>,
    read: Vec<(Key, Key)>,
    left: usize,
}

pub(super) struct Model {
    kind: Kind,
    mix: Mix,
    pub(super) dice: Dice,
    versions: BTreeMap<Key, Vec<(u64, Option<Value>)>>,
    clock: u64,
    open: Vec<Open>,
    rows: Key,
    numbers: u64,
}

/// Returns the history of a run.
pub(super) fn run(kind: Kind, mix: Mix, seed: u64) -> Vec<Transaction> {
    let mut model = Model {
        kind,
        mix,
        dice: Dice::new(seed),
        versions: BTreeMap::new(),
        clock: 1,
        open: Vec::new(),
        rows: ROWS,
        numbers: 0,
    };
    let mut history = Vec::new();
    while history.len() < mix.transactions {
        if model.open.len() < mix.open && model.dice.chance(40) {
            model.begin();
        } else if !model.open.is_empty() {
            let index = model.dice.below(model.open.len());
            history.extend(model.step(index));
        }
    }
    history
}

impl Model {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn begin(&mut self) {
        self.numbers += 1;
        let begun = self.tick();
        let stale = self.kind == Kind::ReadsStale && self.dice.chance(20);
        let snapshot = if stale {
            begun.saturating_sub(60)
        } else {
            begun
        };
        let record = Transaction {
            number: self.numbers,
            process: self.numbers,
            begun,
            ended: 0,
            outcome: Outcome::Aborted,
            why: None,
            operations: Vec::new(),
        };
        self.open.push(Open {
            record,
            snapshot,
            writes: BTreeMap::new(),
            read: Vec::new(),
            left: 1 + self.dice.below(self.mix.operations),
        });
    }

    fn step(&mut self, index: usize) -> Option<Transaction> {
        let mut open = self.open.swap_remove(index);
        if open.left > 0 {
            open.left -= 1;
            if let Some(action) = self.operate(&mut open) {
                let ended = self.tick();
                open.record.operations.push(Operation { action, ended });
            }
            self.open.push(open);
            return None;
        }
        if !self.dice.chance(10) && self.may_commit(&open) {
            let now = self.tick();
            for (key, value) in open.writes {
                self.versions.entry(key).or_default().push((now, value));
            }
            open.record.outcome = Outcome::Committed;
        }
        open.record.ended = self.tick();
        Some(open.record)
    }

    fn newest(&self, key: Key) -> u64 {
        let versions = self.versions.get(&key);
        versions.and_then(|it| it.last()).map_or(0, |it| it.0)
    }

    fn may_commit(&self, open: &Open) -> bool {
        let changed = |key: Key| self.newest(key) > open.snapshot;
        match self.kind {
            Kind::ReadCommitted | Kind::LosesUpdates | Kind::ReadsDirty => true,
            Kind::Snapshot | Kind::ReadsStale => !open.writes.keys().any(|&key| changed(key)),
            Kind::Serializable | Kind::ForgetsPhantoms => {
                let read = open
                    .read
                    .iter()
                    .filter(|(from, to)| self.kind == Kind::Serializable || from + 1 == *to);
                let mut read = read.flat_map(|&(from, to)| self.versions.range(from..to));
                !open.writes.keys().any(|&key| changed(key)) && !read.any(|(&key, _)| changed(key))
            }
        }
    }

    fn visible(&self, open: &Open, key: Key) -> Option<Value> {
        if let Some(own) = open.writes.get(&key) {
            return own.clone();
        }
        if self.kind == Kind::ReadsDirty
            && let Some(dirty) = self.open.iter().find_map(|other| other.writes.get(&key))
        {
            return dirty.clone();
        }
        let snapshot = match self.kind {
            Kind::ReadCommitted | Kind::ReadsDirty => u64::MAX,
            _ => open.snapshot,
        };
        let versions = self.versions.get(&key)?;
        let seen = versions.iter().rev().find(|(at, _)| *at <= snapshot);
        seen.and_then(|(_, value)| value.clone())
    }

    fn read(&self, open: &mut Open, key: Key) -> Option<Value> {
        open.read.push((key, key + 1));
        self.visible(open, key)
    }

    fn unique(&mut self) -> Version {
        self.tick()
    }

    fn operate(&mut self, open: &mut Open) -> Option<Action> {
        let list = self.dice.below(self.mix.lists) as Key;
        let register = REGISTERS + self.dice.below(3) as Key;
        Some(match self.dice.below(if self.mix.hides { 12 } else { 9 }) {
            0 | 1 => Action::Read {
                key: list,
                found: self.read(open, list),
            },
            2..=4 => {
                let onto = match self.read(open, list) {
                    Some(Value::List(onto)) => onto,
                    _ => Vec::new(),
                };
                let element = self.unique();
                let value = Value::List([&onto[..], &[element]].concat());
                open.writes.insert(list, Some(value));
                Action::Append {
                    key: list,
                    element,
                    onto: Some(onto),
                }
            }
            5 | 6 => self.insert(open),
            7 | 8 => self.scan(open),
            9 => Action::Read {
                key: register,
                found: self.read(open, register),
            },
            10 => {
                let value = self.unique();
                open.writes.insert(register, Some(Value::Register(value)));
                Action::Write {
                    key: register,
                    value,
                }
            }
            _ => {
                let row = ROWS + self.dice.below((self.rows - ROWS).max(1) as usize) as Key;
                let done = self.read(open, row).is_some();
                if done {
                    open.writes.insert(row, None);
                }
                Action::Delete { key: row, done }
            }
        })
    }

    /// Makes a new row, or one that may be there or have been deleted.
    fn insert(&mut self, open: &mut Open) -> Action {
        let again = self.mix.hides && self.rows > ROWS && self.dice.chance(30);
        let key = if again {
            ROWS + self.dice.below((self.rows - ROWS) as usize) as Key
        } else {
            self.rows += 1;
            self.rows - 1
        };
        let done = !again || self.read(open, key).is_none();
        let value = self.unique();
        if done {
            open.writes.insert(key, Some(Value::Register(value)));
        }
        Action::Insert { key, value, done }
    }

    fn scan(&mut self, open: &mut Open) -> Action {
        let recent = self.rows.saturating_sub(40).max(ROWS);
        let (from, to) = (recent + self.dice.below(8) as Key, self.rows + 30);
        open.read.push((from, to));
        let dirty = self.open.iter().flat_map(|other| other.writes.keys());
        let own = open.writes.keys();
        let in_range = self.versions.range(from..to).map(|(key, _)| key);
        let mut keys: Vec<Key> = in_range.chain(own).chain(dirty).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| (from..to).contains(key));
        let found = keys
            .into_iter()
            .filter_map(|key| Some((key, self.visible(open, key)?)))
            .collect();
        Action::Scan { from, to, found }
    }
}
