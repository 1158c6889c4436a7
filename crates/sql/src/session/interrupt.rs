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
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use interleave::Sleep;
use types::{Result, SqlError, SqlState};

use super::Session;

/// A source of requests to give up a session's statement.
pub trait Interrupt {
    /// Polls for a request: is ready, with the error for the client, when the statement is to be
    /// given up. The task is woken for it.
    fn poll(&self, context: &mut Context<'_>) -> Poll<SqlError>;
}

/// The reasons to give up a statement from outside. The parts of a statement share them: its time begins where
/// its first part waits, and goes on through the others.
pub(super) struct Limits {
    interrupt: Option<Rc<dyn Interrupt>>,
    timer: Option<Sleep>,
}

impl Limits {
    /// Returns limits by a client's wish and by a time, each if there is one.
    pub(super) fn new(interrupt: Option<Rc<dyn Interrupt>>, time: Option<Duration>) -> Self {
        Self {
            interrupt,
            timer: time.map(interleave::sleep),
        }
    }
}

impl Session {
    /// Returns the limits of a statement that begins now.
    pub(super) fn limits(&self) -> Limits {
        Limits::new(
            self.interrupt.clone(),
            self.settings.effects().statement_limit,
        )
    }
}

/// Awaits a statement or a part of it, unless it is to be given up. The statement is pinned by the caller: moving a
/// short one into here, and to its place here, took longer than beginning it.
///
/// # Errors
/// Errors of the statement; that of the interrupt; 57014 if its time is over.
pub(super) async fn interruptible<T>(
    limits: &mut Limits,
    mut statement: Pin<&mut impl Future<Output = Result<T>>>,
) -> Result<T> {
    let Limits { interrupt, timer } = limits;
    poll_fn(|context| {
        if let Poll::Ready(done) = statement.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        if let Some(interrupt) = &*interrupt
            && let Poll::Ready(error) = interrupt.poll(context)
        {
            return Poll::Ready(Err(error));
        }
        if let Some(timer) = &mut *timer
            && Pin::new(timer).poll(context).is_ready()
        {
            return Poll::Ready(Err(SqlError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            )));
        }
        Poll::Pending
    })
    .await
}
