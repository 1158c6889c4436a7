//! Workloads: the operations of generated transactions.
//!
//! Records lie in *groups* of neighbouring keys. A group has a few lists and registers,
//! which all transactions contend for, and many *rows*, which are made once, changed and
//! deleted under scans of the group. Some groups are in use at a time; a group that has
//! seen enough writes is replaced by a new one, so lists stay short and ranges small
//! however long a run takes.
//!
//! ```text
//! key = group * 64 + place       place  0..8   lists
//!                                       8..16  registers
//!                                      16..64  rows, in no particular order
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use crate::history::Key;

/// Keys of a group.
pub const GROUP_KEYS: Key = 64;
/// Lists of a group, at its beginning.
pub const LISTS: Key = 8;
const REGISTERS: Key = 8;
const ROWS: Key = GROUP_KEYS - LISTS - REGISTERS;
/// Writes after which a group is given up.
const WRITES_MAX: u64 = 240;

/// A source of choices.
pub trait Choices {
    /// Returns a number below `bound`, which is not zero.
    fn below(&mut self, bound: usize) -> usize;
}

/// Likelihood of each operation, relative to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Read a list or a register.
    pub read: u32,
    /// Read a list and write it back with an element more.
    pub append: u32,
    /// Read a register and write it.
    pub modify: u32,
    /// Write a register blindly.
    pub overwrite: u32,
    /// Read all records of a part of a group.
    pub scan: u32,
    /// Make a row.
    pub insert: u32,
    /// Change a row, if it is there.
    pub update: u32,
    /// Delete a row, if it is there.
    pub delete: u32,
}

impl Mix {
    /// A mix of all kinds of operations.
    pub const ALL: Mix = Mix {
        read: 30,
        append: 25,
        modify: 10,
        overwrite: 3,
        scan: 12,
        insert: 10,
        update: 5,
        delete: 5,
    };

    fn weights(&self) -> [u32; 8] {
        [
            self.read,
            self.append,
            self.modify,
            self.overwrite,
            self.scan,
            self.insert,
            self.update,
            self.delete,
        ]
    }
}

/// The composition of transactions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Operations.
    pub mix: Mix,
    /// Approximate number of lists and registers in use at a time.
    pub keys: usize,
    /// Preference for the first keys: 0 none, 1 strong.
    pub skew: f64,
    /// Maximum operations of a transaction.
    pub operations_max: usize,
    /// Transactions that only read, in thousandths.
    pub read_only: u32,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            mix: Mix::ALL,
            keys: 16,
            skew: 0.5,
            operations_max: 6,
            read_only: 100,
        }
    }
}

/// One operation to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read the record.
    Read(Key),
    /// Read the list and write it back with an element more.
    Append(Key),
    /// Read the register and write it.
    Modify(Key),
    /// Write the register.
    Overwrite(Key),
    /// Read all records from the first key to below the second.
    Scan(Key, Key),
    /// Make the row, if it is not there.
    Insert(Key),
    /// Read the row, and change it if it is there.
    Update(Key),
    /// Delete the row, if it is there.
    Delete(Key),
}

/// A planner of transactions, for any number of threads.
#[derive(Debug)]
pub struct Generator {
    shape: Shape,
    /// Lists, and registers, of each group that are used.
    hot: Key,
    /// The first group's first key.
    first: Key,
    groups: Box<[Group]>,
}

/// A slot that holds one group after another.
#[derive(Debug, Default)]
struct Group {
    generation: AtomicU64,
    writes: AtomicU64,
    rows: AtomicU64,
}

impl Generator {
    /// Returns a generator of transactions of `shape`, on keys from `first` on, a
    /// multiple of [`GROUP_KEYS`].
    pub fn new(shape: Shape, first: Key) -> Generator {
        let hot = (shape.keys as Key / 2).clamp(1, LISTS);
        let groups = (shape.keys as Key).div_ceil(2 * hot).max(1);
        Generator {
            shape,
            hot,
            first,
            groups: (0..groups).map(|_| Group::default()).collect(),
        }
    }

    /// Returns a key above all keys that were used so far.
    pub fn end(&self) -> Key {
        let generation = |group: &Group| group.generation.load(Ordering::Relaxed);
        let newest = self.groups.iter().map(generation).max().unwrap_or(0);
        self.first + (newest + 1) * self.groups.len() as Key * GROUP_KEYS
    }

