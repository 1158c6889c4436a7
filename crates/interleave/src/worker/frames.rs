//! Memory of tasks' frames: reported to the local, and given up after a rush.
//!
//! Each open task has a place for its frame, some KiB, which serves other tasks after its end. If
//! the device stands still for a moment, as many tasks as want something of it come to wait,
//! thousands perhaps. The local, which may have a limit to keep on memory, hears of the frames, and
//! may have no others begin for as long as so many tasks wait ([`WorkerLocal::frames`]): such waits
//! end by themselves, unlike waits for a client. Places that were not needed for a while are given
//! up, to the system if they were many.

use crate::{
    slot::Slot,
    worker::{Worker, WorkerLocal},
};

/// Housekeepings between two checks of the places needed: a second or so under load.
const INTERVAL: u32 = 4096;

/// Minimum places kept, whatever was needed.
const KEPT_MIN: usize = 256;

/// Bytes given up that are worth a call that has the allocator give them to the system: the call
/// takes a millisecond or so.
const TRIM_BYTES: usize = 1 << 20;

/// Memory of frames, and how many of them are needed.
pub(super) struct Frames {
    /// Bytes of all frames, roughly: places that a panic has made are not counted before the next
    /// check.
    bytes: usize,
    /// The local's bound on tasks that wait for the device.
    at_device_max: usize,
    /// The most tasks that were open since the last check.
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
    /// Returns whether so many tasks wait for the device that no other is to begin.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.at_device >= self.frames.at_device_max
    }

    /// Notes that a task will be open.
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
        // At least one task may wait: with a bound of 0 no task would ever begin.
        self.frames.at_device_max = self.local.frames(bytes, places).max(1);
    }

    /// Gives up places that are not needed, now and then: a part of the housekeeping.
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
        // Free slots at the front of the list are reused last.
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

/// Has the allocator give unused pages to the system.
#[cold]
fn trim() {
    // Other allocators do so by themselves.
    #[cfg(all(target_env = "gnu", not(miri)))]
    // SAFETY: `malloc_trim` may be called at any time; it does not touch memory in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
