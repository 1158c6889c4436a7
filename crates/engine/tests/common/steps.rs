//! Futures that wait, polled by hand.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake},
};

/// Future that is polled by hand.
pub(crate) struct Stepped<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<F: Future> Stepped<F> {
    pub(crate) fn new(future: F) -> Stepped<F> {
        Stepped {
            future: Box::pin(future),
            woken: Arc::default(),
        }
    }

    /// Polls the future; returns its output, if it is ready.
    pub(crate) fn step(&mut self) -> Option<F::Output> {
        self.woken.0.store(false, Ordering::SeqCst);
        let waker = self.woken.clone().into();
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    /// Whether the future was woken since it was last polled.
    pub(crate) fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst)
    }
}
