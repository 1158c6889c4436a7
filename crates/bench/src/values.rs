//! Values that tell their key.
//!
//! A value is at least eight bytes. Its first eight, little-endian, are the
//! *value word*: 48 bits derived from the key word, and a 16-bit version that
//! loading sets to 0 and every update may change. The rest follows from the
//! value word by a fixed step, so it differs by record and version, costs less
//! than a nanosecond per word to write, and can be checked whole.
//!
//! ```text
//! byte 0          2                8            16
//!      | version  | tag of the key | word + 1g  | word + 2g | ...
//! ```
//!
//! A reader compares the tag without branching ([`Verifier::check`]); a scan
//! can do so too, because the tag needs the key only, not the record number. A
//! wrong answer passes with a probability of 2^-48.

use crate::keys::mix;
use commands::{Error, Result};

/// Bits of the value word that hold the version.
const VERSION_BITS: u32 = 16;
const TAG_MASK: u64 = u64::MAX << VERSION_BITS;
/// Keeps tags unrelated to the key bytes, which are the same mix.
const TAG_SALT: u64 = 0xD6E8_FEB8_6659_FD93;
/// Step between the words of a value: an odd number near 2^64 over the golden ratio.
const WORD_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns the value word of a record at a version.
#[inline]
pub const fn value_word(key_word: u64, version: u16) -> u64 {
    (mix(key_word ^ TAG_SALT) & TAG_MASK) | version as u64
}

/// Shape that all values of a table share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueShape {
    bytes: usize,
}

impl ValueShape {
    /// Shortest value, in bytes: the value word.
    pub const BYTES_MIN: usize = 8;
    /// Longest value, in bytes.
    pub const BYTES_MAX: usize = 1 << 20;

    /// Returns the shape of values of `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Input`] when `bytes` is out of range.
    pub fn new(bytes: usize) -> Result<Self> {
        if (Self::BYTES_MIN..=Self::BYTES_MAX).contains(&bytes) {
            Ok(Self { bytes })
        } else {
            Err(Error::input(format!(
                "values of {bytes} bytes are not supported; give {} (needed to verify answers) \
                 to {} bytes",
                Self::BYTES_MIN,
                Self::BYTES_MAX
            )))
        }
    }

    /// Returns the length of each value, in bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Writes over `value` the value of the record with `key_word` at `version`.
    ///
    /// # Panics
    /// Panics when `value` is not [`bytes`](Self::bytes) long.
    #[inline]
    pub fn write(self, key_word: u64, version: u16, value: &mut [u8]) {
        assert_eq!(value.len(), self.bytes);
        let mut word = value_word(key_word, version);
        let (words, rest) = value.as_chunks_mut::<8>();
        for chunk in words {
            *chunk = word.to_le_bytes();
            word = word.wrapping_add(WORD_STEP);
        }
        rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]);
    }

    /// Returns the version stored in a value.
    ///
    /// # Panics
    /// Panics when `value` is shorter than eight bytes.
    #[inline]
    pub fn version(value: &[u8]) -> u16 {
        u16::from_le_bytes(*value.first_chunk().expect("values have at least 8 bytes"))
    }

    /// Returns whether every byte of `value` is the one that [`write`](Self::write) put there for
    /// this key, at whichever version.
    pub fn is_whole(self, key_word: u64, value: &[u8]) -> bool {
        if value.len() != self.bytes {
            return false;
        }
        let mut expected = vec![0; self.bytes];
        self.write(key_word, Self::version(value), &mut expected);
        expected == value
    }
}

/// Accumulates the verification of many reads. One per worker.
///
/// Cheap enough for the measured loop: a mix, an exclusive or and an or for
/// each value found.
#[derive(Clone, Debug, Default)]
pub struct Verifier {
    /// Bits in which any tag seen differed from the one expected.
    difference: u64,
    missing: u64,
    checked: u64,
}

impl Verifier {
    /// Returns a verifier that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks that `value` belongs to the key with `key_word`.
    #[inline]
    pub fn check(&mut self, key_word: u64, value: &[u8]) {
        let Some(first) = value.first_chunk() else {
            self.difference = u64::MAX;
            return;
        };
        self.difference |= (u64::from_le_bytes(*first) ^ value_word(key_word, 0)) & TAG_MASK;
        self.checked += 1;
    }

    /// Notes that a record which must be there was not found.
    #[inline]
    pub fn missing(&mut self) {
        self.missing += 1;
    }

    /// Adds the findings of another verifier.
    pub fn merge(&mut self, other: &Self) {
        self.difference |= other.difference;
        self.missing += other.missing;
        self.checked += other.checked;
    }

    /// Returns the number of values checked so far.
    pub fn checked(&self) -> u64 {
        self.checked
    }

    /// Returns the number of records not found so far.
    pub fn records_missing(&self) -> u64 {
        self.missing
    }

    /// Returns whether nothing was wrong.
    pub fn verified(&self) -> bool {
        self.difference == 0 && self.missing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_recognised_at_every_version() {
        let mut verifier = Verifier::new();
        for bytes in [8, 9, 100, 1024] {
            let shape = ValueShape::new(bytes).unwrap();
            let mut value = vec![0; bytes];
            for version in [0, 1, 77, u16::MAX] {
                for record in 0..100 {
                    shape.write(mix(record), version, &mut value);
                    verifier.check(mix(record), &value);
                    assert!(shape.is_whole(mix(record), &value));
                    assert!(!shape.is_whole(mix(record + 1), &value));
                    assert_eq!(ValueShape::version(&value), version);
                }
            }
        }
        assert!(verifier.verified());
        assert_eq!(verifier.checked(), 1600);
    }

    #[test]
    fn one_wrong_answer_among_many_is_found() {
        let shape = ValueShape::new(8).unwrap();
        let mut value = [0; 8];
        let mut verifier = Verifier::new();
        for record in 0..1000 {
            let stored = if record == 500 { 501 } else { record };
            shape.write(mix(stored), 3, &mut value);
            verifier.check(mix(record), &value);
        }
        assert!(!verifier.verified());
        let mut sum = Verifier::new();
        sum.merge(&verifier);
        assert!(!sum.verified());
    }

    #[test]
    fn missing_and_short_values_are_found() {
        let mut verifier = Verifier::new();
        verifier.missing();
        assert!(!verifier.verified());
        let mut verifier = Verifier::new();
        verifier.check(1, b"short");
        assert!(!verifier.verified());
    }

    #[test]
    fn damage_behind_the_first_word_is_found_by_the_whole_check() {
        let shape = ValueShape::new(64).unwrap();
        let mut value = vec![0; 64];
        shape.write(9, 1, &mut value);
        value[63] ^= 1;
        assert!(!shape.is_whole(9, &value));
    }

    #[test]
    fn lengths_out_of_range_are_refused() {
        assert!(ValueShape::new(7).is_err());
        assert!(ValueShape::new((1 << 20) + 1).is_err());
    }
}
