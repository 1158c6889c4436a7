//! Keys as the trie sees them: one eight-byte piece per layer.
//!
//! A piece is the next up to eight bytes of a key, as a big-endian number padded
//! with zeros, and a *class*: how many bytes there were, or [`LONG`] when more
//! bytes follow. Pieces order by number, then class, which is the order of the
//! byte strings: of two keys whose padded pieces agree, the one with fewer bytes
//! is a prefix of the other followed by zeros.
//!
//! A border holds at most one entry per (number, class), hence at most ten
//! entries of one number. A split can therefore always separate numbers, and
//! interior nodes need nothing but numbers.

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 32 << 10;

/// Bytes of a piece.
pub(crate) const PIECE_BYTES: usize = 8;

/// The class of a piece that is followed by more bytes.
pub(crate) const LONG: u8 = 9;

/// One layer's part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) slice: u64,
    pub(crate) class: u8,
}

impl Piece {
    /// Returns the first piece of `tail`, a key without the pieces of upper layers.
    #[inline(always)]
    pub(crate) fn of(tail: &[u8]) -> Piece {
        match tail.first_chunk::<PIECE_BYTES>() {
            Some(bytes) => Piece {
                slice: u64::from_be_bytes(*bytes),
                class: if tail.len() == PIECE_BYTES {
                    PIECE_BYTES as u8
                } else {
                    LONG
                },
            },
            None => Piece::short(tail),
        }
    }

    #[inline]
    fn short(tail: &[u8]) -> Piece {
        let slice = match (tail.first_chunk(), tail.last_chunk()) {
            // Overlapping bytes are equal in both. (Copying the tail to eight zeros would be a
            // call.)
            (Some(first), Some(last)) => {
                let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
                u64::from(first) << 32 | u64::from(last) << (8 * (PIECE_BYTES - tail.len()))
            }
            _ => {
                let bytes = tail.iter().rev();
                bytes.fold(0, |slice, &byte| u64::from(byte) << 56 | slice >> 8)
            }
        };
        Piece {
            slice,
            class: tail.len() as u8,
        }
    }

    #[inline(always)]
    pub(crate) fn is_long(self) -> bool {
        self.class == LONG
    }

    /// Returns one byte that differs for most different slices.
    #[inline(always)]
    pub(crate) fn fingerprint(self) -> u8 {
        fingerprint(self.slice)
    }
}

/// Returns one byte that differs for most different slices: the top of a multiplicative hash, so
/// that dense integers (which differ in the low bits only) spread.
#[inline(always)]
pub(crate) fn fingerprint(slice: u64) -> u8 {
    (slice.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn pieces_order_as_their_bytes() {
        let keys: [&[u8]; 10] = [
            b"",
            b"\0",
            b"\0\0",
            b"\0\0\0\0\0\0\0\0",
            b"\0\0\0\0\0\0\0\0\0",
            b"a",
            b"a\0",
            b"a\0\0",
            b"ab",
            b"b",
        ];
        for pair in keys.windows(2) {
            assert!(Piece::of(pair[0]) < Piece::of(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn short_pieces_are_padded_with_zeros() {
        let bytes = [0x81, 0x02, 0xc3, 0x04, 0xe5, 0x06, 0xf7];
        for length in 0..=bytes.len() {
            let mut padded = [0; PIECE_BYTES];
            padded[..length].copy_from_slice(&bytes[..length]);
            let piece = Piece::of(&bytes[..length]);
            assert_eq!(piece.slice, u64::from_be_bytes(padded));
            assert_eq!(usize::from(piece.class), length);
        }
    }
}
