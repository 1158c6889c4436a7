//! The ring itself: its set-up and the system calls on it.

use std::{io, time::Duration};

use io_uring::{
    EnterFlags, IoUring, opcode, squeue,
    types::{SubmitArgs, Timespec},
};

/// Maximum entries handed over together.
pub(super) const SUBMISSIONS: usize = 64;
/// Operations of one thread that the kernel may have under way; further operations wait.
const COMPLETIONS: u32 = 1024;

/// Treatment of completion work that the kernel has put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deferred {
    Leave,
    Run,
}

pub(super) struct Ring {
    ring: IoUring,
    completions_max: usize,
    /// Reason (an `errno`) why nothing may be submitted any more.
    broken: Option<i32>,
}

impl Ring {
    /// Sets a ring up.
    ///
    /// # Errors
    /// The reason why there can be no ring: it is forbidden, or the kernel is older than 5.11.
    pub(super) fn new() -> io::Result<Ring> {
        let mut last = None;
        // The levels are for Linux from 6.1, from 5.19, and before.
        for level in (0..3).rev() {
            let mut builder = IoUring::builder();
            builder.dontfork().setup_cqsize(COMPLETIONS);
            if level >= 1 {
                builder.setup_taskrun_flag().setup_submit_all();
            }
            if level == 1 {
                builder.setup_coop_taskrun();
            }
            if level == 2 {
                builder.setup_single_issuer().setup_defer_taskrun();
            }
            match builder.build(SUBMISSIONS as u32) {
                Ok(ring) => return Ring::over(ring),
                // The kernel does not know a flag: try fewer.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.expect("there was at least one attempt"))
    }

    fn over(ring: IoUring) -> io::Result<Ring> {
        let parameters = ring.params();
        if !parameters.is_feature_ext_arg() || !parameters.is_feature_nodrop() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this Linux is older than 5.11",
            ));
        }
        // One place is for the poll for rouses, one for the poll of the watched descriptor.
        let completions_max = parameters.cq_entries() as usize - 2;
        Ok(Ring {
            ring,
            completions_max,
            broken: None,
        })
    }

    /// Checks that an operation goes through.
    ///
    /// # Errors
    /// The reason why none does.
    pub(super) fn try_nop(&mut self) -> io::Result<()> {
        // SAFETY: no memory is involved.
        unsafe { self.push(&opcode::Nop::new().build()) };
        self.submit(Deferred::Leave)?;
        self.wait(Some(Duration::from_secs(1)))?;
        match self.next_completion() {
            Some((_, 0)) => Ok(()),
            Some((_, error)) => Err(io::Error::from_raw_os_error(-error)),
            None => Err(io::Error::new(io::ErrorKind::TimedOut, "nothing completes")),
        }
    }

    /// Returns the number of operations that may be under way at a time.
    pub(super) fn completions_max(&self) -> usize {
        self.completions_max
    }

    /// Puts an entry into the submission queue, which must have room: fewer than
    /// [`SUBMISSIONS`] that the kernel has not taken.
    ///
    /// # Safety
    /// Memory that the entry refers to stays valid until its completion was taken, unless
    /// [`Ring::submit`] fails before that: then the entry is never read.
    pub(super) unsafe fn push(&mut self, entry: &squeue::Entry) {
        if self.broken.is_none() {
            // SAFETY: as the caller guarantees.
            unsafe { self.ring.submission().push(entry) }.expect("the queue has room");
        }
    }

    /// Hands the entries in the queue to the kernel. Returns how many it has taken, of the oldest;
    /// the others it cannot take now. The call also runs completion work that the kernel has put
    /// off, if `deferred` says so and the kernel takes all entries.
    ///
    /// # Errors
    /// The kernel will never take an entry any more.
    pub(super) fn submit(&mut self, deferred: Deferred) -> io::Result<usize> {
        if let Some(errno) = self.broken {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let before = self.ring.submission().len();
        loop {
            let result = self.enter(before, deferred, 0, None);
            let taken = before - self.ring.submission().len();
            match result.map_err(|error| error.raw_os_error()) {
                _ if taken > 0 => return Ok(taken),
                Ok(()) | Err(Some(libc::EAGAIN | libc::EBUSY)) => return Ok(0),
                Err(Some(libc::EINTR)) => {}
                Err(errno) => {
                    let errno = errno.unwrap_or(libc::EIO);
                    self.broken = Some(errno);
                    return Err(io::Error::from_raw_os_error(errno));
                }
            }
        }
    }

    /// Runs completion work that the kernel has put off, if there is any.
    #[inline]
    pub(super) fn run_deferred(&mut self) {
        if self.ring.submission().taskrun() {
            // A failure leaves the flag set, and the next call tries again.
            let _ = self.enter(0, Deferred::Run, 0, None);
        }
    }

    /// Returns the next completion's `user_data` and result.
    #[inline]
    pub(super) fn next_completion(&mut self) -> Option<(u64, i32)> {
        let completion = self.ring.completion().next()?;
        Some((completion.user_data(), completion.result()))
    }

    /// Blocks until there is a completion, a signal, or `at_most` is over.
    ///
    /// # Errors
    /// The ring cannot be waited for.
    pub(super) fn wait(&mut self, at_most: Option<Duration>) -> io::Result<()> {
        self.wait_after(0, at_most)
    }

    /// Hands over the entries in the queue, then waits as [`Ring::wait`] does. Returns how many
    /// entries the kernel has taken. If it has not taken all of them the call does not block.
    ///
    /// # Errors
    /// The errors of [`Ring::wait`].
    pub(super) fn submit_and_wait(&mut self, at_most: Option<Duration>) -> (usize, io::Result<()>) {
        let before = match self.broken {
            None => self.ring.submission().len(),
            Some(_) => 0,
        };
        let waited = self.wait_after(before, at_most);
        let taken = before - self.ring.submission().len().min(before);
        (taken, waited)
    }

    fn wait_after(&mut self, submissions: usize, at_most: Option<Duration>) -> io::Result<()> {
        let Err(error) = self.enter(submissions, Deferred::Run, 1, at_most) else {
            return Ok(());
        };
        match error.raw_os_error() {
            Some(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(()),
            _ => Err(error),
        }
    }

    /// Enters the kernel.
    fn enter(
        &mut self,
        submissions: usize,
        deferred: Deferred,
        completions_min: u32,
        at_most: Option<Duration>,
    ) -> io::Result<()> {
        let timespec = at_most.map(Timespec::from);
        let mut arguments = SubmitArgs::new();
        if let Some(timespec) = &timespec {
            arguments = arguments.timespec(timespec);
        }
        let mut flags = EnterFlags::EXT_ARG;
        if deferred == Deferred::Run {
            flags |= EnterFlags::GETEVENTS;
        }
        // SAFETY: the argument is of the type that EXT_ARG announces, and it and the
        // time it points to outlive the call. The entries are valid, as `push` demands.
        unsafe {
            self.ring.submitter().enter(
                submissions as u32,
                completions_min,
                flags.bits(),
                Some(&arguments),
            )?;
        }
        Ok(())
    }
}
