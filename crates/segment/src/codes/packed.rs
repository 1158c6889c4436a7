//! Codes of few bits each.

use std::collections::TryReserveError;

use super::BLOCK;

/// Words behind the last block, so that whole vectors can be read at its last code.
pub(crate) const PADDING: usize = 8;

/// Returns the bits that codes below `count` need: 1 to 32.
pub fn bits_for(count: u64) -> u32 {
    (u64::BITS - count.saturating_sub(1).leading_zeros()).clamp(1, 32)
}

/// Codes of 1 to 32 bits each, packed without gaps, on huge pages.
///
/// Invariants: there are `len.div_ceil(64) * width + 8` words; bits behind the last code are 0.
#[derive(Clone, Debug)]
pub struct PackedCodes {
    words: Vec<u64>,
    len: usize,
    width: u32,
}

impl PackedCodes {
    /// Returns an empty vector, with room for `capacity` codes of `width` bits.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking.
    ///
    /// # Panics
    /// Panics if `width` is not 1 to 32.
    pub fn with_capacity(width: u32, capacity: usize) -> Result<Self, TryReserveError> {
        assert!((1..=32).contains(&width), "a code has 1 to 32 bits");
        let blocks = capacity.div_ceil(BLOCK);
        let mut words = memory::on_huge_pages(
            blocks
                .saturating_mul(width as usize)
                .saturating_add(PADDING),
        )?;
        words.resize(PADDING, 0);
        Ok(Self {
            words,
            len: 0,
            width,
        })
    }

    /// Returns a vector of `codes`, with `width` bits each.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking.
    ///
    /// # Panics
    /// Panics if `width` is not 1 to 32, or a code has more bits.
    pub fn from_codes(
        width: u32,
        codes: impl ExactSizeIterator<Item = u32>,
    ) -> Result<Self, TryReserveError> {
        let mut packed = Self::with_capacity(width, codes.len())?;
        let mut batch = [0; BLOCK];
        let mut filled = 0;
        for code in codes {
            batch[filled] = code;
            filled += 1;
            if filled == BLOCK {
                packed.extend(&batch)?;
                filled = 0;
            }
        }
        packed.extend(&batch[..filled])?;
        Ok(packed)
    }

    /// Returns the codes.
    pub fn as_slice(&self) -> PackedSlice<'_> {
        PackedSlice {
            words: &self.words,
            len: self.len,
            width: self.width,
        }
    }

    /// Returns the number of codes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no codes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bits of each code.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the bytes of all words.
    pub fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// Adds a code.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking; nothing was added.
    ///
    /// # Panics
    /// Panics if `code` has more than [`PackedCodes::width`] bits.
    pub fn push(&mut self, code: u32) -> Result<(), TryReserveError> {
        self.extend(&[code])
    }

    /// Adds `codes`.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking; nothing was added.
    ///
    /// # Panics
    /// Panics if a code has more than [`PackedCodes::width`] bits; nothing was added.
    pub fn extend(&mut self, codes: &[u32]) -> Result<(), TryReserveError> {
        let all = codes.iter().fold(0, |all, code| all | code);
        let is_fit = u64::from(all) >> self.width == 0;
        assert!(is_fit, "a code has more than {} bits", self.width);
        let blocks = (self.len + codes.len()).div_ceil(BLOCK);
        let words = blocks * self.width as usize + PADDING;
        self.words
            .try_reserve(words.saturating_sub(self.words.len()))?;
        self.words.resize(words, 0);
        pack(
            codes,
            self.width,
            self.len * self.width as usize,
            &mut self.words,
        );
        self.len += codes.len();
        Ok(())
    }

    /// Returns the code at `at`: see [`PackedSlice::get`].
    ///
    /// # Panics
    /// Panics if there is no such code.
    #[inline]
    pub fn get(&self, at: usize) -> u32 {
        self.as_slice().get(at)
    }

    /// Returns the address of a code, to be fetched before [`PackedCodes::get`].
    pub fn address(&self, at: usize) -> *const u8 {
        let byte = at.wrapping_mul(self.width as usize) / 8;
        self.words.as_ptr().cast::<u8>().wrapping_add(byte)
    }
}

