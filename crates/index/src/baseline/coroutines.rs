//! Lookups as coroutines in a ring, polled directly: what a scheduler could at
//! best achieve.

use std::{
    future::Future,
    pin::Pin as StdPin,
    task::{Context, Poll, Waker},
};

use interleave::{Point, Policy, Prefetching};
use memory::Pin;

use crate::tree::Tree;

/// Prefetches and suspends once at every touch, whoever polls.
///
/// [`interleave::Interleaved`] suspends in a worker's slot only; this ring is
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlwaysSuspend;

/// Pending once.
#[derive(Debug)]
pub struct Once {
    suspended: bool,
}

impl Future for Once {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: StdPin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.suspended {
            return Poll::Ready(());
        }
        self.suspended = true;
        Poll::Pending
    }
}

impl Policy for AlwaysSuspend {
    const NAME: &'static str = "always-suspend";
    const MAY_SUSPEND: bool = true;
    type Touch = Once;

    #[inline(always)]
    fn touch<T: ?Sized>(_: Point, address: *const T, bytes: usize) -> Once {
        Prefetching::prefetch(address, bytes);
        Once { suspended: false }
    }

    #[inline(always)]
    fn prefetch<T: ?Sized>(address: *const T, bytes: usize) {
        Prefetching::prefetch(address, bytes);
    }

    #[inline(always)]
    fn suspends() -> bool {
        true
    }
}

/// Looks `keys` up, `in_flight` at a time. `answers[i]` is the value of
/// `keys[i]`.
///
/// # Panics
/// When there are fewer answers than keys.
pub fn multi_get_coroutines<K: AsRef<[u8]>>(
    tree: &Tree,
    pin: &Pin<'_>,
    keys: &[K],
    answers: &mut [Option<u64>],
    in_flight: usize,
) {
    assert!(answers.len() >= keys.len());
    let mut waiting = keys.iter().enumerate();
    let start = |(index, key)| (index, tree.get::<AlwaysSuspend>(pin, AsRef::as_ref(key)));
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
