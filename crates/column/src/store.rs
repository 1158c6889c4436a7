//! Dictionaries for kinds of keys: a sorted one and one in order of arrival, with the ways in which they are filled and
//! read.

use std::{collections::TryReserveError, fmt, hash::Hash, marker::PhantomData};

use index::{
    csb::{Separator, Stored, StringHeap, Values},
    sorted::{SortedArray, SortedStrings},
};
use interleave::Lookup;

use crate::error::ColumnError;

/// The dictionaries for a kind of keys. There are two: [`Fixed`] and [`Strings`].
pub trait Store: Sized + 'static {
    /// Stored form of values.
    type Key<'k>: Copy + Ord + fmt::Debug;

    /// Form in which nodes of the tree over keys in order of arrival hold keys.
    type Separator: Separator + fmt::Debug + Send + Sync;

    /// Keys in ascending order.
    type Sorted: for<'k> Lookup<Self::Key<'k>, Found = Result<usize, usize>>
        + fmt::Debug
        + Send
        + Sync;

    /// Keys in order of arrival.
    type Arrived: Stored<Separator = Self::Separator>
        + for<'k> Values<Self::Key<'k>>
        + fmt::Debug
        + Default
        + Send
        + Sync;

    /// Returns an empty sorted dictionary, with room for `keys` keys, with `bytes` bytes of strings together.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking.
    fn sorted_with_room(keys: usize, bytes: usize) -> Result<Self::Sorted, TryReserveError>;

    /// Adds a key that is not less than the last.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking; nothing was added.
    fn sorted_push(sorted: &mut Self::Sorted, key: Self::Key<'_>) -> Result<(), ColumnError>;

    /// Returns the number of keys.
    fn sorted_len(sorted: &Self::Sorted) -> usize;

    /// Returns the key at `place`.
    ///
    /// # Panics
    /// Panics if there is no such key.
    fn sorted_get(sorted: &Self::Sorted, place: usize) -> Self::Key<'_>;

    /// Returns the bytes of keys, and of strings among them.
    fn sorted_bytes(sorted: &Self::Sorted) -> Bytes;

    /// Returns an empty dictionary in order of arrival, with room for `keys` keys.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking.
    fn arrived_with_room(keys: usize) -> Result<Self::Arrived, TryReserveError>;

    /// Adds a key.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking, or a string is too long; nothing was added.
    fn arrived_push(arrived: &mut Self::Arrived, key: Self::Key<'_>) -> Result<(), ColumnError>;

    /// Returns the number of keys.
    fn arrived_len(arrived: &Self::Arrived) -> usize;

    /// Returns the key with `code`.
    ///
    /// # Panics
    /// Panics if there is no such key.
    fn arrived_get(arrived: &Self::Arrived, code: u32) -> Self::Key<'_>;

    /// Returns the bytes of keys, and of strings among them.
    fn arrived_bytes(arrived: &Self::Arrived) -> Bytes;

    /// Returns all codes in ascending order of their keys.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking.
    fn arrived_order(arrived: &Self::Arrived) -> Result<Vec<u32>, TryReserveError>;
}

/// Bytes of a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Bytes of the whole dictionary.
    pub all: usize,
    /// Bytes of strings.
    pub strings: usize,
}

/// Dictionaries of keys of one size.
#[derive(Debug)]
pub struct Fixed<T>(PhantomData<T>);

