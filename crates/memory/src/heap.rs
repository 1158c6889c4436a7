//! How the C library's allocator takes memory from the system and gives it back: in small steps.
//!
//! Left to itself, glibc learns from what is freed: after one vector of 32 MiB it keeps all smaller ones in its
//! heaps, where a vector that grows is copied, and gives 64 MiB back at once when the end of a heap becomes
//! free. Either takes milliseconds for which the worker's other tasks wait. With fixed bounds a large block is the
//! system's own, which moves it by its page tables, and gives it back when it is freed; long
//! lists consist of such blocks ([`Parts`](crate::Parts)).
//!
//! What has no bound here: a block that is freed last between a long free range and the end of a heap has all of
//! them given back, at most the 64 MiB of a thread's heap.

use crate::parts::PART_BYTES;

/// Bytes from which on a block is the system's own: those of all parts, which have between a half and the
/// whole of their greatest size.
const OWN_BYTES_MIN: usize = PART_BYTES / 2;
/// Free bytes at the end of a heap of which more are given back: the system takes half a
/// millisecond for them. Statements that take and free less again and again ask the system for nothing.
const FREE_BYTES_MAX: usize = 8 << 20;

/// Bounds what the allocator of this process does in one step: for a program whose threads serve others
/// between any two steps. To be called when it begins. Does nothing where the C library is not glibc.
pub fn bound_heap_steps() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    for (parameter, bytes) in [
        (libc::M_MMAP_THRESHOLD, OWN_BYTES_MIN),
        (libc::M_TRIM_THRESHOLD, FREE_BYTES_MAX),
    ] {
        const _: () = assert!(OWN_BYTES_MIN <= 32 << 20 && FREE_BYTES_MAX <= i32::MAX as usize);
        // SAFETY: the call changes parameters of the allocator under its own lock, and no memory. It
        // refuses by its answer what it cannot do, and the allocator stays as it was.
        unsafe { libc::mallopt(parameter, bytes as i32) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    let _ = (OWN_BYTES_MIN, FREE_BYTES_MAX);
}
