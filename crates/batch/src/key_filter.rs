//! A filter of keys that are integers: it tells of most other keys that they are none of them.
//!
//! A join by hash that drops rows without a match makes a filter of the keys in its table, and the scan below it leaves
//! such rows out before it decodes them. Keys that lie close together get a bit each; of others each sets
//! [`BITS_PER_KEY_SET`] bits in one word that its hash names, a Bloom filter of which a test reads one word (after
//! Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", WEA 2007, section 3). A filter takes
//! [`BITS_MAX`] bits at most, so that it stays in a core's cache; there is no filter where it would take more.
//!
//! A filter counts what it is asked and what it lets pass, all threads together: one that lets most keys pass is not
//! worth its time ([`KeyFilter::is_useful`]).

use std::sync::atomic::{AtomicU64, Ordering};

use interleave::Gradual;

use crate::integer_hash_table::mixed;

/// Most bits of a filter: 2 MiB.
const BITS_MAX: u64 = 1 << 24;

/// Bits that a filter of few keys may have in any case: 8 KiB.
const BITS_MIN: u64 = 1 << 16;

/// Most bits of an interval for each key in it, where each integer of the interval has a bit.
const SPREAD_MAX: u64 = 64;

/// Bits for each key of a filter by hashes.
const BITS_PER_KEY: u64 = 16;

/// Bits that a key sets in a filter by hashes.
const BITS_PER_KEY_SET: u32 = 4;

/// Keys that a filter is tried with before it can be found useless.
const TRIED_MIN: u64 = 1 << 15;

const WORD: u64 = u64::BITS as u64;

/// Filter of keys: see the module text.
pub struct KeyFilter {
    least: i64,
    greatest: i64,
    is_exact: bool,
    words: Gradual<Vec<u64>>,
    /// Numbers of keys that were tested and that passed.
    tested: AtomicU64,
    passed: AtomicU64,
}

impl KeyFilter {
    /// Makes a filter without keys for `keys` keys from `least` to `greatest`; `None` if they are too many.
    pub fn new(keys: usize, least: i64, greatest: i64) -> Option<KeyFilter> {
        let keys = keys as u64;
        let interval = greatest.abs_diff(least).checked_add(1);
        let exact = interval
            .filter(|bits| *bits <= BITS_MIN.max(keys.saturating_mul(SPREAD_MAX)).min(BITS_MAX));
        let bits = match exact {
            Some(bits) => bits.next_multiple_of(WORD),
            None => (keys.min(BITS_MAX) * BITS_PER_KEY)
                .next_power_of_two()
                .max(BITS_MIN),
        };
        (bits <= BITS_MAX).then(|| KeyFilter {
            least,
            greatest,
            is_exact: exact.is_some(),
            words: Gradual::from(vec![0; (bits / WORD) as usize]),
            tested: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        })
    }

    /// Returns the bytes that the filter takes.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// Adds a key, which is within the bounds.
    pub fn insert(&mut self, key: i64) {
        let (word, bits) = self.place(key);
        self.words[word] |= bits;
    }

    /// Returns whether a key may be one of those that were added; it may be if it is.
    #[inline]
    pub fn may_have(&self, key: i64) -> bool {
        if key < self.least || key > self.greatest {
            return false;
        }
        let (word, bits) = self.place(key);
        self.words[word] & bits == bits
    }

    /// Returns whether a key from `least` to `greatest` may be one of those that were added.
    pub fn may_have_between(&self, least: i64, greatest: i64) -> bool {
        least <= self.greatest && self.least <= greatest
    }

    /// Returns the word of a key, and its bits there.
    #[inline(always)]
    fn place(&self, key: i64) -> (usize, u64) {
        if self.is_exact {
            let bit = key.abs_diff(self.least);
            return ((bit / WORD) as usize, 1 << (bit % WORD));
        }
        let hash = mixed([key].into_iter()).cast_unsigned();
        let bits =
            (0..BITS_PER_KEY_SET).fold(0, |bits, number| bits | 1 << (hash >> (6 * number) & 63));
        // The number of words is a power of two.
        ((hash >> 32) as usize & (self.words.len() - 1), bits)
    }

    /// Notes that keys were tested, of which some passed.
    pub fn note(&self, tested: usize, passed: usize) {
        // Relaxed: nothing depends on the counts but time.
        self.tested.fetch_add(tested as u64, Ordering::Relaxed);
        self.passed.fetch_add(passed as u64, Ordering::Relaxed);
    }

    /// Returns whether the filter is worth its time: a quarter of the keys do not pass, or few were tested so far.
    pub fn is_useful(&self) -> bool {
        let tested = self.tested.load(Ordering::Relaxed);
        let passed = self.passed.load(Ordering::Relaxed);
        tested < TRIED_MIN || passed < tested - tested / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: &[i64]) -> Option<KeyFilter> {
        let (least, greatest) = (keys.iter().min()?, keys.iter().max()?);
        let mut filter = KeyFilter::new(keys.len(), *least, *greatest)?;
        keys.iter().for_each(|key| filter.insert(*key));
        Some(filter)
    }

    #[test]
    fn all_keys_pass_and_few_others() {
        let close: Vec<i64> = (0..1000).map(|at| at * 3 - 500).collect();
        let far: Vec<i64> = (0..100_000).map(|at| at * 1_000_003 - 500).collect();
        let ends = [i64::MIN, -1, i64::MAX];
        for (keys, is_exact) in [(&close[..], true), (&far, false), (&ends, false)] {
            let filter = of(keys).unwrap();
            assert_eq!(filter.is_exact, is_exact);
            assert!(keys.iter().all(|key| filter.may_have(*key)));
            let others = keys.iter().filter_map(|key| key.checked_add(1));
            let others = others.filter(|key| keys.binary_search(key).is_err());
            let passed = others.filter(|key| filter.may_have(*key)).count();
            let most = if is_exact { 0 } else { keys.len() / 50 };
            assert!(passed <= most, "{passed} of {}", keys.len());
        }
    }

    #[test]
    fn keys_outside_the_bounds_do_not_pass() {
        let filter = of(&[10, 20]).unwrap();
        assert!(
            [9, 21, i64::MIN, i64::MAX]
                .iter()
                .all(|key| !filter.may_have(*key))
        );
        assert!(filter.may_have_between(0, 10) && filter.may_have_between(20, 30));
        assert!(!filter.may_have_between(0, 9) && !filter.may_have_between(21, 30));
    }

    #[test]
    fn a_filter_has_a_bound() {
        assert!(KeyFilter::new(1 << 20, 0, i64::MAX).is_some());
        assert!(KeyFilter::new((1 << 20) + 1, 0, i64::MAX).is_none());
        assert!(KeyFilter::new(usize::MAX >> 8, 0, (BITS_MAX - 1) as i64).is_some());
        let one = KeyFilter::new(1, i64::MIN, i64::MAX).unwrap();
        assert_eq!(one.bytes() as u64, BITS_MIN / 8);
    }

    #[test]
    fn a_filter_that_keeps_most_keys_is_useless() {
        let filter = of(&[1, 2, 3]).unwrap();
        filter.note(TRIED_MIN as usize - 1, TRIED_MIN as usize - 1);
        assert!(filter.is_useful());
        filter.note(1, 1);
        assert!(!filter.is_useful());
        filter.note(TRIED_MIN as usize, 0);
        assert!(filter.is_useful());
    }
}
