//! Large arrays on huge pages, as ordinary vectors.
//!
//! A binary search over 2 GiB on ordinary pages misses the translation buffer as often as the cache
//! (paper 003 section 5.4.3), and no prefetch hides that miss: the prefetch waits for the
//! translation itself.

use std::collections::TryReserveError;

use crate::mapping::HUGE_PAGE_BYTES;

/// Returns an empty vector with room for `capacity` elements, whose memory the system is asked to
/// back with huge pages if it spans some. A small vector is an ordinary one. If the vector grows
/// beyond its capacity, added elements may lie on ordinary pages.
///
/// # Errors
/// [`TryReserveError`] if memory is lacking.
pub fn on_huge_pages<T>(capacity: usize) -> Result<Vec<T>, TryReserveError> {
    let mut vector = Vec::<T>::new();
    vector.try_reserve_exact(capacity)?;
    advise(vector.as_ptr().cast(), vector.capacity() * size_of::<T>());
    Ok(vector)
}

/// Asks for huge pages where they lie within the `bytes` at `start` as a whole.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise(start: *const u8, bytes: usize) {
    let skipped = start.align_offset(HUGE_PAGE_BYTES);
    let whole = bytes.saturating_sub(skipped) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if whole > 0 {
        // SAFETY: the range lies within an allocation of the caller's. The call is advice: it
        // changes no content, and its failure leaves ordinary pages.
        unsafe {
            libc::madvise(
                start.wrapping_add(skipped).cast_mut().cast(),
                whole,
                libc::MADV_HUGEPAGE,
            )
        };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_start: *const u8, _bytes: usize) {
    let _ = HUGE_PAGE_BYTES;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_there_and_what_cannot_be_is_refused() {
        for capacity in [0, 1, 1000, 3 << 20] {
            let mut vector = on_huge_pages::<u32>(capacity).unwrap();
            assert!(vector.capacity() >= capacity && vector.is_empty());
            vector.extend(0..capacity as u32);
            assert!(vector.into_iter().eq(0..capacity as u32));
        }
        on_huge_pages::<u64>(usize::MAX / 4).unwrap_err();
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_large_vector_is_on_huge_pages() {
        let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if enabled.is_ok_and(|text| text.contains("[never]")) {
            return;
        }
        let mut vector = on_huge_pages::<u8>(16 << 20).unwrap();
        vector.resize(16 << 20, 1);
        let middle = vector.as_ptr().addr() + (8 << 20);
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut within = false;
        for line in maps.lines() {
            if let Some((range, _)) = line.split_once(' ')
                && let Some((from, to)) = range.split_once('-')
                && let (Ok(from), Ok(to)) = (
                    usize::from_str_radix(from, 16),
                    usize::from_str_radix(to, 16),
                )
            {
                within = (from..to).contains(&middle);
            } else if within && line.starts_with("VmFlags:") {
                assert!(line.contains(" hg"), "not advised: {line}");
                return;
            }
        }
        panic!("the vector lies in no mapping");
    }
}
