use std::time::{Duration, Instant};

use super::*;
use crate::mapping::HUGE_PAGE_BYTES;

/// Returns whether the system has backed the page at `offset`, as reported by the system.
#[cfg(all(target_os = "linux", not(miri)))]
fn is_backed(mapping: &Mapping, offset: usize) -> bool {
    let mut backed = 0_u8;
    // SAFETY: the call asks about a page of the mapping, and writes one byte.
    let asked = unsafe {
        let page = mapping.base().as_ptr().add(offset).cast();
        libc::mincore(page, 4096, &mut backed)
    };
    assert_eq!(asked, 0, "{}", std::io::Error::last_os_error());
    backed & 1 == 1
}

#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn pages_behind_what_is_claimed_are_backed_by_the_thread() {
    const PAGE: usize = HUGE_PAGE_BYTES;
    let mapping = Arc::new(Mapping::reserve(1024 * PAGE).unwrap());
    let ahead = Ahead::new(&mapping);
    let claimed = |half, end: usize, bytes: usize, left: usize| {
        ahead.claimed(half, end * PAGE, bytes * PAGE, left * PAGE);
    };
    let until = |is: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the thread does nothing"
            );
            std::thread::yield_now();
        }
    };
    let until_backed = |page: usize| until(&|| is_backed(&mapping, page * PAGE));
    let until_idle = |half| until(&|| ahead.shared.next(half).is_none());
    // A small database is left alone.
    claimed(Half::Lower, 4, 4, 700);
    assert!(ahead.thread.get().is_none());
    // Ahead is an eighth of the claimed memory, then sixteen pages, of each half.
    claimed(Half::Lower, 24, 20, 700);
    until_backed(26);
    until_idle(Half::Lower);
    assert!(!is_backed(&mapping, 27 * PAGE) && !is_backed(&mapping, 23 * PAGE));
    claimed(Half::Upper, 300, 1, 700);
    until_backed(512 + 315);
    until_idle(Half::Upper);
    assert!(!is_backed(&mapping, (512 + 316) * PAGE));
    // The thread does not go beyond the limit, which both halves share: sixteen pages are ahead in
    // the other half.
    claimed(Half::Lower, 400, 1, 17);
    until_backed(400);
    // The thread reports a page after it has touched it.
    until(&|| ahead.shared.runs[0].ahead_bytes() >= PAGE);
    assert_eq!(ahead.shared.next(Half::Lower), None);
    claimed(Half::Lower, 400, 1, 18);
    until_backed(401);
    until_idle(Half::Lower);
    // The thread ends with its owner.
    drop(ahead);
    assert!(!is_backed(&mapping, 402 * PAGE));
}
