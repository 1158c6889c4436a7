//! Byte strings of any lengths in order.
//!
//! One heap has the bytes of all strings, one after the other. An entry of 16 bytes says where a string is
//! and how it begins, so that most comparisons need no other line than the entry's:
//!
//! ```text
//! entry   prefix: u64   the 8 bytes after what all strings begin with, the first the most significant,
//!                       zeros after the end
//!         offset: 48    where the string begins on the heap
//!         rest:   16    its bytes after what all begin with, saturating
//! ```
//!
//! Invariants: entries are in the order of their strings. After them comes one more, with the
//! heap's end as its offset: every string ends where the next begins.
//!
//! Equal prefixes decide nothing, except for strings that end within them: then the shorter is
//! less, as it is the beginning of the other.

use std::{collections::TryReserveError, error::Error, fmt, hint::select_unpredictable};

use interleave::{Lookup, Point, Policy};
use memory::LINE_BYTES;

use super::{
    OutOfOrder,
    search::{half, per_line},
};

const ENTRY: Point = Point::new("sorted strings");
const HEAP: Point = Point::new("sorted strings' heap");

const PREFIX_BYTES: usize = size_of::<u64>();
const REST_BITS: u32 = 16;
const REST_MAX: u64 = (1 << REST_BITS) - 1;
const HEAP_BYTES_MAX: usize = (1 << (u64::BITS - REST_BITS)) - 1;

#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Entry {
    prefix: u64,
    /// The offset, over `REST_BITS` for the rest.
    place: u64,
}

const _: () = assert!(LINE_BYTES.is_multiple_of(size_of::<Entry>()));

impl Entry {
    fn offset(self) -> usize {
        (self.place >> REST_BITS) as usize
    }

    /// Bytes after what all strings begin with, at most [`REST_MAX`].
    fn rest(self) -> usize {
        (self.place & REST_MAX) as usize
    }
}

/// Why there are no [`SortedStrings`] of some strings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StringsError {
    /// A string is less than the one before it.
    OutOfOrder(OutOfOrder),
    /// There is not enough memory.
    Memory(TryReserveError),
    /// All strings together have 256 TiB or more.
    TooLarge,
}

impl fmt::Display for StringsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StringsError::OutOfOrder(place) => place.fmt(f),
            StringsError::Memory(error) => error.fmt(f),
            StringsError::TooLarge => f.write_str("the strings have more bytes than offsets name"),
        }
    }
}

impl Error for StringsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            StringsError::OutOfOrder(place) => Some(place),
            StringsError::Memory(error) => Some(error),
            StringsError::TooLarge => None,
        }
    }
}

impl From<TryReserveError> for StringsError {
    fn from(error: TryReserveError) -> StringsError {
        StringsError::Memory(error)
    }
}

/// A sorted array of byte strings of any lengths, equal ones among them allowed.
///
/// ```
/// use index::sorted::SortedStrings;
/// use interleave::{Execution, look_up_all};
///
/// let cities = SortedStrings::from_sorted(["Basel", "Bern", "Berne"])?;
/// let keys: [&[u8]; 2] = [b"Bern", b"Chur"];
/// let mut found = [Ok(0); 2];
/// look_up_all(&cities, &keys, Execution::in_flight(2), |at, one| found[at] = one);
/// assert_eq!(found, [Ok(1), Err(3)]);
/// # Ok::<(), index::sorted::StringsError>(())
/// ```
#[derive(Debug)]
pub struct SortedStrings {
    entries: Vec<Entry>,
    heap: Vec<u8>,
    /// Bytes that all strings begin with.
    common: usize,
}

