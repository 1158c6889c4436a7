//! Tests whether the codes of a vector are in a set, by the forms that sets take (`set.rs`).

use crate::codes::lanes::Lanes;

/// Test whether codes are in a set.
pub(super) trait Test<L: Lanes>: Copy {
    /// Returns a bit for each lane, set if its code is in the set.
    ///
    /// # Safety
    /// The caller has the instructions.
    unsafe fn test(&self, codes: L::Vector) -> u64;
}

/// Test whether a code is one of a few.
#[derive(Clone, Copy)]
pub(super) struct Few<L: Lanes, const N: usize>([L::Vector; N]);

impl<L: Lanes, const N: usize> Few<L, N> {
    /// Makes the test of the first codes of a list.
    ///
    /// # Safety
    /// The caller has the instructions.
    #[inline(always)]
    pub(super) unsafe fn of(codes: &[u32]) -> Self {
        // SAFETY: the caller has the instructions.
        let mut vectors = [unsafe { L::splat(codes[0]) }; N];
        for (vector, &code) in vectors.iter_mut().zip(codes) {
            // SAFETY: the caller has the instructions.
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
            // SAFETY: the caller has the instructions.
            mask |= unsafe { L::equal(codes, code) };
        }
        mask
    }
}

/// Test whether a code is in a range.
#[derive(Clone, Copy)]
pub(super) struct InRange<L: Lanes> {
    pub(super) first: L::Vector,
    pub(super) most: L::Vector,
}

impl<L: Lanes> Test<L> for InRange<L> {
    #[inline(always)]
    unsafe fn test(&self, codes: L::Vector) -> u64 {
        // SAFETY: the caller has the instructions.
        unsafe { L::in_range(codes, self.first, self.most) }
    }
}

/// Test whether a code's bit is set.
#[derive(Clone, Copy)]
pub(super) struct InBitmap<L: Lanes> {
    pub(super) bits: *const u32,
    /// Place of the bit of all codes that are not less.
    pub(super) others: L::Vector,
}

impl<L: Lanes> Test<L> for InBitmap<L> {
    #[inline(always)]
    unsafe fn test(&self, codes: L::Vector) -> u64 {
        // SAFETY: the caller has the instructions; no place is beyond `others`.
        unsafe { L::bits_at(self.bits, L::min(codes, self.others)) }
    }
}

/// Test whether the bit of a code's hash is set: if so, the code may be in the set.
#[derive(Clone, Copy)]
pub(super) struct InFilter<L: Lanes> {
    pub(super) bits: *const u32,
    pub(super) factor: L::Vector,
    pub(super) shift: u32,
}

impl<L: Lanes> Test<L> for InFilter<L> {
    #[inline(always)]
    unsafe fn test(&self, codes: L::Vector) -> u64 {
        // SAFETY: the caller has the instructions; there is a bit for each hash.
        unsafe { L::bits_at(self.bits, L::hash(codes, self.factor, self.shift)) }
    }
}
