//! Vectors for any machine: arrays of eight.

use super::{
    lanes::{Lanes, Unpack},
    packed::mask,
};

#[derive(Clone, Copy)]
pub(super) struct Portable;

const COUNT: usize = 8;

#[inline(always)]
fn bits(of: impl Fn(usize) -> bool) -> u64 {
    (0..COUNT).fold(0, |bits, at| bits | u64::from(of(at)) << at)
}

impl Lanes for Portable {
    type Vector = [u32; COUNT];

    const COUNT: usize = COUNT;

    #[inline(always)]
    unsafe fn splat(code: u32) -> [u32; COUNT] {
        [code; COUNT]
    }

    #[inline(always)]
    unsafe fn store(vector: [u32; COUNT], to: *mut u32) {
        // SAFETY: as the caller promises.
        unsafe { to.cast::<[u32; COUNT]>().write_unaligned(vector) }
    }

    #[inline(always)]
    unsafe fn equal(one: [u32; COUNT], other: [u32; COUNT]) -> u64 {
        bits(|at| one[at] == other[at])
    }

    #[inline(always)]
    unsafe fn in_range(codes: [u32; COUNT], first: [u32; COUNT], most: [u32; COUNT]) -> u64 {
        bits(|at| codes[at].wrapping_sub(first[at]) <= most[at])
    }

    #[inline(always)]
    unsafe fn hash(codes: [u32; COUNT], factor: [u32; COUNT], shift: u32) -> [u32; COUNT] {
        std::array::from_fn(|at| codes[at].wrapping_mul(factor[at]) >> shift)
    }

    #[inline(always)]
    unsafe fn bits_at(bitmap: *const u32, places: [u32; COUNT]) -> u64 {
        bits(|at| {
            // SAFETY: the caller promises a bit for each place.
            let word = unsafe { *bitmap.add(places[at] as usize / 32) };
            word >> (places[at] % 32) & 1 == 1
        })
    }

    #[inline(always)]
    unsafe fn min(one: [u32; COUNT], other: [u32; COUNT]) -> [u32; COUNT] {
        std::array::from_fn(|at| one[at].min(other[at]))
    }

    type Narrow = Packed;
    type Wide = Packed;
    type Plain = Plain;

    #[inline(always)]
    unsafe fn narrow(width: u32) -> Packed {
        Packed { width }
    }

    #[inline(always)]
    unsafe fn wide(width: u32) -> Packed {
        Packed { width }
    }

    #[inline(always)]
    fn plain() -> Plain {
        Plain
    }
}

/// Reader of packed codes.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    width: u32,
}

impl Unpack<Portable> for Packed {
    #[inline(always)]
    fn block_words(&self) -> usize {
        self.width as usize
    }

    #[inline(always)]
    unsafe fn unpack(&self, block: *const u64, group: usize) -> [u32; COUNT] {
        std::array::from_fn(|at| {
            let bit = (group * COUNT + at) * self.width as usize;
            // SAFETY: the reads are of words of the block, and one behind it.
            let (low, high) = unsafe { (*block.add(bit / 64), *block.add(bit / 64 + 1)) };
            let pair = u128::from(low) | u128::from(high) << 64;
            (pair >> (bit % 64)) as u32 & mask(self.width)
        })
    }
}

/// Reader of one number for each code: a block is 32 words.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Unpack<Portable> for Plain {
    #[inline(always)]
    fn block_words(&self) -> usize {
        32
    }

    #[inline(always)]
    unsafe fn unpack(&self, block: *const u64, group: usize) -> [u32; COUNT] {
        // SAFETY: the read is within the 64 codes of the block.
        unsafe { block.cast::<[u32; COUNT]>().add(group).read_unaligned() }
    }
}
