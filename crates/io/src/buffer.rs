//! Memory that a device can transfer from and to directly.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    fmt,
    ops::{Deref, DerefMut},
    ptr::NonNull,
};

/// The unit of direct transfers, in bytes: offsets, lengths and addresses are
/// multiples of it.
pub const BLOCK_BYTES: usize = 4096;

/// Rounds up to a multiple of [`BLOCK_BYTES`].
pub const fn round_up(bytes: usize) -> usize {
    bytes.next_multiple_of(BLOCK_BYTES)
}

/// A block of bytes, aligned to [`BLOCK_BYTES`], with a length within a capacity
/// that is a multiple of it. All bytes up to the capacity are initialised.
pub struct Buffer {
    start: NonNull<u8>,
    length: usize,
    capacity: usize,
}

// SAFETY: the buffer owns its memory.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Returns an empty buffer with room for at least `bytes`, rounded up.
    pub fn with_capacity(bytes: usize) -> Buffer {
        let capacity = round_up(bytes.max(1));
        let layout = Self::layout(capacity);
        // SAFETY: the layout's size is not zero.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else {
            handle_alloc_error(layout)
        };
        Buffer {
            start,
            length: 0,
            capacity,
        }
    }

    /// Returns a buffer of `bytes` zeros.
    pub fn zeroed(bytes: usize) -> Buffer {
        let mut buffer = Buffer::with_capacity(bytes);
        buffer.set_len(bytes);
        buffer
    }

    fn layout(capacity: usize) -> Layout {
        Layout::from_size_align(capacity, BLOCK_BYTES).expect("a buffer fits the address space")
    }

    /// Returns the number of bytes that fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Sets the length. Bytes beyond the old length are whatever was there before.
    ///
    /// # Panics
    /// Panics if `length` exceeds the capacity.
    pub fn set_len(&mut self, length: usize) {
        assert!(length <= self.capacity, "{length} of {}", self.capacity);
        self.length = length;
    }

    /// Empties the buffer.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Appends bytes, making room if there is none.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if end > self.capacity {
            self.reserve(bytes.len());
        }
        // SAFETY: there is room, and `bytes` cannot be part of this buffer, which
        // is borrowed mutably.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.start.as_ptr().add(self.length),
                bytes.len(),
            );
        }
        self.length = end;
    }

    /// Makes room for `more` bytes beyond the length.
    #[cold]
    pub fn reserve(&mut self, more: usize) {
        let needed = self.length + more;
        if needed <= self.capacity {
            return;
        }
        let mut larger = Buffer::with_capacity(needed.max(self.capacity * 2));
        larger.extend_from_slice(self);
        *self = larger;
    }

    /// Appends zeros up to the next multiple of [`BLOCK_BYTES`].
    pub fn pad(&mut self) {
        let end = round_up(self.length);
        let start = self.length;
        self.set_len(end);
        self[start..].fill(0);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `with_capacity` with this layout.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.capacity)) };
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are allocated, initialised and within the capacity.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the bytes are allocated, initialised, within the capacity, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} of {} bytes)", self.length, self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_pads_and_stays_aligned() {
        let mut buffer = Buffer::with_capacity(1);
        assert_eq!(buffer.capacity(), BLOCK_BYTES);
        let mut expected = Vec::new();
        for i in 0..1000_u32 {
            let bytes = i.to_le_bytes().repeat(i as usize % 7);
            buffer.extend_from_slice(&bytes);
            expected.extend_from_slice(&bytes);
            assert_eq!(buffer.as_ptr() as usize % BLOCK_BYTES, 0);
        }
        assert_eq!(*buffer, *expected);
        buffer.pad();
        assert_eq!(buffer.len() % BLOCK_BYTES, 0);
        assert!(buffer[expected.len()..].iter().all(|&byte| byte == 0));
        assert_eq!(buffer[..expected.len()], *expected);
    }
}
