//! A bell: coroutines of one thread wait for its next ring.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

/// See the module's doc.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rings: Cell<u64>,
    listeners: RefCell<Vec<Waker>>,
}

impl Bell {
    /// Ends all waits that have begun.
    pub(crate) fn ring(&self) {
        self.rings.set(self.rings.get() + 1);
        for listener in self.listeners.take() {
            listener.wake();
        }
    }

    /// Waits for the next ring after this call, as an event.
    pub(crate) fn next(&self) -> Listening<'_> {
        Listening {
            bell: self,
            heard: self.rings.get(),
        }
    }
}

/// Wait for a ring; see [`Bell::next`].
#[must_use = "a wait begins only when it is awaited"]
pub(crate) struct Listening<'b> {
    bell: &'b Bell,
    heard: u64,
}

impl Future for Listening<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.bell.rings.get() != self.heard {
            return Poll::Ready(());
        }
        let mut listeners = self.bell.listeners.borrow_mut();
        if !listeners
            .iter()
            .any(|waker| waker.will_wake(context.waker()))
        {
            listeners.push(context.waker().clone());
        }
        Poll::Pending
    }
}
