//! Rows by an integer key, where the keys lie close together: an array of row numbers, which takes
//! neither hashes nor comparisons. Keys that were counted up are like that, and so are most keys
//! that joins refer to.

use interleave::{Policy as _, Prefetching};

use crate::rows::NO_ROW;

/// An array may have so many places for each row: sixteen bytes, less than a hash table takes.
const PLACES_PER_ROW: u64 = 4;

/// What is small anyway.
const PLACES_MIN: u64 = 1024;

/// Arrays of more places than this do not stay in a core's cache: places are prefetched for a batch
/// before the first is read.
const CACHED_PLACES: usize = 64 * 1024;

/// The numbers of rows by their keys.
pub(super) struct Dense {
    /// The least key.
    first: i64,
    /// The first row of each key, from the least key on.
    heads: Vec<u32>,
    /// The next row with the same key. Empty if no two rows have the same.
    next: Vec<u32>,
}

impl Dense {
    /// Bytes for each row that making an array takes at most: its key, its places and its successor.
    pub(super) const BYTES_PER_ROW: usize = size_of::<Option<i64>>() + 5 * size_of::<u32>();

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        (self.heads.capacity() + self.next.capacity()) * size_of::<u32>()
    }

    /// For the rows with these keys; rows without one are never found. `None` if the keys lie too
    /// far apart.
    pub(super) fn new(keys: &[Option<i64>]) -> Option<Dense> {
        let present = || keys.iter().flatten().copied();
        let Some(first) = present().min() else {
            return Some(Dense {
                first: 0,
                heads: Vec::new(),
                next: Vec::new(),
            });
        };
        let last = present().max()?;
        let places = last.abs_diff(first).checked_add(1)?;
        if places > PLACES_MIN.max(PLACES_PER_ROW * keys.len() as u64) {
            return None;
        }
        let mut heads = vec![NO_ROW; places as usize];
        let mut next = Vec::new();
        // From the last row on, so that the first row of a key comes first.
        for (number, key) in keys.iter().enumerate().rev() {
            let Some(key) = key else {
                continue;
            };
            let head = &mut heads[key.abs_diff(first) as usize];
            if *head != NO_ROW {
                if next.is_empty() {
                    next = vec![NO_ROW; keys.len()];
                }
                next[number] = *head;
            }
            *head = number as u32;
        }
        Some(Dense { first, heads, next })
    }

    /// Appends for each key, which comes with a number of the caller's, that number and the row's,
    /// in the order of the keys and of the rows. Ends early once more than `most` are found.
    pub(super) fn find(&self, keys: &[(u32, i64)], most: usize, found: &mut Vec<(u32, u32)>) {
        if self.heads.len() > CACHED_PLACES {
            for (_, key) in keys {
                if let Some(head) = self.heads.get(self.place(*key)) {
                    Prefetching::prefetch(std::ptr::from_ref(head), size_of::<u32>());
                }
            }
        }
        for (caller, key) in keys {
            let mut number = match self.heads.get(self.place(*key)) {
                Some(head) => *head,
                None => NO_ROW,
            };
            while number != NO_ROW && found.len() <= most {
                found.push((*caller, number));
                number = match self.next.get(number as usize) {
                    Some(next) => *next,
                    None => NO_ROW,
                };
            }
        }
    }

    /// Hands out rows with a key, from one of them on or from the first, at most so many; the row to
    /// go on with, if there are more.
    pub(super) fn find_some(
        &self,
        key: i64,
        from: Option<u32>,
        most: usize,
        mut found: impl FnMut(u32),
    ) -> Option<u32> {
        let first = || self.heads.get(self.place(key)).copied();
        let mut number = from.or_else(first)?;
        for _ in 0..most {
            if number == NO_ROW {
                break;
            }
            found(number);
            number = self.next.get(number as usize).copied().unwrap_or(NO_ROW);
        }
        (number != NO_ROW).then_some(number)
    }

    /// Where a key's first row is noted; beyond the array's end for one that is less than the first
    /// or greater than the last. (The array ends at or before the greatest integer, so that what
    /// wraps around is never within it.)
    #[inline]
    fn place(&self, key: i64) -> usize {
        key.wrapping_sub(self.first) as u64 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(dense: &Dense, keys: &[i64]) -> Vec<(u32, u32)> {
        let keys: Vec<(u32, i64)> = (0..).zip(keys.iter().copied()).collect();
        let mut found = Vec::new();
        dense.find(&keys, usize::MAX, &mut found);
        found
    }

    #[test]
    fn rows_of_a_key_come_in_their_order() {
        let keys = [Some(5), None, Some(3), Some(5), Some(5), Some(4)];
        let dense = Dense::new(&keys).unwrap();
        let expected = [(0, 0), (0, 3), (0, 4), (2, 2), (3, 5)];
        assert_eq!(
            found(&dense, &[5, 6, 3, 4, 2, i64::MIN, i64::MAX]),
            expected
        );
    }

    #[test]
    fn rows_of_a_key_come_in_portions() {
        let keys: Vec<Option<i64>> = (0..1000).map(|at| Some(at % 2)).collect();
        let dense = Dense::new(&keys).unwrap();
        for most in [1, 7, 499, 500, 501] {
            let (mut numbers, mut from, mut portions) = (Vec::new(), None, 0);
            loop {
                from = dense.find_some(1, from, most, |number| numbers.push(number));
                portions += 1;
                if from.is_none() {
                    break;
                }
            }
            assert!(numbers.into_iter().eq((1..1000).step_by(2)), "{most}");
            assert_eq!(portions, 500_usize.div_ceil(most));
        }
        assert_eq!(
            dense.find_some(2, None, 10, |_| panic!("no such key")),
            None
        );
    }

    #[test]
    fn keys_at_the_ends_of_all_integers() {
        let greatest = Dense::new(&[Some(i64::MAX), Some(i64::MAX - 1)]).unwrap();
        assert_eq!(
            found(&greatest, &[i64::MAX, i64::MIN, i64::MIN + 1, 0]),
            [(0, 0)]
        );
        let least = Dense::new(&[Some(i64::MIN)]).unwrap();
        assert_eq!(found(&least, &[i64::MAX, i64::MIN, -1]), [(1, 0)]);
    }

    #[test]
    fn keys_far_apart_are_not_dense() {
        assert!(Dense::new(&[Some(0), Some(1 << 20)]).is_none());
        assert!(Dense::new(&[Some(i64::MIN), Some(i64::MAX)]).is_none());
        let nobody = Dense::new(&[None, None]).unwrap();
        assert_eq!(found(&nobody, &[0, 1]), []);
    }

    #[test]
    fn many_keys_are_found_through_prefetches() {
        let keys: Vec<Option<i64>> = (0..2 * CACHED_PLACES as i64).map(|at| Some(-at)).collect();
        let dense = Dense::new(&keys).unwrap();
        let wanted: Vec<i64> = (0..1000).map(|at| -at * 131).collect();
        let expected: Vec<(u32, u32)> = (0..1000).map(|at| (at, at * 131)).collect();
        assert_eq!(found(&dense, &wanted), expected);
    }
}
