//! Software pipelining: a pipeline of lookups, each one step ahead of the next.
//!
//! The paper gives no pipeline, because the number of steps depends on the array. But the number is the same for all
//! lookups in one array: the next step of a lookup follows from when it began.

use super::{GROUP_MAX, prefetch};
use crate::sorted::search::{finish, half, narrow, per_line};

/// A place in the pipeline.
#[derive(Clone, Copy)]
struct Lookup<T> {
    key: T,
    low: usize,
    /// Number of the key.
    number: usize,
}

/// Runs a pipeline of `group` lookups. In a turn each lookup takes one step, and a lookup that ends makes way for the
/// next key.
pub fn software_pipelined<T: Copy + Ord>(
    elements: &[T],
    keys: &[T],
    group: usize,
    places: &mut [usize],
) {
    assert!(places.len() >= keys.len());
    let mut halves = Vec::new();
    let mut size = elements.len();
    while size > per_line::<T>() {
        halves.push(half(size));
        size -= half(size);
    }
    let (Some(&first_half), Some(&first_key)) = (halves.first(), keys.first()) else {
        return super::branch_free(elements, keys, group, places);
    };
    let steps = halves.len();
    let mut waiting = keys.iter().copied().enumerate();
    let mut pipeline = [Lookup {
        key: first_key,
        low: 0,
        number: 0,
    }; GROUP_MAX];
    let pipeline = &mut pipeline[..group.clamp(1, GROUP_MAX)];
    let mut begin = |lookup: &mut Lookup<T>| {
        let Some((number, key)) = waiting.next() else {
            return false;
        };
        *lookup = Lookup {
            key,
            low: 0,
            number,
        };
        prefetch(elements, first_half);
        true
    };
    // The next place to be filled for the first time; the first lookup's next step.
    let (mut filled, mut step_of_first) = (0, 0_usize);
    let mut live = 0;
    loop {
        if filled < pipeline.len() && begin(&mut pipeline[filled]) {
            filled += 1;
            live += 1;
        }
        if live == 0 {
            return;
        }
        let mut step = step_of_first;
        for lookup in &mut pipeline[..filled] {
            // A place that no key was left for.
            if lookup.number == usize::MAX {
                step = step.checked_sub(1).unwrap_or(steps - 1);
                continue;
            }
            let probe = lookup.low + halves[step];
            // SAFETY: the probe lies within the range, the range within the elements.
            lookup.low = unsafe { narrow(elements.as_ptr(), lookup.low, probe, lookup.key) };
            if step + 1 < steps {
                prefetch(elements, lookup.low + halves[step + 1]);
            } else {
                // SAFETY: the range lies within the elements; halving leaves `size` elements, at least one.
                places[lookup.number] =
                    unsafe { finish(elements.as_ptr(), lookup.low, size, lookup.key) };
                if !begin(lookup) {
                    lookup.number = usize::MAX;
                    live -= 1;
                }
            }
            step = step.checked_sub(1).unwrap_or(steps - 1);
        }
        step_of_first = if step_of_first + 1 < steps {
            step_of_first + 1
        } else {
            0
        };
    }
}
