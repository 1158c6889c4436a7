//! Rows by keys that are integers. Where the keys lie close together, an array of row numbers does, which takes neither
//! hashes nor comparisons: keys taken from a counter are like that, and so are most keys that joins refer to. Otherwise
//! it is a table of keys (`integer_keys.rs`). A key of several integers is mixed into one ([`mixed`]): the rows that
//! are found by that are to be compared with the key.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::OnceLock,
};

use interleave::{Gradual, Policy as _, Prefetching};

use crate::{NO_ROW, integer_keys::IntegerKeys};

/// Maximum places of an array for each row: sixteen bytes, less than a hash table takes.
const PLACES_PER_ROW: u64 = 4;

/// Number of places that an array may have however few its rows are.
const PLACES_MIN: u64 = 1024;

/// Number of places up to which an array stays in a core's cache: in a larger one, places are
/// prefetched for a batch before the first is read.
const CACHED_PLACES: usize = 64 * 1024;

/// The numbers of rows by their keys.
pub struct IntegerHashTable {
    heads: Heads,
    /// The next row with the same key. Empty if all keys differ.
    next: Gradual<Vec<u32>>,
}

/// The first row of each key.
enum Heads {
    /// The least key, and rows from the least key on. A number is noted plus one, and a place without a row has 0: the
    /// system gives memory that is 0 without a write to it.
    Dense(i64, Gradual<Vec<u32>>),
    Sparse(IntegerKeys),
}

/// Returns the one key that stands for a key of several integers. Different keys may have the same; a secret of the
/// process keeps data from making many of them.
#[inline]
pub fn mixed(keys: impl Iterator<Item = i64>) -> i64 {
    let mix = |mixed: u64, key: i64| {
        let product = u128::from(mixed ^ key.cast_unsigned()) * 0x9e37_79b9_7f4a_7c15;
        (product >> 64) as u64 ^ product as u64
    };
    static SECRET: OnceLock<u64> = OnceLock::new();
    let secret = SECRET.get_or_init(|| RandomState::new().hash_one(0));
    keys.fold(*secret, mix).cast_signed()
}

/// Keys of all rows, in their order; the key of a row that is never found is `None`.
pub struct RowKeys {
    keys: Gradual<Vec<Option<i64>>>,
    /// The least and the greatest key.
    bounds: Option<(i64, i64)>,
}

impl RowKeys {
    /// Bytes that the keys take for each row.
    pub const BYTES_PER_ROW: usize = size_of::<Option<i64>>();

    /// Makes an empty list with room for the keys of `rows` rows.
    pub fn with_capacity(rows: usize) -> RowKeys {
        RowKeys {
            keys: Gradual::from(Vec::with_capacity(rows)),
            bounds: None,
        }
    }

    /// Adds the key of the next row.
    #[inline]
    pub fn push(&mut self, key: Option<i64>) {
        self.keys.push(key);
        if let Some(key) = key {
            let (least, greatest) = self.bounds.unwrap_or((key, key));
            self.bounds = Some((least.min(key), greatest.max(key)));
        }
    }

    /// Returns the number of places of an array, if the keys lie close enough together for one.
    fn places(&self) -> Option<u64> {
        let (first, last) = self.bounds?;
        let places = last.abs_diff(first).checked_add(1)?;
        (places <= PLACES_MIN.max(PLACES_PER_ROW * self.keys.len() as u64)).then_some(places)
    }

    /// Returns the bytes that a table of these keys takes.
    pub fn table_bytes(&self) -> usize {
        let next = self.keys.len() * size_of::<u32>();
        next + match self.places() {
            Some(places) => places as usize * size_of::<u32>(),
            None => IntegerKeys::bytes_for(self.keys.len()),
        }
    }

    /// Begins to fill a table.
    pub fn fill(self) -> Filling {
        let heads = match (self.bounds, self.places()) {
            (Some((first, _)), Some(places)) => {
                Heads::Dense(first, Gradual::from(vec![0; places as usize]))
            }
            _ => Heads::Sparse(IntegerKeys::with_room(self.keys.len())),
        };
        Filling {
            keys: self.keys,
            table: IntegerHashTable {
                heads,
                next: Gradual::default(),
            },
            rows: 0,
        }
    }
}

