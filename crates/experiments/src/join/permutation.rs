//! An order of arrival that looks random.

/// A permutation of the numbers below a power of two that looks random and can be inverted: values
/// in order of arrival need neither be drawn without repetition nor be sorted.
///
/// Every step can be undone: multiplication by an odd number modulo a power of two, and adding
/// (without carry) the upper half to the lower.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    bits: u32,
}

/// Odd numbers without a pattern.
const MULTIPLIERS: [u64; 3] = [
    0x9E37_79B9_7F4A_7C15,
    0xBF58_476D_1CE4_E5B9,
    0x94D0_49BB_1331_11EB,
];

impl Permutation {
    /// Returns a permutation of more than `numbers` numbers, at most twice as many: some of them
    /// are beyond `numbers`.
    pub(super) fn beyond(numbers: u64) -> Permutation {
        Permutation {
            bits: numbers.max(1).ilog2() + 1,
        }
    }

    /// Returns the number of places.
    pub(super) fn len(self) -> u64 {
        1 << self.bits
    }

    fn fold(self, number: u64) -> u64 {
        number ^ (number >> self.bits.div_ceil(2))
    }

    /// Returns the number at `place`.
    pub(super) fn at(self, place: u64) -> u64 {
        MULTIPLIERS.iter().fold(place, |number, multiplier| {
            self.fold(number.wrapping_mul(*multiplier) & (self.len() - 1))
        })
    }

    /// Returns the place of `number`.
    pub(super) fn place(self, number: u64) -> u64 {
        MULTIPLIERS.iter().rev().fold(number, |number, multiplier| {
            self.fold(number).wrapping_mul(inverse(*multiplier)) & (self.len() - 1)
        })
    }
}

/// Returns the inverse of `odd` for multiplication modulo 2^64 (Newton).
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |x, _| {
        x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_have_every_number_once_and_know_where() {
        for numbers in [0, 1, 2, 3, 5, 8, 1000, 1 << 14] {
            let permutation = Permutation::beyond(numbers);
            assert!((numbers + 1..=2 * numbers.max(1)).contains(&permutation.len()));
            let mut seen = vec![false; permutation.len() as usize];
            for place in 0..permutation.len() {
                let number = permutation.at(place);
                assert_eq!(permutation.place(number), place);
                assert!(!std::mem::replace(&mut seen[number as usize], true));
            }
        }
        let large = Permutation::beyond(1 << 31);
        for place in [0, 1, 77, (1 << 32) - 1] {
            assert_eq!(large.place(large.at(place)), place);
        }
    }

    #[test]
    fn neighbours_are_not_neighbours_in_a_permutation() {
        let permutation = Permutation::beyond(1 << 15);
        let near = (1..1 << 15)
            .filter(|&n| permutation.at(n).abs_diff(permutation.at(n - 1)) < 16)
            .count();
        assert!(near < 200, "{near}");
    }
}
