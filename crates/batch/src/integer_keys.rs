//! Numbers by an integer key, in a table that has nothing else: groups by one integer, and rows of a join's smaller
//! side.
//!
//! Places are probed one after the other. Keys are spread over them by a hash with a seed of each table's own, so that
//! no data makes many keys meet in one place; at most half of the places are taken. The places of a batch are
//! prefetched before the first is looked at.

use std::{hash::BuildHasher as _, rc::Rc};

use interleave::{Gradual, Policy as _, Prefetching, Turn};
use types::{Charge, Memory, Result};

/// Number of places in the beginning.
const PLACES_MIN: usize = 64;

/// Number of places that are moved at once while a table grows.
const MOVED_AT_ONCE: usize = 4096;

/// Numbers by their keys.
pub struct IntegerKeys {
    /// Keys, with the number plus one; 0 marks a free place. As many as a power of two.
    places: Gradual<Vec<(i64, u32)>>,
    taken: usize,
    /// Secret numbers of the hash; the second is odd.
    seeds: (u64, u64),
    /// Number of NULL, if it has one.
    null: Option<u32>,
}

impl Default for IntegerKeys {
    fn default() -> Self {
        Self::new()
    }
}

impl IntegerKeys {
    /// Makes an empty table without any room.
    pub fn new() -> Self {
        let random = std::hash::RandomState::new();
        Self {
            places: Gradual::default(),
            taken: 0,
            seeds: (random.hash_one(0), random.hash_one(1) | 1),
            null: None,
        }
    }

    /// Makes an empty table with room for this many keys.
    pub fn with_room(keys: usize) -> Self {
        Self {
            places: Gradual::from(vec![(0, 0); places_for(keys)]),
            ..Self::new()
        }
    }

    /// Returns the bytes of a table with room for this many keys.
    pub fn bytes_for(keys: usize) -> usize {
        places_for(keys) * size_of::<(i64, u32)>()
    }

    /// Makes room for `more` further keys, charged to `memory`: a large table grows step by step, as work of `turn`,
    /// and other tasks have turns in between.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    pub async fn make_room(&mut self, more: usize, memory: &Rc<Memory>, turn: &Turn) -> Result<()> {
        let wanted = places_for(self.taken + more);
        if wanted <= self.places.len() {
            return Ok(());
        }
        // Both lists are there until the smaller one is dropped.
        let mut charge = Charge::default();
        charge.set(memory, wanted * size_of::<(i64, u32)>())?;
        let old = std::mem::replace(&mut self.places, Gradual::from(vec![(0, 0); wanted]));
        for moved in old.chunks(MOVED_AT_ONCE) {
            for (key, number) in moved.iter().filter(|(_, number)| *number != 0) {
                let place = self.place(*key);
                self.places[place] = (*key, *number);
            }
            turn.pause(moved.len()).await;
        }
        Ok(())
    }

    /// Begins to bring the place of a key into the cache.
    #[inline]
    pub fn prefetch(&self, key: i64) {
        let place = std::ptr::from_ref(&self.places[self.first(key)]);
        Prefetching::prefetch(place, size_of::<(i64, u32)>());
    }

    /// Returns the number of a key; for a new one, the number that `add` returns. There is
    /// [room](Self::make_room) for the key.
    ///
    /// # Errors
    /// Errors of `add`.
    #[inline]
    pub fn find_or_add(
        &mut self,
        key: Option<i64>,
        add: impl FnOnce() -> Result<u32>,
    ) -> Result<u32> {
        let Some(key) = key else {
            return match self.null {
                Some(number) => Ok(number),
                None => Ok(*self.null.insert(add()?)),
            };
        };
        let place = self.place(key);
        if let (_, number @ 1..) = self.places[place] {
            return Ok(number - 1);
        }
        let number = add()?;
        self.places[place] = (key, number + 1);
        self.taken += 1;
        Ok(number)
    }

    /// Returns the number of a key, or of NULL, if it has one. There is [room](Self::make_room) for one key at least.
    pub fn find(&self, key: Option<i64>) -> Option<u32> {
        match key {
            Some(key) => self.get(key),
            None => self.null,
        }
    }

    /// Returns the number of a key, if it has one. There is [room](Self::with_room) for one key at least.
    #[inline]
    pub fn get(&self, key: i64) -> Option<u32> {
        let (_, number) = self.places[self.place(key)];
        number.checked_sub(1)
    }

    /// Gives a key a number in place of the one that it has; returns that. There is [room](Self::with_room) for the
    /// key.
    #[inline]
    pub fn replace(&mut self, key: i64, number: u32) -> Option<u32> {
        let place = self.place(key);
        let (_, before) = std::mem::replace(&mut self.places[place], (key, number + 1));
        self.taken += usize::from(before == 0);
        before.checked_sub(1)
    }

    /// Returns the place of a key, or the free one where it belongs.
    #[inline]
    fn place(&self, key: i64) -> usize {
        let mask = self.places.len() - 1;
        let mut place = self.first(key);
        while let (other, 1..) = self.places[place]
            && other != key
        {
            place = (place + 1) & mask;
        }
        place
    }

    /// Returns the place where the search for a key begins.
    #[inline]
    fn first(&self, key: i64) -> usize {
        let product = u128::from(key.cast_unsigned() ^ self.seeds.0) * u128::from(self.seeds.1);
        let mixed = (product >> 64) as u64 ^ product as u64;
        mixed as usize & (self.places.len() - 1)
    }

    /// Returns the bytes of the table.
    pub fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<(i64, u32)>()
    }
}

/// Returns the number of places for this many keys.
fn places_for(keys: usize) -> usize {
    (2 * keys).next_power_of_two().max(PLACES_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_numbers_that_they_were_given() {
        let keys = [0, -1, i64::MIN, i64::MAX, 7, 1 << 40];
        let mut table = IntegerKeys::with_room(keys.len() + 2);
        for (number, key) in (0..).zip(keys) {
            assert_eq!(table.find_or_add(Some(key), || Ok(number)).unwrap(), number);
        }
        assert_eq!(table.find_or_add(None, || Ok(99)).unwrap(), 99);
        let known = || -> Result<u32> { panic!("the key is known") };
        for (number, key) in (0..).zip(keys) {
            assert_eq!(table.find_or_add(Some(key), known).unwrap(), number);
        }
        assert_eq!(table.find_or_add(None, known).unwrap(), 99);
        assert_eq!(table.taken, keys.len());
        assert_eq!((table.get(7), table.get(8)), (Some(4), None));
        assert_eq!(
            (table.replace(7, 40), table.replace(8, 41)),
            (Some(4), None)
        );
        assert_eq!((table.get(7), table.get(8)), (Some(40), Some(41)));
    }

    /// Keys in steps of any power of two are spread: the longest search stays short.
    #[test]
    fn keys_in_steps_are_spread() {
        for step in [0, 3, 8, 16, 32, 40, 46] {
            let mut table = IntegerKeys::with_room(100_000);
            for key in 0..100_000_u32 {
                let number = table.find_or_add(Some(i64::from(key) << step), || Ok(key));
                assert_eq!(number.unwrap(), key);
            }
            let (mut run, mut longest) = (0, 0);
            for (_, number) in table.places.iter() {
                run = if *number == 0 { 0 } else { run + 1 };
                longest = longest.max(run);
            }
            assert!(
                longest < 1000,
                "{longest} places for keys in steps of 2^{step}"
            );
        }
    }
}
