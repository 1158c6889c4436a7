//! Waits for the durable frontier: the tail of every synchronous commit.

use std::{
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use interleave::{Wait, note_wait};

use crate::{error::Error, session::Session, timestamp::Timestamp};

/// Future that waits, as an event, until everything up to a timestamp is durable. Without a log it
/// is ready at once.
#[must_use = "a wait begins only when it is awaited"]
pub struct Durable {
    session: Rc<Session>,
    timestamp: Timestamp,
    /// Number among the lane's waiters.
    number: Option<u64>,
}

impl Session {
    /// Waits until everything up to `timestamp` is durable. Without a log the future is ready at
    /// once.
    ///
    /// # Errors
    /// [`Error::Poisoned`].
    ///
    /// # Suspension
    /// An event wait.
    ///
    /// # Cancellation
    /// Nothing is undone.
    pub fn durable(self: &Rc<Self>, timestamp: Timestamp) -> Durable {
        Durable {
            session: self.clone(),
            timestamp,
            number: None,
        }
    }
}

impl Future for Durable {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Durable {
            session,
            timestamp,
            number,
        } = &mut *self;
        let polled = match session.lane() {
            Some(lane) => lane.poll_durable(*timestamp, number, context),
            None => Poll::Ready(Ok(())),
        };
        if polled.is_pending() {
            note_wait(Wait::Log);
        }
        polled
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        if let (Some(number), Some(lane)) = (self.number, self.session.lane()) {
            lane.stop_waiting(self.timestamp, number);
        }
    }
}

impl std::fmt::Debug for Durable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Durable")
            .field("timestamp", &self.timestamp)
            .finish_non_exhaustive()
    }
}
