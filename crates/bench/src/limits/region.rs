//! Memory to measure: whole cache lines, read only.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use commands::{Error, Result};

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;
/// 64-bit words of a cache line.
pub(super) const LINE_WORDS: usize = LINE_BYTES / 8;
/// Bytes of a huge page on x86-64, and on aarch64 with 4 KiB base pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Whole cache lines of memory that may be read from any thread.
///
/// Invariant: `lines * 64` bytes from `base`, which is aligned to a line, are mapped for `'a`, and
/// no thread writes to them except through atomics.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    base: NonNull<AtomicU64>,
    lines: u64,
    memory: PhantomData<&'a [AtomicU64]>,
}

// SAFETY: the memory is only read, and only through atomics.
unsafe impl Send for Region<'_> {}
// SAFETY: the memory is only read, and only through atomics.
unsafe impl Sync for Region<'_> {}

impl<'a> Region<'a> {
    /// Returns the whole cache lines within `bytes` bytes from `start`; `None` when there is not
    /// one.
    ///
    /// # Safety
    /// For `'a` the memory stays mapped and readable and has been initialised; while the region is
    /// measured no thread writes to it, except by atomic operations.
    pub unsafe fn from_raw(start: *const u8, bytes: usize) -> Option<Self> {
        let skip = start.align_offset(LINE_BYTES);
        let lines = bytes.checked_sub(skip)? / LINE_BYTES;
        if lines == 0 {
            return None;
        }
        // The address stays within the caller's memory: skip < bytes.
        let base = NonNull::new(start.wrapping_add(skip).cast_mut().cast())?;
        Some(Self {
            base,
            lines: lines as u64,
            memory: PhantomData,
        })
    }

    /// Returns the number of cache lines, at least 1.
    #[inline]
    pub fn lines(self) -> u64 {
        self.lines
    }

    /// Returns the size in bytes.
    pub fn bytes(self) -> u64 {
        self.lines * LINE_BYTES as u64
    }

    /// Loads a word of line `line`.
    #[inline]
    pub(super) fn load(self, line: u64, word: usize) -> u64 {
        debug_assert!(line < self.lines && word < LINE_WORDS);
        // SAFETY: within the region by the invariant and the condition above,
        // which the callers in `loads` keep by construction; a word-aligned
        // address, since the base is line-aligned.
        let cell = unsafe { self.base.add(line as usize * LINE_WORDS + word).as_ref() };
        // Relaxed: only the time of the load is of interest.
        cell.load(Ordering::Relaxed)
    }
}

/// Fresh memory on huge pages where the system grants them.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Maps at least `bytes` bytes, rounded up to huge pages, and touches each
    /// page so that measuring meets no page fault.
    ///
    /// # Errors
    /// [`Error::Run`] when the system refuses.
    pub fn new(bytes: u64) -> Result<Self> {
        let refused = || {
            let size = commands::number::bytes_text(bytes);
            Error::run(format!(
                "cannot reserve {size} of memory; ask for less with --bytes"
            ))
        };
        let bytes = usize::try_from(bytes)
            .ok()
            .and_then(|bytes| bytes.max(1).checked_next_multiple_of(HUGE_PAGE_BYTES))
            .filter(|&bytes| isize::try_from(bytes + HUGE_PAGE_BYTES).is_ok())
            .ok_or_else(refused)?;
        let base = map(bytes).ok_or_else(refused)?;
        // SAFETY: just mapped writable, `bytes` long, and not shared yet. The byte is not zero,
        // because a system may back untouched zeroes by one page.
        unsafe { base.write_bytes(0x5A, bytes) };
        Ok(Self { base, bytes })
    }

    /// Returns the memory to measure.
    pub fn region(&self) -> Region<'_> {
        // SAFETY: mapped and initialised until `self` is dropped, and no thread writes to it after
        // `new`.
        unsafe { Region::from_raw(self.base.as_ptr(), self.bytes) }
            .expect("a mapping has at least one huge page")
    }
}

/// Maps `bytes` (a multiple of the huge page), aligned to a huge page so that all of it can be on
/// huge pages.
fn map(bytes: usize) -> Option<NonNull<u8>> {
    let reserved = bytes + HUGE_PAGE_BYTES;
    // SAFETY: an anonymous private mapping at an address of the system's
    // choice touches no memory in use.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            reserved,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    let start = start.cast::<u8>();
    let before = start.align_offset(HUGE_PAGE_BYTES);
    let base = start.wrapping_add(before);
    // The rest that alignment left on both sides is given back; failure costs address space only.
    // SAFETY: both ranges are page-aligned parts of the mapping just made and
    // nothing refers to them.
    unsafe {
        if before > 0 {
            libc::munmap(start.cast(), before);
        }
        let after = HUGE_PAGE_BYTES - before;
        if after > 0 {
            libc::munmap(base.wrapping_add(bytes).cast(), after);
        }
    }
    #[cfg(target_os = "linux")]
    // SAFETY: advice on memory of our own. If the advice is refused, the memory stays on small
    // pages.
    unsafe {
        libc::madvise(base.cast(), bytes, libc::MADV_HUGEPAGE);
    }
    NonNull::new(base)
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with these bounds; regions borrow `self`, so
        // none is left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
