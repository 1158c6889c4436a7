//! The order of a border's slots, in one word (paper: Masstree, section 4.6.2).
//!
//! ```text
//!  63      60 59     56        7       4 3      0
//! +----------+---------+-...-+----------+--------+
//! | slot at  | slot at |     | slot at  | count  |
//! | rank 14  | rank 13 |     | rank 0   |        |
//! +----------+---------+-...-+----------+--------+
//! ```
//! Ranks below `count` hold the used slots in key order, the others the free slots; the word is
//! therefore always a permutation of the 15 slots.

use crate::node::BORDER_SLOTS;

/// Order of a border's slots; see the module text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permutation(u64);

impl Permutation {
    /// Permutation without used slots; slots will be taken in ascending order.
    pub(crate) const EMPTY: Permutation = Permutation(0xedcb_a987_6543_2100);

    #[inline(always)]
    pub(crate) const fn from_bits(bits: u64) -> Permutation {
        Permutation(bits)
    }

    #[inline(always)]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(crate) const fn len(self) -> usize {
        (self.0 & 0xf) as usize
    }

    /// Returns the slot at `rank` (0 to 14).
    #[inline(always)]
    pub(crate) const fn slot(self, rank: usize) -> usize {
        (self.0 >> (4 * rank + 4) & 0xf) as usize
    }

    /// Returns the used slots in key order.
    pub(crate) fn slots(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.len()).map(move |rank| self.slot(rank))
    }

    /// Takes a free slot into use at `rank`; returns it.
    #[inline]
    pub(crate) fn insert(self, rank: usize) -> (Permutation, usize) {
        let len = self.len();
        debug_assert!(len < BORDER_SLOTS && rank <= len);
        let slot = self.slot(len);
        let ranks = self.0 >> 4;
        let moved = (ranks & low(len)) >> (4 * rank) << (4 * rank + 4);
        let ranks =
            (ranks & low(rank)) | (slot as u64) << (4 * rank) | moved | ranks & !low(len + 1);
        (Permutation(ranks << 4 | (len + 1) as u64), slot)
    }

    /// Makes the slot at `rank` free.
    #[inline]
    pub(crate) fn remove(self, rank: usize) -> Permutation {
        let len = self.len();
        debug_assert!(rank < len);
        let slot = self.slot(rank) as u64;
        let ranks = self.0 >> 4;
        let moved = (ranks & low(len) & !low(rank + 1)) >> 4;
        let ranks = (ranks & low(rank)) | moved | slot << (4 * (len - 1)) | ranks & !low(len);
        Permutation(ranks << 4 | (len - 1) as u64)
    }

    /// Keeps the lowest `len` ranks in use.
    pub(crate) const fn truncate(self, len: usize) -> Permutation {
        Permutation(self.0 & !0xf | len as u64)
    }
}

/// Returns the ranks below `rank` (at most 15), as a mask over the shifted word.
const fn low(rank: usize) -> u64 {
    (1 << (4 * rank)) - 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn insertions_and_removals_match_a_vector() {
        let mut state = 7u64;
        let mut model: Vec<usize> = Vec::new();
        let mut permutation = Permutation::EMPTY;
        for _ in 0..if cfg!(miri) { 300 } else { 20_000 } {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let random = (state >> 33) as usize;
            if model.len() < BORDER_SLOTS && (model.is_empty() || random.is_multiple_of(2)) {
                let rank = random / 2 % (model.len() + 1);
                let (next, slot) = permutation.insert(rank);
                model.insert(rank, slot);
                permutation = next;
            } else {
                let rank = random / 2 % model.len();
                model.remove(rank);
                permutation = permutation.remove(rank);
            }
            assert_eq!(permutation.slots().collect::<Vec<_>>(), model);
            let mut all: Vec<usize> = (0..BORDER_SLOTS).map(|r| permutation.slot(r)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..BORDER_SLOTS).collect::<Vec<_>>());
        }
    }
}
