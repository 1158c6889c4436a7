//! Ends a wait in the kernel from another thread.
//!
//! The ring polls an event counter; `rouse` adds to it. That takes a system call, so
//! it is made only if the thread is asleep or about to be:
//!
//! | state | `rouse` | `begin_wait` | `end_wait` |
//! | --- | --- | --- | --- |
//! | `AWAKE` | to `ROUSED` | to `ASLEEP`, sleep | |
//! | `ASLEEP` | to `ROUSED`, write | | to `AWAKE` |
//! | `ROUSED` | | to `AWAKE`, do not sleep | to `AWAKE` |
//!
//! A write may come late, after the wait it meant has ended for another reason; then
//! it ends the next one, spuriously.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    sync::atomic::{
        AtomicU8,
        Ordering::{AcqRel, Relaxed},
    },
};

use crate::channel::Rouse;

const AWAKE: u8 = 0;
const ASLEEP: u8 = 1;
const ROUSED: u8 = 2;

#[derive(Debug)]
pub(super) struct Rouser {
    state: AtomicU8,
    counter: File,
}

impl Rouser {
    pub(super) fn new() -> io::Result<Rouser> {
        // SAFETY: takes no memory.
        let counter = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if counter < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is new, and nobody else has it.
        let counter = unsafe { OwnedFd::from_raw_fd(counter) };
        Ok(Rouser {
            state: AtomicU8::new(AWAKE),
            counter: File::from(counter),
        })
    }

    /// To be polled for reading.
    pub(super) fn descriptor(&self) -> RawFd {
        self.counter.as_raw_fd()
    }

    /// False if there was a rouse, which is thereby heard.
    pub(super) fn begin_wait(&self) -> bool {
        // Acquire pairs with the release in `rouse`: what the rouser did before is
        // seen by the woken thread. So in `end_wait`.
        match self.state.compare_exchange(AWAKE, ASLEEP, AcqRel, Relaxed) {
            Ok(_) => true,
            Err(_) => {
                self.end_wait();
                false
            }
        }
    }

    pub(super) fn end_wait(&self) {
        self.state.swap(AWAKE, AcqRel);
    }

    /// Forgets what was written; called when the poll has seen it.
    pub(super) fn silence(&self) {
        // Nothing to read is fine too: the poll is armed again either way.
        let _ = (&self.counter).read(&mut [0; 8]);
    }
}

impl Rouse for Rouser {
    fn rouse(&self) {
        if self.state.swap(ROUSED, AcqRel) == ASLEEP {
            // Fails only if the counter is full, and then it is readable already.
            let _ = (&self.counter).write(&1_u64.to_ne_bytes());
        }
    }
}
