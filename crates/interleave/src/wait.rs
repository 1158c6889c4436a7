//! What a task waits for: [`Wait`], how it is noted, and how it is asked for.
//!
//! A poll that returns `Pending` leaves a note in its slot. The scheduler needs to know of memory,
//! where it comes back without being told to, and of the device, for [`Scheduling`]. The other
//! kinds are all the same to it: they are counted, and told to who asks ([`noted_wait`]).
//!
//! Whoever makes a task wait knows why, and says so: a future of its own calls [`note_wait`]
//! before it returns `Pending`, another's is wrapped in [`noting`].
//!
//! [`Scheduling`]: crate::Scheduling

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::slot::current;

/// What a task waits for. If it waits for several things at once, the last of these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// An event of which nothing else is known: a timer, another task.
    Event,
    /// Nothing: it lets others have a turn ([`yield_now`](crate::yield_now)).
    Turn,
    /// The client, to send or to take something that belongs to a request.
    Client,
    /// The client's next request: what the task does for it is interactive again, whatever it
    /// has done before ([`WorkerConfig::batch_after_us`](crate::WorkerConfig::batch_after_us)).
    Request,
    /// A log: room in it, or that it is durable.
    Log,
    /// A lock that another task has.
    Lock,
    /// A device to read, or leave to ask it.
    Device,
    /// A cache line that is being fetched ([`Touch`](crate::Touch)).
    Memory,
}

/// Notes what the running task is about to wait for, until its waker is called. [`Wait::Memory`]
/// is not noted so: only a [`Touch`](crate::Touch) waits for memory.
#[inline]
pub fn note_wait(wait: Wait) {
    if wait != Wait::Memory {
        current(|slot| slot.note(wait));
    }
}

/// What the running task has noted since it was resumed, by now; [`Wait::Event`] outside a worker.
pub fn noted_wait() -> Wait {
    current(|slot| slot.noted().wait).unwrap_or(Wait::Event)
}

/// Notes that while `future` is pending, its task waits for `wait` ([`note_wait`]).
pub fn noting<F: Future + Unpin>(wait: Wait, future: F) -> Noting<F> {
    Noting { wait, future }
}

/// See [`noting`].
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
