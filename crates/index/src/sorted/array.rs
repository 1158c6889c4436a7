//! Elements of a fixed size in order.

use std::{collections::TryReserveError, error::Error, fmt};

use interleave::{Lookup, Policy};

use super::search::lower_bound;

/// Error: an element is less than the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    /// Place of the first element that is less than the one before it.
    pub at: usize,
}

impl fmt::Display for OutOfOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfOrder { at } = self;
        write!(
            f,
            "the element at {at} is less than the one before it: sort them first"
        )
    }
}

impl Error for OutOfOrder {}

/// A sorted array of elements of a fixed size, equal ones among them allowed.
///
/// The array keeps its vector's memory: for more than some MiB, allocate the vector by [`memory::on_huge_pages`].
///
/// ```
/// use index::sorted::SortedArray;
/// use interleave::{Execution, look_up_all};
///
/// let cities = SortedArray::from_sorted(vec![10, 20, 20, 30]).unwrap();
/// let mut found = [Ok(0); 3];
/// look_up_all(&cities, &[20, 25, 40], Execution::in_flight(3), |at, one| found[at] = one);
/// assert_eq!(found, [Ok(1), Err(3), Err(4)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedArray<T> {
    elements: Vec<T>,
}

impl<T: Copy + Ord> SortedArray<T> {
    /// Returns an array of `elements`, which are in order.
    ///
    /// # Errors
    /// [`OutOfOrder`] if they are not in order.
    pub fn from_sorted(elements: Vec<T>) -> Result<SortedArray<T>, OutOfOrder> {
        match elements.is_sorted() {
            true => Ok(SortedArray { elements }),
            false => {
                let is_less = |pair: &[T]| pair[1] < pair[0];
                let before = elements.windows(2).position(is_less);
                Err(OutOfOrder {
                    at: before.map_or(0, |at| at + 1),
                })
            }
        }
    }

    /// Returns an array of `elements`, sorted here in place.
    pub fn from_unsorted(mut elements: Vec<T>) -> SortedArray<T> {
        elements.sort_unstable();
        SortedArray { elements }
    }

    /// Returns an array of `elements`, sorted here in place, with one of each that are equal.
    pub fn from_unsorted_dedup(elements: Vec<T>) -> SortedArray<T> {
        let mut array = SortedArray::from_unsorted(elements);
        array.elements.dedup();
        array
    }

    /// Adds `element` behind the others.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking; nothing was added.
    ///
    /// # Panics
    /// Panics if `element` is less than the last one.
    #[inline]
    pub fn push(&mut self, element: T) -> Result<(), TryReserveError> {
        let is_in_order = self.elements.last().is_none_or(|last| *last <= element);
        assert!(is_in_order, "what is added is not less than the last one");
        self.elements.try_reserve(1)?;
        self.elements.push(element);
        Ok(())
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns the elements in order.
    pub fn as_slice(&self) -> &[T] {
        &self.elements
    }

    /// Returns the element at `place`; `None` if there is no such place.
    pub fn get(&self, place: usize) -> Option<T> {
        self.elements.get(place).copied()
    }

    /// Returns the elements in order, as a vector.
    pub fn into_vec(self) -> Vec<T> {
        self.elements
    }
}

impl<T: Copy + Ord> Lookup<T> for SortedArray<T> {
    /// Place of the first element that equals the key, or where such an element would be inserted.
    type Found = Result<usize, usize>;

    /// # Suspension
    /// Suspends before each line that it has not read yet, under policy `P`: `log2(len)` times, less those of the last
    /// line.
    #[inline(always)]
    fn look_up<P: Policy>(&self, key: T) -> impl Future<Output = Result<usize, usize>> {
        lower_bound::<P, T>(&self.elements, key)
    }
}
