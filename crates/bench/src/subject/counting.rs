//! How many cache lines an operation touches, counted by running the same body
//! under a policy that counts.

use std::cell::Cell;
use std::future::{Ready, ready};

use interleave::{Point, Policy};

thread_local! {
    static LINES: Cell<u64> = const { Cell::new(0) };
}

/// Never waits; counts the lines of every touch. What a body does not touch
/// (the top levels of an index, its own frame) it does not count either, so
/// this is the number of lines that may miss the cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counting;

impl Counting {
    /// Lines counted on this thread since the last call.
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

    /// A prefetch without a wait stands for a line too, but the bodies end such
    /// runs of prefetches with a touch of the last one: not counted twice, as
    /// that touch is of a single line.
    fn prefetch<T: ?Sized>(address: *const T, bytes: usize) {
        count(address.addr(), bytes);
    }

    fn suspends() -> bool {
        false
    }
}
