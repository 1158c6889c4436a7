//! Memory that a session has outside the arena, as part of the memory limit.
//!
//! What open transactions remember (writes, keys, reads) and what waits to be collected
//! lies in ordinary lists, and the frames of transactions in places of the worker's. Their
//! memory is in use before anybody can refuse it, so it is
//! *charged*: versions and nodes are refused the sooner. Lists are looked at when they
//! grow, and at the session's housekeeping; what is not counted yet is bounded by what a
//! list has before it grows for the first time, a few hundred bytes per transaction.
//!
//! Reading must go on at the limit, but what a serializable transaction has read must
//! be remembered: beyond [`READS_BYTES_FREE`] it aborts if the limit is exceeded.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use io::BLOCK_BYTES;
use memory::{Arena, Charge};

use super::{Context, Session};

/// What a cold read has beside the frame of its transaction while it waits for leave to begin,
/// and while it is under way: nested operations, and a buffer.
const WAITING_BYTES: usize = 2 << 10;
const READ_BYTES: usize = WAITING_BYTES + BLOCK_BYTES;

/// While memory is full, and so many transactions wait for the device that their frames have one of
/// so many parts of the limit, and at least this many do, no others begin.
const FRAMES_PART: usize = 32;
const AT_DEVICE_MIN: usize = 64;

/// What a transaction may remember of its reads whatever the limit, in bytes.
const READS_BYTES_FREE: usize = 64 << 10;

/// See the module text.
pub(crate) struct Account {
    /// Bytes of all contexts.
    contexts: Cell<usize>,
    /// Bytes of frames, and of what waits for the device beside them.
    frames: Cell<usize>,
    /// Bytes of everything else, when it was last looked at.
    others: Cell<usize>,
    charge: RefCell<Charge>,
}

impl Account {
    pub(super) fn new(arena: &Arc<Arena>) -> Account {
        Account {
            contexts: Cell::new(0),
            frames: Cell::new(0),
            others: Cell::new(0),
            charge: RefCell::new(Charge::new(arena)),
        }
    }

    /// Notes what a context has now.
    #[cold]
    pub(crate) fn charge(&self, context: &Context) {
        let bytes = context.list_bytes();
        let before = context.charged_bytes.replace(bytes);
        self.contexts.set(self.contexts.get() + bytes - before);
        self.settle(self.others.get());
    }

    /// Notes what everything but the contexts has now.
    fn settle(&self, others: usize) {
        self.others.set(others);
        let bytes = self.contexts.get() + self.frames.get() + others;
        self.charge.borrow_mut().set(bytes);
    }

    /// Whether a transaction had better not remember more of what it reads.
    pub(crate) fn refuses_reads(context: &Context, arena: &Arena) -> bool {
        context.dependencies.list_bytes() > READS_BYTES_FREE && arena.is_overdrawn()
    }
}

impl Session {
    /// Charges what frames have now, and what waits for the device: others than frames have
    /// part in that. How many transactions may wait for the device while others begin: when
    /// memory is full, so many as have a small part of it.
    pub(super) fn charge_frames(&self, bytes: usize, places: usize) -> usize {
        let gate = self.gate();
        let waiting = gate.open() * READ_BYTES + gate.waiting() * WAITING_BYTES;
        self.account.frames.set(bytes + waiting);
        self.account.settle(self.account.others.get());
        match self.memory_is_full.get() {
            true => {
                let share = self.database.arena.limit_bytes() / FRAMES_PART;
                let each = bytes / places.max(1) + WAITING_BYTES;
                (share / each).max(AT_DEVICE_MIN)
            }
            false => usize::MAX,
        }
    }

    /// Brings the charge up to date.
    pub(super) fn settle(&self) {
        let garbage = self.garbage.borrow().list_bytes();
        let others = garbage + self.rids.borrow().list_bytes() + self.memory.list_bytes();
        self.account.settle(others);
    }
}
