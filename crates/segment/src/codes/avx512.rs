//! Vectors of sixteen, for AVX-512 with its byte permutations (VBMI).

use std::arch::x86_64::*;

use super::{
    lanes::{Lanes, Unpack},
    packed::mask,
};

#[derive(Clone, Copy)]
pub(super) struct Avx512;

impl Lanes for Avx512 {
    type Vector = __m512i;

    const COUNT: usize = 16;

    #[inline(always)]
    unsafe fn splat(code: u32) -> __m512i {
        // SAFETY: the caller has AVX-512, as for all methods of the trait.
        unsafe { _mm512_set1_epi32(code as i32) }
    }

    #[inline(always)]
    unsafe fn store(vector: __m512i, to: *mut u32) {
        // SAFETY: the caller has AVX-512, and room for sixteen codes.
        unsafe { _mm512_storeu_si512(to.cast(), vector) }
    }

    #[inline(always)]
    unsafe fn equal(one: __m512i, other: __m512i) -> u64 {
        // SAFETY: the caller has AVX-512.
        u64::from(unsafe { _mm512_cmpeq_epi32_mask(one, other) })
    }

    #[inline(always)]
    unsafe fn in_range(codes: __m512i, first: __m512i, most: __m512i) -> u64 {
        // SAFETY: the caller has AVX-512.
        u64::from(unsafe { _mm512_cmple_epu32_mask(_mm512_sub_epi32(codes, first), most) })
    }

    #[inline(always)]
    unsafe fn hash(codes: __m512i, factor: __m512i, shift: u32) -> __m512i {
        // SAFETY: the caller has AVX-512.
        unsafe {
            let product = _mm512_mullo_epi32(codes, factor);
            _mm512_srl_epi32(product, _mm_cvtsi32_si128(shift as i32))
        }
    }

    #[inline(always)]
    unsafe fn bits_at(bitmap: *const u32, places: __m512i) -> u64 {
        // SAFETY: the caller promises a bit for each place; a place shifted right is not negative.
        unsafe {
            let words = _mm512_i32gather_epi32::<4>(_mm512_srli_epi32::<5>(places), bitmap.cast());
            let bits = _mm512_rorv_epi32(words, places);
            u64::from(_mm512_test_epi32_mask(bits, _mm512_set1_epi32(1)))
        }
    }

    #[inline(always)]
    unsafe fn min(one: __m512i, other: __m512i) -> __m512i {
        // SAFETY: the caller has AVX-512.
        unsafe { _mm512_min_epu32(one, other) }
    }

    type Narrow = Narrow;
    type Wide = Wide;
    type Plain = Plain;

    #[inline(always)]
    unsafe fn narrow(width: u32) -> Narrow {
        // SAFETY: as the caller promises.
        unsafe { Narrow::new(width) }
    }

    #[inline(always)]
    unsafe fn wide(width: u32) -> Wide {
        // SAFETY: as the caller promises.
        unsafe { Wide::new(width) }
    }

    #[inline(always)]
    fn plain() -> Plain {
        Plain
    }
}

/// Reader of codes of up to 25 bits: each code lies within four bytes, and sixteen within one vector.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    width: usize,
    /// Bytes of the group that each code lies in.
    bytes: __m512i,
    /// Bit of those bytes that each code begins at.
    shifts: __m512i,
    mask: __m512i,
}

impl Narrow {
    /// Makes a reader of codes of `width` bits.
    ///
    /// # Safety
    /// There is AVX-512. The width is at most 25.
    #[inline(always)]
    pub(super) unsafe fn new(width: u32) -> Self {
        let (mut bytes, mut shifts) = ([0_u8; 64], [0_u32; 16]);
        for at in 0..16 {
            let bit = at * width;
            shifts[at as usize] = bit % 8;
            for byte in 0..4 {
                bytes[(at * 4 + byte) as usize] = (bit / 8 + byte) as u8;
            }
        }
        // SAFETY: the arrays have 64 bytes, and there is AVX-512.
        unsafe {
            Self {
                width: width as usize,
                bytes: _mm512_loadu_si512(bytes.as_ptr().cast()),
                shifts: _mm512_loadu_si512(shifts.as_ptr().cast()),
                mask: Avx512::splat(mask(width)),
            }
        }
    }
}

impl Unpack<Avx512> for Narrow {
    #[inline(always)]
    fn block_words(&self) -> usize {
        self.width
    }

    #[inline(always)]
    unsafe fn unpack(&self, block: *const u64, group: usize) -> __m512i {
        // SAFETY: the group begins in the block; from there on, 64 bytes may be read. There are AVX-512 and VBMI.
        unsafe {
            let group = block.cast::<u8>().add(group * 2 * self.width);
            let codes = _mm512_permutexvar_epi8(self.bytes, _mm512_loadu_si512(group.cast()));
            _mm512_and_si512(_mm512_srlv_epi32(codes, self.shifts), self.mask)
        }
    }
}

/// Reader of wider codes, which lie within eight bytes. Codes are read by eights.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    width: usize,
    bytes: __m512i,
    shifts: __m512i,
    mask: __m512i,
}

impl Wide {
    /// Makes a reader of codes of `width` bits.
    ///
    /// # Safety
    /// There is AVX-512. The width is at most 32.
    #[inline(always)]
    pub(super) unsafe fn new(width: u32) -> Self {
        let (mut bytes, mut shifts) = ([0_u8; 64], [0_u64; 8]);
        for at in 0..8 {
            let bit = at * width;
            shifts[at as usize] = u64::from(bit % 8);
            for byte in 0..8 {
                bytes[(at * 8 + byte) as usize] = (bit / 8 + byte) as u8;
            }
        }
        // SAFETY: the arrays have 64 bytes, and there is AVX-512.
        unsafe {
            Self {
                width: width as usize,
                bytes: _mm512_loadu_si512(bytes.as_ptr().cast()),
                shifts: _mm512_loadu_si512(shifts.as_ptr().cast()),
                mask: Avx512::splat(mask(width)),
            }
        }
    }

    /// Returns eight codes.
    #[inline(always)]
    unsafe fn half(&self, half: *const u8) -> __m256i {
        // SAFETY: the caller's half; there are AVX-512 and VBMI.
        unsafe {
            let codes = _mm512_permutexvar_epi8(self.bytes, _mm512_loadu_si512(half.cast()));
            _mm512_cvtepi64_epi32(_mm512_srlv_epi64(codes, self.shifts))
        }
    }
}

impl Unpack<Avx512> for Wide {
    #[inline(always)]
    fn block_words(&self) -> usize {
        self.width
    }

    #[inline(always)]
    unsafe fn unpack(&self, block: *const u64, group: usize) -> __m512i {
        // SAFETY: both halves begin in the block; from there on, 64 bytes may be read. There are AVX-512 and VBMI.
        unsafe {
            let group = block.cast::<u8>().add(group * 2 * self.width);
            let (first, second) = (self.half(group), self.half(group.add(self.width)));
            let both = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second);
            _mm512_and_si512(both, self.mask)
        }
    }
}

/// Reader of codes of 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Unpack<Avx512> for Plain {
    #[inline(always)]
    fn block_words(&self) -> usize {
        32
    }

    #[inline(always)]
    unsafe fn unpack(&self, block: *const u64, group: usize) -> __m512i {
        // SAFETY: the read is within the block; there is AVX-512.
        unsafe { _mm512_loadu_si512(block.cast::<__m512i>().add(group)) }
    }
}
