//! Vectors of eight, for AVX2.

use std::arch::x86_64::*;

use super::{
    lanes::{Lanes, Unpack},
    packed::mask,
};

#[derive(Clone, Copy)]
pub(super) struct Avx2;

#[inline(always)]
unsafe fn bits(of: __m256i) -> u64 {
    // SAFETY: the callers have AVX2.
    u64::from(unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(of)) as u8 })
}

impl Lanes for Avx2 {
    type Vector = __m256i;

    const COUNT: usize = 8;

    #[inline(always)]
    unsafe fn splat(code: u32) -> __m256i {
        // SAFETY: the caller has AVX2, as for all methods of the trait.
        unsafe { _mm256_set1_epi32(code as i32) }
    }

    #[inline(always)]
    unsafe fn store(vector: __m256i, to: *mut u32) {
        // SAFETY: the caller has AVX2, and room for eight codes.
        unsafe { _mm256_storeu_si256(to.cast(), vector) }
    }

    #[inline(always)]
    unsafe fn equal(one: __m256i, other: __m256i) -> u64 {
        // SAFETY: the caller has AVX2.
        unsafe { bits(_mm256_cmpeq_epi32(one, other)) }
    }

    #[inline(always)]
    unsafe fn in_range(codes: __m256i, first: __m256i, most: __m256i) -> u64 {
        // SAFETY: the caller has AVX2.
        unsafe {
            let offsets = _mm256_sub_epi32(codes, first);
            // There is no unsigned comparison, but a minimum.
            bits(_mm256_cmpeq_epi32(_mm256_min_epu32(offsets, most), offsets))
        }
    }

    #[inline(always)]
    unsafe fn hash(codes: __m256i, factor: __m256i, shift: u32) -> __m256i {
        // SAFETY: the caller has AVX2.
        unsafe {
            let product = _mm256_mullo_epi32(codes, factor);
            _mm256_srl_epi32(product, _mm_cvtsi32_si128(shift as i32))
        }
    }

    #[inline(always)]
    unsafe fn bits_at(bitmap: *const u32, places: __m256i) -> u64 {
        // SAFETY: the caller promises a bit for each place; a place shifted right is not negative.
        unsafe {
            let words = _mm256_i32gather_epi32::<4>(bitmap.cast(), _mm256_srli_epi32::<5>(places));
            // The bit, moved to the sign: 31 less its number.
            let up = _mm256_andnot_si256(places, _mm256_set1_epi32(31));
            bits(_mm256_sllv_epi32(words, up))
        }
    }

    #[inline(always)]
    unsafe fn min(one: __m256i, other: __m256i) -> __m256i {
        // SAFETY: the caller has AVX2.
        unsafe { _mm256_min_epu32(one, other) }
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

/// Reader of codes of up to 25 bits: each code lies within four bytes, wherever it begins.
///
/// Half of a group is read at a time, from the byte in which it begins.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    width: usize,
    /// Byte of the group at which its second half begins.
    second: usize,
    /// Bytes of its half that each code lies in.
    bytes: __m256i,
    /// Bit of those bytes that each code begins at.
    shifts: __m256i,
    mask: __m256i,
}

impl Narrow {
    /// Makes a reader of codes of `width` bits.
    ///
    /// # Safety
    /// There is AVX2. The width is at most 25.
    #[inline(always)]
    pub(super) unsafe fn new(width: u32) -> Self {
        let (mut bytes, mut shifts) = ([0_u8; 32], [0_u32; 8]);
        for at in 0..8 {
            let bit = (at * width) % (4 * width) + if at < 4 { 0 } else { 4 * width % 8 };
            shifts[at as usize] = bit % 8;
            for byte in 0..4 {
                bytes[(at * 4 + byte) as usize] = (bit / 8 + byte) as u8;
            }
        }
        // SAFETY: the arrays have 32 bytes, and there is AVX2.
        unsafe {
            Self {
                width: width as usize,
                second: width as usize / 2,
                bytes: _mm256_loadu_si256(bytes.as_ptr().cast()),
                shifts: _mm256_loadu_si256(shifts.as_ptr().cast()),
                mask: Avx2::splat(mask(width)),
            }
        }
    }
}

impl Unpack<Avx2> for Narrow {
    #[inline(always)]
    fn block_words(&self) -> usize {
        self.width
    }

