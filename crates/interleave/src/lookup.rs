//! Many lookups in one structure, on the calling thread: one after the other, or some beside each
//! other, polled in turn.
//!
//! A structure implements [`Lookup`] with one body. No worker is involved, and nothing is allocated per lookup. An
//! [`Interleaver`](crate::Interleaver) finds out which way is faster.

use std::{
    future::Future,
    mem,
    num::NonZeroUsize,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use crate::{
    group::Grouped,
    policy::{Policy, Sequential, run_inline},
};

/// A structure in which keys are looked up.
///
/// The body is an `async fn` that awaits [`Policy::touch`] before it reads memory that is probably not in the cache,
/// and nothing else. The body is run sequentially and interleaved.
///
/// ```
/// use interleave::{Interleaver, Lookup, Point, Policy};
///
/// /// Squares, for numbers in a large sorted array.
/// struct Sorted(Vec<u64>);
///
/// impl Lookup<u64> for Sorted {
///     type Found = bool;
///
///     async fn look_up<P: Policy>(&self, key: u64) -> bool {
///         let (mut low, mut size) = (0, self.0.len());
///         while size > 1 {
///             let half = size / 2;
///             P::touch(Point::new("probe"), &self.0[low + half], 8).await;
///             if self.0[low + half] <= key {
///                 low += half;
///             }
///             size -= half;
///         }
///         self.0.get(low) == Some(&key)
///     }
/// }
///
/// let squares = Sorted((0..1000).map(|n| n * n).collect());
/// let mut found = [false; 3];
/// Interleaver::auto().look_up_all(&squares, &[16, 17, 998001], |at, is_there| found[at] = is_there);
/// assert_eq!(found, [true, false, true]);
/// ```
pub trait Lookup<K: Copy> {
    /// Result of a lookup.
    type Found;

    /// Looks `key` up.
    ///
    /// # Suspension
    /// The body may wait for memory only: a body that waits for anything else would never be woken.
    fn look_up<P: Policy>(&self, key: K) -> impl Future<Output = Self::Found>;
}

/// Way in which lookups run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// One after the other, without prefetches or suspensions.
    Sequential,
    /// The given number of lookups beside each other.
    Interleaved(NonZeroUsize),
}

impl Execution {
    /// Returns the execution with `lookups` in flight, at most [`Execution::IN_FLIGHT_MAX`]; sequential for 0.
    pub fn in_flight(lookups: usize) -> Execution {
        match NonZeroUsize::new(lookups.min(Execution::IN_FLIGHT_MAX)) {
            Some(lookups) => Execution::Interleaved(lookups),
            None => Execution::Sequential,
        }
    }

    /// Maximum lookups in flight: more than any core has misses under way.
    pub const IN_FLIGHT_MAX: usize = 64;
}

/// Looks all `keys` up as `execution` says; `found` is given the place of each key in `keys` and what was found.
/// Results come in the order of the keys if sequential, else in any order.
pub fn look_up_all<K: Copy, S: Lookup<K>>(
    structure: &S,
    keys: &[K],
    execution: Execution,
    mut found: impl FnMut(usize, S::Found),
) {
    let Execution::Interleaved(in_flight) = execution else {
        for (at, &key) in keys.iter().enumerate() {
            found(at, run_inline(structure.look_up::<Sequential>(key)));
        }
        return;
    };
    let mut keys = keys.iter().copied().enumerate();
    let begin = |(at, key)| (at, structure.look_up::<Grouped>(key));
    // An ended body stays in its place until another takes it: the number alone tells that it has ended.
    let mut ring: Vec<_> = keys.by_ref().take(in_flight.get()).map(begin).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut live = ring.len();
    while live > 0 {
        for (at, body) in &mut ring {
            while *at != ENDED {
                // SAFETY: nothing moves the elements of the vector until they are dropped in place.
                let mut body = unsafe { Pin::new_unchecked(&mut *body) };
                let Poll::Ready(one) = body.as_mut().poll(&mut context) else {
                    break;
                };
                let ended = match keys.next().map(begin) {
                    Some((next, other)) => {
                        body.set(other);
                        mem::replace(at, next)
                    }
                    None => {
                        live -= 1;
                        mem::replace(at, ENDED)
                    }
                };
                found(ended, one);
            }
        }
    }
}

/// Marks a place of the ring whose lookup has ended when no key is left. No place of a key equals it: slices of keys
/// that have a size are shorter, and those of others are not that long.
const ENDED: usize = usize::MAX;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Point;
    use std::cell::Cell;

    const POINT: Point = Point::new("test");

    /// Numbers whose lookups take as many steps as the key says, and counters of lookups begun and under way.
    struct Steps {
        begun: Cell<usize>,
        under_way: Cell<usize>,
        under_way_max: Cell<usize>,
    }

    impl Steps {
        fn new() -> Steps {
            Steps {
                begun: Cell::new(0),
                under_way: Cell::new(0),
                under_way_max: Cell::new(0),
            }
        }
    }

    impl Lookup<usize> for Steps {
        type Found = usize;

        async fn look_up<P: Policy>(&self, key: usize) -> usize {
            self.begun.set(self.begun.get() + 1);
            self.under_way.set(self.under_way.get() + 1);
            self.under_way_max
                .set(self.under_way_max.get().max(self.under_way.get()));
            for _ in 0..key % 5 {
                P::touch(POINT, &raw const *self, 8).await;
            }
            self.under_way.set(self.under_way.get() - 1);
            2 * key
        }
    }

    #[test]
    fn each_key_is_answered_once_however_many_are_in_flight() {
        for keys in [0, 1, 3, 16, 100, 1000] {
            let keys: Vec<usize> = (0..keys).map(|n| n * 7 % 31).collect();
            for in_flight in [0, 1, 2, 16, 64, 1000] {
                let steps = Steps::new();
                let mut answers = vec![None; keys.len()];
                look_up_all(&steps, &keys, Execution::in_flight(in_flight), |at, one| {
                    assert_eq!(answers[at].replace(one), None, "found twice");
                });
                assert!(
                    answers
                        .iter()
                        .zip(&keys)
                        .all(|(one, key)| *one == Some(2 * key))
                );
                assert_eq!(steps.begun.get(), keys.len());
                let most = in_flight.clamp(1, Execution::IN_FLIGHT_MAX);
                assert!(steps.under_way_max.get() <= most);
            }
        }
    }

    #[test]
    fn a_body_that_panics_takes_the_others_with_it() {
        struct Panics<'t>(&'t Cell<usize>);
        struct Counted<'t>(&'t Cell<usize>);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() - 1);
            }
        }
        impl Lookup<usize> for Panics<'_> {
            type Found = ();
            async fn look_up<P: Policy>(&self, key: usize) {
                self.0.set(self.0.get() + 1);
                let _counted = Counted(self.0);
                P::touch(POINT, &raw const *self, 8).await;
                assert!(key != 20, "the key that panics");
            }
        }
        let under_way = Cell::new(0);
        let keys: Vec<usize> = (0..100).collect();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            look_up_all(
                &Panics(&under_way),
                &keys,
                Execution::in_flight(16),
                |_, ()| {},
            );
        }));
        assert!(panicked.is_err());
        assert_eq!(under_way.get(), 0);
    }
}
