//! Byte strings of one size.

use std::cmp::Ordering;

/// A byte string of up to `N` bytes in `N` bytes, in the order of its bytes: what is shorter is padded
/// with zeros, so strings that differ in zeros at their ends only are the same one.
///
/// Strings of 8 and 16 bytes compare as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedString<const N: usize>([u8; N]);

impl<const N: usize> FixedString<N> {
    /// `None` if there are more than `N` bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut padded = [0; N];
        padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self(padded))
    }

    /// The bytes, padding included.
    pub fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> Ord for FixedString<N> {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        // Both conditions are known when this is compiled.
        if N == 16 {
            let number = |of: &Self| {
                of.0.as_chunks()
                    .0
                    .first()
                    .map(|all| u128::from_be_bytes(*all))
            };
            number(self).cmp(&number(other))
        } else if N == 8 {
            let number = |of: &Self| {
                of.0.as_chunks()
                    .0
                    .first()
                    .map(|all| u64::from_be_bytes(*all))
            };
            number(self).cmp(&number(other))
        } else {
            self.0.cmp(&other.0)
        }
    }
}

impl<const N: usize> PartialOrd for FixedString<N> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
