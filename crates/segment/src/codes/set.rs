//! Sets of codes, in the form in which a scan tests them.

use std::{collections::TryReserveError, ops::RangeInclusive};

use interleave::{Policy as _, Prefetching};

use super::packed::bits_for;

/// Maximum codes that are compared one by one.
pub(super) const FEW_MAX: usize = 8;
/// Maximum bytes of a bitmap that is in the cache whatever else is.
const BITMAP_BYTES_SMALL: usize = 256 << 10;
/// Bits of a filter for each code that are aimed at: a filter has fewer only if it would not fit into the cache of a
/// core otherwise. Of 24 other codes, one passes.
const FILTER_BITS_PER_CODE: usize = 24;
/// Bits of the largest filter that fits into the cache of a core, as a power of two. A filter has more only if a code
/// would otherwise have less than [`FILTER_BITS_PER_CODE_MIN`].
const FILTER_WIDTH_MAX: u32 = 24;
/// Minimum bits of a filter for each code, whatever the size of the filter: of four other codes, one passes.
const FILTER_BITS_PER_CODE_MIN: usize = 4;
/// A factor whose products have their entropy at the top (the golden ratio).
pub(super) const FACTOR: u32 = 0x9e37_79b1;

/// A set of codes to scan for.
///
/// A set has the form that is tested fastest: nothing, one code, a range, few codes that are compared one by one, a
/// bitmap over all codes, or a *filter*: a bitmap over hashes, and a hash table in which codes that pass are looked up.
/// A set of many codes has a bitmap if the cache holds it, or if a filter would have at least a quarter of its bits.
#[derive(Clone, Debug)]
pub struct CodeSet {
    form: Form,
    len: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Form {
    Nothing,
    One(u32),
    /// The first and the last code.
    Range(u32, u32),
    /// The codes, filled up with the last one, and their number.
    Few([u32; FEW_MAX], usize),
    /// A bit for each code of `width` bits, and a word of zeros for all others.
    Bitmap {
        bits: Vec<u32>,
        width: u32,
    },
    Filter(Filter),
}

/// A bit for each hash of a code, and the codes.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    /// Bitmap of `1 << (32 - shift)` bits; a code has the bit at its hash shifted right.
    pub(super) bits: Vec<u32>,
    pub(super) shift: u32,
    pub(super) table: Table,
}

impl CodeSet {
    /// Returns the set of `codes`, which are in any order, for scans of codes below `domain`. Sorts the list and drops
    /// duplicates.
    ///
    /// # Errors
    /// [`TryReserveError`] if memory is lacking.
    ///
    /// # Panics
    /// Panics if a code is not below `domain`, or `domain` is more than 2^32.
    pub fn new(codes: &mut Vec<u32>, domain: u64) -> Result<Self, TryReserveError> {
        if !codes.is_sorted() {
            codes.sort_unstable();
        }
        codes.dedup();
        let last = codes.last().map_or(0, |&last| u64::from(last) + 1);
        assert!(
            last <= domain && domain <= 1 << 32,
            "codes are below {domain}"
        );
        Ok(Self {
            form: Form::of(codes, domain)?,
            len: codes.len(),
        })
    }

    /// Returns the set of one code.
    pub fn one(code: u32) -> Self {
        Self {
            form: Form::One(code),
            len: 1,
        }
    }

