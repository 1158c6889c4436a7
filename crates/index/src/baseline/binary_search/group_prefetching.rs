//! Group prefetching: a group of lookups shares one loop (listing 3).

use super::{GROUP_MAX, prefetch};
use crate::sorted::search::{finish, half, narrow, per_line};

/// Runs groups of lookups that take each step together: all prefetch, then all compare.
pub fn group_prefetching<T: Copy + Ord>(
    elements: &[T],
    keys: &[T],
    group: usize,
    places: &mut [usize],
) {
    assert!(places.len() >= keys.len());
    if elements.is_empty() {
        return places[..keys.len()].fill(0);
    }
    let group = group.clamp(1, GROUP_MAX);
    for (keys, lows) in keys.chunks(group).zip(places.chunks_mut(group)) {
        let lows = &mut lows[..keys.len()];
        lows.fill(0);
        let mut size = elements.len();
        while size > per_line::<T>() {
            let half = half(size);
            for low in &*lows {
                prefetch(elements, low + half);
            }
            for (low, &key) in lows.iter_mut().zip(keys) {
                // SAFETY: the probe lies within the range, the range within the elements.
                *low = unsafe { narrow(elements.as_ptr(), *low, *low + half, key) };
            }
            size -= half;
        }
        for (low, &key) in lows.iter_mut().zip(keys) {
            // SAFETY: the range lies within the elements; halving leaves at least one element.
            *low = unsafe { finish(elements.as_ptr(), *low, size, key) };
        }
    }
}
