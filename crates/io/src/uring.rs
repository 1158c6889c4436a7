//! A channel over a ring of its own.
//!
//! Two queues in memory shared with the kernel: submissions, which a system call hands over, one
//! operation at once or many that were queued together, and completions, which are taken without a
//! system call. The ring belongs to the thread that made it (single issuer). If the kernel can,
//! completion work is deferred until this thread asks for it, and a flag in shared memory says that
//! there is some, so looking for completions is two loads and no interrupt ever disturbs a
//! transaction.
//!
//! # Ownership of memory that the kernel writes to
//!
//! 1. An [`Operation`], with its buffer and its file, moves into `operations` before
//!    the kernel hears of it, and stays until its completion was taken from the ring.
//!    The index there is the entry's `user_data`; it is not given to another
//!    operation before. A buffer's memory does not move when the operation does.
//! 2. The kernel writes to a buffer, and uses the descriptor, only between taking the
//!    submission and posting its completion.
//! 3. Dropping the channel waits for every completion. If the kernel refuses even
//!    that, the operations are leaked.
//!
//! No buffer is therefore freed, handed out or reused while the kernel may write to it, and no
//! descriptor is closed under it.
//!
//! # Full queues
//!
//! An operation that the kernel does not take at once (`EAGAIN`, `EBUSY`, or as many under way as
//! the completion queue has room for) waits in `backlog` and is tried again by later calls. The
//! submission queue thus never holds more than it has room for, and the completion queue cannot
//! overflow.
//!
//! # Durability without kernel threads
//!
//! A durable write carries `RWF_DSYNC`. On a direct file whose blocks exist (filled with zeros
//! beforehand) the kernel submits it to the device without blocking. A sync operation, or a write
//! that must allocate, makes it start worker threads (`io-wq`) that show up as threads of the
//! process for a while. Files are therefore reserved before they are written
//! ([`crate::File::reserve`]; there is a test that no thread is started), and sync operations are
//! for new names only.
//!
//! A device without forced unit access (`queue/fua` is 0) needs a flush after the write, which a
//! worker of the kernel, bound to a processor, sends off (`dio` among the `kworker`s; not a thread
//! of this process). A busy thread would keep that worker waiting; `uring/slice.rs` prevents this.
//!
//! # Why files and buffers are not registered
//!
//! Registered files, buffers and ring descriptors were tried on a virtual disk with
//! O_DIRECT, in three rounds (two for reads eight at a time), always plain first, on
//! a noisy machine. Plain and all registered:
//!
//! | transfer | thousand/s | processor us each |
//! | --- | --- | --- |
//! | durable write, 4 KiB, 1 at a time | 13-18, 16-17 | 9.0-10.9, 8.8-9.8 |
//! | durable write, 4 KiB, 8 at a time | 38-53, 46-49 | 4.6-6.7, 4.3-5.4 |
//! | durable write, 64 KiB, 1 at a time | 11-12, 12-16 | 11.1-13.1, 8.1-10.2 |
//! | durable write, 64 KiB, 8 at a time | 17-30, 20-31 | 5.2-9.8, 4.4-5.5 |
//! | read, 4 KiB, 8 at a time | 63-72, 57-86 | 4.2-5.5, 3.5-4.3 |
//!
//! Nothing is certain for 4 KiB, but 64 KiB writes were cheaper in every round, by 15 to 46 % of
//! their processor time. Registration is left out because every buffer and file would then belong
//! to one thread's ring; should large writes come to matter, registered buffers are the first thing
//! to measure again.

mod ring;
mod rouser;
mod slice;

use std::{collections::VecDeque, fmt, io, os::fd::RawFd, sync::Arc, thread, time::Duration};

use io_uring::{
    opcode::{Fsync, PollAdd, Read, Write},
    squeue,
    types::Fd,
};

use self::{
    ring::{Deferred, Ring, SUBMISSIONS},
    rouser::Rouser,
};
use crate::{
    blocking::TRANSFER_BYTES_MAX,
    channel::{Action, Channel, Completion, Operation, Rouse},
};

/// `user_data` of the poll for rouses; no index is as large.
const ROUSED: u64 = u64::MAX;
/// `user_data` of the poll of the descriptor that is watched besides.
const WATCHED: u64 = u64::MAX - 1;

/// Longest sleep while the kernel has yet to take an operation.
const RETRY: Duration = Duration::from_millis(1);