    /// Returns the next transaction's operations, and whether it only reads.
    pub fn next(&self, choices: &mut impl Choices) -> (Vec<Step>, bool) {
        let read_only = choices.below(1000) < self.shape.read_only as usize;
        let operations = 1 + choices.below(self.shape.operations_max.max(1));
        let steps = (0..operations).map(|_| self.step(choices, read_only));
        (steps.collect(), read_only)
    }

    fn step(&self, choices: &mut impl Choices, read_only: bool) -> Step {
        let (group, first) = self.group(choices);
        let mix = Mix {
            append: 0,
            modify: 0,
            overwrite: 0,
            insert: 0,
            update: 0,
            delete: 0,
            ..self.shape.mix
        };
        let mix = if read_only { mix } else { self.shape.mix };
        let kind = weighted(choices, &mix.weights());
        if !matches!(kind, 0 | 4) {
            group.note_write();
        }
        let list = first + self.hot(choices);
        let register = first + LISTS + self.hot(choices);
        match kind {
            0 => match choices.below(4) {
                0 => Step::Read(register),
                1 => Step::Read(first + group.row(choices)),
                _ => Step::Read(list),
            },
            1 => Step::Append(list),
            2 => Step::Modify(register),
            3 => Step::Overwrite(register),
            4 => {
                let from = choices.below(GROUP_KEYS as usize / 2) as Key;
                let from = if choices.below(3) == 0 { 0 } else { from };
                let keys = 8 + choices.below((GROUP_KEYS - from - 7) as usize) as Key;
                Step::Scan(first + from, first + from + keys)
            }
            5 => Step::Insert(first + group.new_row()),
            6 => Step::Update(first + group.row(choices)),
            _ => Step::Delete(first + group.row(choices)),
        }
    }

    /// Returns a group and its first key.
    fn group(&self, choices: &mut impl Choices) -> (&Group, Key) {
        let fraction = choices.below(1 << 20) as f64 / f64::from(1 << 20);
        let skewed = fraction.powf(1.0 + 2.0 * self.shape.skew.max(0.0));
        let groups = self.groups.len();
        let index = ((skewed * groups as f64) as usize).min(groups - 1);
        let group = &self.groups[index];
        // Relaxed: a group that is replaced meanwhile serves as well.
        let generation = group.generation.load(Ordering::Relaxed);
        let number = generation * groups as Key + index as Key;
        (group, self.first + number * GROUP_KEYS)
    }

    fn hot(&self, choices: &mut impl Choices) -> Key {
        choices.below(self.hot as usize) as Key
    }
}

impl Group {
    fn note_write(&self) {
        // Relaxed, here and below: all these only spread transactions over records.
        if self.writes.fetch_add(1, Ordering::Relaxed) == WRITES_MAX {
            self.next_generation();
        }
    }

    fn next_generation(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.writes.store(0, Ordering::Relaxed);
        self.rows.store(0, Ordering::Relaxed);
    }

    /// Returns a row that was not made in this group yet, unless the group is used up or
    /// replaced.
    fn new_row(&self) -> Key {
        place(self.rows.fetch_add(1, Ordering::Relaxed) % ROWS)
    }

    /// Returns a row that may have been made.
    fn row(&self, choices: &mut impl Choices) -> Key {
        let made = self.rows.load(Ordering::Relaxed).clamp(1, ROWS);
        place(choices.below(made as usize) as Key)
    }
}

/// Returns the place of the `number`-th row within its group.
fn place(number: u64) -> Key {
    // 19 and the number of rows have no common divisor: every row comes once.
    LISTS + REGISTERS + number * 19 % ROWS
}

const _: () = assert!(!ROWS.is_multiple_of(19), "see `place`");

fn weighted(choices: &mut impl Choices, weights: &[u32]) -> usize {
    let total: u32 = weights.iter().sum();
    let mut ticket = choices.below(total.max(1) as usize) as u32;
    for (index, &weight) in weights.iter().enumerate() {
        if ticket < weight {
            return index;
        }
        ticket -= weight;
    }
    0
}