impl SortedStrings {
    /// The strings, which are in order, copied.
    ///
    /// # Errors
    /// [`StringsError::OutOfOrder`] when they are not, and when there is not the memory for them.
    pub fn from_sorted<S: AsRef<[u8]>>(
        strings: impl IntoIterator<Item = S>,
    ) -> Result<SortedStrings, StringsError> {
        let strings = strings.into_iter();
        let mut entries = memory::on_huge_pages(strings.size_hint().0.saturating_add(1))?;
        let mut heap: Vec<u8> = Vec::new();
        let mut last = 0;
        for (at, string) in strings.enumerate() {
            let string = string.as_ref();
            if *string < heap[last..] {
                return Err(StringsError::OutOfOrder(OutOfOrder { at }));
            }
            last = heap.len();
            grow(&mut heap, string.len())?;
            heap.extend_from_slice(string);
            if heap.len() > HEAP_BYTES_MAX {
                return Err(StringsError::TooLarge);
            }
            grow(&mut entries, 1)?;
            entries.push(Entry {
                prefix: 0,
                place: (last as u64) << REST_BITS,
            });
        }
        grow(&mut entries, 1)?;
        entries.push(Entry {
            prefix: u64::MAX,
            place: (heap.len() as u64) << REST_BITS,
        });
        let mut all = SortedStrings {
            entries,
            heap,
            common: 0,
        };
        if let Some(last) = all.len().checked_sub(1) {
            // What the first and the last begin with, do all between.
            let pairs = all.string(0).iter().zip(all.string(last));
            all.common = pairs.take_while(|(one, other)| one == other).count();
        }
        for number in 0..all.len() {
            let rest = &all.string(number)[all.common..];
            let (prefix, bytes) = (prefix(rest), rest.len() as u64);
            let entry = &mut all.entries[number];
            entry.prefix = prefix;
            entry.place |= bytes.min(REST_MAX);
        }
        Ok(all)
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.entries.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string at a place. `None`: there is no such place.
    pub fn get(&self, place: usize) -> Option<&[u8]> {
        (place < self.len()).then(|| self.string(place))
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + DoubleEndedIterator {
        (0..self.len()).map(|place| self.string(place))
    }

    /// Bytes of memory: entries and heap, with room that is not used.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.heap.capacity()
    }

    #[inline(always)]
    fn string(&self, place: usize) -> &[u8] {
        &self.heap[self.entries[place].offset()..self.entries[place + 1].offset()]
    }
}

/// Makes room for so many more, at least half as much again as there is, on huge pages.
fn grow<T: Copy>(vector: &mut Vec<T>, more: usize) -> Result<(), TryReserveError> {
    if vector.capacity() - vector.len() < more {
        let wanted = vector.len().saturating_add(more);
        let mut larger = memory::on_huge_pages(wanted.max(vector.len().saturating_mul(3) / 2))?;
        larger.extend_from_slice(vector);
        *vector = larger;
    }
    Ok(())
}

/// The first bytes of a string as a number in their order.
#[inline(always)]
fn prefix(string: &[u8]) -> u64 {
    match string.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut padded = [0; PREFIX_BYTES];
            padded[..string.len()].copy_from_slice(string);
            u64::from_be_bytes(padded)
        }
    }
}

impl Lookup<&[u8]> for SortedStrings {
    /// The place of the first string that equals the key, or where one would be inserted.
    type Found = Result<usize, usize>;

    /// # Suspension
    /// Before each line of entries that it has not been to, and before each string whose prefix equals the
    /// key's, under policy `P`.
    #[inline(always)]
    fn look_up<P: Policy>(&self, key: &[u8]) -> impl Future<Output = Result<usize, usize>> {
        async move {
            if self.is_empty() {
                return Err(0);
            }
            let common = &self.heap[..self.common];
            let Some(key) = key.strip_prefix(common) else {
                // It differs from what all begin with, so it is less than all or greater.
                return Err(if *key < *common { 0 } else { self.len() });
            };
            let prefix = prefix(key);
            let (mut low, mut size) = (0, self.len());
            let place = loop {
                let address = self.entries.as_ptr().wrapping_add(low + half(size));
                if size > per_line::<Entry>() {
                    P::touch(ENTRY, address, size_of::<Entry>()).await;
                }
                let probe = low + half(size);
                // SAFETY: the probe lies within the range, the range within the entries.
                let entry = unsafe { *self.entries.as_ptr().add(probe) };
                let mut is_less = entry.prefix < prefix;
                if entry.prefix == prefix {
                    is_less = entry.rest() < key.len();
                    if entry.rest() > PREFIX_BYTES && key.len() > PREFIX_BYTES {
                        let from = entry.offset() + self.common + PREFIX_BYTES;
                        let bytes = entry.rest().min(key.len()) - PREFIX_BYTES;
                        let address = self.heap.as_ptr().wrapping_add(from);
                        P::touch(HEAP, address, bytes.min(2 * LINE_BYTES)).await;
                        let string = self.string(low + half(size));
                        is_less = string[self.common + PREFIX_BYTES..] < key[PREFIX_BYTES..];
                    }
                }
                if size == 1 {
                    break low + usize::from(is_less);
                }
                low = select_unpredictable(is_less, low + half(size), low);
                size -= half(size);
            };
            // It has been compared, so it is in the cache.
            match self.get(place) {
                Some(string) if string[self.common..] == *key => Ok(place),
                _ => Err(place),
            }
        }
    }
}
