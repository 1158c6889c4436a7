//! Asynchronous memory access chaining: a ring of state machines (listing 4).
//!
//! The code is tuned: a stage that does not wait goes on to the next in place, so that each turn of the ring is one
//! access and one prefetch; the state is 32 bytes for keys of up to eight.

use super::{GROUP_MAX, prefetch};
use crate::sorted::search::{finish, half, narrow, per_line};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// About to begin with the next key.
    Begin,
    /// About to read the element that was prefetched.
    Access,
    /// Without a key.
    Done,
}

#[derive(Clone, Copy)]
struct State<T> {
    key: T,
    low: usize,
    size: usize,
    number: u32,
    stage: Stage,
}

/// Runs a ring of `group` lookups, each at a stage of its own.
///
/// # Panics
/// Panics also if there are more than `u32::MAX` keys.
pub fn amac<T: Copy + Ord>(elements: &[T], keys: &[T], group: usize, places: &mut [usize]) {
    assert!(places.len() >= keys.len());
    assert!(u32::try_from(keys.len()).is_ok());
    let Some(&key) = keys.first() else { return };
    if elements.is_empty() {
        return places[..keys.len()].fill(0);
    }
    let mut ring = [State {
        key,
        low: 0,
        size: 0,
        number: 0,
        stage: Stage::Begin,
    }; GROUP_MAX];
    let ring = &mut ring[..group.clamp(1, GROUP_MAX)];
    let (mut live, mut next) = (ring.len(), 0);
    while live > 0 {
        for state in &mut *ring {
            loop {
                match state.stage {
                    Stage::Begin => {
                        let Some(&key) = keys.get(next) else {
                            state.stage = Stage::Done;
                            live -= 1;
                            break;
                        };
                        state.key = key;
                        state.low = 0;
                        state.size = elements.len();
                        state.number = next as u32;
                        next += 1;
                    }
                    Stage::Access => {
                        let probe = state.low + half(state.size);
                        // SAFETY: the probe lies within the range, the range within the elements.
                        state.low =
                            unsafe { narrow(elements.as_ptr(), state.low, probe, state.key) };
                        state.size -= half(state.size);
                    }
                    Stage::Done => break,
                }
                if state.size > per_line::<T>() {
                    prefetch(elements, state.low + half(state.size));
                    state.stage = Stage::Access;
                    break;
                }
                // SAFETY: the range lies within the elements; halving leaves at least one element.
                places[state.number as usize] =
                    unsafe { finish(elements.as_ptr(), state.low, state.size, state.key) };
                state.stage = Stage::Begin;
            }
        }
    }
}
