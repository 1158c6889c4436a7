//! The scan of a vector of codes for a set of them.
//!
//! The scan has one body, generic over the machine's vectors ([`Lanes`]), the way in which codes are read ([`Unpack`])
//! and the way in which they are tested ([`Test`]). The kind of vectors is found at run time ([`Machine`]).

mod membership;

use std::ops::Range;

use self::membership::{Few, InBitmap, InFilter, InRange, Test};

use super::{
    BLOCK, CodeSet, Codes,
    lanes::{Lanes, OnBlocks, Unpack, by_width},
    machine::{Machine, Work},
    set::{FACTOR, FEW_MAX, Filter, Form},
};

impl Codes<'_> {
    /// Finds the rows of a range whose codes are in `set`. Passes a row and a mask to `found`: if bit `i` of the mask
    /// is set, row `row + i` is found. Masks come in ascending order of rows; none is 0.
    ///
    /// # Panics
    /// Panics if there are fewer rows.
    pub fn scan(&self, rows: Range<usize>, set: &CodeSet, found: impl FnMut(usize, u64)) {
        self.scan_on(Machine::best(), rows, set, found);
    }

    /// Appends the rows of a range whose codes are in `set`, plus `base`, in ascending order.
    ///
    /// # Errors
    /// [`TryReserveError`](std::collections::TryReserveError) if memory is lacking for all of them.
    ///
    /// # Panics
    /// Panics if there are fewer rows.
    pub fn rows(
        &self,
        rows: Range<usize>,
        set: &CodeSet,
        base: u64,
        to: &mut Vec<u64>,
    ) -> Result<(), std::collections::TryReserveError> {
        let mut outcome = Ok(());
        self.scan(rows, set, |row, mut mask| {
            if outcome.is_ok() && to.capacity() - to.len() < BLOCK {
                outcome = to.try_reserve(BLOCK);
            }
            if outcome.is_err() {
                return;
            }
            let first = base + row as u64;
            while mask != 0 {
                to.push(first + u64::from(mask.trailing_zeros()));
                mask &= mask - 1;
            }
        });
        outcome
    }

    pub(super) fn scan_on(
        &self,
        machine: Machine,
        rows: Range<usize>,
        set: &CodeSet,
        found: impl FnMut(usize, u64),
    ) {
        assert!(rows.end <= self.len(), "there are {} rows", self.len());
        machine.run(Scan {
            codes: *self,
            rows,
            set,
            found,
        });
    }
}

struct Scan<'s, F> {
    codes: Codes<'s>,
    rows: Range<usize>,
    set: &'s CodeSet,
    found: F,
}

/// Blocks, of which `rows` are looked for.
struct Span {
    /// The first block.
    block: *const u64,
    /// First row of the first block.
    first: usize,
    blocks: usize,
    rows: Range<usize>,
}

impl Span {
    /// Returns the mask without the rows that are not looked for.
    #[inline(always)]
    fn trimmed(&self, block: usize, mut mask: u64) -> u64 {
        let first = self.first + block * BLOCK;
        if first < self.rows.start {
            mask &= u64::MAX << (self.rows.start - first);
        }
        if first + BLOCK > self.rows.end {
            mask &= u64::MAX >> (first + BLOCK - self.rows.end);
        }
        mask
    }
}

impl<F: FnMut(usize, u64)> Work for Scan<'_, F> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let rows = self.rows.clone();
        if rows.is_empty() {
            return;
        }
        match self.codes {
            Codes::Packed(codes) => {
                let first = rows.start / BLOCK;
                let width = codes.width();
                let span = Span {
                    block: codes.words()[first * width as usize..].as_ptr(),
                    first: first * BLOCK,
                    blocks: rows.end.div_ceil(BLOCK) - first,
                    rows,
                };
                // SAFETY: the vector has all blocks of its rows and eight words more.
                unsafe {
                    let scan = &mut self;
                    by_width::<L>(width, Over { scan, span: &span });
                }
            }
            Codes::Plain(codes) => {
                let (whole, rest) = codes[rows.clone()].as_chunks::<BLOCK>();
                let span = Span {
                    block: whole.as_ptr().cast(),
                    first: rows.start,
                    blocks: whole.len(),
                    rows: rows.clone(),
                };
                let mut last = [0; BLOCK];
                last[..rest.len()].copy_from_slice(rest);
                let tail = Span {
                    block: last.as_ptr().cast(),
                    first: rows.end - rest.len(),
                    blocks: usize::from(!rest.is_empty()),
                    rows,
                };
                for span in [span, tail] {
                    // SAFETY: the span consists of whole blocks of numbers.
                    unsafe { self.over::<L, _>(&span, L::plain()) }
                }
            }
        }
    }
}

/// A scan over the blocks of a span.
///
/// Invariant: the span has its blocks.
struct Over<'o, 's, F> {
    scan: &'o mut Scan<'s, F>,
    span: &'o Span,
}

