//! Border nodes: five cache lines, of which a lookup reads one or two.
//!
//! ```text
//! line 0   version 8 | permutation 8 | fingerprints 15+1 | codes 15+1
//!          | next 4 | prev 4 | lowest 8
//! line 1   slot 0  slot 1  slot 2  slot 3      slot: slice 8 | word 8
//! line 2   slot 4  ..
//! line 4   slot 12 slot 13 slot 14 (16 bytes spare)
//! ```
//! A slot's *code* says what its word is: the value of a key that ends in this slice (codes 0 to 8:
//! how many bytes of the slice count), a suffix record, the root of the next layer, or nothing.
//! Free slots have code [`Code::FREE`], so a lookup needs neither the permutation nor the other
//! lines: it compares all fingerprints and codes at once and reads the line of the one that fits.
//! With 15 fingerprints, a wrong one fits with probability below 6 %.
//!
//! # Writers of the fields
//! The holder of the node's latch writes everything but `prev`. `prev` is written by the holder of
//! the latch of the *left* neighbour, or, when the left neighbour goes away, of both it and its
//! successor. The border therefore has one writer at any time for each field: a left neighbour is
//! replaced only by the holder of its latch.
//!
//! `lowest` is the lowest slice that belongs here; the next border's is the
//! upper bound. It only ever decreases (when an empty left neighbour's range is
//! taken over).

use super::{BORDER_BYTES, BORDER_SLOTS, NodeId, Permutation, SuffixWord, Version, VersionWord};
use crate::{
    key::{LONG, Piece, fingerprint},
    sync::{AtomicU32, AtomicU64, Ordering},
};

/// Kind of a slot's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u8);

impl Code {
    /// A suffix record.
    pub(crate) const SUFFIX: Code = Code(0x10);
    /// The root of the next layer.
    pub(crate) const LAYER: Code = Code(0x11);
    /// Nothing.
    pub(crate) const FREE: Code = Code(0xff);

    /// Returns the class of the piece that a used slot holds.
    #[inline(always)]
    pub(crate) fn class(self) -> u8 {
        self.0.min(LONG)
    }
}

/// Content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) slice: u64,
    pub(crate) code: Code,
    pub(crate) word: u64,
}

impl Entry {
    pub(crate) const NONE: Entry = Entry {
        slice: 0,
        code: Code::FREE,
        word: 0,
    };

    #[inline(always)]
    pub(crate) fn piece(self) -> Piece {
        Piece {
            slice: self.slice,
            class: self.code.class(),
        }
    }

    /// Returns the record of an entry with code [`Code::SUFFIX`].
    #[inline(always)]
    pub(crate) fn suffix(self) -> SuffixWord {
        debug_assert_eq!(self.code, Code::SUFFIX);
        SuffixWord(self.word)
    }

    /// Returns the root of an entry with code [`Code::LAYER`].
    #[inline(always)]
    pub(crate) fn layer(self) -> NodeId {
        debug_assert_eq!(self.code, Code::LAYER);
        NodeId(self.word as u32)
    }

    pub(crate) fn to_layer(slice: u64, root: NodeId) -> Entry {
        Entry {
            slice,
            code: Code::LAYER,
            word: root.0.into(),
        }
    }
}

#[repr(C)]
struct Slot {
    slice: AtomicU64,
    word: AtomicU64,
}

/// A border node; see the module text. All data accesses are Relaxed; the version word orders them.
#[repr(C, align(64))]
pub(crate) struct Border {
    pub(crate) word: VersionWord,
    permutation: AtomicU64,
    fingerprints: Bytes,
    codes: Bytes,
    next: AtomicU32,
    prev: AtomicU32,
    lowest: AtomicU64,
    slots: [Slot; BORDER_SLOTS + 1],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Border>() == BORDER_BYTES);
#[cfg(not(loom))]
const _: () = assert!(std::mem::offset_of!(Border, slots) == 64);
#[cfg(loom)]
const _: usize = BORDER_BYTES;

