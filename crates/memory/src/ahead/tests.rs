use super::*;
use crate::mapping::HUGE_PAGE_BYTES;

/// Pages of a half that the system has backed behind `from`, as told by the system.
#[cfg(all(target_os = "linux", not(miri)))]
fn is_backed(mapping: &Mapping, offset: usize) -> bool {
    let mut backed = 0_u8;
    // SAFETY: asks about a page of the mapping, and writes one byte.
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
    let mapping = Arc::new(Mapping::reserve(128 * PAGE).unwrap());
    let ahead = Ahead::new(&mapping, 40 * PAGE);
    let until_backed = |page: usize| {
        while !is_backed(&mapping, page * PAGE) {
            std::thread::yield_now();
        }
    };
    // A small database is left alone.
    ahead.claimed(Half::Lower, 2 * PAGE, 2 * PAGE);
    assert!(ahead.thread.get().is_none());
    // A quarter of what is claimed, then four pages, of each half.
    ahead.claimed(Half::Lower, 8 * PAGE, 6 * PAGE);
    until_backed(9);
    assert!(!is_backed(&mapping, 10 * PAGE) && !is_backed(&mapping, 7 * PAGE));
    ahead.claimed(Half::Upper, 30 * PAGE, PAGE);
    until_backed(64 + 33);
    assert!(!is_backed(&mapping, (64 + 34) * PAGE));
    // Not beyond the limit.
    ahead.claimed(Half::Lower, 39 * PAGE, PAGE);
    until_backed(39);
    ahead.claimed(Half::Lower, 40 * PAGE, PAGE);
    drop(ahead);
    assert!(!is_backed(&mapping, 40 * PAGE));
}
