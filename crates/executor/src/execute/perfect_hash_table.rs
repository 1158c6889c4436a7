//! Rows by an integer key, where the keys lie close together: an array of row numbers, a hash table whose hash is the
//! key, which takes neither hashes nor comparisons. Keys taken from a counter are like that, and so are most keys
//! that joins refer to.

use interleave::{Gradual, Policy as _, Prefetching};

use batch::NO_ROW;

/// Maximum places of an array for each row: sixteen bytes, less than a hash table takes.
const PLACES_PER_ROW: u64 = 4;

/// Number of places that an array may have however few its rows are.
const PLACES_MIN: u64 = 1024;

/// Number of places up to which an array stays in a core's cache: in a larger one, places are
/// prefetched for a batch before the first is read.
const CACHED_PLACES: usize = 64 * 1024;

/// The numbers of rows by their keys. A number is noted plus one, and a place without a row has 0:
/// the system gives memory that is 0 without a write to it.
pub(super) struct PerfectHashTable {
    /// The least key.
    first: i64,
    /// The first row of each key, from the least key on.
    heads: Gradual<Vec<u32>>,
    /// The next row with the same key. Empty if all keys differ.
    next: Gradual<Vec<u32>>,
}

/// Keys of all rows, in their order; the key of a row that is never found is `None`.
pub(super) struct DenseKeys {
    keys: Gradual<Vec<Option<i64>>>,
    /// The least and the greatest key.
    bounds: Option<(i64, i64)>,
}

impl DenseKeys {
    /// Makes an empty list with room for the keys of `rows` rows.
    pub(super) fn with_capacity(rows: usize) -> DenseKeys {
        DenseKeys {
            keys: Gradual::from(Vec::with_capacity(rows)),
            bounds: None,
        }
    }

    /// Adds the key of the next row.
    #[inline]
    pub(super) fn push(&mut self, key: Option<i64>) {
        self.keys.push(key);
        if let Some(key) = key {
            let (least, greatest) = self.bounds.unwrap_or((key, key));
            self.bounds = Some((least.min(key), greatest.max(key)));
        }
    }

    /// Begins to fill an array; returns `None` if the keys lie too far apart.
    pub(super) fn fill(self) -> Option<Filling> {
        let (first, places) = match self.bounds {
            None => (0, 0),
            Some((first, last)) => (first, last.abs_diff(first).checked_add(1)?),
        };
        if places > PLACES_MIN.max(PLACES_PER_ROW * self.keys.len() as u64) {
            return None;
        }
        Some(Filling {
            keys: self.keys,
            table: PerfectHashTable {
                first,
                heads: Gradual::from(vec![0; places as usize]),
                next: Gradual::default(),
            },
            rows: 0,
        })
    }
}

/// An array that is being filled.
pub(super) struct Filling {
    /// Keys of rows that are not in the array yet.
    keys: Gradual<Vec<Option<i64>>>,
    table: PerfectHashTable,
    /// Number of rows that are in the array.
    rows: usize,
}

impl Filling {
    /// Puts `rows` further rows in; returns whether all are in. The last row goes first, so that
    /// the first row of a key comes first.
    pub(super) fn step(&mut self, rows: usize) -> bool {
        let PerfectHashTable { first, heads, next } = &mut self.table;
        let left = self.keys.len().saturating_sub(rows);
        let all = self.keys.len() + self.rows;
        self.rows += self.keys.len() - left;
        for (at, key) in self.keys.iter().enumerate().skip(left).rev() {
            let Some(key) = key else {
                continue;
            };
            let head = &mut heads[key.abs_diff(*first) as usize];
            if *head != 0 {
                if next.is_empty() {
                    *next = Gradual::from(vec![0; all]);
                }
                next[at] = *head;
            }
            *head = at as u32 + 1;
        }
        self.keys.truncate(left);
        left == 0
    }

    /// Returns the array.
    pub(super) fn finish(self) -> PerfectHashTable {
        self.table
    }
}

impl PerfectHashTable {
    /// Bytes for each row that making an array takes at most: its key, its places and its
    /// successor.
    pub(super) const BYTES_PER_ROW: usize = size_of::<Option<i64>>() + 5 * size_of::<u32>();

    /// Returns the bytes that the array takes.
    pub(super) fn bytes(&self) -> usize {
        (self.heads.capacity() + self.next.capacity()) * size_of::<u32>()
    }

