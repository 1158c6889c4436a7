//! A run of memory that is claimed from its beginning on, and whose next pages are touched meanwhile: [`Run`].
//!
//! # Why no write is lost
//! The thread that is ahead writes a zero into a page that reads as zero and lies behind all claims. No claimer may be
//! writing there meanwhile:
//! 1. the thread announces the page that it is about to touch (`touching`), and then checks that all claims end before
//!    it (`claimed`); if one does not, the thread leaves the page alone;
//! 2. a claimer announces its claim first (`claimed`), and then checks whether the page that is being touched lies
//!    within the claim; if so, it waits for the lock that the thread holds from before step 1 until the page is
//!    touched. A first write to the page would take about as long.
//!
//! Between the two parts of each step is a sequentially consistent fence, so if thread and claimer meet on a page, one
//! sees the other. A claimer that sees that a page is not being touched any more sees it touched: `touching` is
//! released and acquired. The pages behind all claims only become fewer: memory that was claimed and given back to the
//! system is backed when it is written to again. `loom_tests.rs` checks this on all interleavings of two threads.

use crate::{
    mapping::HUGE_PAGE_BYTES,
    sync::{AtomicUsize, Mutex, Ordering, fence},
};

/// Maximum bytes backed ahead; an eighth of the claimed bytes if that is less: a small database takes only what it
/// needs. Building an index claims a hundred megabytes in a second, about as many as this machine finds at its best.
const AHEAD_BYTES_MAX: usize = 16 * HUGE_PAGE_BYTES;
const CLAIMED_PARTS: usize = 8;

/// No page is being touched.
const NONE: usize = usize::MAX;

/// A run of memory; see the module text.
pub(super) struct Run {
    /// Beginning and end of the run in the mapping: its pages are those that lie between.
    from: usize,
    to: usize,
    /// End of the last claim, from the run's beginning on.
    claimed: AtomicUsize,
    /// Page that is being touched, and the lock for touching.
    touching: AtomicUsize,
    touch: Mutex<()>,
    /// All pages before this one were claimed or touched; it may be claimed itself.
    touched: AtomicUsize,
}

impl Run {
    pub(super) fn new(from: usize, to: usize) -> Run {
        Run {
            from,
            to,
            claimed: AtomicUsize::new(0),
            touching: AtomicUsize::new(NONE),
            touch: Mutex::new(()),
            touched: AtomicUsize::new(from.next_multiple_of(HUGE_PAGE_BYTES)),
        }
    }

    /// Notes that memory up to `end`, from the run's beginning on, is claimed, `bytes` of it just now. The caller may
    /// write there afterwards.
    pub(super) fn claim(&self, end: usize, bytes: usize) {
        self.claimed.fetch_max(end, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let touching = self.touching.load(Ordering::Acquire);
        let end = self.from + end;
        if touching != NONE && touching < end && touching + HUGE_PAGE_BYTES > end - bytes {
            drop(self.touch.lock().unwrap_or_else(|e| e.into_inner()));
        }
    }

    /// Returns the bytes that were touched, and not claimed.
    pub(super) fn ahead_bytes(&self) -> usize {
        let claimed = self.from + self.claimed.load(Ordering::Relaxed);
        self.touched.load(Ordering::Relaxed).saturating_sub(claimed)
    }

    /// Returns the page to be touched next, if it is time: no page that ends more than `left_bytes` behind the last
    /// claim.
    pub(super) fn next(&self, left_bytes: usize) -> Option<usize> {
        let claimed = self.claimed.load(Ordering::Relaxed);
        let behind = (self.from + claimed).next_multiple_of(HUGE_PAGE_BYTES);
        let page = behind.max(self.touched.load(Ordering::Relaxed));
        let ahead = (claimed / CLAIMED_PARTS).min(AHEAD_BYTES_MAX);
        let until = self.from + claimed + ahead.min(left_bytes);
        (page + HUGE_PAGE_BYTES <= until.min(self.to)).then_some(page)
    }

    /// Touches a page unless some of it is claimed. While `touch` runs, no other thread may write to the page. Called
    /// by one thread only.
    pub(super) fn touch(&self, page: usize, touch: impl FnOnce()) {
        let _touching = self.touch.lock().unwrap_or_else(|e| e.into_inner());
        self.touching.store(page, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.from + self.claimed.load(Ordering::Relaxed) <= page {
            touch();
        }
        self.touching.store(NONE, Ordering::Release);
        self.touched
            .store(page + HUGE_PAGE_BYTES, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
