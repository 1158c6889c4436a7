//! Giving a statement up: because its client wants it, or because it takes too long.
//!
//! A statement is a future, and dropping it gives it up, wherever it waits: for a lock, the device,
//! or the client. So it is polled beside two more: the client's wish, and a timer. They are asked
//! after it, hence only where it waits: one that is done at once costs them nothing. A statement
//! that computes without a wait yields now and then ([`Run::pause`](executor::execute::Run::pause)),
//! which comes back to here.
//!
//! Commits are not polled so: one that is under way ends as it ends, and its client is told.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use types::{Result, SqlError, SqlState};

/// Whoever can want a session's statement to be given up.
pub trait Interrupt {
    /// Ready when it is to be given up, with the error to do so with. The task is woken for it.
    fn poll(&self, context: &mut Context<'_>) -> Poll<SqlError>;
}

/// Awaits a statement, unless it is to be given up. It stays where it is: moved into here, and to its place here,
/// a short one took longer to move than to begin.
///
/// # Errors
/// The statement's; the interrupt's; 57014 if its time is over.
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
