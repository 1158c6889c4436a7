//! Groups: bodies that wait for memory beside each other, within one turn.
//!
//! Slots are for transactions. Work of the engine's own that comes in many like pieces, such as the
//! removal of deleted records, need not be spread over them: it runs as a *group*, a ring of bodies
//! that are polled in turn, where each touch gives the others the time that its memory takes. A
//! group has its misses overlapped whatever the worker keeps in flight, its caller knows its cost,
//! and no other task runs in between.

use std::{
    array,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll, Waker},
};

use crate::{
    policy::{Point, Policy},
    prefetch::prefetch,
};

/// Bodies of a group that are under way at a time: about as many misses as a core
/// has under way.
const GROUP: usize = 12;

/// Prefetches and lets the others of a [`together`] go on meanwhile. The worker does not hear of
/// it: a task that awaits such a body outside a `together` is never resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouped;

/// Wait for memory within a group: pending once, whatever polls it.
#[derive(Debug)]
#[must_use = "a touch waits only when it is awaited"]
pub struct GroupTouch {
    suspended: bool,
}

impl Future for GroupTouch {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.suspended {
            return Poll::Ready(());
        }
        self.suspended = true;
        Poll::Pending
    }
}

impl Policy for Grouped {
    const NAME: &'static str = "grouped";
    const MAY_SUSPEND: bool = true;
    const IS_GROUPED: bool = true;
    type Touch = GroupTouch;

    #[inline(always)]
    fn touch<T: ?Sized>(_: Point, address: *const T, bytes: usize) -> GroupTouch {
        prefetch(address.cast(), bytes);
        GroupTouch { suspended: false }
    }

    #[inline(always)]
    fn prefetch<T: ?Sized>(address: *const T, bytes: usize) {
        prefetch(address.cast(), bytes);
    }

    #[inline(always)]
    fn suspends() -> bool {
        true
    }
}

/// Runs bodies of a policy beside each other, some at a time, begun in their order; `done` is given
/// the output of each.
///
/// # Suspension
/// Waits for memory, as the policy says. [`Grouped`] never suspends: its bodies are polled until
/// they are ready, so they must wait for memory only.
///
/// # Cancellation
/// Drops the bodies that are under way.
pub async fn together<P: Policy, F: Future>(
    bodies: impl IntoIterator<Item = F>,
    mut done: impl FnMut(F::Output),
) {
    let mut bodies = bodies.into_iter();
    let mut ring: [Option<F>; GROUP] = array::from_fn(|_| bodies.next());
    poll_fn(|context| {
        // Touches of the body would wait for the worker if they knew of it.
        let mut apart = Context::from_waker(Waker::noop());
        let context = if P::IS_GROUPED { &mut apart } else { context };
        loop {
            let mut live = false;
            for place in &mut ring {
                while let Some(body) = place {
                    // SAFETY: the ring lies in this function's future, which is pinned,
                    // and a body is dropped in place when `place` is assigned.
                    let body = unsafe { Pin::new_unchecked(body) };
                    let Poll::Ready(output) = body.poll(context) else {
                        live = true;
                        break;
                    };
                    *place = None;
                    done(output);
                    *place = bodies.next();
                }
            }
            if !live {
                return Poll::Ready(());
            }
            if !P::IS_GROUPED {
                return Poll::Pending;
            }
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interleaved, Sequential, policy::run_inline};
    use std::cell::RefCell;

    const POINT: Point = Point::new("test");

    async fn body<P: Policy>(number: usize, log: &RefCell<Vec<usize>>) -> usize {
        for _ in 0..number % 3 {
            log.borrow_mut().push(number);
            P::touch(POINT, &raw const *log, 8).await;
        }
        number
    }

    fn run<P: Policy>(bodies: usize) -> (Vec<usize>, Vec<usize>) {
        let log = RefCell::default();
        let mut ended = Vec::new();
        let all = (0..bodies).map(|number| body::<P>(number, &log));
        run_inline(together::<P, _>(all, |number| ended.push(number)));
        (log.into_inner(), ended)
    }

    #[test]
    fn all_bodies_end_however_many_there_are() {
        for bodies in [0, 1, GROUP, GROUP + 1, 10 * GROUP] {
            let (steps, mut ended) = run::<Grouped>(bodies);
            assert_eq!(steps.len(), (0..bodies).map(|n| n % 3).sum::<usize>());
            ended.sort_unstable();
            assert!(ended.iter().copied().eq(0..bodies));
        }
    }

    #[test]
    fn a_touch_lets_the_others_of_its_group_go_on_and_nobody_else() {
        // `run_inline` refuses bodies that suspend.
        assert_eq!(run::<Grouped>(6).0, [1, 2, 4, 5, 2, 5]);
        assert_eq!(run::<Sequential>(6).0, [1, 2, 2, 4, 5, 5]);
        // Outside a worker there is no other task to wait for.
        assert_eq!(run::<Interleaved>(6).0, [1, 2, 2, 4, 5, 5]);
    }
}