/// Borrowed codes of 1 to 32 bits each, packed without gaps.
///
/// Invariants: there are `len.div_ceil(64) * width + 8` words, the width is 1 to 32. Bits behind the last code and the
/// last eight words may be anything.
#[derive(Clone, Copy, Debug)]
pub struct PackedSlice<'w> {
    words: &'w [u64],
    len: usize,
    width: u32,
}

impl<'w> PackedSlice<'w> {
    /// Returns the words that `len` codes of `width` bits take, without the words that are behind them.
    pub fn words_of(len: usize, width: u32) -> usize {
        len.div_ceil(BLOCK) * width as usize
    }

    /// Returns the first `len` codes of `width` bits of `words`, or `None` if the width is not 1 to 32, or there are
    /// fewer than eight words behind the codes' blocks.
    pub fn new(words: &'w [u64], len: usize, width: u32) -> Option<Self> {
        if !(1..=32).contains(&width) {
            return None;
        }
        let words = words.get(..Self::words_of(len, width).checked_add(PADDING)?)?;
        Some(Self { words, len, width })
    }

    /// Returns the number of codes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no codes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bits of each code.
    #[inline]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the code at `at`.
    ///
    /// # Panics
    /// Panics if there is no such code.
    #[inline]
    pub fn get(&self, at: usize) -> u32 {
        assert!(at < self.len, "there are {} codes", self.len);
        self.read(at)
    }

    /// Returns the code at `at`, which is in a block of the slice.
    #[inline]
    fn read(&self, at: usize) -> u32 {
        let bit = at * self.width as usize;
        let pair = u128::from(self.words[bit / 64]) | u128::from(self.words[bit / 64 + 1]) << 64;
        (pair >> (bit % 64)) as u32 & mask(self.width)
    }

    /// Returns the codes of a block, and how many it has. Codes behind the last of [`PackedCodes`] are 0.
    ///
    /// # Panics
    /// Panics if there is no such block.
    pub fn block(&self, number: usize) -> ([u32; BLOCK], usize) {
        let is_there = number < self.len.div_ceil(BLOCK);
        assert!(is_there, "there are {} codes", self.len);
        let from = number * BLOCK;
        let codes = std::array::from_fn(|at| self.read(from + at));
        (codes, (self.len - from).min(BLOCK))
    }

    /// Returns all words: blocks, then eight words more.
    #[inline]
    pub(super) fn words(&self) -> &'w [u64] {
        self.words
    }
}

/// Appends the blocks of `codes`, with `width` bits each, to words that may have others before.
///
/// # Errors
/// [`TryReserveError`] if memory is lacking; nothing was appended.
///
/// # Panics
/// In a build with debug assertions, panics if the width is not 1 to 32, or a code has more bits.
pub(crate) fn append(codes: &[u32], width: u32, to: &mut Vec<u64>) -> Result<(), TryReserveError> {
    debug_assert!((1..=32).contains(&width), "a code has 1 to 32 bits");
    debug_assert!(codes.iter().all(|&code| code <= mask(width)));
    let from = to.len();
    let words = PackedSlice::words_of(codes.len(), width);
    to.try_reserve(words + 1)?;
    // The packer looks at the word behind the last code's.
    to.resize(from + words + 1, 0);
    pack(codes, width, 0, &mut to[from..]);
    to.truncate(from + words);
    Ok(())
}

/// Writes `codes`, which have at most `width` bits, from bit `bit` of `words` on. The bits were 0, and there is a word
/// behind the last code's.
fn pack(codes: &[u32], width: u32, mut bit: usize, words: &mut [u64]) {
    // The word that is being filled is kept in a variable.
    let mut word = words[bit / 64];
    for &code in codes {
        let (at, shift) = (bit / 64, bit % 64);
        word |= u64::from(code) << shift;
        bit += width as usize;
        if bit / 64 != at {
            words[at] = word;
            // The word is zero if the code ended with the word before: the shift is less than 64 twice over.
            word = u64::from(code) >> 1 >> (63 - shift);
        }
    }
    words[bit / 64] |= word;
}

/// Returns the mask of a code's bits.
pub(crate) fn mask(width: u32) -> u32 {
    u32::MAX >> (32 - width)
}
