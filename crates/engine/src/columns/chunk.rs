//! One chunk: its block, the marks that belong to it, and the building of the next block.
//!
//! # State
//! | word | meaning | changed by |
//! | --- | --- | --- |
//! | `marks` | marks of the current block; null: no block | the end of a building, and the release of the block |
//! | `building` | marks of the block that is being built; null: none is | the beginning and the end of a building |
//! | `state.block` | current block | as `marks` |
//!
//! All changes are made under the lock of `state`; writers read the two pointers without it. `columns.rs` has the
//! argument.

use std::{
    ptr::{NonNull, null_mut},
    sync::Arc,
};

use memory::{Exhausted, Local, Pin};

use super::{
    POSITIONS,
    charged::Charged,
    marks::{MarkWords, Marks},
};
use crate::sync::{AtomicPtr, Mutex, MutexGuard, Ordering, fence, model_seq_cst};

/// Maximum number of marks with which a block is kept: with more of them it is built anew.
const MARKED_MAX: u32 = POSITIONS as u32 / 4;

/// Maximum number of attempts to build that a chunk is left alone for.
const PAUSE_MAX: u32 = 64;

/// RIDs of which one block is built.
pub(crate) struct Chunk<B> {
    marks: AtomicPtr<Marks>,
    building: AtomicPtr<Marks>,
    state: Mutex<State<B>>,
}

struct State<B> {
    block: Option<Arc<Charged<B>>>,
    /// Number of attempts to build that are still to be refused.
    refusals: u32,
    /// Number of attempts to refuse after the next building; doubles with each, up to [`PAUSE_MAX`].
    pause: u32,
}