pub(crate) struct UringChannel {
    ring: Ring,
    /// Operations whose memory the kernel may be writing to; see the module's rules.
    operations: Vec<Option<Operation>>,
    free: Vec<u32>,
    /// Indices of operations that were never queued, oldest first.
    backlog: VecDeque<u32>,
    /// `user_data` of the entries in the submission queue, which the kernel has not taken,
    /// oldest first.
    queued: VecDeque<u64>,
    /// Operations the kernel has taken and not completed.
    taken: usize,
    /// Operations that ended, but were not reaped.
    completed: Vec<Completion>,
    rouser: Arc<Rouser>,
    /// Whether the kernel watches the rouser's descriptor.
    armed: bool,
    /// Another descriptor that ends waits, and whether the kernel watches it.
    watched: Option<(RawFd, bool)>,
}

impl UringChannel {
    /// Makes a channel with a ring of its own.
    ///
    /// # Errors
    /// The reason why there can be no ring.
    pub(crate) fn new() -> io::Result<UringChannel> {
        slice::lengthen();
        Ok(UringChannel {
            ring: Ring::new()?,
            operations: Vec::new(),
            free: Vec::new(),
            backlog: VecDeque::new(),
            queued: VecDeque::new(),
            taken: 0,
            completed: Vec::new(),
            rouser: Arc::new(Rouser::new()?),
            armed: false,
            watched: None,
        })
    }

    /// Checks that a ring can be had and works.
    ///
    /// # Errors
    /// The reason why not.
    pub(crate) fn probe() -> io::Result<()> {
        Ring::new()?.try_nop()
    }

    /// Hands as much as it can of queue and backlog to the kernel, which also runs completion work
    /// that it has put off, if `deferred` says so.
    fn hand_over(&mut self, deferred: Deferred) {
        loop {
            self.fill_queue();
            if self.queued.is_empty() {
                return;
            }
            let taken = match self.ring.submit(deferred) {
                Ok(taken) => taken,
                Err(error) => return self.refuse(&error),
            };
            self.note_taken(taken);
            if !self.queued.is_empty() {
                return;
            }
        }
    }

    /// Moves operations from the backlog to the submission queue.
    fn fill_queue(&mut self) {
        while self.queued.len() < SUBMISSIONS
            && self.taken + self.queued.len() < self.ring.completions_max()
        {
            let Some(index) = self.backlog.pop_front() else {
                return;
            };
            let operation = self.operations[index as usize]
                .as_mut()
                .expect("an operation stays until it has completed");
            let entry = entry(operation).user_data(index.into());
            // SAFETY: the operation, which owns the buffer and keeps the descriptor open, is in
            // `operations` and stays there until its completion was taken (rule 1).
            unsafe { self.ring.push(&entry) };
            self.queued.push_back(index.into());
        }
    }

    /// Notes that the kernel has taken `taken` of the entries in the submission queue.
    fn note_taken(&mut self, taken: usize) {
        for user_data in self.queued.drain(..taken) {
            match (user_data, &mut self.watched) {
                (ROUSED, _) => self.armed = true,
                (WATCHED, Some((_, watching))) => *watching = true,
                (WATCHED, None) => {}
                _ => self.taken += 1,
            }
        }
    }

    /// Ends the operations that the kernel has not taken: the ring is beyond repair and will submit
    /// nothing more, so that the entries in its queue are never read.
    #[cold]
    fn refuse(&mut self, error: &io::Error) {
        let queued = std::mem::take(&mut self.queued).into_iter();
        let queued = queued.filter(|&queued| queued < WATCHED);
        let indices = queued.map(|queued| queued as u32);
        for index in indices.chain(std::mem::take(&mut self.backlog)) {
            let operation = self.take(index);
            let result = Err(io::Error::new(error.kind(), error.to_string()));
            self.completed.push(ended(operation, result));
        }
    }

    fn take(&mut self, index: u32) -> Operation {
        self.free.push(index);
        self.operations[index as usize]
            .take()
            .expect("an operation completes once")
    }

    /// Hands over the queued entries, and takes all completions from the ring: with one system call
    /// for both.
    fn collect(&mut self, completions: &mut Vec<Completion>) {
        self.hand_over(Deferred::Run);
        // Completion work from before that call is done, and the flag is clear.
        self.ring.run_deferred();
        while let Some((user_data, result)) = self.ring.next_completion() {
            if user_data == ROUSED {
                self.armed = false;
                self.rouser.silence();
                continue;
            }
            if user_data == WATCHED {
                self.watched = self.watched.map(|(descriptor, _)| (descriptor, false));
                continue;
            }
            self.taken -= 1;
            let operation = self.take(user_data as u32);
            let result = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            completions.push(ended(operation, result));
        }
        self.flush();
    }

