//! Binary search in a sorted slice in every way that is compared with the coroutines of
//! [`SortedArray`](crate::sorted::SortedArray) (paper 003 sections 3 and 5.1).
//!
//! Each function is given the sorted elements, the keys and the number of lookups in flight at a time (at least one; at
//! most [`GROUP_MAX`] are used), and stores at `places[i]` the place of the first element that is not less than
//! `keys[i]`. All functions stop prefetching when the range lies in one line, as the coroutines do.
//!
//! # Panics
//! All functions panic if there are fewer places than keys.

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

/// Maximum lookups in flight.
pub const GROUP_MAX: usize = 64;

/// Prefetches the line of an element. Any place is allowed.
#[inline(always)]
fn prefetch<T>(elements: &[T], place: usize) {
    Prefetching::prefetch(elements.as_ptr().wrapping_add(place), 1);
}

#[cfg(all(test, not(loom)))]
mod tests;
