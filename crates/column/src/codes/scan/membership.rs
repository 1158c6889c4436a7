//! Whether the codes of a vector are in a set, by the forms that sets take (`set.rs`).

use crate::codes::lanes::Lanes;

/// Whether codes are in a set.
pub(super) trait Test<L: Lanes>: Copy {
    /// A bit for each lane.
    ///
    /// # Safety
    /// The caller has the instructions.
    unsafe fn test(&self, codes: L::Vector) -> u64;
}

/// It is one of a few.
#[derive(Clone, Copy)]
pub(super) struct Few<L: Lanes, const N: usize>([L::Vector; N]);

impl<L: Lanes, const N: usize> Few<L, N> {
    /// The first codes of a list.
    ///
    /// # Safety
    /// The caller has the instructions.
    #[inline(always)]
    pub(super) unsafe fn of(codes: &[u32]) -> Self {
        // SAFETY: as the caller promises.
        let mut vectors = [unsafe { L::splat(codes[0]) }; N];
        for (vector, &code) in vectors.iter_mut().zip(codes) {
            // SAFETY: as above.
            *vector = unsafe { L::splat(code) };
        }
        Self(vectors)
    }
}

impl<L: Lanes, const N: usize> Test<L> for Few<L, N> {
    #[inline(always)]
    unsafe fn test(&self, codes: L::Vector) -> u64 {
        let mut mask = 0;
        for &code in &self.0 {
            // SAFETY: as the caller promises.
            mask |= unsafe { L::equal(codes, code) };
        }
        mask
    }
}

/// It is in a range.
#[derive(Clone, Copy)]
pub(super) struct InRange<L: Lanes> {
    pub(super) first: L::Vector,
    pub(super) most: L::Vector,
}

impl<L: Lanes> Test<L> for InRange<L> {
    #[inline(always)]
    unsafe fn test(&self, codes: L::Vector) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { L::in_range(codes, self.first, self.most) }
    }
}

/// Its bit is set.
#[derive(Clone, Copy)]
pub(super) struct InBitmap<L: Lanes> {
    pub(super) bits: *const u32,
    /// The place of the bit of all codes that are not less.
    pub(super) others: L::Vector,
}

impl<L: Lanes> Test<L> for InBitmap<L> {
    #[inline(always)]
    unsafe fn test(&self, codes: L::Vector) -> u64 {
        // SAFETY: as the caller promises; no place is beyond `others`.
        unsafe { L::bits_at(self.bits, L::min(codes, self.others)) }
    }
}

/// The bit of its hash is set: it may be.
#[derive(Clone, Copy)]
pub(super) struct InFilter<L: Lanes> {
    pub(super) bits: *const u32,
    pub(super) factor: L::Vector,
    pub(super) shift: u32,
}

impl<L: Lanes> Test<L> for InFilter<L> {
    #[inline(always)]
    unsafe fn test(&self, codes: L::Vector) -> u64 {
        // SAFETY: as the caller promises; there is a bit for each number with so many bits.
        unsafe { L::bits_at(self.bits, L::hash(codes, self.factor, self.shift)) }
    }
}
