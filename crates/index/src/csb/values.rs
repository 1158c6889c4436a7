//! Arrays of values, in order of arrival, that trees are built over.

use std::{cmp::Ordering, collections::TryReserveError, hash::Hash};

use super::Separator;
use crate::{hash::hash_of, key::Piece};

/// Values that have codes: their places.
pub trait Stored {
    /// Form in which inner nodes hold a value.
    type Separator: Separator;

    /// Returns the separator of the value with `code`.
    fn separator(&self, code: u32) -> Self::Separator;

    /// Returns the fingerprint of the value with `code`: see [`Values::fingerprint`].
    fn fingerprint_of(&self, code: u32) -> u8;

    /// Returns the address of a value, and how many bytes of it are read to compare it.
    fn address(&self, code: u32) -> (*const u8, usize);

    /// Returns the order of two values.
    fn order(&self, code: u32, other: u32) -> Ordering;
}

/// Values that keys of this type can be compared with.
pub trait Values<K: Copy>: Stored {
    /// Compares a separator with a key.
    ///
    /// # Errors
    /// The code of the value that has to be compared, if the separator does not decide.
    fn compare_separator(&self, separator: Self::Separator, key: K) -> Result<Ordering, u32>;

    /// Returns a byte that equal values have in common, and others seldom.
    fn fingerprint(key: K) -> u8;

    /// Compares a value with a key.
    fn compare(&self, code: u32, key: K) -> Ordering;
}

/// Values of one size, which are their own separators.
impl<T: Separator + Ord + Hash> Stored for Vec<T> {
    type Separator = T;

    #[inline(always)]
    fn separator(&self, code: u32) -> T {
        self[code as usize]
    }

    fn fingerprint_of(&self, code: u32) -> u8 {
        fingerprint(self[code as usize])
    }

    #[inline(always)]
    fn address(&self, code: u32) -> (*const u8, usize) {
        let address = self.as_ptr().wrapping_add(code as usize);
        (address.cast(), size_of::<T>())
    }

    fn order(&self, code: u32, other: u32) -> Ordering {
        self[code as usize].cmp(&self[other as usize])
    }
}

impl<T: Separator + Ord + Hash> Values<T> for Vec<T> {
    #[inline(always)]
    fn fingerprint(key: T) -> u8 {
        fingerprint(key)
    }

    #[inline(always)]
    fn compare_separator(&self, separator: T, key: T) -> Result<Ordering, u32> {
        Ok(separator.cmp(&key))
    }

    #[inline(always)]
    fn compare(&self, code: u32, key: T) -> Ordering {
        self[code as usize].cmp(&key)
    }
}

/// Returns the uppermost byte of a hash. A byte of one multiplication would not do: values in a
/// leaf are neighbours, and multiples of some numbers have bytes of the product in common.
#[inline(always)]
fn fingerprint<T: Hash>(of: T) -> u8 {
    (hash_of(of) >> 56) as u8
}

/// The first eight bytes of a string as a big-endian number, padded with zeros, and its code.
#[derive(Clone, Copy, Debug)]
pub struct Prefix {
    bytes: u64,
    code: u32,
}

/// Byte strings of any length, in order of arrival. Strings do not move when more come.
#[derive(Clone, Debug, Default)]
pub struct StringHeap {
    /// Place of each string.
    places: Vec<Place>,
    chunks: Vec<Vec<u8>>,
    bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    chunk: u32,
    begin: u32,
    length: u32,
}

/// Bytes of a chunk, unless one string is larger.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of a string that are fetched before it is compared.
const TOUCHED_BYTES_MAX: usize = 128;

/// Reason why a string was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeapError {
    /// Memory is lacking.
    Memory(TryReserveError),
    /// The string has 4 GiB or more.
    TooLong,
    /// There are 4294967295 strings already.
    TooMany,
}

impl std::fmt::Display for HeapError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory(error) => write!(f, "there is no memory for the string: {error}"),
            Self::TooLong => f.write_str("a string has less than 4 GiB; store parts of it"),
            Self::TooMany => f.write_str("4294967295 strings are there already; use another heap"),
        }
    }
}

impl std::error::Error for HeapError {}

impl From<TryReserveError> for HeapError {
    fn from(error: TryReserveError) -> Self {
        Self::Memory(error)
    }
}

impl StringHeap {
    /// Returns an empty heap.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the bytes that the heap takes up.
    pub fn bytes(&self) -> usize {
        self.bytes + size_of_val(self.places.as_slice())
    }

    /// Adds a string and returns its code.
    ///
    /// # Errors
    /// [`HeapError`] if memory is lacking, the string is too long or there are too many strings;
    /// nothing was added.
    pub fn push(&mut self, string: &[u8]) -> Result<u32, HeapError> {
        let length = u32::try_from(string.len()).map_err(|_| HeapError::TooLong)?;
        let code = u32::try_from(self.places.len()).map_err(|_| HeapError::TooMany)?;
        if code == u32::MAX {
            return Err(HeapError::TooMany);
        }
        let room = self
            .chunks
            .last()
            .map_or(0, |chunk| chunk.capacity() - chunk.len());
        if room < string.len() || self.chunks.is_empty() {
            self.chunks.try_reserve(1)?;
            let mut chunk = Vec::new();
            chunk.try_reserve_exact(string.len().max(CHUNK_BYTES))?;
            self.chunks.push(chunk);
        }
        self.places.try_reserve(1)?;
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        self.places.push(Place {
            chunk: last as u32,
            begin: chunk.len() as u32,
            length,
        });
        chunk.extend_from_slice(string);
        self.bytes += string.len();
        Ok(code)
    }

    /// Returns the string with `code`.
    ///
    /// # Panics
    /// Panics if there is no such string.
    #[inline(always)]
    pub fn get(&self, code: u32) -> &[u8] {
        let place = self.places[code as usize];
        let chunk = &self.chunks[place.chunk as usize];
        &chunk[place.begin as usize..][..place.length as usize]
    }
}

impl Stored for StringHeap {
    type Separator = Prefix;

    fn separator(&self, code: u32) -> Prefix {
        let bytes = Piece::of(self.get(code)).slice;
        Prefix { bytes, code }
    }

    fn fingerprint_of(&self, code: u32) -> u8 {
        fingerprint(self.get(code))
    }

    #[inline(always)]
    fn address(&self, code: u32) -> (*const u8, usize) {
        // The place of the string is an access of its own, which is not hidden: 12 bytes of an
        // array.
        let string = self.get(code);
        (string.as_ptr(), string.len().clamp(1, TOUCHED_BYTES_MAX))
    }

    fn order(&self, code: u32, other: u32) -> Ordering {
        self.get(code).cmp(self.get(other))
    }
}

impl<'k> Values<&'k [u8]> for StringHeap {
    #[inline(always)]
    fn fingerprint(key: &'k [u8]) -> u8 {
        fingerprint(key)
    }

    #[inline(always)]
    fn compare_separator(&self, separator: Prefix, key: &'k [u8]) -> Result<Ordering, u32> {
        match separator.bytes.cmp(&Piece::of(key).slice) {
            Ordering::Equal => Err(separator.code),
            decided => Ok(decided),
        }
    }

    #[inline(always)]
    fn compare(&self, code: u32, key: &'k [u8]) -> Ordering {
        self.get(code).cmp(key)
    }
}
