//! What a worker listens to beside its device: sockets.

use std::{os::fd::RawFd, time::Duration};

use crate::worker::Rouser;

/// Something that tasks of one worker wait for and that comes from outside, as bytes to a socket
/// do. The worker looks after it: between rounds, and while it sleeps. See
/// [`WorkerLocal`](crate::WorkerLocal), whose hooks these are a part of.
pub trait Outside: Send + Sync + 'static {
    /// As [`WorkerLocal::poll`](crate::WorkerLocal::poll): wakes the tasks for which something
    /// has come. Called before every round, so that it need not look each time.
    fn poll(&self, idle: bool);

    /// Sleeps until something comes, the rouser is called (or has been since the last sleep) or
    /// `at_most` is over. Wakes nobody yet: for who wakes a task the worker would still be asleep,
    /// and have to be roused.
    fn sleep(&self, at_most: Option<Duration>);

    /// After a sleep, this one or that of the device: wakes the tasks for which something has
    /// come.
    fn take_in(&self);

    /// Ends sleeps.
    fn rouser(&self) -> Rouser;

    /// A descriptor that is readable while [`Outside::poll`] would find something: who sleeps
    /// in a way of his own wakes up by it.
    fn descriptor(&self) -> RawFd;
}
