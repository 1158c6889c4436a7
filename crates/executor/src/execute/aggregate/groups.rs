//! The groups of a grouping set: from keys to numbers, and the states of the calls.

use std::rc::Rc;

use types::{
    Charge, Memory, Result, Type, Value,
    row::{integer_of, is_integer},
};

use super::{
    super::{ExecutionContext, tuple_hash_table::TupleHashTable},
    states::{Call, States},
};
use batch::{IntegerKeys, Rows};

/// Number that stands for no group.
pub(super) const NONE: u32 = u32::MAX;

/// Number of places for groups that were found lately.
const RECENT: usize = 256;

/// Groups that wait to be settled, which are compared one by one.
const WAITING_MAX: usize = 32;

/// The groups of a grouping set, numbered in the order in which they came.
pub(super) struct Groups {
    /// Keys of the groups, which are found by them unless the key is one integer.
    keys: TupleHashTable,
    /// Groups by their keys, if the key is one integer.
    integers: Option<IntegerKeys>,
    /// Number of keys.
    width: usize,
    /// Groups that were found lately, with the hash of their keys, by its last bits: where there
    /// are few groups, no other lookup is made.
    recent: Vec<(u64, u32)>,
    /// States of each call.
    pub(super) states: Vec<States>,
    /// Bytes that the states hold on the heap.
    pub(super) states_bytes: usize,
    /// Whether no group is added any more.
    is_closed: bool,
    /// Charge for all but the keys, which have their own.
    charge: Charge,
}

