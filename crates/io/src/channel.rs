//! Connection of one thread to the device.

use std::{fmt, io, os::fd::RawFd, sync::Arc, time::Duration};

use crate::{buffer::Buffer, directory::File};

/// Kind of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Fill the buffer's range from the file.
    Read,
    /// Write the buffer's range.
    Write,
    /// Write the buffer's range; complete only when it is durable (as `RWF_DSYNC`).
    WriteDurable,
    /// Make the file's contents and length durable; for a directory
    /// ([`crate::Directory::as_file`]), its names. The buffer is left alone. For rare occasions:
    /// the kernel may start a thread for a sync.
    Sync,
}

/// One transfer, on its way to the device.
#[derive(Debug)]
pub struct Operation {
    /// Name of the operation in its completion.
    pub token: u64,
    /// Kind of the transfer.
    pub action: Action,
    /// File that is read or written.
    pub file: Arc<dyn File>,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Source or destination of the transfer: all of the buffer's length.
    pub buffer: Buffer,
}

/// A transfer that has ended.
#[derive(Debug)]
pub struct Completion {
    /// Token of the operation.
    pub token: u64,
    /// Buffer of the operation.
    pub buffer: Buffer,
    /// Bytes transferred, or the error. The bytes may be fewer than asked for (end of file, or the
    /// device's whim; a caller that wants the rest asks again).
    pub result: io::Result<usize>,
}

/// One thread's submissions and completions. Operations that are under way may
/// complete in any order and do not see each other's effects.
///
/// Dropping a channel waits until no operation is under way: the kernel must not write to memory
/// that was given back.
pub trait Channel: fmt::Debug {
    /// Hands `operation` to the device. Errors are part of its completion.
    fn submit(&mut self, operation: Operation);

    /// Queues `operation`: the device may hear of it as late as with the next call of
    /// [`Channel::flush`], [`Channel::reap`] or [`Channel::wait`]. Many queued operations go
    /// together for the price of one.
    fn queue(&mut self, operation: Operation) {
        self.submit(operation);
    }

    /// Hands over the queued operations.
    fn flush(&mut self) {}

    /// Moves ended operations to `completions`. Does not block; costs a few nanoseconds if there
    /// are none.
    fn reap(&mut self, completions: &mut Vec<Completion>);

    /// Returns the number of operations submitted and not reaped.
    fn outstanding(&self) -> usize;

    /// Blocks until a completion can be reaped, the channel is roused, or `at_most` is over; may
    /// also return spuriously. A rouse that came since the last wait ends the wait at once.
    fn wait(&mut self, at_most: Option<Duration>);

    /// Has waits end as well while `descriptor` is readable. The descriptor is to stay open for as
    /// long as the channel lives. Returns false if the channel cannot do that, and waits only for
    /// its own operations.
    fn watch(&mut self, _descriptor: RawFd) -> bool {
        false
    }

    /// Returns a rouser, which ends waits from any thread.
    fn rouser(&self) -> Arc<dyn Rouse>;
}

/// Ends the waits of one channel.
pub trait Rouse: Send + Sync + fmt::Debug {
    /// Ends the current wait, or else the next.
    fn rouse(&self);
}
