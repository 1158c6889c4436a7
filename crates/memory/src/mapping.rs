//! One contiguous reservation of address space, backed by huge pages as it is
//! touched.
//!
//! Contiguity lets a structure name its nodes with 32-bit numbers (offset / 64 bytes). Reserving costs nothing: the
//! kernel commits pages on first touch, 2 MiB at a time where transparent huge pages are allowed.

use std::ptr::NonNull;

/// Alignment of the base and size of a huge page, in bytes.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    pages: Pages,
}

// SAFETY: a region is address space; it has no thread affinity and hands out nothing by itself. The arena decides which
// thread may touch which part.
unsafe impl Send for Mapping {}
// SAFETY: all methods take `&self` and only read immutable fields.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves `bytes` (rounded up to huge pages), halving the wish while the operating system refuses it. The memory
    /// reads as zero. Returns `None` if even one huge page is refused.
    pub(crate) fn reserve(bytes: usize) -> Option<Mapping> {
        let mut bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES).max(HUGE_PAGE_BYTES);
        loop {
            if let Some((pages, base)) = Pages::new(bytes) {
                return Some(Mapping { base, bytes, pages });
            }
            if bytes == HUGE_PAGE_BYTES {
                return None;
            }
            bytes = (bytes / 2).next_multiple_of(HUGE_PAGE_BYTES);
        }
    }
}

impl Mapping {
    /// Has the system commit all pages of a part of the region without writing to them, if it can; their content stays.
    /// Returns whether it has.
    pub(crate) fn populate(&self, from: usize, bytes: usize) -> bool {
        assert!(from <= self.bytes && bytes <= self.bytes - from);
        self.pages.populate(self.base, from, bytes)
    }

    /// Has the system commit the huge page at offset `page`, by a zero in its first byte.
    ///
    /// # Safety
    /// The page lies in the region, and no other thread reads or writes it during the call.
    pub(crate) unsafe fn touch(&self, page: usize) {
        // SAFETY: the caller promises both.
        unsafe { self.base.add(page).write_volatile(0) };
    }

    /// Gives the pages that lie in a part as a whole back to the system, if it takes them. The content of the part is
    /// lost, or stays.
    pub(crate) fn discard(&self, from: usize, bytes: usize) {
        assert!(from <= self.bytes && bytes <= self.bytes - from);
        self.pages.discard(self.base, from, bytes);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.pages.release();
    }
}

#[cfg(all(unix, not(miri)))]
struct Pages {
    start: *mut libc::c_void,
    bytes: usize,
}

#[cfg(all(unix, not(miri)))]
impl Pages {
    fn new(bytes: usize) -> Option<(Pages, NonNull<u8>)> {
        let padded = bytes.checked_add(HUGE_PAGE_BYTES)?;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice
        // touches no memory that exists.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                padded,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let offset = start.cast::<u8>().align_offset(HUGE_PAGE_BYTES);
        // SAFETY: `offset < HUGE_PAGE_BYTES`, the padding that was mapped too.
        let base = unsafe { start.cast::<u8>().add(offset) };
        #[cfg(target_os = "linux")]
        // SAFETY: the range lies in the mapping made above. The call is advice:
        // its failure leaves ordinary pages, which are slower but correct.
        unsafe {
            libc::madvise(base.cast(), bytes, libc::MADV_HUGEPAGE);
            // A core dump of a database should not contain the database.
            libc::madvise(base.cast(), bytes, libc::MADV_DONTDUMP);
        }
        Some((
            Pages {
                start,
                bytes: padded,
            },
            NonNull::new(base)?,
        ))
    }

    #[cfg(target_os = "linux")]
    fn populate(&self, base: NonNull<u8>, from: usize, bytes: usize) -> bool {
        let from = from / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES..from + bytes;
        // SAFETY: the caller promises that the part lies in the mapping. The call commits pages as a write to each
        // would, and changes none.
        let populated = unsafe {
            let start = base.as_ptr().add(from.start).cast();
            libc::madvise(start, from.len(), libc::MADV_POPULATE_WRITE)
        };
        populated == 0
    }

    #[cfg(target_os = "linux")]
    fn discard(&self, base: NonNull<u8>, from: usize, bytes: usize) {
        // SAFETY: the call only asks a question.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize;
        // The call would take the rest of a page that the part ends in, which is memory of others.
        let (from, end) = (from.next_multiple_of(page), (from + bytes) / page * page);
        let Some(bytes) = end.checked_sub(from).filter(|&bytes| bytes > 0) else {
            return;
        };
        // SAFETY: the caller promises that the part lies in the mapping, and that it is unused. The call is advice: if
        // it is not taken, nothing has happened.
        unsafe { libc::madvise(base.as_ptr().add(from).cast(), bytes, libc::MADV_DONTNEED) };
    }

    #[cfg(not(target_os = "linux"))]
    fn discard(&self, _base: NonNull<u8>, _from: usize, _bytes: usize) {}

    #[cfg(not(target_os = "linux"))]
    fn populate(&self, _base: NonNull<u8>, _from: usize, _bytes: usize) -> bool {
        false
    }

    fn release(&mut self) {
        // SAFETY: exactly the mapping that `new` made; the arena that owns the region is being dropped, so that no
        // thread holds a block of it.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

/// Pages under Miri and off Unix: one zeroed allocation, capped because it is committed at once.
#[cfg(any(not(unix), miri))]
struct Pages {
    start: *mut u8,
    layout: std::alloc::Layout,
}

#[cfg(any(not(unix), miri))]
impl Pages {
    fn new(bytes: usize) -> Option<(Pages, NonNull<u8>)> {
        const COMMITTED_BYTES_MAX: usize = if cfg!(miri) { 16 << 20 } else { 8 << 30 };
        if bytes > COMMITTED_BYTES_MAX {
            return None;
        }
        let layout = std::alloc::Layout::from_size_align(bytes, HUGE_PAGE_BYTES).ok()?;
        // SAFETY: the layout has a non-zero size.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        Some((Pages { start, layout }, NonNull::new(start)?))
    }

    /// Does nothing: the memory stays committed.
    fn discard(&self, _base: NonNull<u8>, _from: usize, _bytes: usize) {}

    /// Does nothing: all of the memory is committed.
    fn populate(&self, _base: NonNull<u8>, _from: usize, _bytes: usize) -> bool {
        true
    }

    fn release(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { std::alloc::dealloc(self.start, self.layout) };
    }
}
