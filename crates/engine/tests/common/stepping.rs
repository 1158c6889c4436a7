//! Futures polled by hand, in an order that a seed decides, with a suspension at
//! every touch.

use crate::rng;

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use interleave::{Point, Policy};

pub(crate) use rng::Rng;

/// Policy that suspends once at every touch, for any poller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stepping;

/// Future that is pending the first time.
#[derive(Debug)]
pub(crate) struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, false) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl Policy for Stepping {
    const NAME: &'static str = "stepping";
    const MAY_SUSPEND: bool = true;
    type Touch = Once;

    fn touch<T: ?Sized>(_: Point, _: *const T, _: usize) -> Once {
        Once(true)
    }

    fn prefetch<T: ?Sized>(_: *const T, _: usize) {}

    fn suspends() -> bool {
        true
    }
}

pub(crate) fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls a future to its end.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn finish<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(output) = poll(future.as_mut()) {
            return output;
        }
    }
}

/// Polls a future a number of times; returns its output if that was enough. Otherwise the future is
/// dropped.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn poll_times<F: Future>(future: F, times: usize) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    for _ in 0..times {
        if let Poll::Ready(output) = poll(future.as_mut()) {
            return Some(output);
        }
    }
    None
}

/// Lets the other futures have a turn.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn pause() -> Once {
    Once(true)
}

/// Polls futures in an order drawn from `rng` until all have ended; `between` is
/// called now and then.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn interleave(
    rng: &mut Rng,
    mut futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>,
    mut between: impl FnMut(),
) {
    while !futures.is_empty() {
        let at = rng.below(futures.len() as u64) as usize;
        for _ in 0..1 + rng.below(6) {
            if poll(futures[at].as_mut()).is_ready() {
                drop(futures.swap_remove(at));
                break;
            }
        }
        if rng.below(8) == 0 {
            between();
        }
    }
}
