//! Distinct values of a column, numbered in order of arrival and then by their order.

use std::{cmp::Ordering, collections::TryReserveError};

/// Content of free slots.
const FREE: u32 = u32::MAX;
/// Maximum slots looked at, for each row: hashes of values that an adversary chose lead to no dictionary, instead of a
/// long search.
const PROBES_PER_ROW: usize = 8;

/// A hash table of the numbers of distinct values. The values are elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    /// Numbers of values, at their hashes or behind; at most half of the slots are used.
    slots: Vec<u32>,
    count: u32,
    count_max: u32,
    probes_left: usize,
    /// Values in their order, by number, and the inverse.
    order: Vec<u32>,
    ranks: Vec<u32>,
}

/// The number of a value.
pub(crate) enum Number {
    /// The value came before.
    Known(u32),
    /// The value is new.
    New(u32),
}

impl Distinct {
    /// Begins anew, for at most `count_max` values of `rows` rows.
    pub(crate) fn begin(&mut self, count_max: usize, rows: usize) -> Result<(), TryReserveError> {
        let slots = (count_max * 2).next_power_of_two();
        self.slots.clear();
        self.slots.try_reserve(slots)?;
        self.slots.resize(slots, FREE);
        self.count = 0;
        self.count_max = count_max as u32;
        self.probes_left = rows * PROBES_PER_ROW;
        Ok(())
    }

    /// Returns the number of a value with a hash, or `None` if there are more values than were announced, or their
    /// search takes too long. `is_value` says whether the value of a number is the one that is looked for.
    #[inline]
    pub(crate) fn number(&mut self, hash: u64, is_value: impl Fn(u32) -> bool) -> Option<Number> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            self.probes_left = self.probes_left.checked_sub(1)?;
            match self.slots[at] {
                FREE if self.count == self.count_max => return None,
                FREE => {
                    let number = self.count;
                    self.slots[at] = number;
                    self.count += 1;
                    return Some(Number::New(number));
                }
                number if is_value(number) => return Some(Number::Known(number)),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Replaces the numbers of `codes` by places in the order of the values. Returns the numbers in that order.
    pub(crate) fn sort(
        &mut self,
        codes: &mut [u32],
        compare: impl Fn(u32, u32) -> Ordering,
    ) -> Result<&[u32], TryReserveError> {
        let count = self.count as usize;
        self.order.clear();
        self.order.try_reserve(count)?;
        self.order.extend(0..self.count);
        self.order
            .sort_unstable_by(|&one, &other| compare(one, other));
        self.ranks.clear();
        self.ranks.try_reserve(count)?;
        self.ranks.resize(count, 0);
        for (rank, &number) in (0..).zip(&self.order) {
            self.ranks[number as usize] = rank;
        }
        for code in codes {
            *code = self.ranks[*code as usize];
        }
        Ok(&self.order)
    }
}