impl Groups {
    /// Makes a list of no groups with keys of these types.
    pub(super) fn new(types: &[Type], calls: &[Call<'_>]) -> Self {
        let is_one_integer = matches!(types, [ty] if is_integer(*ty));
        Self {
            keys: TupleHashTable::new(types),
            width: types.len(),
            recent: vec![(0, NONE); if is_one_integer { 0 } else { RECENT }],
            integers: is_one_integer.then(IntegerKeys::new),
            states: calls.iter().map(Call::states).collect(),
            states_bytes: 0,
            is_closed: false,
            charge: Charge::default(),
        }
    }

    /// Returns the keys of the groups.
    pub(super) fn rows(&self) -> &Rows {
        self.keys.rows()
    }

    /// Makes room for the groups of some rows: see [`TupleHashTable::make_room`].
    ///
    /// # Errors
    /// Errors of [`TupleHashTable::make_room`].
    pub(super) async fn make_room(
        &mut self,
        rows: usize,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        // Lists of states grow by doubling.
        let grown: usize = self.states.iter().map(|of| of.growth_bytes(rows)).sum();
        context.memory().ask(grown)?;
        match &mut self.integers {
            Some(integers) => {
                let (memory, turn) = (context.memory(), context.turn());
                integers.make_room(rows, memory, turn).await
            }
            None => self.keys.make_room(rows, context).await,
        }
    }

    /// Finds the numbers of the groups of several rows, whose keys come one after the other; groups
    /// that are missing are added, unless the list [is closed](Groups::close).
    ///
    /// # Errors
    /// 54000 for more groups than have numbers.
    pub(super) fn of(
        &mut self,
        calls: &[Call<'_>],
        keys: &[Value<'_>],
        rows: usize,
    ) -> Result<Vec<u32>> {
        let width = self.width;
        if width == 0 {
            self.add_only(calls)?;
            return Ok(vec![0; rows]);
        }
        if self.integers.is_some() {
            return self.of_integers(calls, keys);
        }
        let keys_of = |row: usize| &keys[row * width..(row + 1) * width];
        let mut found = vec![NONE; rows];
        let mut others = Vec::new();
        let mut hashes = Vec::new();
        for (row, found) in found.iter_mut().enumerate() {
            let hash = self.keys.hash(keys_of(row));
            let (of, number) = self.recent[hash as usize % RECENT];
            if of == hash && number != NONE && self.keys.has_keys(number, keys_of(row)) {
                *found = number;
            } else {
                others.push(row);
                hashes.push(hash);
            }
        }
        let mut candidates = Vec::with_capacity(others.len());
        self.keys
            .find(&hashes, |at, number| candidates.push((others[at], number)));
        for (row, number) in candidates {
            if self.keys.has_keys(number, keys_of(row)) {
                found[row] = number;
            }
        }
        for (row, hash) in others.into_iter().zip(hashes) {
            if found[row] == NONE && !self.is_closed {
                found[row] = self.find_or_add(calls, keys_of(row), hash)?;
            }
            self.recent[hash as usize % RECENT] = (hash, found[row]);
        }
        Ok(found)
    }

    /// Adds the group of all rows, which has no keys or NULL for each, unless there is a group.
    ///
    /// # Errors
    /// None: there is room for one group.
    pub(super) fn add_only(&mut self, calls: &[Call<'_>]) -> Result<()> {
        if self.rows().is_empty() {
            let nulls = vec![Value::Null; self.width];
            match self.integers {
                Some(_) => drop(self.of_integers(calls, &nulls)?),
                None => {
                    let hash = self.keys.hash(&nulls);
                    self.add(calls, &nulls, hash)?;
                }
            }
        }
        Ok(())
    }

    /// Finds groups as [`Groups::of`], where the key is one integer.
    fn of_integers(&mut self, calls: &[Call<'_>], keys: &[Value<'_>]) -> Result<Vec<u32>> {
        let Self {
            keys: rows,
            integers: Some(integers),
            states,
            states_bytes,
            is_closed,
            ..
        } = self
        else {
            return Ok(Vec::new());
        };
        for key in keys.iter().filter_map(|key| integer_of(*key)) {
            integers.prefetch(key);
        }
        if *is_closed {
            let found = keys.iter().map(|key| integers.find(integer_of(*key)));
            return Ok(found.map(|found| found.unwrap_or(NONE)).collect());
        }
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            found.push(integers.find_or_add(integer_of(*key), || {
                *states_bytes += begin(calls, states);
                rows.push_unindexed([*key])
            })?);
        }
        Ok(found)
    }

    /// Returns the number of the group with these keys; adds the group if it is missing.
    fn find_or_add(&mut self, calls: &[Call<'_>], keys: &[Value<'_>], hash: u64) -> Result<u32> {
        // The group may have been added for another row of the batch.
        let mut candidates: Vec<u32> = self.keys.unsettled(hash).collect();
        self.keys.find(&[hash], |_, number| candidates.push(number));
        for number in candidates {
            if self.keys.has_keys(number, keys) {
                return Ok(number);
            }
        }
        self.add(calls, keys, hash)
    }

    fn add(&mut self, calls: &[Call<'_>], keys: &[Value<'_>], hash: u64) -> Result<u32> {
        let number = self.keys.push(keys.iter().copied(), hash)?;
        if self.keys.waiting() >= WAITING_MAX {
            self.keys.settle()?;
        }
        self.states_bytes += begin(calls, &mut self.states);
        Ok(number)
    }

    /// Charges what was added since the last call.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    pub(super) fn charge(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.keys.charge(memory)?;
        let lists: usize = self.states.iter().map(States::list_bytes).sum();
        let table = self.integers.as_ref().map_or(0, IntegerKeys::bytes);
        self.charge.set(memory, lists + self.states_bytes + table)
    }

    /// Closes the list: no group is added any more, and rows of those that are missing have the group [`NONE`].
    ///
    /// # Errors
    /// 54000 for more groups than have numbers.
    pub(super) fn close(&mut self) -> Result<()> {
        self.is_closed = true;
        self.keys.settle()
    }

    /// Returns the hash of a row's keys.
    pub(super) fn hash(&self, keys: &[Value<'_>]) -> u64 {
        self.keys.hash(keys)
    }

    /// Returns the bytes of all groups, as they were charged.
    pub(super) fn bytes(&self) -> usize {
        self.keys.bytes() + self.charge.bytes()
    }

    /// Forgets all groups; others can be added.
    pub(super) fn clear(&mut self) {
        self.is_closed = false;
        self.keys.clear();
        self.recent.fill((0, NONE));
        self.integers = self.integers.take().map(|_| IntegerKeys::new());
        self.states.iter_mut().for_each(States::clear);
        self.states_bytes = 0;
    }
}

/// Adds the states of a new group; returns the bytes that they hold on the heap.
fn begin(calls: &[Call<'_>], states: &mut [States]) -> usize {
    let each = calls.iter().zip(states);
    each.map(|(call, states)| call.begin(states)).sum()
}
