//! Transactions under way, as seen from the thread that submitted them.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use interleave::JoinHandle;

use crate::{
    context::WorkerState,
    error::{Error, Result},
};

/// A transaction that was submitted with [`crate::Database::run`]. It has been sent to a worker
/// already; await this, in any runtime, for its result.
///
/// # Cancellation
/// Dropping it cancels the transaction, which is rolled back at its next suspension. If the
/// transaction has committed by then, it stays committed.
#[must_use = "dropping this cancels the transaction; await it, wait for it or detach it"]
pub struct Running<T> {
    state: State<T>,
}

enum State<T> {
    Submitted(JoinHandle<Result<T>, WorkerState>),
    /// The error of a refused submission; `None` once that was reported.
    Refused(Option<Error>),
}

impl<T> Running<T> {
    pub(crate) fn submitted(task: JoinHandle<Result<T>, WorkerState>) -> Running<T> {
        Running {
            state: State::Submitted(task),
        }
    }

    pub(crate) fn refused(error: Error) -> Running<T> {
        Running {
            state: State::Refused(Some(error)),
        }
    }

    /// Blocks the calling thread until the transaction has ended.
    ///
    /// # Errors
    /// Fails as awaiting the transaction does; [`Error::WouldBlockWorker`] on a worker's thread
    /// (the transaction is then cancelled).
    pub fn wait(self) -> Result<T> {
        match self.state {
            State::Submitted(task) => task.wait()?,
            State::Refused(error) => Err(error.unwrap_or(Error::Closed)),
        }
    }

    /// Lets the transaction run on without a caller that waits for it.
    pub fn detach(self) {
        if let State::Submitted(task) = self.state {
            task.detach();
        }
    }
}

impl<T> Future for Running<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        match &mut self.state {
            State::Submitted(task) => Pin::new(task)
                .poll(context)
                .map(|result| result.unwrap_or_else(|lost| Err(lost.into()))),
            State::Refused(error) => Poll::Ready(Err(error.take().unwrap_or(Error::Closed))),
        }
    }
}

impl<T> fmt::Debug for Running<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}
