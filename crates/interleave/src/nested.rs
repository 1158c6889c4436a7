//! Operations that may nest.
//!
//! A leaf lies in the frame of its caller, and is resumed directly. An operation that is rare, and
//! waits for a device or an event, had better not make every frame larger, nor lengthen the path of
//! tasks that pass it by: it lies in a box of its own, and costs other tasks no more than a branch
//! (selective nesting, paper 001 section 4.1).

use std::{
    future::Future,
    mem::ManuallyDrop,
    pin::Pin,
    task::{Context, Poll},
};

/// A boxed operation that is polled and dropped out of line.
#[must_use = "futures do nothing unless polled"]
pub struct Nested<'f, T>(ManuallyDrop<Pin<Box<dyn Future<Output = T> + 'f>>>);

impl<'f, T> Nested<'f, T> {
    /// Boxes `operation`.
    #[cold]
    pub fn new(operation: impl Future<Output = T> + 'f) -> Nested<'f, T> {
        Nested(ManuallyDrop::new(Box::pin(operation)))
    }
}

impl<T> Future for Nested<'_, T> {
    type Output = T;

    #[cold]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.0.as_mut().poll(context)
    }
}

impl<T> Drop for Nested<'_, T> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: the future is dropped once, here, and not used any more.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

impl<T> std::fmt::Debug for Nested<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nested").finish_non_exhaustive()
    }
}
