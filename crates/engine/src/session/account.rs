//! Memory that a session has outside the arena, as part of the memory limit.
//!
//! The lists of open transactions (writes, keys, reads) and of garbage to be collected lie in
//! ordinary memory, and the frames of transactions in places of the worker's. This memory is in use
//! before it could be refused, so it is *charged*: versions and nodes are refused the sooner. Lists
//! are looked at when they grow, and at the session's housekeeping; the uncounted rest is bounded
//! by the size of a list before it grows for the first time, a few hundred bytes per transaction.
//!
//! Reading must go on at the limit, but the reads of a serializable transaction must be remembered:
//! beyond [`READS_BYTES_FREE`] the transaction aborts if the limit is exceeded.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use io::BLOCK_BYTES;
use memory::{Arena, Charge};

use super::{Context, Session};

/// Bytes of a cold read beside the frame of its transaction, while the read waits for leave to
/// begin: nested operations. A read under way has a buffer as well.
const WAITING_BYTES: usize = 2 << 10;
const READ_BYTES: usize = WAITING_BYTES + BLOCK_BYTES;

/// While memory is full, no transaction begins if at least `AT_DEVICE_MIN` transactions wait for
/// the device and their frames take one of `FRAMES_PART` parts of the limit.
const FRAMES_PART: usize = 32;
const AT_DEVICE_MIN: usize = 64;

/// Bytes of reads that a transaction may remember whatever the limit.
const READS_BYTES_FREE: usize = 64 << 10;

/// Account of a session: see the module text.
pub(crate) struct Account {
    /// Bytes of all contexts.
    contexts: Cell<usize>,
    /// Bytes of frames, and of waits for the device beside them.
    frames: Cell<usize>,
    /// Bytes of everything else, when last looked at.
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

    /// Charges the present size of the lists of `context`.
    #[cold]
    pub(crate) fn charge(&self, context: &Context) {
        let bytes = context.list_bytes();
        let before = context.charged_bytes.replace(bytes);
        self.contexts.set(self.contexts.get() + bytes - before);
        self.settle(self.others.get());
    }

    /// Charges the present size of everything but the contexts and frames.
    fn settle(&self, others: usize) {
        self.others.set(others);
        let bytes = self.contexts.get() + self.frames.get() + others;
        self.charge.borrow_mut().set(bytes);
    }

    /// Whether a transaction should not remember more reads.
    pub(crate) fn refuses_reads(context: &Context, arena: &Arena) -> bool {
        context.dependencies.list_bytes() > READS_BYTES_FREE && arena.is_overdrawn()
    }
}

impl Session {
    /// Charges the present size of frames, and of waits for the device, in which other tasks than
    /// those with frames have part. Returns how many transactions may wait for the device while
    /// others begin: when memory is full, as many as take a small part of it.
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

    /// Updates the charge.
    pub(super) fn settle(&self) {
        let garbage = self.garbage.borrow().list_bytes();
        let others = garbage + self.rids.borrow().list_bytes() + self.memory.list_bytes();
        self.account.settle(others);
    }
}
