//! Dictionaries for kinds of keys: how a sorted one and one in order of arrival are filled and read.

use std::{collections::TryReserveError, fmt, hash::Hash, marker::PhantomData};

use index::{
    csb::{Separator, Stored, StringHeap, Values},
    sorted::{SortedArray, SortedStrings},
};
use interleave::Lookup;

use crate::error::ColumnError;

/// The dictionaries for a kind of keys. There are two: [`Fixed`] and [`Strings`].
pub trait Store: Sized + 'static {
    /// How values are stored and compared.
    type Key<'k>: Copy + Ord + fmt::Debug;

    /// What nodes of the tree over keys in order of arrival have of them.
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

    /// An empty one, with room for so many keys, with so many bytes of strings together.
    ///
    /// # Errors
    /// When memory is lacking.
    fn sorted_with_room(keys: usize, bytes: usize) -> Result<Self::Sorted, TryReserveError>;

    /// Adds a key that is not less than the last.
    ///
    /// # Errors
    /// When memory is lacking; nothing was added.
    fn sorted_push(sorted: &mut Self::Sorted, key: Self::Key<'_>) -> Result<(), ColumnError>;

    /// How many keys there are.
    fn sorted_len(sorted: &Self::Sorted) -> usize;

    /// The key at a place.
    ///
    /// # Panics
    /// If there is none.
    fn sorted_get(sorted: &Self::Sorted, place: usize) -> Self::Key<'_>;

    /// Bytes of keys, and of strings among them.
    fn sorted_bytes(sorted: &Self::Sorted) -> Bytes;

    /// An empty one, with room for so many keys.
    ///
    /// # Errors
    /// When memory is lacking.
    fn arrived_with_room(keys: usize) -> Result<Self::Arrived, TryReserveError>;

    /// Adds a key.
    ///
    /// # Errors
    /// When memory is lacking, or a string is too long; nothing was added.
    fn arrived_push(arrived: &mut Self::Arrived, key: Self::Key<'_>) -> Result<(), ColumnError>;

    /// How many keys there are.
    fn arrived_len(arrived: &Self::Arrived) -> usize;

    /// The key with a code.
    ///
    /// # Panics
    /// If there is none.
    fn arrived_get(arrived: &Self::Arrived, code: u32) -> Self::Key<'_>;

    /// Bytes of keys, and of strings among them.
    fn arrived_bytes(arrived: &Self::Arrived) -> Bytes;

    /// All codes in ascending order of their keys.
    ///
    /// # Errors
    /// When memory is lacking.
    fn arrived_order(arrived: &Self::Arrived) -> Result<Vec<u32>, TryReserveError>;
}

/// Bytes of a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// All.
    pub all: usize,
    /// Those of strings.
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
        // With the keys beside the codes: sorting codes alone would miss the cache at each comparison.
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
            // An entry of 16 bytes each, and the strings.
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
            // A place of 12 bytes each, and the strings.
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
