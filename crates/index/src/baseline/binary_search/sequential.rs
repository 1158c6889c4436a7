//! One lookup after the other.

use crate::sorted::search::finish;

/// Runs the standard library's search, which the paper calls `std`.
pub fn std_search<T: Copy + Ord>(elements: &[T], keys: &[T], _group: usize, places: &mut [usize]) {
    assert!(places.len() >= keys.len());
    for (key, place) in keys.iter().zip(places) {
        *place = elements.partition_point(|element| element < key);
    }
}

/// Runs listing 2 with a conditional move, which the paper calls `Baseline`.
pub fn branch_free<T: Copy + Ord>(elements: &[T], keys: &[T], _group: usize, places: &mut [usize]) {
    assert!(places.len() >= keys.len());
    for (&key, place) in keys.iter().zip(places) {
        *place = match elements.len() {
            0 => 0,
            // SAFETY: the range is all elements, and there are some.
            size => unsafe { finish(elements.as_ptr(), 0, size, key) },
        };
    }
}
