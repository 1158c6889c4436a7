//! Bounds on the steps in which the C library's allocator takes memory from the system and gives it back.
//!
//! Left to itself, glibc learns from freed blocks: after one vector of 32 MiB it keeps all smaller vectors in its
//! heaps, where a vector that grows is copied, and gives 64 MiB back at once when the end of a heap becomes free.
//! Either takes milliseconds for which the worker's other tasks wait. With fixed bounds a large block is a mapping of
//! its own, which the system moves by its page tables, and takes back when the block is freed; long lists consist of
//! such blocks ([`Parts`](crate::Parts)).
//!
//! One step has no bound here: a block that is freed last between a long free range and the end of a heap has all of
//! these given back, at most the 64 MiB of a thread's heap.

use crate::parts::PART_BYTES;

/// Minimum bytes of a block that is a mapping of its own: all parts are, which have between a half and the whole of
/// their greatest size.
const OWN_BYTES_MIN: usize = PART_BYTES / 2;
/// Maximum free bytes at the end of a heap that are kept: the system takes half a millisecond to take them back.
/// Statements that take and free less again and again make no system calls.
const FREE_BYTES_MAX: usize = 8 << 20;

/// Bounds the work of this process's allocator in one step: for a program whose threads serve others between any two
/// steps. Called when the program begins. Does nothing if the C library is not glibc.
pub fn bound_heap_steps() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    for (parameter, bytes) in [
        (libc::M_MMAP_THRESHOLD, OWN_BYTES_MIN),
        (libc::M_TRIM_THRESHOLD, FREE_BYTES_MAX),
    ] {
        const _: () = assert!(OWN_BYTES_MIN <= 32 << 20 && FREE_BYTES_MAX <= i32::MAX as usize);
        // SAFETY: the call changes parameters of the allocator under its own lock, and no memory. The call reports a
        // parameter that it refuses, and the allocator stays as it was.
        unsafe { libc::mallopt(parameter, bytes as i32) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    let _ = (OWN_BYTES_MIN, FREE_BYTES_MAX);
}