    /// Returns the set of the codes of a range, which may be empty.
    pub fn range(codes: RangeInclusive<u32>) -> Self {
        if codes.is_empty() {
            return Self {
                form: Form::Nothing,
                len: 0,
            };
        }
        let (first, last) = codes.into_inner();
        Self {
            form: Form::Range(first, last),
            len: (last - first) as usize + 1,
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

    /// Returns the name of the form: `nothing`, `one`, `range`, `few`, `bitmap` or `filter`.
    pub fn form_name(&self) -> &'static str {
        match self.form {
            Form::Nothing => "nothing",
            Form::One(_) => "one",
            Form::Range(..) => "range",
            Form::Few(..) => "few",
            Form::Bitmap { .. } => "bitmap",
            Form::Filter(_) => "filter",
        }
    }

    pub(super) fn form(&self) -> &Form {
        &self.form
    }
}

impl Form {
    fn of(codes: &[u32], domain: u64) -> Result<Self, TryReserveError> {
        let (Some(&first), Some(&last)) = (codes.first(), codes.last()) else {
            return Ok(Form::Nothing);
        };
        if first == last {
            return Ok(Form::One(first));
        }
        if (last - first) as usize == codes.len() - 1 {
            return Ok(Form::Range(first, last));
        }
        if codes.len() <= FEW_MAX {
            let mut few = [last; FEW_MAX];
            few[..codes.len()].copy_from_slice(codes);
            return Ok(Form::Few(few, codes.len()));
        }
        let width = bits_for(domain).max(5);
        let bitmap_bytes = (1_usize << width) / 8;
        let filter_bits = |per_code| bits_for(codes.len().saturating_mul(per_code) as u64);
        let most = filter_bits(FILTER_BITS_PER_CODE_MIN).max(FILTER_WIDTH_MAX);
        let filter_width = filter_bits(FILTER_BITS_PER_CODE).clamp(10, most);
        if bitmap_bytes <= BITMAP_BYTES_SMALL || filter_width + 2 >= width {
            let words = (1 << (width - 5)) + 1;
            let mut bits = memory::on_huge_pages(words)?;
            bits.resize(words, 0);
            for &code in codes {
                bits[code as usize / 32] |= 1 << (code % 32);
            }
            return Ok(Form::Bitmap { bits, width });
        }
        Filter::new(codes, filter_width).map(Form::Filter)
    }
}

impl Filter {
    fn new(codes: &[u32], width: u32) -> Result<Self, TryReserveError> {
        let mut bits = memory::on_huge_pages(1 << (width - 5))?;
        bits.resize(1 << (width - 5), 0_u32);
        let shift = 32 - width;
        for &code in codes {
            let hash = code.wrapping_mul(FACTOR) >> shift;
            bits[hash as usize / 32] |= 1 << (hash % 32);
        }
        Ok(Self {
            bits,
            shift,
            table: Table::new(codes)?,
        })
    }
}

/// A hash table of codes, at most half full.
#[derive(Clone, Debug)]
pub(super) struct Table {
    slots: Vec<u32>,
    shift: u32,
    /// Content of free slots: a number that is none of the codes.
    free: u32,
}

impl Table {
    fn new(codes: &[u32]) -> Result<Self, TryReserveError> {
        let width = bits_for(codes.len() as u64 * 2);
        // The codes are sorted and distinct: find the first gap.
        let gap = codes.iter().zip(0..).position(|(&code, at)| code != at);
        let free = gap.unwrap_or(codes.len()) as u32;
        let mut slots = memory::on_huge_pages(1 << width)?;
        slots.resize(1 << width, free);
        let mut table = Self {
            slots,
            shift: 32 - width,
            free,
        };
        for &code in codes {
            let mut at = table.place(code);
            while table.slots[at] != free {
                at = (at + 1) % table.slots.len();
            }
            table.slots[at] = code;
        }
        Ok(table)
    }

    #[inline(always)]
    fn place(&self, code: u32) -> usize {
        // The hash differs from the filter's: codes that pass the filter would crowd together otherwise.
        ((code ^ code >> 15).wrapping_mul(0x85eb_ca6b) >> self.shift) as usize
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, code: u32) {
        Prefetching::prefetch(self.slots.as_ptr().wrapping_add(self.place(code)), 4);
    }

    #[inline(always)]
    pub(super) fn contains(&self, code: u32) -> bool {
        let mut at = self.place(code);
        loop {
            let slot = self.slots[at];
            if slot == self.free || slot == code {
                // If the slot equals both, the code is that of free slots.
                return slot != self.free;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}