impl<L: Lanes, F: FnMut(usize, u64)> OnBlocks<L> for Over<'_, '_, F> {
    #[inline(always)]
    unsafe fn run<U: Unpack<L>>(self, unpack: U) {
        // SAFETY: as the caller promises, and the invariant says.
        unsafe { self.scan.over::<L, U>(self.span, unpack) }
    }
}

impl<F: FnMut(usize, u64)> Scan<'_, F> {
    /// Tests the blocks of a span by the form of the set.
    ///
    /// # Safety
    /// The caller has the instructions; the span has its blocks.
    #[inline(always)]
    unsafe fn over<L: Lanes, U: Unpack<L>>(&mut self, span: &Span, unpack: U) {
        let found = &mut self.found;
        // SAFETY: as the caller promises. Bitmaps have a bit for each code, and one for all others.
        unsafe {
            match self.set.form() {
                Form::Nothing => {}
                &Form::One(code) => each(span, unpack, Few::<L, 1>::of(&[code]), found),
                &Form::Range(first, last) => {
                    let test = InRange::<L> {
                        first: L::splat(first),
                        most: L::splat(last - first),
                    };
                    each(span, unpack, test, found);
                }
                Form::Few(codes, 2) => each(span, unpack, Few::<L, 2>::of(codes), found),
                Form::Few(codes, ..=4) => each(span, unpack, Few::<L, 4>::of(codes), found),
                Form::Few(codes, _) => each(span, unpack, Few::<L, FEW_MAX>::of(codes), found),
                Form::Bitmap { bits, width } => {
                    let others = 1_u32.checked_shl(*width).unwrap_or(u32::MAX);
                    let test = InBitmap::<L> {
                        bits: bits.as_ptr(),
                        others: L::splat(others),
                    };
                    each(span, unpack, test, found);
                }
                Form::Filter(filter) => filtered(span, unpack, filter, found),
            }
        }
    }
}

/// Tests all blocks.
///
/// # Safety
/// The caller has the instructions, the span its blocks.
#[inline(always)]
unsafe fn each<L: Lanes, U: Unpack<L>, T: Test<L>>(
    span: &Span,
    unpack: U,
    test: T,
    found: &mut impl FnMut(usize, u64),
) {
    for number in 0..span.blocks {
        let mut mask = 0;
        for group in 0..BLOCK / L::COUNT {
            // SAFETY: as the caller promises.
            unsafe {
                let block = span.block.add(number * unpack.block_words());
                mask |= test.test(unpack.unpack(block, group)) << (group * L::COUNT);
            }
        }
        mask = span.trimmed(number, mask);
        if mask != 0 {
            found(span.first + number * BLOCK, mask);
        }
    }
}

/// Blocks that are filtered before the codes that passed are looked up: enough for the lookups' misses to overlap.
const BATCH_BLOCKS: usize = 16;

/// Tests all blocks by a filter, and codes that pass it exactly.
///
/// # Safety
/// The caller has the instructions, the span its blocks.
#[inline(always)]
unsafe fn filtered<L: Lanes, U: Unpack<L>>(
    span: &Span,
    unpack: U,
    filter: &Filter,
    found: &mut impl FnMut(usize, u64),
) {
    let test = InFilter::<L> {
        bits: filter.bits.as_ptr(),
        // SAFETY: as the caller promises.
        factor: unsafe { L::splat(FACTOR) },
        shift: filter.shift,
    };
    let mut codes = [0_u32; BLOCK];
    let mut passed = [(0_u32, 0_u32); BATCH_BLOCKS * BLOCK];
    for first in (0..span.blocks).step_by(BATCH_BLOCKS) {
        let mut count = 0;
        let blocks = BATCH_BLOCKS.min(span.blocks - first);
        for number in 0..blocks {
            let mut mask = 0;
            for group in 0..BLOCK / L::COUNT {
                // SAFETY: as the caller promises; a group of a block fits into as many codes.
                unsafe {
                    let block = span.block.add((first + number) * unpack.block_words());
                    let vector = unpack.unpack(block, group);
                    L::store(vector, codes.as_mut_ptr().add(group * L::COUNT));
                    mask |= test.test(vector) << (group * L::COUNT);
                }
            }
            mask = span.trimmed(first + number, mask);
            while mask != 0 {
                let at = mask.trailing_zeros();
                let code = codes[at as usize];
                filter.table.prefetch(code);
                passed[count] = ((number * BLOCK) as u32 + at, code);
                count += 1;
                mask &= mask - 1;
            }
        }
        let mut masks = [0_u64; BATCH_BLOCKS];
        for &(row, code) in &passed[..count] {
            masks[row as usize / BLOCK] |= u64::from(filter.table.contains(code)) << (row % 64);
        }
        for (number, &mask) in masks[..blocks].iter().enumerate() {
            if mask != 0 {
                found(span.first + (first + number) * BLOCK, mask);
            }
        }
    }
}