impl Border {
    /// Makes the memory an empty border that no other thread can see yet, except threads that still
    /// compare its former version.
    pub(crate) fn renew(&self, version: Version, lowest: u64) {
        self.word.renew(version);
        let empty = Permutation::EMPTY.bits();
        self.permutation.store(empty, Ordering::Relaxed);
        self.fingerprints.fill(0);
        self.codes.fill(Code::FREE.0);
        self.next.store(NodeId::NONE.0, Ordering::Relaxed);
        self.prev.store(NodeId::NONE.0, Ordering::Relaxed);
        self.lowest.store(lowest, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn permutation(&self) -> Permutation {
        Permutation::from_bits(self.permutation.load(Ordering::Relaxed))
    }

    /// Returns the right neighbour.
    #[inline(always)]
    pub(crate) fn next(&self) -> NodeId {
        // Acquire: pairs with `set_next`. A remover changes `next` without
        // changing the version, so the version alone would not show the
        // neighbour's content.
        NodeId(self.next.load(Ordering::Acquire))
    }

    /// Returns the left neighbour.
    #[inline(always)]
    pub(crate) fn prev(&self) -> NodeId {
        // Acquire: pairs with `set_prev`, for the same reason.
        NodeId(self.prev.load(Ordering::Acquire))
    }

    #[inline(always)]
    pub(crate) fn lowest(&self) -> u64 {
        self.lowest.load(Ordering::Relaxed)
    }

    pub(crate) fn set_next(&self, next: NodeId) {
        // Release: pairs with `next`.
        self.next.store(next.0, Ordering::Release);
    }

    pub(crate) fn set_prev(&self, prev: NodeId) {
        // Release: pairs with `prev`.
        self.prev.store(prev.0, Ordering::Release);
    }

    pub(crate) fn set_lowest(&self, lowest: u64) {
        self.lowest.store(lowest, Ordering::Relaxed);
    }

    /// Returns the slots that may hold `piece`, as bits.
    #[inline(always)]
    pub(crate) fn candidates(&self, piece: Piece) -> u32 {
        // SUFFIX and LAYER differ in the lowest bit, which a long piece ignores.
        let (code, ignored) = if piece.is_long() {
            (Code::SUFFIX.0, Code::SUFFIX.0 ^ Code::LAYER.0)
        } else {
            (piece.class, 0)
        };
        equal_bytes(self.fingerprints.load(), piece.fingerprint(), 0)
            & equal_bytes(self.codes.load(), code, ignored)
    }

    /// Returns the address of a slot's pair, for prefetches.
    #[inline(always)]
    pub(crate) fn slot_address(&self, slot: usize) -> *const u8 {
        (&raw const self.slots[slot & 0xf]).cast()
    }

    #[inline(always)]
    pub(crate) fn slice(&self, slot: usize) -> u64 {
        self.slots[slot & 0xf].slice.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn slot_word(&self, slot: usize) -> u64 {
        self.slots[slot & 0xf].word.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn code(&self, slot: usize) -> Code {
        Code(self.codes.get(slot & 0xf))
    }

    #[inline]
    pub(crate) fn entry(&self, slot: usize) -> Entry {
        Entry {
            slice: self.slice(slot),
            code: self.code(slot),
            word: self.slot_word(slot),
        }
    }

    /// Returns the slot that holds `piece`, if any. Reads the slot's line.
    #[inline]
    pub(crate) fn find(&self, piece: Piece) -> Option<usize> {
        let mut candidates = self.candidates(piece);
        while candidates != 0 {
            let slot = candidates.trailing_zeros() as usize;
            if self.slice(slot) == piece.slice {
                return Some(slot);
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// Returns how many entries come before `piece`.
    #[inline]
    pub(crate) fn rank(&self, piece: Piece) -> usize {
        self.permutation()
            .slots()
            .map(|slot| usize::from(self.slot_piece(slot) < piece))
            .sum()
    }

    #[inline]
    fn slot_piece(&self, slot: usize) -> Piece {
        Piece {
            slice: self.slice(slot),
            class: self.code(slot).class(),
        }
    }

    fn write(&self, slot: usize, entry: Entry) {
        self.slots[slot].slice.store(entry.slice, Ordering::Relaxed);
        self.slots[slot].word.store(entry.word, Ordering::Relaxed);
        self.fingerprints.set(slot, fingerprint(entry.slice));
        self.codes.set(slot, entry.code.0);
    }

    /// Adds an entry at `rank`. There is room; the latch is held and marked.
    pub(crate) fn insert(&self, rank: usize, entry: Entry) {
        let (permutation, slot) = self.permutation().insert(rank);
        self.write(slot, entry);
        self.permutation
            .store(permutation.bits(), Ordering::Relaxed);
    }

    /// Changes the code and the word of a used slot. The latch is held and marked.
    pub(crate) fn replace(&self, slot: usize, code: Code, word: u64) {
        self.slots[slot].word.store(word, Ordering::Relaxed);
        self.codes.set(slot, code.0);
    }

    /// Removes the entry in `slot`. The latch is held and marked.
    pub(crate) fn remove(&self, slot: usize) {
        let permutation = self.permutation();
        if let Some(rank) = permutation.slots().position(|used| used == slot) {
            self.codes.set(slot, Code::FREE.0);
            let permutation = permutation.remove(rank);
            self.permutation
                .store(permutation.bits(), Ordering::Relaxed);
        }
    }

    /// Removes all entries from rank `kept` on. The latch is held and marked.
    pub(crate) fn truncate(&self, kept: usize) {
        let permutation = self.permutation();
        for rank in kept..permutation.len() {
            self.codes.set(permutation.slot(rank), Code::FREE.0);
        }
        self.permutation
            .store(permutation.truncate(kept).bits(), Ordering::Relaxed);
    }

    /// Checks that slice, fingerprint and code of `slot` agree. For `check_invariants`.
    pub(crate) fn check_slot(&self, slot: usize) {
        assert_eq!(
            self.fingerprints.get(slot),
            fingerprint(self.slice(slot)),
            "invariant: a used slot's fingerprint is that of its slice"
        );
        let code = self.code(slot);
        assert!(
            code.0 <= 8 || code == Code::SUFFIX || code == Code::LAYER,
            "invariant: a used slot has a valid code"
        );
    }
}

/// Sixteen bytes that are read together.
#[repr(C)]
struct Bytes([AtomicU64; 2]);

impl Bytes {
    fn fill(&self, byte: u8) {
        let filled = u64::from_le_bytes([byte; 8]);
        for word in &self.0 {
            word.store(filled, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn load(&self) -> [u64; 2] {
        [
            self.0[0].load(Ordering::Relaxed),
            self.0[1].load(Ordering::Relaxed),
        ]
    }

    #[inline(always)]
    fn get(&self, index: usize) -> u8 {
        (self.0[index >> 3].load(Ordering::Relaxed) >> (8 * (index & 7))) as u8
    }

    fn set(&self, index: usize, byte: u8) {
        let (word, shift) = (&self.0[index >> 3], 8 * (index & 7));
        let others = word.load(Ordering::Relaxed) & !(0xff << shift);
        word.store(others | u64::from(byte) << shift, Ordering::Relaxed);
    }
}

/// Returns a mask whose bit `i` is set if byte `i` equals `byte`, not looking at the bits
/// `ignored`.
#[inline(always)]
fn equal_bytes(bytes: [u64; 2], byte: u8, ignored: u8) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        use std::arch::x86_64::*;
        let bytes = _mm_set_epi64x(bytes[1] as i64, bytes[0] as i64);
        let kept = _mm_and_si128(bytes, _mm_set1_epi8(!ignored as i8));
        let equal = _mm_cmpeq_epi8(kept, _mm_set1_epi8((byte & !ignored) as i8));
        _mm_movemask_epi8(equal) as u32
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    equal_bytes_portable(bytes, byte, ignored)
}

#[cfg(any(all(test, not(loom)), miri, not(target_arch = "x86_64")))]
fn equal_bytes_portable(bytes: [u64; 2], byte: u8, ignored: u8) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let half = |word: u64| {
        let differing = (word ^ (ONES * u64::from(byte))) & (ONES * u64::from(!ignored));
        // A byte's top bit becomes set when the byte is not zero, without carry
        // into its neighbour.
        let low = !(ONES << 7);
        let nonzero = ((differing & low) + low) | differing;
        // Gathers the eight inverted top bits in the topmost byte.
        let zero = (!nonzero & (ONES << 7)) >> 7;
        (zero.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
    };
    half(bytes[0]) | half(bytes[1]) << 8
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn byte_comparison_finds_exactly_the_equal_bytes() {
        let mut state = 1u64;
        for _ in 0..if cfg!(miri) { 100 } else { 5000 } {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(99);
            let all: [u8; 16] = std::array::from_fn(|i| (state >> (3 * i)) as u8 & 0x13);
            let halves = [
                u64::from_le_bytes(all[..8].try_into().unwrap()),
                u64::from_le_bytes(all[8..].try_into().unwrap()),
            ];
            for (byte, ignored) in [(0x10, 1), (0x03, 0), (0, 0), (0x11, 0), (0x11, 1)] {
                let expected = (0..16)
                    .filter(|&i| all[i] & !ignored == byte & !ignored)
                    .fold(0, |bits, i| bits | 1 << i);
                assert_eq!(equal_bytes(halves, byte, ignored), expected);
                assert_eq!(equal_bytes_portable(halves, byte, ignored), expected);
            }
        }
    }
}
