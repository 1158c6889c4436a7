//! Number of cache lines that an operation touches, counted by running the same body under a policy
//! that counts.

use std::cell::Cell;
use std::future::{Ready, ready};

use interleave::{Point, Policy};

thread_local! {
    static LINES: Cell<u64> = const { Cell::new(0) };
}

/// A policy that never waits and counts the lines of every touch. Memory that a body reads without
/// a touch (the top levels of an index, its own frame) is not counted either, so the count is the
/// number of lines that may miss the cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counting;

impl Counting {
    /// Returns the number of lines counted on this thread since the last call.
    pub(super) fn take() -> u64 {
        LINES.take()
    }
}

fn count(address: usize, bytes: usize) {
    let lines = (address % 64 + bytes).div_ceil(64);
    LINES.set(LINES.get() + lines as u64);
}

impl Policy for Counting {
    const NAME: &'static str = "counting";
    const MAY_SUSPEND: bool = false;
    type Touch = Ready<()>;

    fn touch<T: ?Sized>(_: Point, address: *const T, bytes: usize) -> Ready<()> {
        count(address.addr(), bytes);
        ready(())
    }

    /// Counts the lines of a prefetch without a wait. The bodies end a run of such prefetches with
    /// a touch of the last address, which is of a single line and adds no more than that.
    fn prefetch<T: ?Sized>(address: *const T, bytes: usize) {
        count(address.addr(), bytes);
    }

    fn suspends() -> bool {
        false
    }
}
