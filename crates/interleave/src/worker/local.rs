//! What an embedding hangs onto a worker.

use std::time::Duration;

/// What a worker carries for its tasks, and calls back between them. One value
/// per worker, reached only on its thread.
pub trait WorkerLocal: 'static {
    /// Called between resumptions, every few dozen microseconds under load.
    fn housekeep(&self) {}

    /// Called before the worker sleeps. `Some(d)` asks to be called again after
    /// `d` at the latest.
    fn before_sleep(&self) -> Option<Duration> {
        None
    }

    /// Called after sleep, before any task is resumed.
    fn after_sleep(&self) {}

    /// A running total of useful work, for [`InFlight::Auto`](crate::InFlight::Auto). `None`: finished
    /// tasks are counted.
    fn progress(&self) -> Option<u64> {
        None
    }
}

impl WorkerLocal for () {}
