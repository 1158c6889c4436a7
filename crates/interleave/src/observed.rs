//! Tasks whose every resumption is to be seen: [`Observed`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::slot::with_slot;

/// A future whose inside is resumed from here, also where it waits for memory: no
/// [`Leaf`](crate::Leaf) within is resumed directly. The levels between this future and the inner
/// waits see each resumption and each wait, and can tell how long they took, and for what
/// ([`noted_wait`](crate::noted_wait)).
///
/// An observed future costs a poll of each level per wait. Other tasks do not notice. If it lies
/// within a leaf itself, that leaf is resumed directly, and polls it.
///
/// # Suspension
/// Waits as the future inside does.
///
/// # Cancellation
/// Drops the future inside.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Observed<F>(F);

impl<F: Future + Unpin> Observed<F> {
    /// Observes `future`.
    pub fn new(future: F) -> Observed<F> {
        Observed(future)
    }
}

impl<F: Future + Unpin> Future for Observed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let polled = Pin::new(&mut self.0).poll(context);
        if polled.is_pending() {
            with_slot(context, |slot, _| {
                if let Some(slot) = slot
                    && slot.noted().is_hot
                {
                    // Note a wait beside the leaf (rule 7 of `leaf.rs`), so that the root is polled
                    // next.
                    slot.ambiguous.set(true);
                }
            });
        }
        polled
    }
}