/// A table that is being filled.
pub struct Filling {
    /// Keys of rows that are not in the table yet.
    keys: Gradual<Vec<Option<i64>>>,
    table: IntegerHashTable,
    /// Number of rows that are in the table.
    rows: usize,
}

impl Filling {
    /// Puts `rows` further rows in; returns whether all are in. The last row goes first, so that
    /// the first row of a key comes first.
    pub fn step(&mut self, rows: usize) -> bool {
        let IntegerHashTable { heads, next } = &mut self.table;
        let left = self.keys.len().saturating_sub(rows);
        let all = self.keys.len() + self.rows;
        self.rows += self.keys.len() - left;
        if let Heads::Sparse(heads) = heads {
            self.keys[left..]
                .iter()
                .flatten()
                .for_each(|key| heads.prefetch(*key));
        }
        for (at, key) in self.keys.iter().enumerate().skip(left).rev() {
            let Some(key) = key else {
                continue;
            };
            let before = match heads {
                Heads::Dense(first, heads) => {
                    let head = &mut heads[key.abs_diff(*first) as usize];
                    std::mem::replace(head, at as u32 + 1).checked_sub(1)
                }
                Heads::Sparse(heads) => heads.replace(*key, at as u32),
            };
            if let Some(before) = before {
                if next.is_empty() {
                    *next = Gradual::from(vec![0; all]);
                }
                next[at] = before + 1;
            }
        }
        self.keys.truncate(left);
        left == 0
    }

    /// Returns the table.
    pub fn finish(self) -> IntegerHashTable {
        self.table
    }
}

impl IntegerHashTable {
    /// Returns the bytes that the table takes.
    pub fn bytes(&self) -> usize {
        let heads = match &self.heads {
            Heads::Dense(_, heads) => heads.capacity() * size_of::<u32>(),
            Heads::Sparse(heads) => heads.bytes(),
        };
        heads + self.next.capacity() * size_of::<u32>()
    }

    /// Appends, for each pair of a number of the caller's and a key, that number with each row of
    /// the key, in the order of the keys and of the rows. Ends early once more than `most` are
    /// found.
    pub fn find(&self, keys: &[(u32, i64)], most: usize, found: &mut Vec<(u32, u32)>) {
        match &self.heads {
            Heads::Dense(first, heads) => {
                if heads.len() > CACHED_PLACES {
                    for (_, key) in keys {
                        if let Some(head) = heads.get(place(*first, *key)) {
                            Prefetching::prefetch(std::ptr::from_ref(head), size_of::<u32>());
                        }
                    }
                }
                self.find_by(keys, most, found, |key| noted(heads, place(*first, key)));
            }
            Heads::Sparse(heads) => {
                keys.iter().for_each(|(_, key)| heads.prefetch(*key));
                self.find_by(keys, most, found, |key| heads.get(key).unwrap_or(NO_ROW));
            }
        }
    }

    #[inline(always)]
    fn find_by(
        &self,
        keys: &[(u32, i64)],
        most: usize,
        found: &mut Vec<(u32, u32)>,
        head: impl Fn(i64) -> u32,
    ) {
        for (caller, key) in keys {
            let mut number = head(*key);
            while number != NO_ROW && found.len() <= most {
                found.push((*caller, number));
                number = noted(&self.next, number as usize);
            }
        }
    }

    /// Returns the first row with a key.
    fn head(&self, key: i64) -> u32 {
        match &self.heads {
            Heads::Dense(first, heads) => noted(heads, place(*first, key)),
            Heads::Sparse(heads) => heads.get(key).unwrap_or(NO_ROW),
        }
    }

    /// Hands out at most `most` rows with a key, from one of them on or from the first; returns the
    /// row to go on with, if there are more.
    pub fn find_some(
        &self,
        key: i64,
        from: Option<u32>,
        most: usize,
        mut found: impl FnMut(u32),
    ) -> Option<u32> {
        let mut number = from.unwrap_or_else(|| self.head(key));
        for _ in 0..most {
            if number == NO_ROW {
                break;
            }
            found(number);
            number = noted(&self.next, number as usize);
        }
        (number != NO_ROW).then_some(number)
    }
}

