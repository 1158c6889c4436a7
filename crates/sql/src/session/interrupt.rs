//! Giving a statement up: because its client asks for it, or because it takes too long.
//!
//! A statement is a future, and dropping it gives it up, wherever it waits: for a lock, the device,
//! or the client. It is polled beside two others: the client's wish, and a timer. They are polled
//! after it, hence only where it waits: a statement that is done at once pays nothing for them. A
//! statement that computes without a wait yields now and then
//! ([`ExecutionContext::pause`](executor::execute::ExecutionContext::pause)), which comes back to
//! here.
//!
//! Commits are not polled in this way: a commit that is under way ends as it ends, and its client
//! is told.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use types::{Result, SqlError, SqlState};

/// A source of requests to give up a session's statement.
pub trait Interrupt {
    /// Polls for a request: is ready, with the error for the client, when the statement is to be
    /// given up. The task is woken for it.
    fn poll(&self, context: &mut Context<'_>) -> Poll<SqlError>;
}

/// Awaits a statement, unless it is to be given up. The statement is pinned by the caller: moving a
/// short one into here, and to its place here, took longer than beginning it.
///
/// # Errors
/// Errors of the statement; that of the interrupt; 57014 if its time is over.
pub(super) async fn interruptible<T>(
    interrupt: Option<Rc<dyn Interrupt>>,
    limit: Option<Duration>,
    mut statement: Pin<&mut impl Future<Output = Result<T>>>,
) -> Result<T> {
    let mut timer = pin!(interleave::sleep(limit.unwrap_or_default()));
    poll_fn(|context| {
        if let Poll::Ready(done) = statement.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        if let Some(interrupt) = &interrupt
            && let Poll::Ready(error) = interrupt.poll(context)
        {
            return Poll::Ready(Err(error));
        }
        if limit.is_some() && timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(SqlError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            )));
        }
        Poll::Pending
    })
    .await
}
