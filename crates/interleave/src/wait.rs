//! Waits of tasks: [`Wait`], how a wait is noted, and how it is asked for.
//!
//! A poll that returns `Pending` leaves a note in its slot. The scheduler needs to know of memory,
//! for which it comes back without being told to, and of the device, for [`Scheduling`]. The other
//! kinds are alike to the scheduler: it counts them, and reports them to observers
//! ([`noted_wait`]).
//!
//! Code that makes a task wait knows the reason, and notes it: a future of its own calls
//! [`note_wait`] before it returns `Pending`, a foreign future is wrapped in [`noting`].
//!
//! [`Scheduling`]: crate::Scheduling

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::slot::current;

/// Kind of thing that a task waits for. If a task waits for several kinds at once, the last of
/// these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// An event of unknown kind: a timer, another task.
    Event,
    /// Nothing: the task lets others have a turn ([`yield_now`](crate::yield_now)).
    Turn,
    /// The client, to send or to take something that belongs to a request.
    Client,
    /// The client's next request: work for that request is interactive again, whatever the task has
    /// done before ([`WorkerConfig::batch_after_us`](crate::WorkerConfig::batch_after_us)).
    Request,
    /// A log: room in it, or durability of a record.
    Log,
    /// A lock that another task holds.
    Lock,
    /// A read of a device, or permission to start one.
    Device,
    /// A cache line that is being fetched ([`Touch`](crate::Touch)).
    Memory,
}

/// Notes what the running task is about to wait for, until its waker is called. [`Wait::Memory`] is
/// ignored: only a [`Touch`](crate::Touch) waits for memory.
#[inline]
pub fn note_wait(wait: Wait) {
    if wait != Wait::Memory {
        current(|slot| slot.note(wait));
    }
}

/// Returns the wait that the running task has noted since it was resumed; [`Wait::Event`] outside a
/// worker.
pub fn noted_wait() -> Wait {
    current(|slot| slot.noted().wait).unwrap_or(Wait::Event)
}

/// Wraps `future`: while it is pending, its task waits for `wait` ([`note_wait`]).
pub fn noting<F: Future + Unpin>(wait: Wait, future: F) -> Noting<F> {
    Noting { wait, future }
}

/// A future that notes a wait; see [`noting`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Noting<F> {
    wait: Wait,
    future: F,
}

impl<F: Future + Unpin> Future for Noting<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let polled = Pin::new(&mut self.future).poll(context);
        if polled.is_pending() {
            note_wait(self.wait);
        }
        polled
    }
}