impl<B> Chunk<B> {
    pub(super) fn new() -> Chunk<B> {
        Chunk {
            marks: AtomicPtr::new(null_mut()),
            building: AtomicPtr::new(null_mut()),
            state: Mutex::new(State {
                block: None,
                refusals: 0,
                pause: 1,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<B>> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Marks a position, whose head the caller has replaced, in the block that is being built and in the current one.
    ///
    /// # Safety
    /// The caller is pinned.
    pub(super) unsafe fn supersede(&self, position: usize) {
        // SeqCst: after the replacement of the head, and before the exchange of a builder that read the old head.
        // Acquire besides: a writer that finds the pointer cleared finds the marks that were stored before.
        model_seq_cst();
        let building = NonNull::new(self.building.load(Ordering::SeqCst));
        // Acquire: pairs with the end of a building; the marks' first content.
        let marks = NonNull::new(self.marks.load(Ordering::Acquire));
        for marks in building.into_iter().chain(marks) {
            // SAFETY: the pointer was read under the caller's pin, and its marks are retired after it was taken away.
            unsafe { marks.as_ref() }.set(position);
        }
    }

    /// Returns the current block, and copies its marks. A mark is in the copy if its writer has committed at or before
    /// a snapshot that the caller took before the call.
    #[inline]
    pub(crate) fn current(&self, _pin: &Pin<'_>, marks: &mut MarkWords) -> Option<Arc<Charged<B>>> {
        // SAFETY: the caller is pinned.
        unsafe { self.current_pinned(marks) }
    }

    /// # Safety
    /// The caller is pinned.
    pub(super) unsafe fn current_pinned(&self, copy: &mut MarkWords) -> Option<Arc<Charged<B>>> {
        let state = self.lock();
        let block = state.block.clone()?;
        // Relaxed: changed under the lock.
        let marks = NonNull::new(self.marks.load(Ordering::Relaxed))?;
        drop(state);
        // SAFETY: as in `supersede`.
        unsafe { marks.as_ref() }.copy(copy);
        Some(block)
    }

    /// Returns the current block, for a caller that looks at none of its records.
    pub(crate) fn block(&self) -> Option<Arc<Charged<B>>> {
        self.lock().block.clone()
    }

    /// Begins a building with marks of `make`, unless one is under way, the current block is good enough, or the chunk
    /// is to be left alone.
    pub(super) fn start(
        &self,
        make: impl FnOnce() -> Option<NonNull<Marks>>,
    ) -> Option<NonNull<Marks>> {
        let mut state = self.lock();
        // Relaxed, as for `marks` below: changed under the lock.
        if !self.building.load(Ordering::Relaxed).is_null() {
            return None;
        }
        if let Some(marks) = NonNull::new(self.marks.load(Ordering::Relaxed)) {
            // SAFETY: marks are taken away, and then retired, under the lock only.
            if unsafe { marks.as_ref() }.count() <= MARKED_MAX {
                return None;
            }
        }
        if state.refusals > 0 {
            state.refusals -= 1;
            return None;
        }
        let marks = make()?;
        state.refusals = state.pause;
        state.pause = (2 * state.pause).min(PAUSE_MAX);
        // SeqCst: before the fence, which pairs with the load of a writer. Release besides: the marks' first content.
        self.building.store(marks.as_ptr(), Ordering::SeqCst);
        drop(state);
        // Before the loads of the heads: `columns.rs`.
        fence(Ordering::SeqCst);
        Some(marks)
    }

    /// Ends the building with these `marks`: the block becomes the current one, or, without a block, everything stays
    /// as it is. Returns the marks that no pointer leads to any more, to be retired.
    pub(super) fn finish(
        &self,
        marks: NonNull<Marks>,
        block: Option<Arc<Charged<B>>>,
    ) -> Option<NonNull<Marks>> {
        let mut replaced = None;
        let mut state = self.lock();
        let unused = match block {
            Some(block) => {
                replaced = state.block.replace(block);
                let old = self.marks.load(Ordering::Relaxed);
                // Release: the marks' first content.
                self.marks.store(marks.as_ptr(), Ordering::Release);
                NonNull::new(old)
            }
            None => Some(marks),
        };
        // Release: a writer that finds no building finds the marks that were stored before.
        self.building.store(null_mut(), Ordering::Release);
        drop(state);
        // Without the lock: the memory may be large.
        drop(replaced);
        unused
    }

    /// Takes the current block away. Returns its marks, which no pointer leads to any more, to be retired.
    pub(super) fn take_block(&self) -> Option<NonNull<Marks>> {
        let mut state = self.lock();
        let block = state.block.take();
        let marks = NonNull::new(self.marks.load(Ordering::Relaxed));
        self.marks.store(null_mut(), Ordering::Relaxed);
        drop(state);
        // Without the lock: the memory may be large.
        drop(block);
        marks
    }

    /// Takes the current block away. Its memory goes with the last reader that holds the block, that of its marks with
    /// the pins that are open now. A building that is under way goes on.
    pub(crate) fn release(&self, local: &Local) {
        if let Some(marks) = self.take_block() {
            // SAFETY: the pointer was taken away by this call alone, under the lock.
            unsafe { Marks::retire(marks, local) };
        }
    }

    /// Begins to build a block: see [`super::Chunks::begin`].
    pub(super) fn begin<'c>(&'c self, local: &'c Local) -> Option<Building<'c, B>> {
        let marks = self.start(|| Marks::create(local).ok())?;
        Some(Building {
            chunk: self,
            local,
            marks,
            block: None,
        })
    }
}

/// Block that is being built, from before the first head of the chunk is read. Dropping it gives the building up, and
/// leaves the block that was current.
///
/// # Protocol
/// Its maker reads each slot's head under pins, after [`super::Chunks::begin`] has returned, and leaves out
/// ([`Building::leave_out`]) each position that has no record, or one whose head is neither cold nor a stamped version,
/// committed at or before a horizon, with a value. If it reads a head again, because a cold record had to be fetched in
/// between, the last reading counts. The maker has a transaction open from beginning to end, which keeps the table, the
/// versions that it reads, and the files of cold records.
pub(crate) struct Building<'c, B> {
    chunk: &'c Chunk<B>,
    local: &'c Local,
    marks: NonNull<Marks>,
    /// Block to publish at the end.
    block: Option<Arc<Charged<B>>>,
}

impl<B> Building<'_, B> {
    /// Marks a position of which the block will show no record.
    #[inline]
    pub(crate) fn leave_out(&self, position: usize) {
        // SAFETY: the marks are retired by the end of this building, or, once they are a block's, by a later one's.
        unsafe { self.marks.as_ref() }.set(position);
    }

    /// Makes the block of the given size the chunk's current one. The bytes are charged until the last reader has
    /// dropped the block.
    ///
    /// # Errors
    /// [`Exhausted`] if the memory limit leaves no room for the bytes: the building is given up.
    pub(crate) fn publish(mut self, block: B, bytes: usize) -> Result<(), Exhausted> {
        let block = Charged::new(&self.local.arena(), bytes, || block)?;
        self.block = Some(Arc::new(block));
        Ok(())
    }
}

impl<B> Drop for Building<'_, B> {
    fn drop(&mut self) {
        if let Some(unused) = self.chunk.finish(self.marks, self.block.take()) {
            // SAFETY: `finish` has taken the pointer away, under the lock, for this call alone.
            unsafe { Marks::retire(unused, self.local) };
        }
    }
}
