//! Ends a wait in the kernel from another thread.
//!
//! The ring polls an event counter; `rouse` adds to it. A write to the counter takes a system call,
//! so it is made only if the thread is asleep or about to be:
//!
//! | state | `rouse` | `begin_wait` | `end_wait` |
//! | --- | --- | --- | --- |
//! | `AWAKE` | to `ROUSED` | to `ASLEEP`, sleep | |
//! | `ASLEEP` | to `ROUSED`, write | | to `AWAKE` |
//! | `ROUSED` | | to `AWAKE`, do not sleep | to `AWAKE` |
//!
//! A write may come late, after the wait that it was for has ended for another reason; then it ends
//! the next wait, spuriously.

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
        // SAFETY: the call takes no memory.
        let counter = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if counter < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and no other owner has it.
        let counter = unsafe { OwnedFd::from_raw_fd(counter) };
        Ok(Rouser {
            state: AtomicU8::new(AWAKE),
            counter: File::from(counter),
        })
    }

    /// Returns the descriptor to be polled for reading.
    pub(super) fn descriptor(&self) -> RawFd {
        self.counter.as_raw_fd()
    }

    /// Begins a wait. Returns false if there was a rouse, which is thereby heard.
    pub(super) fn begin_wait(&self) -> bool {
        // Acquire pairs with the release in `rouse`: the woken thread sees what the rouser did
        // before. `end_wait` does the same.
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

    /// Empties the counter; called when the poll has seen a write.
    pub(super) fn silence(&self) {
        // An empty counter is fine too: the poll is armed again either way.
        let _ = (&self.counter).read(&mut [0; 8]);
    }
}

impl Rouse for Rouser {
    fn rouse(&self) {
        if self.state.swap(ROUSED, AcqRel) == ASLEEP {
            // The write fails only if the counter is full, and then it is readable already.
            let _ = (&self.counter).write(&1_u64.to_ne_bytes());
        }
    }
}
