//! Vectors of codes, and finding the rows whose code is in a set.
//!
//! | part | item or file |
//! | --- | --- |
//! | codes of 1 to 32 bits, packed | [`PackedCodes`]; [`PackedSlice`], which borrows them |
//! | sets of codes, and the forms they take | [`CodeSet`] |
//! | the scan | [`Codes::scan`], `scan.rs` |
//! | unpacking of many codes at once | [`PackedSlice::unpack`], `unpack.rs` |
//! | unpacking and comparing, eight or sixteen codes at a time | `lanes.rs`; by the instructions of `machine.rs` |
//!
//! # Layout
//! Codes come in *blocks* of 64: a block of codes of `w` bits is `w` words, whatever `w` is. Code `i` of a block is its
//! bits `i * w` to `(i + 1) * w - 1`, least significant first. Groups of eight codes therefore begin at a byte, and one
//! mask of 64 bits says which rows of a block are found.

mod lanes;
mod machine;
mod packed;
mod scan;
mod set;
mod unpack;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

#[cfg(test)]
mod tests;

pub(crate) use packed::{PADDING, append, mask};
pub use packed::{PackedCodes, PackedSlice, bits_for};
pub use set::CodeSet;

/// Codes of a block of packed codes.
pub const BLOCK: usize = 64;

/// Codes to be scanned.
#[derive(Clone, Copy, Debug)]
pub enum Codes<'c> {
    /// Packed codes.
    Packed(PackedSlice<'c>),
    /// One number for each code.
    Plain(&'c [u32]),
}

impl Codes<'_> {
    /// Returns the number of codes.
    pub fn len(&self) -> usize {
        match self {
            Codes::Packed(codes) => codes.len(),
            Codes::Plain(codes) => codes.len(),
        }
    }

    /// Returns whether there are no codes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