    /// Collects completions, and keeps them for the next reap.
    fn collect_here(&mut self) {
        let mut completed = std::mem::take(&mut self.completed);
        self.collect(&mut completed);
        // The flush may have refused operations.
        completed.append(&mut self.completed);
        self.completed = completed;
    }

    /// Puts the entries that end a wait into the submission queue, which is empty: the wait itself
    /// hands them over.
    fn arm(&mut self) {
        debug_assert!(self.queued.is_empty());
        if !self.armed {
            self.arm_one(self.rouser.descriptor(), ROUSED);
        }
        if let Some((descriptor, false)) = self.watched {
            self.arm_one(descriptor, WATCHED);
        }
    }

    fn arm_one(&mut self, descriptor: RawFd, user_data: u64) {
        let poll = PollAdd::new(Fd(descriptor), libc::POLLIN as u32)
            .build()
            .user_data(user_data);
        // SAFETY: no memory is involved, and the kernel keeps the object that the descriptor refers
        // to.
        unsafe { self.ring.push(&poll) };
        self.queued.push_back(user_data);
    }
}

/// Returns the entry that asks the kernel for an operation.
fn entry(operation: &mut Operation) -> squeue::Entry {
    let file = Fd(operation.file.handle() as RawFd);
    let length = operation.buffer.len().min(TRANSFER_BYTES_MAX) as u32;
    let start = operation.buffer.as_mut_ptr();
    let offset = operation.offset;
    match operation.action {
        Action::Read => Read::new(file, start, length).offset(offset).build(),
        Action::Write => Write::new(file, start, length).offset(offset).build(),
        Action::WriteDurable => Write::new(file, start, length)
            .offset(offset)
            .rw_flags(libc::RWF_DSYNC)
            .build(),
        Action::Sync => Fsync::new(file).build(),
    }
}

fn ended(operation: Operation, result: io::Result<usize>) -> Completion {
    Completion {
        token: operation.token,
        buffer: operation.buffer,
        result,
    }
}

impl Channel for UringChannel {
    fn submit(&mut self, operation: Operation) {
        self.queue(operation);
        self.flush();
    }

    fn queue(&mut self, operation: Operation) {
        if i64::try_from(operation.offset).is_err() {
            // The kernel would read -1 as "wherever the descriptor stands".
            let result = Err(io::ErrorKind::InvalidInput.into());
            self.completed.push(ended(operation, result));
            return;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.operations.push(None);
            self.operations.len() as u32 - 1
        });
        self.operations[index as usize] = Some(operation);
        self.backlog.push_back(index);
    }

    #[inline]
    fn flush(&mut self) {
        if !self.queued.is_empty() || !self.backlog.is_empty() {
            self.hand_over(Deferred::Leave);
        }
    }

    #[inline]
    fn reap(&mut self, completions: &mut Vec<Completion>) {
        if self.outstanding() == 0 {
            return;
        }
        completions.append(&mut self.completed);
        self.collect(completions);
    }

    #[inline]
    fn outstanding(&self) -> usize {
        self.operations.len() - self.free.len() + self.completed.len()
    }

    fn wait(&mut self, at_most: Option<Duration>) {
        self.collect_here();
        if !self.completed.is_empty() || !self.rouser.begin_wait() {
            return;
        }
        let waited = if self.queued.is_empty() {
            self.arm();
            let (taken, waited) = self.ring.submit_and_wait(at_most);
            self.note_taken(taken);
            waited
        } else {
            // The kernel takes nothing just now.
            let at_most = at_most.map_or(RETRY, |at_most| at_most.min(RETRY));
            self.ring.wait(Some(at_most))
        };
        if waited.is_err() {
            // This failure was never seen; a caller that comes back at once should not spin.
            thread::sleep(RETRY);
        }
        self.rouser.end_wait();
        self.collect_here();
    }

    fn watch(&mut self, descriptor: RawFd) -> bool {
        self.watched = Some((descriptor, false));
        true
    }

    fn rouser(&self) -> Arc<dyn Rouse> {
        self.rouser.clone()
    }
}

impl Drop for UringChannel {
    fn drop(&mut self) {
        while self.operations.len() > self.free.len() {
            let at_most = (!self.queued.is_empty() || self.taken == 0).then_some(RETRY);
            if self.ring.wait(at_most).is_err() {
                // The kernel may still write to the buffers (rule 3).
                std::mem::forget(std::mem::take(&mut self.operations));
                return;
            }
            self.collect_here();
        }
    }
}

impl fmt::Debug for UringChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UringChannel")
            .field("outstanding", &self.outstanding())
            .field("armed", &self.armed)
            .finish_non_exhaustive()
    }
}
