//! The steps of a binary search without branches on keys.
//!
//! A search keeps a range by its first place `low` and its size. Invariant: the element at `low` is less than the key,
//! or `low` is where the search began; and the element at `low + size` is not less, or that is the end. The lower bound
//! is therefore `low + 1`, or `low` if no element is less. (Paper 003, listing 2, searches for the last element that is
//! not greater.)
//!
//! The sizes depend on the number of elements only: every search in an array takes the same
//! number of steps.

use std::hint::select_unpredictable;

use interleave::{Point, Policy};
use memory::LINE_BYTES;

const PROBE: Point = Point::new("binary search");

/// Maximum size of a range within which a search reads (nearly always) only lines that it has read before: the elements
/// at both ends have been compared, but for the inequality of the parts.
pub(crate) const fn per_line<T>() -> usize {
    match LINE_BYTES.checked_div(size_of::<T>()) {
        None => LINE_BYTES,
        Some(0) => 1,
        Some(elements) => elements,
    }
}

/// Returns the distance to the first place that is not in the lower part of a range: a little less than half of its
/// size. 0 for one element, else at least 1.
///
/// The parts are not exact halves because halves of a power of two are multiples of the next lesser ones: the places
/// that searches read most often would lie so far apart that they all fall into the same few sets of each cache, and
/// lookups at the same step would evict each other's lines. In 2 GiB, interleaved searches take half the time this way,
/// for one step more.
#[inline(always)]
pub(crate) fn half(size: usize) -> usize {
    size / 2 - (size >> SKEW)
}

/// Skew of the parts: sizes are divided 63 to 65.
const SKEW: u32 = 7;

/// Returns where to go on from `low`: at `probe`, if the element there is less than the key.
///
/// # Safety
/// `probe` is less than the number of elements at `elements`.
#[inline(always)]
pub(crate) unsafe fn narrow<T: Copy + Ord>(
    elements: *const T,
    low: usize,
    probe: usize,
    key: T,
) -> usize {
    // SAFETY: the caller promises that `probe` is within the elements.
    let element = unsafe { *elements.add(probe) };
    select_unpredictable(element < key, probe, low)
}

/// Searches the range of `size` elements at `low` to the end, without suspension. Returns the number of elements before
/// the lower bound of `key`.
///
/// # Safety
/// All of the range lies within `elements`, and the range is not empty.
#[inline(always)]
pub(crate) unsafe fn finish<T: Copy + Ord>(
    elements: *const T,
    mut low: usize,
    mut size: usize,
    key: T,
) -> usize {
    while size > 1 {
        let half = half(size);
        // SAFETY: the probe lies within the range.
        low = unsafe { narrow(elements, low, low + half, key) };
        size -= half;
    }
    // SAFETY: a range is never empty.
    let is_less = unsafe { *elements.add(low) } < key;
    low + usize::from(is_less)
}

/// Returns the place of the first of the sorted `elements` that equals `key`, or where such an element would be
/// inserted.
///
/// # Suspension
/// Suspends before each line that it has not read yet: `log2(len)` times, less those of the last line.
#[inline(always)]
pub(crate) fn lower_bound<P: Policy, T: Copy + Ord>(
    elements: &[T],
    key: T,
) -> impl Future<Output = Result<usize, usize>> {
    // A block rather than an `async fn`, which would keep its arguments twice.
    async move {
        if elements.is_empty() {
            return Err(0);
        }
        let (mut low, mut size) = (0, elements.len());
        while size > per_line::<T>() {
            let address = elements.as_ptr().wrapping_add(low + half(size));
            P::touch(PROBE, address, size_of::<T>()).await;
            // Computed again rather than kept over the suspension.
            let half = half(size);
            // SAFETY: the probe lies within the range, the range within the elements.
            low = unsafe { narrow(elements.as_ptr(), low, low + half, key) };
            size -= half;
        }
        // SAFETY: the range lies within the elements; halving leaves at least one element.
        let place = unsafe { finish(elements.as_ptr(), low, size, key) };
        match elements.get(place) {
            Some(element) if *element == key => Ok(place),
            _ => Err(place),
        }
    }
}
