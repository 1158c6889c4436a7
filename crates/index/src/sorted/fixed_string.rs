//! Byte strings of a fixed size, compared as integers where they are short.

use std::{cmp::Ordering, fmt};

/// A string of at most `N` bytes without zeros at its end, in the order of its bytes.
///
/// Zeros fill the rest of the `N` bytes: a string with further zeros at its end would be the same one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct FixedString<const N: usize>([u8; N]);

impl<const N: usize> FixedString<N> {
    /// Returns the string; `None` if it is longer than `N` bytes, or ends with a zero byte.
    #[inline]
    pub fn new(string: &[u8]) -> Option<FixedString<N>> {
        if string.last() == Some(&0) {
            return None;
        }
        let mut bytes = [0; N];
        bytes.get_mut(..string.len())?.copy_from_slice(string);
        Some(FixedString(bytes))
    }

    /// Returns the string, without the zeros that fill it up.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        let is_part = |byte: &u8| *byte != 0;
        let bytes = self.0.iter().rposition(is_part).map_or(0, |last| last + 1);
        &self.0[..bytes]
    }

    /// Returns a number in the order of strings of at most 8 bytes. The two loads overlap: if the first words are
    /// equal, so are the bytes that both have.
    #[inline(always)]
    fn short(&self) -> u64 {
        let word = |at: usize| u32::from_be_bytes(self.part(at));
        match N {
            8 => u64::from_be_bytes(self.part(0)),
            4..8 => (u64::from(word(0)) << 32) | u64::from(word(N - 4)),
            _ => {
                let append = |number, byte: &u8| (number << 8) | u64::from(*byte);
                self.0.iter().fold(0, append)
            }
        }
    }

    /// Returns a number in the order of strings of 8 to 16 bytes.
    #[inline(always)]
    fn long(&self) -> u128 {
        let word = |at: usize| u64::from_be_bytes(self.part(at));
        (u128::from(word(0)) << 64) | u128::from(word(N - 8))
    }

    /// Returns `M` of the bytes, from `at` on.
    #[inline(always)]
    fn part<const M: usize>(&self, at: usize) -> [u8; M] {
        let mut part = [0; M];
        part.copy_from_slice(&self.0[at..at + M]);
        part
    }
}

impl<const N: usize> Ord for FixedString<N> {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        match N {
            ..=8 => self.short().cmp(&other.short()),
            9..=16 => self.long().cmp(&other.long()),
            _ => self.0.cmp(&other.0),
        }
    }
}

impl<const N: usize> PartialOrd for FixedString<N> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // Searches need only this: without the three-way comparison, it compiles to no branch.
    #[inline(always)]
    fn lt(&self, other: &Self) -> bool {
        match N {
            ..=8 => self.short() < other.short(),
            9..=16 => self.long() < other.long(),
            _ => self.0 < other.0,
        }
    }
}

impl<const N: usize> fmt::Debug for FixedString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn check<const N: usize>() {
        let mut strings: Vec<Vec<u8>> = vec![vec![]];
        // Few different bytes, so that many strings have long beginnings in common.
        let mut state = N as u64;
        for _ in 0..300 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            let mut string: Vec<u8> = (0..(state >> 33) as usize % (N + 1))
                .map(|at| [0, 1, 127, 128, 255][(state >> (33 + at % 11)) as usize % 5])
                .collect();
            while string.last() == Some(&0) {
                string.pop();
            }
            strings.push(string);
        }
        for one in &strings {
            let fixed = FixedString::<N>::new(one).unwrap();
            assert_eq!(fixed.as_bytes(), one);
            for other in &strings {
                let other_fixed = FixedString::<N>::new(other).unwrap();
                assert_eq!(fixed.cmp(&other_fixed), one.cmp(other), "{one:?} {other:?}");
                assert_eq!(fixed < other_fixed, one < other, "{one:?} {other:?}");
                assert_eq!(fixed == other_fixed, one == other, "{one:?} {other:?}");
            }
        }
        assert_eq!(FixedString::<N>::new(&vec![1; N + 1]), None);
        assert_eq!(FixedString::<N>::new(&[0]), None);
    }

    #[test]
    fn strings_of_any_size_are_in_the_order_of_their_bytes() {
        check::<0>();
        check::<1>();
        check::<3>();
        check::<4>();
        check::<5>();
        check::<7>();
        check::<8>();
        check::<9>();
        check::<15>();
        check::<16>();
        check::<17>();
        check::<40>();
    }
}
