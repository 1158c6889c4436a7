//! Binary search in a sorted slice in every way that is compared with the coroutines of
//! [`SortedArray`](crate::sorted::SortedArray) (paper 003 sections 3 and 5.1).
//!
//! Each is given the sorted elements, the keys, how many lookups are in flight at a time (at least one; more
//! than [`GROUP_MAX`] are as that), and stores at `places[i]` the place of the first element that is not less than
//! `keys[i]`. All stop to prefetch where the range lies in one line, as the coroutines do.
//!
//! # Panics
//! All, when there are fewer places than keys.

mod amac;
mod coroutines;
mod group_prefetching;
mod sequential;
mod software_pipelined;

use interleave::{Policy, Prefetching};

pub use amac::amac;
pub use coroutines::{coroutines, coroutines_boxed, coroutines_from_root};
pub use group_prefetching::group_prefetching;
pub use sequential::{branch_free, std_search};
pub use software_pipelined::software_pipelined;

/// The most lookups in flight.
pub const GROUP_MAX: usize = 64;

/// Asks for the line of an element. Any place is allowed.
#[inline(always)]
fn prefetch<T>(elements: &[T], place: usize) {
    Prefetching::prefetch(elements.as_ptr().wrapping_add(place), 1);
}

#[cfg(all(test, not(loom)))]
mod tests;
