//! One thread's way to the device.

use std::{fmt, io, os::fd::RawFd, sync::Arc, time::Duration};

use crate::{buffer::Buffer, directory::File};

/// What to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Fill the buffer's range from the file.
    Read,
    /// Write the buffer's range.
    Write,
    /// Write the buffer's range; complete only when it is durable (as `RWF_DSYNC`).
    WriteDurable,
    /// Make the file's contents and length durable; of a directory
    /// ([`crate::Directory::as_file`]), its names. The buffer is left alone. For rare
    /// occasions: a kernel thread may come and go for it.
    Sync,
}

/// One transfer, on its way to the device.
#[derive(Debug)]
pub struct Operation {
    /// Names the operation when it completes.
    pub token: u64,
    /// What to do.
    pub action: Action,
    /// With which file.
    pub file: Arc<dyn File>,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// From or to here: all of its length.
    pub buffer: Buffer,
}

/// A transfer that has ended.
#[derive(Debug)]
pub struct Completion {
    /// The operation's.
    pub token: u64,
    /// The operation's.
    pub buffer: Buffer,
    /// Bytes transferred, which may be fewer than asked for (end of file, or the
    /// device's whim; whoever wants the rest asks again), or why not.
    pub result: io::Result<usize>,
}

/// One thread's submissions and completions. Operations that are under way may
/// complete in any order and do not see each other's effects.
///
/// Dropping a channel waits until nothing is under way: the kernel must not write
/// to memory that was given back.
pub trait Channel: fmt::Debug {
    /// Hands an operation to the device. Errors are part of its completion.
    fn submit(&mut self, operation: Operation);

    /// The same, but the device may hear of it as late as with the next call of
    /// [`Channel::flush`], [`Channel::reap`] or [`Channel::wait`]: many go together for the
    /// price of one.
    fn queue(&mut self, operation: Operation) {
        self.submit(operation);
    }

    /// Hands over what is queued.
    fn flush(&mut self) {}

    /// Moves what has completed to `completions`. Does not block; costs a few
    /// nanoseconds when nothing has.
    fn reap(&mut self, completions: &mut Vec<Completion>);

    /// Operations submitted and not reaped.
    fn outstanding(&self) -> usize;

    /// Blocks until something can be reaped, the channel is roused, or `at_most` is
    /// over; spuriously too. A rouse that came since the last wait ends it at once.
    fn wait(&mut self, at_most: Option<Duration>);

    /// From now on waits end as well while this descriptor is readable. It is to stay open for
    /// as long as the channel lives. False: the channel cannot, and waits only for its own.
    fn watch(&mut self, _descriptor: RawFd) -> bool {
        false
    }

    /// Ends waits, from any thread.
    fn rouser(&self) -> Arc<dyn Rouse>;
}

/// Ends the waits of one channel.
pub trait Rouse: Send + Sync + fmt::Debug {
    /// Ends the current wait, or else the next.
    fn rouse(&self);
}