    /// Appends, for each pair of a number of the caller's and a key, that number with each row of
    /// the key, in the order of the keys and of the rows. Ends early once more than `most` are
    /// found.
    pub(super) fn find(&self, keys: &[(u32, i64)], most: usize, found: &mut Vec<(u32, u32)>) {
        if self.heads.len() > CACHED_PLACES {
            for (_, key) in keys {
                if let Some(head) = self.heads.get(self.place(*key)) {
                    Prefetching::prefetch(std::ptr::from_ref(head), size_of::<u32>());
                }
            }
        }
        for (caller, key) in keys {
            let mut number = noted(&self.heads, self.place(*key));
            while number != NO_ROW && found.len() <= most {
                found.push((*caller, number));
                number = noted(&self.next, number as usize);
            }
        }
    }

    /// Hands out at most `most` rows with a key, from one of them on or from the first; returns the
    /// row to go on with, if there are more.
    pub(super) fn find_some(
        &self,
        key: i64,
        from: Option<u32>,
        most: usize,
        mut found: impl FnMut(u32),
    ) -> Option<u32> {
        let mut number = from.unwrap_or_else(|| noted(&self.heads, self.place(key)));
        for _ in 0..most {
            if number == NO_ROW {
                break;
            }
            found(number);
            number = noted(&self.next, number as usize);
        }
        (number != NO_ROW).then_some(number)
    }

    /// Returns the place where a key's first row is noted; a place beyond the array's end for a key
    /// that is less than the first or greater than the last. (The array ends at or before the
    /// greatest integer, so that a difference that wraps around is never within it.)
    #[inline]
    fn place(&self, key: i64) -> usize {
        key.wrapping_sub(self.first) as u64 as usize
    }
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
    fn filled(keys: &[Option<i64>]) -> Option<PerfectHashTable> {
        let mut all = DenseKeys::with_capacity(keys.len());
        keys.iter().for_each(|key| all.push(*key));
        let mut filling = all.fill()?;
        while !filling.step(7) {}
        Some(filling.finish())
    }

    fn found(table: &PerfectHashTable, keys: &[i64]) -> Vec<(u32, u32)> {
        let keys: Vec<(u32, i64)> = (0..).zip(keys.iter().copied()).collect();
        let mut found = Vec::new();
        table.find(&keys, usize::MAX, &mut found);
        found
    }

    #[test]
    fn rows_of_a_key_come_in_their_order() {
        let keys = [Some(5), None, Some(3), Some(5), Some(5), Some(4)];
        let made = filled(&keys).unwrap();
        let expected = [(0, 0), (0, 3), (0, 4), (2, 2), (3, 5)];
        assert_eq!(found(&made, &[5, 6, 3, 4, 2, i64::MIN, i64::MAX]), expected);
    }

    #[test]
    fn rows_of_a_key_come_in_portions() {
        let keys: Vec<Option<i64>> = (0..1000).map(|at| Some(at % 2)).collect();
        let made = filled(&keys).unwrap();
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
        let greatest = filled(&[Some(i64::MAX), Some(i64::MAX - 1)]).unwrap();
        assert_eq!(
            found(&greatest, &[i64::MAX, i64::MIN, i64::MIN + 1, 0]),
            [(0, 0)]
        );
        let least = filled(&[Some(i64::MIN)]).unwrap();
        assert_eq!(found(&least, &[i64::MAX, i64::MIN, -1]), [(1, 0)]);
    }

    #[test]
    fn keys_far_apart_are_not_dense() {
        assert!(filled(&[Some(0), Some(1 << 20)]).is_none());
        assert!(filled(&[Some(i64::MIN), Some(i64::MAX)]).is_none());
        let nobody = filled(&[None, None]).unwrap();
        assert_eq!(found(&nobody, &[0, 1]), []);
    }

    #[test]
    fn many_keys_are_found_through_prefetches() {
        let keys: Vec<Option<i64>> = (0..2 * CACHED_PLACES as i64).map(|at| Some(-at)).collect();
        let made = filled(&keys).unwrap();
        let wanted: Vec<i64> = (0..1000).map(|at| -at * 131).collect();
        let expected: Vec<(u32, u32)> = (0..1000).map(|at| (at, at * 131)).collect();
        assert_eq!(found(&made, &wanted), expected);
    }
}
