//! Marks of superseded records: a bit for each position of a chunk.
//!
//! A bit is set and never cleared. All accesses are relaxed: `columns.rs` tells what orders them. The marks lie in a
//! block of the arena, so they count towards the memory limit, and the epochs free them.

use std::ptr::NonNull;

use memory::{Exhausted, Local, Purpose};

use super::POSITIONS;
use crate::sync::{AtomicU64, Ordering};

/// Number of words of the marks of a chunk.
pub(crate) const WORDS: usize = POSITIONS / u64::BITS as usize;

/// Copy of the marks of a chunk: the mark of position `p` is bit `p % 64` of word `p / 64`.
pub(crate) type MarkWords = [u64; WORDS];

/// Shared marks of a chunk. A thread that dereferences a pointer to them is pinned since before it read the pointer,
/// holds the lock of the chunk that has them, or owns them.
pub(super) struct Marks([AtomicU64; WORDS]);

impl Marks {
    pub(super) fn new() -> Marks {
        Marks(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// Makes marks in the arena, none of them set.
    pub(super) fn create(local: &Local) -> Result<NonNull<Marks>, Exhausted> {
        let marks = local.allocate(size_of::<Marks>(), Purpose::Indirection)?;
        let marks = marks.cast::<Marks>();
        // SAFETY: a fresh block of that size, aligned to 16 bytes at least.
        unsafe { marks.write(Marks::new()) };
        Ok(marks)
    }

    /// Frees marks of [`Marks::create`] when all pins open now are gone.
    ///
    /// # Safety
    /// No pointer leads to the marks any more, and they are retired once.
    pub(super) unsafe fn retire(marks: NonNull<Marks>, local: &Local) {
        // SAFETY: the caller's promise; `create` allocated them so.
        unsafe { local.retire(marks.cast(), size_of::<Marks>(), Purpose::Indirection) };
    }

    /// Sets the mark of a position. A mark that is set costs a load: its cache line stays shared.
    #[inline]
    pub(super) fn set(&self, position: usize) {
        let (word, bit) = (position / 64, 1 << (position % 64));
        if self.0[word].load(Ordering::Relaxed) & bit == 0 {
            self.0[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub(super) fn copy(&self, into: &mut MarkWords) {
        for (word, copy) in self.0.iter().zip(into) {
            *copy = word.load(Ordering::Relaxed);
        }
    }

    /// Returns the number of marks that are set.
    pub(super) fn count(&self) -> u32 {
        let words = self.0.iter();
        words
            .map(|word| word.load(Ordering::Relaxed).count_ones())
            .sum()
    }
}
