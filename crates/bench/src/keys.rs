//! The key of each record.
//!
//! A key is `bytes` long. Its first eight bytes, big-endian, are the *key
//! word*: a bijection of the record number, so keys are unique by their first
//! slice alone. Each further eight bytes are the mix of the word before, so a
//! longer key costs its reader every byte, and equal prefixes never arise.
//!
//! ```text
//! byte 0        8          16         24
//!      | mix(r) | mix(w0)  | mix(w1)  | ...   hashed (YCSB's default)
//!      | r      | mix(w0)  | mix(w1)  | ...   ordered
//! ```
//!
//! The hash is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014),
//! not YCSB's FNV: each of its steps is invertible, so it permutes the 64-bit
//! numbers, while FNV of eight bytes may map two records to one key; and it takes
//! two multiplications in place of eight.

use commands::{Error, Result};

/// Mixes 64 bits into 64 bits, one to one.
#[inline]
pub const fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Fills `digits` with those of `number`, after leading zeros.
pub fn write_digits(digits: &mut [u8], number: u64) {
    let mut left = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
}

/// Relation of key order to record numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertOrder {
    /// Neighbouring records have unrelated keys.
    Hashed,
    /// Keys ascend with record numbers.
    Ordered,
}

impl InsertOrder {
    /// Returns the name used in workload files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hashed => "hashed",
            Self::Ordered => "ordered",
        }
    }
}

/// Shape that all keys of a table share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShape {
    bytes: usize,
    order: InsertOrder,
}

impl KeyShape {
    /// Shortest key, in bytes: the key word.
    pub const BYTES_MIN: usize = 8;
    /// Longest key, in bytes.
    pub const BYTES_MAX: usize = 1024;

    /// Returns the shape of keys of `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Input`] when `bytes` is out of range.
    pub fn new(bytes: usize, order: InsertOrder) -> Result<Self> {
        if (Self::BYTES_MIN..=Self::BYTES_MAX).contains(&bytes) {
            Ok(Self { bytes, order })
        } else {
            Err(Error::input(format!(
                "keys of {bytes} bytes are not supported; give {} (needed to tell records \
                 apart) to {} bytes",
                Self::BYTES_MIN,
                Self::BYTES_MAX
            )))
        }
    }

    /// Returns the length of each key, in bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Returns the order of the keys.
    pub fn order(self) -> InsertOrder {
        self.order
    }

    /// Returns the key word of a record: its first eight key bytes as a number.
    #[inline]
    pub fn word(self, record: u64) -> u64 {
        match self.order {
            InsertOrder::Hashed => mix(record),
            InsertOrder::Ordered => record,
        }
    }

    /// Reads the key word back from a key.
    ///
    /// # Panics
    /// Panics when `key` is shorter than eight bytes.
    #[inline]
    pub fn word_of(key: &[u8]) -> u64 {
        u64::from_be_bytes(*key.first_chunk().expect("keys have at least 8 bytes"))
    }

    /// Writes a record's key over `key` and returns the key word.
    ///
    /// # Panics
    /// Panics when `key` is not [`bytes`](Self::bytes) long.
    #[inline]
    pub fn write(self, record: u64, key: &mut [u8]) -> u64 {
        assert_eq!(key.len(), self.bytes);
        let first = self.word(record);
        let mut word = first;
        let (words, rest) = key.as_chunks_mut::<8>();
        for chunk in words {
            *chunk = word.to_be_bytes();
            word = mix(word);
        }
        rest.copy_from_slice(&word.to_be_bytes()[..rest.len()]);
        first
    }

    /// Returns a record's key in a vector of its own, for uses where speed does not matter.
    pub fn key(self, record: u64) -> Vec<u8> {
        let mut key = vec![0; self.bytes];
        self.write(record, &mut key);
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_one_to_one() {
        // The inverses of all steps, in reverse order: if they undo the mix for arbitrary numbers,
        // the mix is a bijection.
        fn inverse_multiplier(odd: u64) -> u64 {
            (0..6).fold(odd, |inverse, _| {
                inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)))
            })
        }
        fn unshift(mixed: u64, by: u32) -> u64 {
            mixed ^ (mixed >> by) ^ mixed.checked_shr(2 * by).unwrap_or(0)
        }
        let unmix = |mixed: u64| {
            let mut number = unshift(mixed, 31);
            number = number.wrapping_mul(inverse_multiplier(0x94D0_49BB_1331_11EB));
            number = unshift(number, 27).wrapping_mul(inverse_multiplier(0xBF58_476D_1CE4_E5B9));
            unshift(number, 30).wrapping_sub(0x9E37_79B9_7F4A_7C15)
        };
        for number in (0..100_000).chain(u64::MAX - 1000..=u64::MAX) {
            assert_eq!(unmix(mix(number)), number);
        }
    }

    #[test]
    fn long_keys_extend_short_ones_and_differ_at_once() {
        let short = KeyShape::new(8, InsertOrder::Hashed).unwrap();
        let long = KeyShape::new(61, InsertOrder::Hashed).unwrap();
        for record in 0..1000 {
            let key = long.key(record);
            assert_eq!(key.len(), 61);
            assert_eq!(key[..8], short.key(record));
            assert_eq!(KeyShape::word_of(&key), long.word(record));
            assert_ne!(key[..8], long.key(record + 1)[..8]);
            assert_ne!(key[8..16], key[16..24]);
        }
    }

    #[test]
    fn ordered_keys_ascend() {
        let shape = KeyShape::new(16, InsertOrder::Ordered).unwrap();
        assert!((0..1000).all(|record| shape.key(record) < shape.key(record + 1)));
    }

    #[test]
    fn lengths_out_of_range_are_refused() {
        for bytes in [0, 7, 1025] {
            let error = KeyShape::new(bytes, InsertOrder::Hashed)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(&format!("{bytes} bytes")) && error.contains("8 ("),
                "{error}"
            );
        }
    }
}
