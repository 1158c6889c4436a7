//! The prefetch instruction of each architecture.

const LINE_BYTES: usize = 64;

/// Prefetches the line that holds `address`. Never faults, whatever the address.
#[inline(always)]
pub(crate) fn prefetch_line(address: *const u8) {
    #[cfg(miri)]
    let _ = address;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch is a hint; it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: PRFM is a hint; it never faults and changes no register.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{0}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
}

/// Prefetches every line of `bytes` bytes at `address`.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8, bytes: usize) {
    let first = address.addr() & (LINE_BYTES - 1);
    let mut offset = 0;
    while offset < first + bytes {
        prefetch_line(address.wrapping_add(offset));
        offset += LINE_BYTES;
    }
}
