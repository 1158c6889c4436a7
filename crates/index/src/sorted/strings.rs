//! Byte strings of any length in ascending order.
//!
//! An entry of 16 bytes for each: its first eight bytes as a big-endian number, padded with zeros,
//! and where it begins in one heap of bytes. Most comparisons are decided by the number, in the
//! line that the search touches anyway; only where it is equal is the string itself touched.

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

/// Why strings were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StringsError {
    /// They are not in order.
    OutOfOrder(OutOfOrder),
    /// There is not enough memory for them.
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

/// Byte strings in ascending order, equal ones allowed. What is found is as of
/// [`SortedArray`](super::SortedArray).
#[derive(Clone, Debug, Default)]
pub struct SortedStrings {
    entries: Vec<Entry>,
    heap: Vec<u8>,
}

impl SortedStrings {
    /// Of strings that are sorted.
    ///
    /// # Errors
    /// [`StringsError`] if they are not, or memory is lacking.
    pub fn from_sorted<S: AsRef<[u8]>>(
        strings: impl IntoIterator<Item = S>,
    ) -> Result<Self, StringsError> {
        let mut sorted = Self::default();
        for string in strings {
            sorted.push(string.as_ref())?;
        }
        Ok(sorted)
    }

    /// With room for so many strings of so many bytes together, on huge pages.
    ///
    /// # Errors
    /// When there is none.
    pub fn with_capacity(strings: usize, bytes: usize) -> Result<Self, TryReserveError> {
        Ok(Self {
            entries: memory::on_huge_pages(strings)?,
            heap: memory::on_huge_pages(bytes)?,
        })
    }

    /// Adds one that is not less than the last.
    ///
    /// # Errors
    /// [`StringsError`] if it is, or memory is lacking; nothing was added.
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

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The string at a place.
    pub fn get(&self, place: usize) -> Option<&[u8]> {
        let begin = self.entries.get(place)?.begin;
        let next = self.entries.get(place + 1);
        let end = next.map_or(self.heap.len(), |next| next.begin);
        self.heap.get(begin..end)
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + DoubleEndedIterator {
        (0..self.len()).map(|place| self.get(place).unwrap_or_default())
    }

    /// Bytes of entries and strings.
    pub fn bytes(&self) -> usize {
        size_of_val(self.entries.as_slice()) + self.heap.len()
    }

    /// Whether the string at a place is less than the key whose prefix is this.
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