impl<T> Store for Fixed<T>
where
    T: Separator + Ord + Hash + fmt::Debug + Send + Sync + 'static,
{
    type Key<'k> = T;
    type Separator = T;
    type Sorted = SortedArray<T>;
    type Arrived = Vec<T>;

    fn sorted_with_room(keys: usize, _: usize) -> Result<SortedArray<T>, TryReserveError> {
        // An empty vector is sorted.
        memory::on_huge_pages(keys).map(SortedArray::from_unsorted)
    }

    #[inline(always)]
    fn sorted_push(sorted: &mut SortedArray<T>, key: T) -> Result<(), ColumnError> {
        Ok(sorted.push(key)?)
    }

    #[inline(always)]
    fn sorted_len(sorted: &SortedArray<T>) -> usize {
        sorted.len()
    }

    #[inline(always)]
    fn sorted_get(sorted: &SortedArray<T>, place: usize) -> T {
        sorted.as_slice()[place]
    }

    fn sorted_bytes(sorted: &SortedArray<T>) -> Bytes {
        Bytes {
            all: size_of_val(sorted.as_slice()),
            strings: 0,
        }
    }

    fn arrived_with_room(keys: usize) -> Result<Vec<T>, TryReserveError> {
        memory::on_huge_pages(keys)
    }

    fn arrived_push(arrived: &mut Vec<T>, key: T) -> Result<(), ColumnError> {
        arrived.try_reserve(1)?;
        arrived.push(key);
        Ok(())
    }

    #[inline(always)]
    fn arrived_len(arrived: &Vec<T>) -> usize {
        arrived.len()
    }

    #[inline(always)]
    fn arrived_get(arrived: &Vec<T>, code: u32) -> T {
        arrived[code as usize]
    }

    fn arrived_bytes(arrived: &Vec<T>) -> Bytes {
        Bytes {
            all: size_of_val(arrived.as_slice()),
            strings: 0,
        }
    }

    fn arrived_order(arrived: &Vec<T>) -> Result<Vec<u32>, TryReserveError> {
        let mut order = memory::on_huge_pages(arrived.len())?;
        if arrived.is_sorted() {
            order.extend(0..arrived.len() as u32);
            return Ok(order);
        }
        // The keys are sorted beside the codes: sorting codes alone would miss the cache at each comparison.
        let mut pairs = memory::on_huge_pages(arrived.len())?;
        pairs.extend(arrived.iter().copied().zip(0_u32..));
        pairs.sort_unstable();
        order.extend(pairs.into_iter().map(|(_, code)| code));
        Ok(order)
    }
}

/// Dictionaries of byte strings of any length.
#[derive(Debug)]
pub struct Strings;

impl Store for Strings {
    type Key<'k> = &'k [u8];
    type Separator = <StringHeap as Stored>::Separator;
    type Sorted = SortedStrings;
    type Arrived = StringHeap;

    fn sorted_with_room(keys: usize, bytes: usize) -> Result<SortedStrings, TryReserveError> {
        SortedStrings::with_capacity(keys, bytes)
    }

    fn sorted_push(sorted: &mut SortedStrings, key: &[u8]) -> Result<(), ColumnError> {
        Ok(sorted.push(key)?)
    }

    #[inline(always)]
    fn sorted_len(sorted: &SortedStrings) -> usize {
        sorted.len()
    }

    fn sorted_get(sorted: &SortedStrings, place: usize) -> &[u8] {
        let string = sorted.get(place);
        string.expect("the place is less than the number of strings")
    }

    fn sorted_bytes(sorted: &SortedStrings) -> Bytes {
        let all = sorted.bytes();
        Bytes {
            all,
            // Subtract an entry of 16 bytes for each key; the rest is strings.
            strings: all.saturating_sub(16 * sorted.len()),
        }
    }

    fn arrived_with_room(_: usize) -> Result<StringHeap, TryReserveError> {
        Ok(StringHeap::new())
    }

    fn arrived_push(arrived: &mut StringHeap, key: &[u8]) -> Result<(), ColumnError> {
        arrived.push(key)?;
        Ok(())
    }

    #[inline(always)]
    fn arrived_len(arrived: &StringHeap) -> usize {
        arrived.len()
    }

    #[inline(always)]
    fn arrived_get(arrived: &StringHeap, code: u32) -> &[u8] {
        arrived.get(code)
    }

    fn arrived_bytes(arrived: &StringHeap) -> Bytes {
        let all = arrived.bytes();
        Bytes {
            all,
            // Subtract a place of 12 bytes for each key; the rest is strings.
            strings: all.saturating_sub(12 * arrived.len()),
        }
    }

    fn arrived_order(arrived: &StringHeap) -> Result<Vec<u32>, TryReserveError> {
        let codes = arrived.len() as u32;
        let mut order = memory::on_huge_pages(arrived.len())?;
        order.extend(0..codes);
        order.sort_unstable_by(|&one, &other| arrived.order(one, other));
        Ok(order)
    }
}
