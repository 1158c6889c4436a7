//! Buffers that a thread reads cold records into, and uses again.
//!
//! The allocator is slow with memory that is aligned to blocks: with a buffer made and freed for
//! each, that was 1.4 us of a read (a profile of Zipfian reads beyond memory).

use std::cell::RefCell;

use io::{BLOCK_BYTES, Buffer};

/// Maximum size in blocks of a buffer that is kept.
const BLOCKS_MAX: usize = 4;
/// Maximum bytes of kept buffers of each size.
const SPARES_BYTES_MAX: usize = 256 << 10;

/// Idle buffers of one thread, by their size.
#[derive(Default)]
pub(crate) struct ReadBuffers(RefCell<[Vec<Buffer>; BLOCKS_MAX]>);

/// Returns the index of the list for buffers of a capacity, or `None` if they are not kept.
fn list(capacity: usize) -> Option<usize> {
    let blocks = capacity.div_ceil(BLOCK_BYTES);
    (1..=BLOCKS_MAX).contains(&blocks).then(|| blocks - 1)
}

impl ReadBuffers {
    /// Takes a buffer of `bytes` bytes; its content is zeros, or data that was read before.
    pub(crate) fn take(&self, bytes: usize) -> Buffer {
        let spare = list(bytes).and_then(|at| self.0.borrow_mut()[at].pop());
        match spare {
            Some(mut buffer) => {
                buffer.set_len(bytes);
                buffer
            }
            None => Buffer::zeroed(bytes),
        }
    }

    /// Keeps a buffer for another read.
    pub(crate) fn give_back(&self, buffer: Buffer) {
        let capacity = buffer.capacity();
        let Some(at) = list(capacity) else { return };
        let spares = &mut self.0.borrow_mut()[at];
        if spares.len() < SPARES_BYTES_MAX / capacity {
            spares.push(buffer);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn buffers_serve_reads_of_their_size_and_are_not_hoarded() {
        let buffers = ReadBuffers::default();
        let mut small = buffers.take(BLOCK_BYTES);
        assert!(small.iter().all(|&byte| byte == 0));
        small[17] = 1;
        // The device stops short.
        small.set_len(100);
        buffers.give_back(small);
        assert_eq!(buffers.take(2 * BLOCK_BYTES)[17], 0);
        let again = buffers.take(BLOCK_BYTES);
        assert_eq!((again.len(), again[17]), (BLOCK_BYTES, 1));
        let large = buffers.take((BLOCKS_MAX + 1) * BLOCK_BYTES);
        buffers.give_back(large);
        for _ in 0..100 {
            buffers.give_back(Buffer::zeroed(BLOCK_BYTES));
        }
        let kept: Vec<_> = buffers.0.borrow().iter().map(Vec::len).collect();
        assert_eq!(kept, [64, 0, 0, 0]);
    }
}
