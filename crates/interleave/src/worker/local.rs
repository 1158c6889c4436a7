//! Hooks and data that an embedding attaches to a worker.

use std::{sync::Arc, time::Duration};

use crate::{config::Scheduling, slice::LongSlice};

/// Ends the sleep of a worker, from any thread.
pub type Rouser = Arc<dyn Fn() + Send + Sync>;

/// Data of a worker for its tasks, and hooks that the worker calls between them. One value per worker, reached only on
/// its thread.
pub trait WorkerLocal: 'static {
    /// Takes in what a device has completed. Called before every round, and again and again while the worker has
    /// nothing to resume (`idle`) and does not sleep yet. The call must be cheap when nothing has completed. While
    /// tasks wait for the device, calls before rounds are left out as [`Scheduling`] says. Also hands over requests
    /// that were held back ([`WorkerLocal::hand_over`]).
    fn poll(&self, _idle: bool) {}

    /// Takes in events from outside, such as bytes to sockets. Called between two slices when some have passed, every
    /// few dozen microseconds under load, whether tasks wait for the device or not.
    fn look_outside(&self) {}

    /// Hears of a slice longer than [`SLICE_US_MAX`](crate::SLICE_US_MAX): for embeddings that log these.
    fn slice_was_long(&self, _slice: &LongSlice) {}

    /// Hands over the requests that tasks made to the device and that may have been held back until now. Called between
    /// rounds in which tasks began to wait for the device ([`Wait::Device`](crate::Wait::Device)), unless
    /// [`WorkerLocal::poll`] is called soon.
    fn hand_over(&self) {}

    /// Hears how the worker schedules from now on: requests to the device are to be held back, or refused, as
    /// [`Scheduling`] says.
    fn schedule(&self, _scheduling: Scheduling) {}

    /// Returns whether an operation is under way that will make [`WorkerLocal::poll`] wake a task, with nothing else
    /// needed.
    fn awaits_device(&self) -> bool {
        false
    }

    /// Returns whether another task had better begin now: not while a device that all tasks will need does not keep up.
    /// Asked whenever there is room for a task; tasks that have begun go on.
    fn admits(&self) -> bool {
        true
    }

    /// Hears that the frames of tasks take up the given bytes, in the given number of places, open or kept for others.
    /// Returns how many tasks may wait for the device ([`Wait::Device`](crate::Wait::Device)) while others begin.
    /// Called when frames have come to take up more, and with [`WorkerLocal::housekeep`].
    fn frames(&self, _bytes: usize, _places: usize) -> usize {
        usize::MAX
    }

    /// Returns how many tasks of this worker wait for others that will soon be done. They count as in flight: any task
    /// begun beside them would mostly come to wait too. If twice as many wait as are in flight no task begins, so a
    /// wait must not count for ever: the task waited for may need a task that has not begun.
    fn waiting(&self) -> usize {
        0
    }

    /// Returns what ends a sleep of this local, if it sleeps in its own way, on a device. Called once. `None`: the
    /// worker parks its thread.
    fn rouser(&self) -> Option<Rouser> {
        None
    }

    /// Sleeps until the rouser is called, an operation completes, or `at_most` is over; a call of the rouser since the
    /// last sleep ends it at once. Called only if there is a [`WorkerLocal::rouser`].
    fn sleep(&self, _at_most: Option<Duration>) {}

    /// Does the housekeeping of the local. Called between resumptions, every few dozen microseconds under load.
    fn housekeep(&self) {}

    /// Returns whether the last housekeeping has left work that could be done already: then the next housekeeping comes
    /// after the next look around.
    fn is_behind(&self) -> bool {
        false
    }

    /// Prepares for a sleep of the worker. `Some(d)` asks to be called again after `d` at the latest.
    fn before_sleep(&self) -> Option<Duration> {
        None
    }

    /// Hears of the end of a sleep, before any task is resumed.
    fn after_sleep(&self) {}

    /// Prepares for a pause of unknown length, in which the worker's thread does something else
    /// ([`Worker::run_until`](crate::Worker::run_until) returns): nothing may be left that other workers wait for. May
    /// block for as long as a device takes. The hook is not called with a clock that is moved by hand: the simulator
    /// decides when each worker goes on.
    fn leave(&self) {}

    /// Returns a total of useful work until now, for [`InFlight::Auto`](crate::InFlight::Auto): less than before where
    /// work was in vain. `None`: finished tasks are counted.
    fn progress(&self) -> Option<u64> {
        None
    }
}

impl WorkerLocal for () {}