/// Returns the place where a key's first row is noted in an array that begins with the key `first`; a place beyond the
/// array's end for a key that is less than the first or greater than the last. (The array ends at or before the
/// greatest integer, so that a difference that wraps around is never within it.)
#[inline]
fn place(first: i64, key: i64) -> usize {
    key.wrapping_sub(first) as u64 as usize
}

/// Returns the row that is noted at a place, or [`NO_ROW`].
#[inline(always)]
fn noted(numbers: &[u32], place: usize) -> u32 {
    const { assert!(NO_ROW == 0_u32.wrapping_sub(1)) };
    numbers.get(place).copied().unwrap_or(0).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the array for rows with these keys, filled in steps.
    fn filled(keys: &[Option<i64>]) -> IntegerHashTable {
        let mut all = RowKeys::with_capacity(keys.len());
        keys.iter().for_each(|key| all.push(*key));
        let mut filling = all.fill();
        while !filling.step(7) {}
        filling.finish()
    }

    fn found(table: &IntegerHashTable, keys: &[i64]) -> Vec<(u32, u32)> {
        let keys: Vec<(u32, i64)> = (0..).zip(keys.iter().copied()).collect();
        let mut found = Vec::new();
        table.find(&keys, usize::MAX, &mut found);
        found
    }

    #[test]
    fn rows_of_a_key_come_in_their_order() {
        let keys = [Some(5), None, Some(3), Some(5), Some(5), Some(4)];
        let made = filled(&keys);
        let expected = [(0, 0), (0, 3), (0, 4), (2, 2), (3, 5)];
        assert_eq!(found(&made, &[5, 6, 3, 4, 2, i64::MIN, i64::MAX]), expected);
    }

    #[test]
    fn rows_of_a_key_come_in_portions() {
        let keys: Vec<Option<i64>> = (0..1000).map(|at| Some(at % 2)).collect();
        let made = filled(&keys);
        for most in [1, 7, 499, 500, 501] {
            let (mut numbers, mut from, mut portions) = (Vec::new(), None, 0);
            loop {
                from = made.find_some(1, from, most, |number| numbers.push(number));
                portions += 1;
                if from.is_none() {
                    break;
                }
            }
            assert!(numbers.into_iter().eq((1..1000).step_by(2)), "{most}");
            assert_eq!(portions, 500_usize.div_ceil(most));
        }
        assert_eq!(made.find_some(2, None, 10, |_| panic!("no such key")), None);
    }

    #[test]
    fn keys_at_the_ends_of_all_integers() {
        let greatest = filled(&[Some(i64::MAX), Some(i64::MAX - 1)]);
        assert_eq!(
            found(&greatest, &[i64::MAX, i64::MIN, i64::MIN + 1, 0]),
            [(0, 0)]
        );
        let least = filled(&[Some(i64::MIN)]);
        assert_eq!(found(&least, &[i64::MAX, i64::MIN, -1]), [(1, 0)]);
    }

    #[test]
    fn keys_far_apart_are_not_dense() {
        let far = filled(&[Some(1 << 20), Some(0), None, Some(1 << 20)]);
        assert!(matches!(far.heads, Heads::Sparse(_)));
        assert_eq!(found(&far, &[1 << 20, 1, 0]), [(0, 0), (0, 3), (2, 1)]);
        let ends = filled(&[Some(i64::MIN), Some(i64::MAX)]);
        assert_eq!(found(&ends, &[i64::MAX, 0, i64::MIN]), [(0, 1), (2, 0)]);
        let nobody = filled(&[None, None]);
        assert_eq!(found(&nobody, &[0, 1]), []);
    }

    /// Keys of several integers get different keys as a rule, also where these are small, and exchanged.
    #[test]
    fn keys_of_several_integers_are_mixed() {
        let keys = (0..300).flat_map(|one| (0..300).map(move |two| mixed([one, two].into_iter())));
        let mut keys: Vec<i64> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 300 * 300);
    }

    #[test]
    fn many_keys_are_found_through_prefetches() {
        let keys: Vec<Option<i64>> = (0..2 * CACHED_PLACES as i64).map(|at| Some(-at)).collect();
        let made = filled(&keys);
        let wanted: Vec<i64> = (0..1000).map(|at| -at * 131).collect();
        let expected: Vec<(u32, u32)> = (0..1000).map(|at| (at, at * 131)).collect();
        assert_eq!(found(&made, &wanted), expected);
    }
}
