//! The memory of tasks' frames: told to the local, and given up after a rush.
//!
//! Each task that is open has a place for its frame, some KiB, which serves others when it has
//! ended. If the device stands still for a moment, as many tasks as want something of it come
//! to wait, thousands perhaps. That is memory like any other: the local, which may have a limit
//! to keep, hears of it, and may have no others begin for as long as so many wait
//! ([`WorkerLocal::frames`]): those end by themselves, unlike tasks that wait for a client. And
//! places that nobody needed for a while are given up, to the system if they were many.

use crate::{
    slot::Slot,
    worker::{Worker, WorkerLocal},
};

/// Housekeepings from one look at what is needed to the next: a second or so under load.
const INTERVAL: u32 = 4096;

/// So many places are kept whatever was needed.
const KEPT_MIN: usize = 256;

/// So many bytes given up are worth a call that has the allocator give them to the system: it
/// takes a millisecond or so.
const TRIM_BYTES: usize = 1 << 20;

/// What frames take up, and how many of them are needed.
pub(super) struct Frames {
    /// Bytes of all of them, about: places that a panic has made are not counted before the
    /// next look.
    bytes: usize,
    /// The local's bound on tasks that wait for the device.
    at_device_max: usize,
    /// The most tasks that were open since the last look.
    needed: usize,
    until_look: u32,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames {
            bytes: 0,
            at_device_max: usize::MAX,
            needed: 0,
            until_look: INTERVAL,
        }
    }
}

impl<L: WorkerLocal> Worker<L> {
    /// Whether so many tasks wait for the device that no other is to begin.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.at_device >= self.frames.at_device_max
    }

    /// A task will be open.
    #[inline]
    pub(super) fn note_open(&mut self) {
        self.frames.needed = self.frames.needed.max(self.open_tasks());
    }

    #[cold]
    pub(super) fn frames_grew(&mut self, bytes: usize) {
        self.frames.bytes += bytes;
        self.tell_local();
    }

    fn tell_local(&mut self) {
        let places = self.slots.len();
        let bytes = self.frames.bytes + places * size_of::<Slot>();
        // A task at least, or nothing would ever be better.
        self.frames.at_device_max = self.local.frames(bytes, places).max(1);
    }

    /// Gives up what is not needed, now and then: a part of the housekeeping.
    pub(super) fn keep_frames(&mut self) {
        self.frames.until_look -= 1;
        if self.frames.until_look == 0 {
            self.frames.until_look = INTERVAL;
            self.give_up_frames();
        }
        self.tell_local();
    }

    fn give_up_frames(&mut self) {
        let wanted = (2 * self.frames.needed).max(KEPT_MIN);
        self.frames.needed = self.open_tasks();
        let free_wanted = wanted.saturating_sub(self.open_tasks());
        // Those at the end are taken first.
        let many = self.free.len().saturating_sub(free_wanted);
        for &index in &self.free[..many] {
            // SAFETY: no slot is being resumed, and this one is free, hence empty.
            unsafe { self.slots[index as usize].0.root() }.release();
        }
        let frames = self.slots.iter();
        // SAFETY: no slot is being resumed; one is borrowed at a time.
        let bytes = frames.map(|(slot, ..)| unsafe { slot.root() }.bytes());
        let before = std::mem::replace(&mut self.frames.bytes, bytes.sum());
        if before.saturating_sub(self.frames.bytes) >= TRIM_BYTES {
            trim();
        }
    }
}

/// Has the allocator give pages to the system that nobody uses.
#[cold]
fn trim() {
    // Others do so by themselves.
    #[cfg(all(target_env = "gnu", not(miri)))]
    // SAFETY: it may be called at any time; what is in use it does not touch.
    unsafe {
        libc::malloc_trim(0);
    }
}
