//! Event sources that a worker attends to beside its device: sockets.

use std::{os::fd::RawFd, time::Duration};

use crate::worker::Rouser;

/// A source of events from outside that tasks of one worker wait for, such as bytes to a socket.
/// The worker attends to it between rounds, and while it sleeps. See
/// [`WorkerLocal`](crate::WorkerLocal), whose hooks call these methods.
pub trait Outside: Send + Sync + 'static {
    /// Wakes the tasks whose events have come. Called again and again while the worker has nothing
    /// to resume and does not sleep yet, as [`WorkerLocal::poll`](crate::WorkerLocal::poll) is. An
    /// implementation need not look at each call.
    fn poll_idle(&self);

    /// Sleeps until an event comes, the rouser is called (or has been since the last sleep) or
    /// `at_most` is over. Wakes no task yet: a waker called from here would take the worker to be
    /// asleep, and rouse it.
    fn sleep(&self, at_most: Option<Duration>);

    /// Wakes the tasks whose events have come, after a sleep of this source or of the device.
    fn take_in(&self);

    /// Wakes the tasks whose events have come, between two slices
    /// ([`WorkerLocal::look_outside`](crate::WorkerLocal::look_outside)). An implementation need
    /// not look at each call, but at one of a few.
    fn look(&self);

    /// Returns a rouser, which ends sleeps.
    fn rouser(&self) -> Rouser;

    /// Returns a descriptor that is readable while [`Outside::take_in`] would find something: a
    /// sleep that is not [`Outside::sleep`] listens to it.
    fn descriptor(&self) -> RawFd;
}
