//! Sorted arrays, searched by bisection: what a column store's read-optimised dictionary is
//! (paper 003 section 2.1).
//!
//! | what | where |
//! | --- | --- |
//! | elements of one size: numbers, composite keys, short strings | [`SortedArray`] |
//! | byte strings of any length | [`SortedStrings`] |
//! | a layer of separators in pages, which spares translations | [`PagedArray`] |
//! | strings of one size, floats with a total order | [`FixedString`], [`TotalF64`], [`TotalF32`] |
//!
//! All give the *lower bound*: where the first element is that is not less than the key, and
//! whether it is equal. One body each, sequential or interleaved ([`Lookup`]).
//!
//! # The search
//! A range of `size` elements is halved until one is left, whatever the elements are: how many steps
//! there are depends on the length alone, and no step on a branch that would be mispredicted half
//! of the time (paper 003 section 2.2). Each step touches one line. The last steps do not: the range
//! then reaches from an element that was looked at to another one that was, at most a line
//! away.

mod fixed_string;
mod floats;
mod paged;
mod strings;

#[cfg(all(test, not(loom)))]
mod tests;

use std::{fmt, hint::select_unpredictable};

use interleave::{Lookup, Point, Policy};
use memory::LINE_BYTES;

pub use fixed_string::FixedString;
pub use floats::{TotalF32, TotalF64};
pub use paged::PagedArray;
pub use strings::SortedStrings;

const PROBE: Point = Point::new("sorted probe");

/// Elements were not in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    /// The first one that is less than the one before it.
    pub place: usize,
}

impl fmt::Display for OutOfOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place;
        write!(
            f,
            "element {place} is less than the one before it; sort them first"
        )
    }
}

impl std::error::Error for OutOfOrder {}

/// Elements of one size in ascending order, equal ones allowed.
///
/// What is found is the place of the first equal element, or else the place where the key could be
/// inserted, as of std's `binary_search`.
///
/// ```
/// use index::sorted::SortedArray;
/// use interleave::Interleaver;
///
/// let array = SortedArray::from_sorted(vec![2, 3, 3, 5]).unwrap();
/// let mut found = [Ok(0); 3];
/// Interleaver::auto().look_up_all(&array, &[3, 4, 6], |at, one| found[at] = one);
/// assert_eq!(found, [Ok(1), Err(3), Err(4)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortedArray<T> {
    elements: Vec<T>,
}

impl<T: Copy + Ord> SortedArray<T> {
    /// Of elements that are sorted. For a large array, take a vector from
    /// [`memory::on_huge_pages`].
    ///
    /// # Errors
    /// [`OutOfOrder`] if they are not.
    pub fn from_sorted(elements: Vec<T>) -> Result<Self, OutOfOrder> {
        match elements.windows(2).position(|pair| pair[1] < pair[0]) {
            Some(before) => Err(OutOfOrder { place: before + 1 }),
            None => Ok(Self { elements }),
        }
    }

    /// Of any elements, which are sorted.
    pub fn from_unsorted(mut elements: Vec<T>) -> Self {
        elements.sort_unstable();
        Self { elements }
    }

    /// Of any elements, each of which is kept once.
    pub fn from_set(mut elements: Vec<T>) -> Self {
        elements.sort_unstable();
        elements.dedup();
        Self { elements }
    }
}

impl<T> SortedArray<T> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The elements in order.
    pub fn as_slice(&self) -> &[T] {
        &self.elements
    }

    /// The elements in order.
    pub fn into_vec(self) -> Vec<T> {
        self.elements
    }

    /// Bytes that the elements take up.
    pub fn bytes(&self) -> usize {
        size_of_val(self.as_slice())
    }
}

impl<T: Copy + Ord> Lookup<T> for SortedArray<T> {
    type Found = Result<usize, usize>;

    #[inline(always)]
    async fn look_up<P: Policy>(&self, key: T) -> Result<usize, usize> {
        let elements = self.elements.as_slice();
        // In place rather than awaited: a coroutine within a coroutine costs a jump per switch.
        let place = lower_bound!(P, elements, &key);
        match elements.get(place) {
            Some(element) if *element == key => Ok(place),
            _ => Err(place),
        }
    }
}

/// Elements that lie in one line.
pub(crate) const fn per_line<T>() -> usize {
    let bytes = if size_of::<T>() == 0 {
        1
    } else {
        size_of::<T>()
    };
    if bytes >= LINE_BYTES {
        1
    } else {
        LINE_BYTES / bytes
    }
}

/// How many elements of a sorted slice are less than a key, which is given by reference. Suspends
/// under the policy before each step that may leave the lines it knows.
macro_rules! lower_bound {
    ($policy:ty, $elements:expr, $key:expr) => {{
        let (elements, key) = ($elements, $key);
        let (mut low, mut size) = (0, elements.len());
        while size > $crate::sorted::per_line_of(elements) {
            let half = size / 2;
            let probe = elements.as_ptr().wrapping_add(low + half - 1);
            <$policy>::touch($crate::sorted::PROBE, probe, size_of_val(&elements[0])).await;
            low = $crate::sorted::step(elements, low, half, key);
            size -= half;
        }
        while size > 1 {
            let half = size / 2;
            low = $crate::sorted::step(elements, low, half, key);
            size -= half;
        }
        // The one that is left, if there was any.
        low + usize::from(size == 1 && elements[low] < *key)
    }};
}
pub(crate) use lower_bound;

#[inline(always)]
pub(crate) fn per_line_of<T>(_: &[T]) -> usize {
    const { per_line::<T>() }
}

/// Where the range begins after a step: behind its first half if the last of it is less.
#[inline(always)]
pub(crate) fn step<T: Ord>(elements: &[T], low: usize, half: usize, key: &T) -> usize {
    debug_assert!(low + half <= elements.len() && half > 0);
    // SAFETY: the range `low..low + size` lies within the elements, and `half < size`.
    let last = unsafe { elements.get_unchecked(low + half - 1) };
    select_unpredictable(*last < *key, low + half, low)
}
