//! Byte strings of any length in ascending order.
//!
//! Each string has an entry of 16 bytes: its first eight bytes as a big-endian number, padded with
//! zeros, and its start in one heap of bytes. Most comparisons are decided by the number, in the
//! line that the search touches anyway; only where the numbers are equal is the string itself
//! touched.

use std::{collections::TryReserveError, fmt};

use interleave::{Lookup, Point, Policy};

use super::{OutOfOrder, search::per_line};
use crate::key::Piece;

const PROBE: Point = Point::new("sorted strings");
const TEXT: Point = Point::new("sorted string");
/// Bytes of a string that are touched before it is compared.
const TOUCHED_BYTES_MAX: usize = 128;

#[derive(Clone, Copy, Debug)]
struct Entry {
    prefix: u64,
    begin: usize,
}

/// Reason why strings were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StringsError {
    /// The strings are not in order.
    OutOfOrder(OutOfOrder),
    /// Memory is lacking.
    Memory(TryReserveError),
}

impl fmt::Display for StringsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfOrder(error) => error.fmt(f),
            Self::Memory(error) => write!(f, "there is no memory for the strings: {error}"),
        }
    }
}

impl std::error::Error for StringsError {}

impl From<TryReserveError> for StringsError {
    fn from(error: TryReserveError) -> Self {
        Self::Memory(error)
    }
}

/// Byte strings in ascending order, equal ones allowed. Lookups find what those of a
/// [`SortedArray`](super::SortedArray) do.
#[derive(Clone, Debug, Default)]
pub struct SortedStrings {
    entries: Vec<Entry>,
    heap: Vec<u8>,
}

impl SortedStrings {
    /// Returns an array of `strings`, which are sorted.
    ///
    /// # Errors
    /// [`StringsError`] if they are not sorted, or memory is lacking.
    pub fn from_sorted<S: AsRef<[u8]>>(
        strings: impl IntoIterator<Item = S>,
    ) -> Result<Self, StringsError> {
        let mut sorted = Self::default();
        for string in strings {
            sorted.push(string.as_ref())?;
        }
        Ok(sorted)
    }

    /// Returns an empty array with room for `strings` strings of `bytes` bytes together, on huge
    /// pages.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking.
    pub fn with_capacity(strings: usize, bytes: usize) -> Result<Self, TryReserveError> {
        Ok(Self {
            entries: memory::on_huge_pages(strings)?,
            heap: memory::on_huge_pages(bytes)?,
        })
    }

    /// Adds `string`, which is not less than the last one.
    ///
    /// # Errors
    /// [`StringsError`] if it is less, or memory is lacking; nothing was added.
    pub fn push(&mut self, string: &[u8]) -> Result<(), StringsError> {
        if let Some(last) = self.len().checked_sub(1)
            && string < self.get(last).unwrap_or_default()
        {
            return Err(StringsError::OutOfOrder(OutOfOrder { at: last + 1 }));
        }
        self.entries.try_reserve(1)?;
        self.heap.try_reserve(string.len())?;
        self.entries.push(Entry {
            prefix: Piece::of(string).slice,
            begin: self.heap.len(),
        });
        self.heap.extend_from_slice(string);
        Ok(())
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the string at `place`, if there is one.
    pub fn get(&self, place: usize) -> Option<&[u8]> {
        let begin = self.entries.get(place)?.begin;
        let next = self.entries.get(place + 1);
        let end = next.map_or(self.heap.len(), |next| next.begin);
        self.heap.get(begin..end)
    }

    /// Returns the strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + DoubleEndedIterator {
        (0..self.len()).map(|place| self.get(place).unwrap_or_default())
    }

    /// Returns the bytes of entries and strings.
    pub fn bytes(&self) -> usize {
        size_of_val(self.entries.as_slice()) + self.heap.len()
    }

    /// Returns whether the string at `place` is less than `key`, whose prefix is `prefix`.
    #[inline(always)]
    async fn is_less<P: Policy>(&self, place: usize, key: &[u8], prefix: u64) -> bool {
        let entry = self.entries[place];
        if entry.prefix != prefix {
            return entry.prefix < prefix;
        }
        let at = self.heap.as_ptr().wrapping_add(entry.begin);
        P::touch(TEXT, at, key.len().clamp(1, TOUCHED_BYTES_MAX)).await;
        self.get(place).unwrap_or_default() < key
    }
}

impl Lookup<&[u8]> for SortedStrings {
    type Found = Result<usize, usize>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, key: &[u8]) -> Result<usize, usize> {
        let prefix = Piece::of(key).slice;
        let (mut low, mut size) = (0, self.entries.len());
        while size > 0 {
            // Halves as in an array of numbers; the last step is on one element.
            let half = (size / 2).max(1);
            let probe = low + half - 1;
            if size > const { per_line::<Entry>() } {
                let at = self.entries.as_ptr().wrapping_add(probe);
                P::touch(PROBE, at, size_of::<Entry>()).await;
            }
            if self.is_less::<P>(probe, key, prefix).await {
                low += half;
                size -= half;
            } else if size == 1 {
                break;
            } else {
                size -= half;
            }
        }
        match self.get(low) {
            Some(string) if string == key => Ok(low),
            _ => Err(low),
        }
    }
}
