//! Binary searches that are not executions of the array's own body.

use std::hint::select_unpredictable;

use crate::join::Technique;

/// Stores at `places[i]` the place of the first element that is not less than `keys[i]`, given how
/// many lookups are under way.
pub(super) type Search<T> = fn(&[T], &[T], usize, &mut [usize]);

/// That of a technique, if it has one.
pub(super) fn search<T: Copy + Ord>(technique: Technique) -> Option<Search<T>> {
    match technique {
        Technique::Std => Some(std_search),
        Technique::BranchFree => Some(branch_free),
        _ => None,
    }
}

fn std_search<T: Copy + Ord>(elements: &[T], keys: &[T], _: usize, places: &mut [usize]) {
    for (key, place) in keys.iter().zip(places) {
        *place = elements.partition_point(|element| element < key);
    }
}

fn branch_free<T: Copy + Ord>(elements: &[T], keys: &[T], _: usize, places: &mut [usize]) {
    for (key, place) in keys.iter().zip(places) {
        let (mut low, mut size) = (0, elements.len());
        while size > 1 {
            let half = size / 2;
            let is_less = elements[low + half - 1] < *key;
            low = select_unpredictable(is_less, low + half, low);
            size -= half;
        }
        *place = low + usize::from(size == 1 && elements[low] < *key);
    }
}
