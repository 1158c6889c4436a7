//! A panic of a backend ends its connection and nothing else.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

/// The panic of a future. The panic hook has received its message.
#[derive(Debug)]
pub struct Panicked;

/// Awaits `future`, and contains its panics. State that it borrows must tolerate being left as
/// it is; the future itself is dropped together with this one.
///
/// # Errors
/// Fails if `future` panicked.
pub async fn contain<T>(future: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut future = pin!(future);
    poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => {
                // A payload may panic when it is dropped.
                std::mem::forget(payload);
                Poll::Ready(Err(Panicked))
            }
        }
    })
    .await
}
