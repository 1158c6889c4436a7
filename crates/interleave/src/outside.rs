//! What a worker listens to beside its device: sockets.

use std::{os::fd::RawFd, time::Duration};

use crate::worker::Rouser;

/// Something that tasks of one worker wait for and that comes from outside, as bytes to a socket
/// do. The worker looks after it: between rounds, and while it sleeps. See
/// [`WorkerLocal`](crate::WorkerLocal), whose hooks these are a part of.
pub trait Outside: Send + Sync + 'static {
    /// Called again and again while the worker has nothing to resume and does not sleep yet, as
    /// [`WorkerLocal::poll`](crate::WorkerLocal::poll): wakes the tasks for which something has
    /// come. It need not look each time.
    fn poll_idle(&self);

    /// Sleeps until something comes, the rouser is called (or has been since the last sleep) or
    /// `at_most` is over. Wakes nobody yet: for who wakes a task the worker would still be asleep,
    /// and have to be roused.
    fn sleep(&self, at_most: Option<Duration>);

    /// After a sleep, this one or that of the device: wakes the tasks for which something has come.
    fn take_in(&self);

    /// Between two slices ([`WorkerLocal::look_outside`](crate::WorkerLocal::look_outside)): as
    /// [`Outside::take_in`]. It need not look each time, but one of few times.
    fn look(&self);

    /// Ends sleeps.
    fn rouser(&self) -> Rouser;

    /// A descriptor that is readable while [`Outside::take_in`] would find something: who sleeps
    /// in a way of his own wakes up by it.
    fn descriptor(&self) -> RawFd;
}
