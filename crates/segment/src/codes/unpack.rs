//! Many codes, unpacked at once.

use std::ops::Range;

use super::{
    BLOCK, PackedSlice,
    lanes::{Lanes, OnBlocks, Unpack, by_width},
    machine::{Machine, Work},
};

impl PackedSlice<'_> {
    /// Appends the codes of a range.
    ///
    /// # Panics
    /// Panics if there are fewer codes.
    pub fn unpack(&self, range: Range<usize>, to: &mut Vec<u32>) {
        self.assert_codes(&range);
        to.reserve(range.len());
        self.each_block(range, |codes| to.extend_from_slice(codes));
    }

    /// Passes the codes of a range to `take`, at most 64 at a time, in their order.
    ///
    /// # Panics
    /// Panics if there are fewer codes.
    pub fn each_block(&self, range: Range<usize>, take: impl FnMut(&[u32])) {
        self.each_block_on(Machine::best(), range, take);
    }

    pub(super) fn each_block_on(
        &self,
        machine: Machine,
        range: Range<usize>,
        take: impl FnMut(&[u32]),
    ) {
        self.assert_codes(&range);
        if !range.is_empty() {
            machine.run(Unpacking {
                codes: *self,
                range,
                take,
            });
        }
    }

    /// Panics if there are fewer codes than a range says.
    fn assert_codes(&self, range: &Range<usize>) {
        assert!(range.end <= self.len(), "there are {} codes", self.len());
    }
}

/// Codes that are being unpacked.
///
/// Invariant: the codes have the range, which is not empty.
struct Unpacking<'c, F> {
    codes: PackedSlice<'c>,
    range: Range<usize>,
    take: F,
}

impl<F: FnMut(&[u32])> Work for Unpacking<'_, F> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: as the caller promises; packed codes have 1 to 32 bits.
        unsafe { by_width::<L>(self.codes.width(), self) }
    }
}

impl<L: Lanes, F: FnMut(&[u32])> OnBlocks<L> for Unpacking<'_, F> {
    #[inline(always)]
    unsafe fn run<U: Unpack<L>>(mut self, unpack: U) {
        let Range { start, end } = self.range;
        let words = self.codes.words();
        let mut codes = [0_u32; BLOCK];
        for number in start / BLOCK..end.div_ceil(BLOCK) {
            let block = words[number * unpack.block_words()..].as_ptr();
            for group in 0..BLOCK / L::COUNT {
                // SAFETY: the slice has the block and eight words more; a group of a block fits into as many codes. The
                // caller has the instructions.
                unsafe {
                    let vector = unpack.unpack(block, group);
                    L::store(vector, codes.as_mut_ptr().add(group * L::COUNT));
                }
            }
            let first = number * BLOCK;
            (self.take)(&codes[start.saturating_sub(first)..(end - first).min(BLOCK)]);
        }
    }
}
