//! Waits with a limit.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

/// Awaits `future`, but not longer than `limit`: returns `None` then. Waits on a worker alone.
pub async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut limit = pin!(interleave::sleep(limit));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => limit.as_mut().poll(context).map(|()| None),
    })
    .await
}
