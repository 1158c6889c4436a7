//! Lookups as coroutines in a ring, polled directly: the best that a scheduler could achieve.

use std::{
    future::Future as _,
    pin::Pin as StdPin,
    task::{Context, Poll, Waker},
};

use interleave::Grouped;
use memory::Pin;

use crate::tree::Tree;

/// Looks `keys` up under `pin`, `in_flight` at a time. `answers[i]` is the value of `keys[i]`.
///
/// # Panics
/// Panics if there are fewer answers than keys.
pub fn multi_get_coroutines<K: AsRef<[u8]>>(
    tree: &Tree,
    pin: &Pin<'_>,
    keys: &[K],
    answers: &mut [Option<u64>],
    in_flight: usize,
) {
    assert!(answers.len() >= keys.len());
    let mut waiting = keys.iter().enumerate();
    let start = |(index, key)| (index, tree.get::<Grouped>(pin, AsRef::as_ref(key)));
    let mut ring: Box<[_]> = waiting
        .by_ref()
        .take(in_flight.max(1))
        .map(|entry: (usize, &K)| Some(start(entry)))
        .collect();
    let mut live = ring.len();
    let mut context = Context::from_waker(Waker::noop());
    while live > 0 {
        for place in &mut ring {
            while let Some((index, lookup)) = place {
                // SAFETY: the future lies in a boxed slice, which does not move;
                // it is dropped in place when `place` is assigned.
                let lookup = unsafe { StdPin::new_unchecked(lookup) };
                let Poll::Ready(answer) = lookup.poll(&mut context) else {
                    break;
                };
                answers[*index] = answer;
                *place = waiting.next().map(start);
                live -= usize::from(place.is_none());
            }
        }
    }
}
