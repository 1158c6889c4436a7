//! The end of the database, as statements of the program hear of it.
//!
//! A worker's task that the closing waits for must not wait for long itself: a statement of the program that waits for
//! a lock or a timer, or computes for hours, is given up, as the statement of a client is when its server stops.

use std::{
    cell::RefCell,
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use async_channel::Receiver;
use sql::Interrupt;
use types::SqlError;

use crate::call::closed;

/// Future that is ready at the database's end.
type End = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Sign of the database's end: its channel, which carries nothing, is closed then.
pub(crate) struct Ends {
    channel: Receiver<Infallible>,
    /// Wait for the sign, from the first statement on that waits for anything.
    end: RefCell<Option<End>>,
}

impl Ends {
    /// Returns a sign, and the function that gives it.
    pub(crate) fn new() -> (Ends, impl FnOnce() + Send + 'static) {
        // One is the least that a channel holds.
        let (sender, channel) = async_channel::bounded(1);
        let ends = Ends {
            channel,
            end: RefCell::new(None),
        };
        (ends, move || drop(sender))
    }
}

impl Interrupt for Ends {
    fn poll(&self, context: &mut Context<'_>) -> Poll<SqlError> {
        if self.channel.is_closed() {
            return Poll::Ready(closed());
        }
        let mut end = self.end.borrow_mut();
        let end = end.get_or_insert_with(|| {
            let channel = self.channel.clone();
            Box::pin(async move {
                // An error is the sign.
                let _ = channel.recv().await;
            })
        });
        end.as_mut().poll(context).map(|()| closed())
    }
}
