use loom::{cell::UnsafeCell, sync::Arc, thread};

use super::*;

/// Offset of the page: so far that two pages may be ahead of the claims before it.
const PAGE: usize = 16 * HUGE_PAGE_BYTES;

/// One page of the run, as its writers see it.
struct World {
    run: Run,
    page: UnsafeCell<u8>,
}

#[test]
fn a_page_is_touched_or_claimed_and_keeps_what_its_owner_has_written() {
    loom::model(|| {
        let world = Arc::new(World {
            run: Run::new(0, 64 * HUGE_PAGE_BYTES),
            page: UnsafeCell::new(0),
        });
        world.run.claim(PAGE, HUGE_PAGE_BYTES);
        let ahead = thread::spawn({
            let world = world.clone();
            move || {
                // The next page is the one behind `PAGE`, if the claim came first.
                let page = world.run.next(usize::MAX).unwrap();
                world.run.touch(page, || {
                    if page == PAGE {
                        // Loom fails if another writes meanwhile.
                        world.page.with_mut(|page| unsafe { *page = 0 });
                    }
                });
            }
        });
        // The claim ends within the page, and begins before it.
        world.run.claim(PAGE + 4096, HUGE_PAGE_BYTES);
        world.page.with_mut(|page| unsafe { *page = 7 });
        ahead.join().unwrap();
        world.page.with(|page| assert_eq!(unsafe { *page }, 7));
    });
}

// SAFETY: the test checks which thread writes to the page.
unsafe impl Sync for World {}
