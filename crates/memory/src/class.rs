//! Size classes: the block sizes that exist.
//!
//! A block of fewer than 64 bytes never straddles a cache line (16, 32, 64),
//! larger ones are whole lines and start on a line: exact up to 16 lines, then
//! eight steps per doubling (at most 12.5 % waste).
//!
//! Every size exists three times: blocks of a *lasting* purpose ([`Purpose::Border`]) have classes
//! of their own, so that the content of a block, free or not, was always written by that purpose;
//! and so have versions, whose memory can serve others again (`region.rs`).

use crate::{LINE_BYTES, Purpose};

/// The largest block an arena hands out, in bytes (32 MiB).
pub const BLOCK_BYTES_MAX: usize = 32 << 20;

/// Number of sizes.
pub(crate) const SIZE_COUNT: usize = size_of(BLOCK_BYTES_MAX) + 1;

/// Number of classes.
pub(crate) const CLASS_COUNT: usize = VERSION_CLASSES + SIZE_COUNT;

/// The first class of versions.
pub(crate) const VERSION_CLASSES: usize = 2 * SIZE_COUNT;

const EXACT_LINES: usize = 16;
const STEPS_PER_DOUBLING_LOG2: usize = 3;

/// Returns the class that serves a block of `bytes` (1 to [`BLOCK_BYTES_MAX`]).
#[inline(always)]
pub(crate) const fn class_of(bytes: usize, purpose: Purpose) -> usize {
    match purpose {
        Purpose::Border => SIZE_COUNT + size_of(bytes),
        Purpose::Index | Purpose::Indirection => size_of(bytes),
        Purpose::Version => VERSION_CLASSES + size_of(bytes),
    }
}

/// Size class of a block, in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize(u8);

const _: () = assert!(SIZE_COUNT <= 1 << 8);

impl BlockSize {
    /// Returns the size of the block that serves `bytes` (1 to [`BLOCK_BYTES_MAX`]).
    #[inline(always)]
    pub const fn serving(bytes: usize) -> BlockSize {
        BlockSize(size_of(bytes) as u8)
    }

    /// Returns the bytes of the block: allocating or freeing as many uses the same size.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        block_bytes(self.0 as usize)
    }

    /// Returns the size as a number.
    #[inline(always)]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the size with this [`BlockSize::number`].
    #[inline(always)]
    pub const fn of_number(number: u8) -> BlockSize {
        BlockSize(number)
    }
}

/// Returns the number of the size that serves `bytes`.
const fn size_of(bytes: usize) -> usize {
    if bytes <= 16 {
        return 0;
    }
    if bytes <= 32 {
        return 1;
    }
    let lines = bytes.div_ceil(LINE_BYTES);
    if lines <= EXACT_LINES {
        return 1 + lines;
    }
    let doubling = (lines - 1).ilog2() as usize;
    let step = ((lines - 1) >> (doubling - STEPS_PER_DOUBLING_LOG2)) & 7;
    2 + EXACT_LINES + (doubling - 4) * 8 + step
}

/// Returns the bytes of every block of `class`.
pub(crate) const fn block_bytes(class: usize) -> usize {
    match class % SIZE_COUNT {
        0 => 16,
        1 => 32,
        size if size < 2 + EXACT_LINES => (size - 1) * LINE_BYTES,
        size => {
            let beyond = size - 2 - EXACT_LINES;
            let doubling = beyond / 8 + 4;
            let step = beyond % 8;
            ((8 + step + 1) << (doubling - STEPS_PER_DOUBLING_LOG2)) * LINE_BYTES
        }
    }
}

const _: () = assert!(block_bytes(size_of(BLOCK_BYTES_MAX)) == BLOCK_BYTES_MAX);
const _: () = assert!(block_bytes(size_of(1048)) == 1088 + 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_it_serves_and_the_one_below_does_not() {
        for bytes in (1..20_000).chain([1 << 20, (1 << 20) + 1, BLOCK_BYTES_MAX - 1]) {
            let class = size_of(bytes);
            assert_eq!(
                block_bytes(class_of(bytes, Purpose::Border)),
                block_bytes(class)
            );
            let size = BlockSize::of_number(BlockSize::serving(bytes).number());
            assert_eq!(size.bytes(), block_bytes(class));
            assert_eq!(BlockSize::serving(size.bytes()), size);
            assert!(block_bytes(class) >= bytes, "{bytes}");
            assert!(class == 0 || block_bytes(class - 1) < bytes, "{bytes}");
        }
    }

    #[test]
    fn blocks_do_not_straddle_lines_needlessly() {
        for class in 0..CLASS_COUNT {
            let bytes = block_bytes(class);
            assert!(bytes.is_multiple_of(LINE_BYTES) || LINE_BYTES.is_multiple_of(bytes));
        }
    }
}
