//! A run of memory that is claimed from its beginning on, and whose next pages are touched meanwhile: [`Run`].
//!
//! # Why nobody loses what was written
//! The thread that is ahead writes a zero into a page that reads as zero and lies behind all that was claimed, and
//! nobody else may be writing there meanwhile:
//! 1. the thread says which page it is about to touch (`touching`), and then looks whether all claims end
//!    before it (`claimed`); if one does not, it leaves the page alone;
//! 2. whoever claims says so first (`claimed`), and then looks whether the page that is being touched lies
//!    within the claim; if so, it waits for the lock that the thread holds from before 1 until the page is
//!    touched. It would wait about as long if it wrote there first.
//!
//! Between the two steps of each is a sequentially consistent fence, so of two who meet on a page one sees the
//! other. Who sees that a page is not being touched any more sees it touched: `touching` is released and
//! acquired. Pages behind claims only become fewer: memory that was claimed and given back to the system is
//! backed when it is written to again. `loom_tests.rs` checks this on all interleavings of two threads.

use crate::{
    mapping::HUGE_PAGE_BYTES,
    sync::{AtomicUsize, Mutex, Ordering, fence},
};

/// So many bytes are backed ahead, or an eighth of what was claimed if that is less: a small database takes
/// what it needs. An index that is built claims a hundred megabytes in a second, about as many as this
/// machine finds at its best.
const AHEAD_BYTES_MAX: usize = 16 * HUGE_PAGE_BYTES;
const CLAIMED_PARTS: usize = 8;

/// No page is being touched.
const NONE: usize = usize::MAX;

/// See the module text.
pub(super) struct Run {
    /// Where in the mapping it begins, and where it ends: its pages are those that lie between.
    from: usize,
    to: usize,
    /// Where the last claim ends, from the run's beginning on.
    claimed: AtomicUsize,
    /// The page that is being touched, and the lock for that.
    touching: AtomicUsize,
    touch: Mutex<()>,
    /// Pages before this one were claimed or touched.
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

    /// Memory up to `end`, from the run's beginning on, is claimed, `bytes` of it just now. Whoever says so
    /// may write there afterwards.
    pub(super) fn claim(&self, end: usize, bytes: usize) {
        self.claimed.fetch_max(end, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let touching = self.touching.load(Ordering::Acquire);
        let end = self.from + end;
        if touching != NONE && touching < end && touching + HUGE_PAGE_BYTES > end - bytes {
            drop(self.touch.lock().unwrap_or_else(|e| e.into_inner()));
        }
    }

    /// Bytes that were touched, and not claimed.
    pub(super) fn ahead_bytes(&self) -> usize {
        let claimed = self.from + self.claimed.load(Ordering::Relaxed);
        self.touched.load(Ordering::Relaxed).saturating_sub(claimed)
    }

    /// The page to be touched next, if it is time: none that ends more than so many bytes behind the last
    /// claim.
    pub(super) fn next(&self, left_bytes: usize) -> Option<usize> {
        let claimed = self.claimed.load(Ordering::Relaxed);
        let behind = (self.from + claimed).next_multiple_of(HUGE_PAGE_BYTES);
        let page = behind.max(self.touched.load(Ordering::Relaxed));
        let ahead = (claimed / CLAIMED_PARTS).min(AHEAD_BYTES_MAX);
        let until = self.from + claimed + ahead.min(left_bytes);
        (page + HUGE_PAGE_BYTES <= until.min(self.to)).then_some(page)
    }

    /// Touches a page unless some of it is claimed. While `touch` runs, nobody may write to the page. For one
    /// thread.
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
