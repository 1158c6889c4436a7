//! Slices: for how long a task holds its worker.
//!
//! A *slice* is what a task does between two moments at which its worker can do something else. A slice is to be no
//! longer than [`SLICE_US_MAX`]: a task that computes for longer gives the others a turn in between
//! ([`Turn`](crate::Turn)). The worker measures slices (`worker/pace.rs`), counts those that were too long, and keeps
//! the longest.

use std::{fmt, sync::Mutex, time::Duration};

use crate::slot::{self, current};

/// The longest time that a task is to hold its worker, in microseconds.
pub const SLICE_US_MAX: u64 = 200;

pub(crate) const SLICE_MAX: Duration = Duration::from_micros(SLICE_US_MAX);

/// Label that a task gives itself: a kind and a number, as in "client 17".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Kind of thing that the task serves.
    pub kind: &'static str,
    /// Number within the kind.
    pub number: u64,
}

impl fmt::Display for Label {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind, self.number)
    }
}

/// Labels the running task, for readers of [`LongSlice`]. A task without a label is known by its future's type. Outside
/// a worker this does nothing.
pub fn label(kind: &'static str, number: u64) {
    current(|slot| {
        slot.set_label(Label { kind, number });
    });
}

/// Returns the longest of the slices of the running task's worker that were too long, as
/// [`Handle::longest_slice`](crate::Handle::longest_slice) does.
pub fn longest_slice() -> Option<LongSlice> {
    slot::longest_slice()
}

/// Forgets the longest slice of the running task's worker: the next slice that is too long is the longest.
pub fn forget_longest_slice() {
    slot::forget_longest_slice();
}

/// A slice that a task has had, and the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LongSlice {
    /// Time for which the worker was held; an upper bound if `among` is more than 1.
    pub duration: Duration,
    /// Label of the task ([`label`]); empty if it gave itself none.
    pub label: Label,
    /// Type name of the task's future; empty after the task's last slice. "the worker between tasks" where the worker
    /// itself took the time.
    pub future: &'static str,
    /// Resumptions between the two readings of the clock: the slice belongs to one of them. 1 unless switches had been
    /// quick until then.
    pub among: u32,
}

impl fmt::Display for LongSlice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: ", self.duration)?;
        match self.label.kind {
            "" if self.future.is_empty() => formatter.write_str("a task that has ended")?,
            "" => formatter.write_str(self.future)?,
            _ => write!(formatter, "{}", self.label)?,
        }
        if self.among > 1 {
            write!(formatter, ", or one of {} before it", self.among - 1)?;
        }
        Ok(())
    }
}

/// The longest slice of a worker, for other threads.
#[derive(Debug, Default)]
pub(crate) struct Longest(Mutex<Option<LongSlice>>);

impl Longest {
    pub(crate) fn set(&self, slice: Option<LongSlice>) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = slice;
    }

    pub(crate) fn get(&self) -> Option<LongSlice> {
        *self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}
