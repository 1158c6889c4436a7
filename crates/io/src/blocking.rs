//! A channel of blocking calls, for systems that forbid `io_uring` (containers often
//! do).
//!
//! [`Channel::submit`] makes the call and keeps its result until it is reaped. A worker therefore
//! stands still for the length of each transfer; no threads are made to hide that, since threads on
//! the transaction path are what Weft avoids.
//!
//! A durable write is one `pwritev2` with `RWF_DSYNC`, or `pwrite` and `fdatasync` if the file
//! system does not know the flag.

use std::{
    io,
    os::fd::RawFd,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use crate::channel::{Action, Channel, Completion, Operation, Rouse};

/// Maximum bytes that one call transfers on Linux, less a page to stay aligned.
pub(crate) const TRANSFER_BYTES_MAX: usize = 0x7fff_0000;

#[derive(Debug, Default)]
pub(crate) struct BlockingChannel {
    completed: Vec<Completion>,
    calls: BlockingCalls,
    bell: Arc<Bell>,
}

/// Maker of blocking calls.
#[derive(Debug, Default)]
pub(crate) struct BlockingCalls {
    /// Whether the flag was refused once.
    without_dsync: bool,
}

impl BlockingCalls {
    /// Makes the call for `operation`.
    pub(crate) fn complete(&mut self, mut operation: Operation) -> Completion {
        let result = self.transfer(&mut operation);
        Completion {
            token: operation.token,
            buffer: operation.buffer,
            result,
        }
    }

    fn transfer(&mut self, operation: &mut Operation) -> io::Result<usize> {
        let descriptor = operation.file.handle() as RawFd;
        let offset = libc::off_t::try_from(operation.offset)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let length = operation.buffer.len().min(TRANSFER_BYTES_MAX);
        match operation.action {
            Action::Read => {
                let start = operation.buffer.as_mut_ptr().cast();
                // SAFETY: the buffer is borrowed mutably and has `length` bytes.
                retried(|| unsafe { libc::pread(descriptor, start, length, offset) })
            }
            Action::WriteDurable if !self.without_dsync => {
                let part = libc::iovec {
                    iov_base: operation.buffer.as_mut_ptr().cast(),
                    iov_len: length,
                };
                // SAFETY: one vector, which describes bytes of the borrowed buffer.
                let result = retried(|| unsafe {
                    libc::pwritev2(descriptor, &part, 1, offset, libc::RWF_DSYNC)
                });
                match result {
                    Err(error)
                        if matches!(
                            error.raw_os_error(),
                            Some(libc::EOPNOTSUPP | libc::ENOSYS)
                        ) =>
                    {
                        self.without_dsync = true;
                        self.transfer(operation)
                    }
                    result => result,
                }
            }
            Action::Sync => {
                // SAFETY: the call takes no memory.
                retried(|| unsafe { libc::fsync(descriptor) } as isize)
            }
            Action::Write | Action::WriteDurable => {
                let start = operation.buffer.as_ptr().cast();
                // SAFETY: the buffer is borrowed and has `length` bytes.
                let written =
                    retried(|| unsafe { libc::pwrite(descriptor, start, length, offset) })?;
                if operation.action == Action::WriteDurable {
                    // SAFETY: the call takes no memory.
                    retried(|| unsafe { libc::fdatasync(descriptor) } as isize)?;
                }
                Ok(written)
            }
        }
    }
}

/// Repeats a system call for as long as signals interrupt it.
fn retried(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(result) => return Ok(result),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

impl Channel for BlockingChannel {
    fn submit(&mut self, operation: Operation) {
        self.completed.push(self.calls.complete(operation));
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.completed);
    }

    fn outstanding(&self) -> usize {
        self.completed.len()
    }

    fn wait(&mut self, at_most: Option<Duration>) {
        if self.completed.is_empty() {
            self.bell.wait(at_most);
        }
    }

    fn rouser(&self) -> Arc<dyn Rouse> {
        self.bell.clone()
    }
}

/// Signal that a sleeping channel listens for.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    ringing: Condvar,
}

impl Bell {
    pub(crate) fn wait(&self, at_most: Option<Duration>) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rung = match at_most {
            None => self
                .ringing
                .wait_while(rung, |rung| !*rung)
                .unwrap_or_else(PoisonError::into_inner),
            Some(at_most) => {
                self.ringing
                    .wait_timeout_while(rung, at_most, |rung| !*rung)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
        *rung = false;
    }
}

impl Rouse for Bell {
    fn rouse(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ringing.notify_all();
    }
}
