//! Two futures at once: both to their end, or one until the other has had
//! enough, as application code runs operations of one transaction.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use interleave::yield_now;

/// Runs both to their end.
pub(crate) async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut a_output, mut b_output) = (None, None);
    poll_fn(|context| {
        if a_output.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            a_output = Some(output);
        }
        if b_output.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            b_output = Some(output);
        }
        match (a_output.take(), b_output.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (a_output, b_output) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

/// Runs `future`, but drops it when it has suspended more than `turns` times.
pub(crate) async fn within<F: Future>(turns: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut patience = pin!(async {
        for _ in 0..turns {
            yield_now().await;
        }
    });
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        patience.as_mut().poll(context).map(|()| None)
    })
    .await
}
