//! The wait for a device: [`from_device`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::slot::note_device_wait;

/// Tells the worker that while `future` is pending its task waits for a device. For
/// [`Scheduling`](crate::Scheduling) only: the task is resumed when its waker is called, as
/// after any event.
pub fn from_device<F: Future + Unpin>(future: F) -> FromDevice<F> {
    FromDevice(future)
}

/// See [`from_device`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct FromDevice<F>(F);

impl<F: Future + Unpin> Future for FromDevice<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let polled = Pin::new(&mut self.0).poll(context);
        if polled.is_pending() {
            note_device_wait();
        }
        polled
    }
}