    #[inline(always)]
    unsafe fn unpack(&self, block: *const u64, group: usize) -> __m256i {
        // SAFETY: the group begins in the block; from there on, 28 bytes may be read. There is AVX2.
        unsafe {
            let group = block.cast::<u8>().add(group * self.width);
            let (first, second) = (group.cast(), group.add(self.second).cast());
            let halves = _mm256_loadu2_m128i(second, first);
            let codes = _mm256_shuffle_epi8(halves, self.bytes);
            _mm256_and_si256(_mm256_srlv_epi32(codes, self.shifts), self.mask)
        }
    }
}

/// Reader of wider codes, which lie within eight bytes. Codes are read by twos.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    width: usize,
    /// Bytes of its pair that each of four codes lies in, and the bit: for the first and second half.
    bytes: [__m256i; 2],
    shifts: [__m256i; 2],
    mask: __m256i,
}

impl Wide {
    /// Makes a reader of codes of `width` bits.
    ///
    /// # Safety
    /// There is AVX2. The width is at most 32.
    #[inline(always)]
    pub(super) unsafe fn new(width: u32) -> Self {
        let (mut bytes, mut shifts) = ([0_u8; 64], [0_u64; 8]);
        for at in 0..8 {
            let pair = at / 2 * 2 * width;
            let bit = at * width - pair / 8 * 8;
            shifts[at as usize] = u64::from(bit % 8);
            for byte in 0..8 {
                bytes[(at * 8 + byte) as usize] = (bit / 8 + byte) as u8;
            }
        }
        // SAFETY: the arrays have 64 bytes, and there is AVX2.
        unsafe {
            let bytes = bytes.as_ptr().cast::<__m256i>();
            let shifts = shifts.as_ptr().cast::<__m256i>();
            Self {
                width: width as usize,
                bytes: [_mm256_loadu_si256(bytes), _mm256_loadu_si256(bytes.add(1))],
                shifts: [
                    _mm256_loadu_si256(shifts),
                    _mm256_loadu_si256(shifts.add(1)),
                ],
                mask: Avx2::splat(mask(width)),
            }
        }
    }

    /// Returns four codes, in the lower halves of four lanes.
    #[inline(always)]
    unsafe fn half(&self, group: *const u8, half: usize) -> __m256i {
        let pair = |pair: usize| group.wrapping_add(pair * 2 * self.width / 8).cast();
        // SAFETY: the caller's group; there is AVX2.
        unsafe {
            let pairs = _mm256_loadu2_m128i(pair(2 * half + 1), pair(2 * half));
            let codes = _mm256_shuffle_epi8(pairs, self.bytes[half]);
            _mm256_srlv_epi64(codes, self.shifts[half])
        }
    }
}

impl Unpack<Avx2> for Wide {
    #[inline(always)]
    fn block_words(&self) -> usize {
        self.width
    }

    #[inline(always)]
    unsafe fn unpack(&self, block: *const u64, group: usize) -> __m256i {
        // SAFETY: the group begins in the block; from there on, 40 bytes may be read. There is AVX2.
        unsafe {
            let group = block.cast::<u8>().add(group * self.width);
            let (first, second) = (self.half(group, 0), self.half(group, 1));
            // Take the even lanes of both, which are codes 0 1 4 5 and 2 3 6 7.
            let both = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(
                _mm256_castsi256_ps(first),
                _mm256_castsi256_ps(second),
            ));
            _mm256_and_si256(_mm256_permute4x64_epi64::<0b11_01_10_00>(both), self.mask)
        }
    }
}

/// Reader of codes of 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Unpack<Avx2> for Plain {
    #[inline(always)]
    fn block_words(&self) -> usize {
        32
    }

    #[inline(always)]
    unsafe fn unpack(&self, block: *const u64, group: usize) -> __m256i {
        // SAFETY: the read is within the block; there is AVX2.
        unsafe { _mm256_loadu_si256(block.cast::<__m256i>().add(group)) }
    }
}
