//! What an embedding hangs onto a worker.

use std::{sync::Arc, time::Duration};

use crate::{config::Scheduling, slice::LongSlice};

/// Ends the sleep of a worker, from any thread.
pub type Rouser = Arc<dyn Fn() + Send + Sync>;

/// What a worker carries for its tasks, and calls back between them. One value
/// per worker, reached only on its thread.
pub trait WorkerLocal: 'static {
    /// Called before every round, and again and again while the worker has nothing
    /// to resume (`idle`) and does not sleep yet: to take in what a device has
    /// completed. Must be cheap when nothing has. While tasks wait for the device, rounds are
    /// left out, as [`Scheduling`] has it. Hands over what was held back
    /// ([`WorkerLocal::hand_over`]), too.
    fn poll(&self, _idle: bool) {}

    /// Called between two slices when some have passed, every few dozen microseconds under
    /// load, whether tasks wait for the device or not: to take in what has come from outside,
    /// as bytes to sockets do.
    fn look_outside(&self) {}

    /// A task held the worker for longer than [`SLICE_US_MAX`](crate::SLICE_US_MAX): for
    /// whoever wants to log it.
    fn slice_was_long(&self, _slice: &LongSlice) {}

    /// Called between rounds in which tasks began to wait for the device
    /// ([`Wait::Device`](crate::Wait::Device)), unless [`WorkerLocal::poll`] is soon called: what
    /// they asked of it may have been held back until now, to be handed over at once.
    fn hand_over(&self) {}

    /// The worker schedules like this from now on: what waits for the device is to be held back,
    /// or refused, as [`Scheduling`] has it.
    fn schedule(&self, _scheduling: Scheduling) {}

    /// Whether something is under way that will make [`WorkerLocal::poll`] wake a
    /// task, without anybody else's doing.
    fn awaits_device(&self) -> bool {
        false
    }

    /// Whether another task had better begin now: not while a device that all of them
    /// will need does not keep up. Looked at whenever there is room for one; those
    /// that have begun go on.
    fn admits(&self) -> bool {
        true
    }

    /// The frames of tasks take up so many bytes, in so many places, open or kept for others.
    /// How many tasks may wait for the device ([`Wait::Device`](crate::Wait::Device)) while others
    /// begin. Called when frames have come to take up more, and with
    /// [`WorkerLocal::housekeep`].
    fn frames(&self, _bytes: usize, _places: usize) -> usize {
        usize::MAX
    }

    /// How many tasks of this worker wait for others that will soon be done. They count as in
    /// flight: to begin still others would mostly add to those who wait. If twice as many wait
    /// as are in flight no task begins, so a wait must not count for ever: who is waited for
    /// may need a task that has not begun.
    fn waiting(&self) -> usize {
        0
    }

    /// For locals that sleep in their own way, on a device: what ends such a sleep.
    /// Asked for once. `None`: the worker parks its thread.
    fn rouser(&self) -> Option<Rouser> {
        None
    }

    /// Sleeps until the rouser is called, something completes, or `at_most` is
    /// over; a call of the rouser since the last sleep ends it at once. Called only
    /// if there is a [`WorkerLocal::rouser`].
    fn sleep(&self, _at_most: Option<Duration>) {}

    /// Called between resumptions, every few dozen microseconds under load.
    fn housekeep(&self) {}

    /// Whether the last housekeeping has left something that could be done already: then the next one
    /// comes after the next look around.
    fn is_behind(&self) -> bool {
        false
    }

    /// Called before the worker sleeps. `Some(d)` asks to be called again after
    /// `d` at the latest.
    fn before_sleep(&self) -> Option<Duration> {
        None
    }

    /// Called after sleep, before any task is resumed.
    fn after_sleep(&self) {}

    /// The worker's thread turns to something else, for nobody knows how long
    /// ([`Worker::run_until`](crate::Worker::run_until) returns): nothing may be left that other
    /// workers wait for. May block for as long as a device takes. Not called with a clock that is
    /// moved by hand: whoever moves it says when each worker goes on.
    fn leave(&self) {}

    /// A total of useful work until now, for [`InFlight::Auto`](crate::InFlight::Auto): less
    /// than before where work was in vain. `None`: finished tasks are counted.
    fn progress(&self) -> Option<u64> {
        None
    }
}

impl WorkerLocal for () {}
