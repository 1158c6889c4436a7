//! Suffix records: the rest of a key that is alone with its slice.
//!
//! ```text
//! word in the border entry          record, never changed once published
//!  63      48 47            0       +----------+-------------------+
//! +----------+---------------+      | value 8  | suffix bytes      |
//! | length   | distance from | ---> +----------+-------------------+
//! | in bytes | arena base    |
//! +----------+---------------+
//! ```
//! The length sits in the word, so that a key of another length is told apart
//! without reading the record, and so that the record of a 64-byte key is one
//! cache line (8 bytes of value, 56 of suffix).
//!
//! A record is reached only through a word that was read from a validated node: its content was
//! written before that node's version was published (Release) and the reader took the version with
//! Acquire. Plain reads are therefore enough. A record is retired when its entry goes and stays in
//! place while pins are open.

use std::{ptr::NonNull, slice};

use memory::{Exhausted, Local, Purpose};

use super::Nodes;
use crate::key::{KEY_BYTES_MAX, PIECE_BYTES};

const VALUE_BYTES: usize = size_of::<u64>();
const DISTANCE_BITS: u32 = 48;

const _: () = assert!(KEY_BYTES_MAX - PIECE_BYTES <= u16::MAX as usize);
// 2^32 lines of 2^6 bytes can be named by node ids; records lie among them.
const _: () = assert!(32 + 6 <= DISTANCE_BITS);

/// Name of a record, with the length of its suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SuffixWord(pub(crate) u64);

impl SuffixWord {
    #[inline]
    pub(crate) fn suffix_bytes(self) -> usize {
        (self.0 >> DISTANCE_BITS) as usize
    }

    #[inline]
    pub(crate) fn record_bytes(self) -> usize {
        VALUE_BYTES + self.suffix_bytes()
    }

    fn distance(self) -> usize {
        (self.0 & ((1 << DISTANCE_BITS) - 1)) as usize
    }
}

/// Content of a record.
#[derive(Clone, Copy)]
pub(crate) struct Suffix<'n> {
    pub(crate) value: u64,
    pub(crate) bytes: &'n [u8],
}

impl Nodes {
    /// Returns the address of the record, for prefetches.
    #[inline]
    pub(crate) fn suffix_address(&self, word: SuffixWord) -> *const u8 {
        self.base.as_ptr().wrapping_add(word.distance())
    }

    /// Returns the record named by a validated word.
    #[inline]
    pub(crate) fn suffix(&self, word: SuffixWord) -> Suffix<'_> {
        // SAFETY: validated words come from `new_suffix`, so the record lies in
        // the arena, holds this many initialised bytes, was published before the
        // word was and is kept in place by the caller's pin.
        unsafe {
            let record = self.base.add(word.distance());
            Suffix {
                value: record.cast::<u64>().read(),
                bytes: slice::from_raw_parts(record.add(VALUE_BYTES).as_ptr(), word.suffix_bytes()),
            }
        }
    }

    /// Makes a record.
    pub(crate) fn new_suffix(
        &self,
        local: &Local,
        value: u64,
        suffix: &[u8],
    ) -> Result<SuffixWord, Exhausted> {
        let record = local.allocate(VALUE_BYTES + suffix.len(), Purpose::Index)?;
        // SAFETY: the block has room for both, is 16-byte aligned and belongs to
        // this thread alone until it is linked.
        unsafe {
            record.cast::<u64>().write(value);
            record
                .add(VALUE_BYTES)
                .copy_from_nonoverlapping(NonNull::from(suffix).cast(), suffix.len());
        }
        let distance = record.as_ptr().addr() - self.base.as_ptr().addr();
        Ok(SuffixWord(
            (suffix.len() as u64) << DISTANCE_BITS | distance as u64,
        ))
    }

    /// Frees a record that was never linked.
    pub(crate) fn free_suffix(&self, local: &Local, word: SuffixWord) {
        // SAFETY: the record was made by `new_suffix` and never linked.
        unsafe {
            let record = self.base.add(word.distance());
            local.free(record, word.record_bytes(), Purpose::Index);
        }
    }

    /// Gives a record whose entry is gone to the epochs.
    pub(crate) fn retire_suffix(&self, local: &Local, word: SuffixWord) {
        // SAFETY: the record was made by `new_suffix`; the caller removed the only entry that names
        // it, under the latch of its border.
        unsafe {
            let record = self.base.add(word.distance());
            local.retire(record, word.record_bytes(), Purpose::Index);
        }
    }
}
