//! What scans ask of vector instructions.
//!
//! Methods are `unsafe` where they need instructions: they are called only by functions for which these
//! are enabled, into which they are inlined (`scan.rs`).

/// A vector of codes, and what can be done with it.
pub(super) trait Lanes: Copy {
    /// The vector.
    type Vector: Copy;

    /// Codes of a vector: divides 64.
    const COUNT: usize;

    /// The same code in all lanes.
    ///
    /// # Safety
    /// The instructions are there: so for all methods.
    unsafe fn splat(code: u32) -> Self::Vector;

    /// Writes a vector.
    ///
    /// # Safety
    /// There is room for [`Lanes::COUNT`] codes.
    unsafe fn store(vector: Self::Vector, to: *mut u32);

    /// A bit for each lane in which both are equal.
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn equal(one: Self::Vector, other: Self::Vector) -> u64;

    /// A bit for each lane in which the code less `first` is at most `most`, modulo 2^32.
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn in_range(codes: Self::Vector, first: Self::Vector, most: Self::Vector) -> u64;

    /// The product with a factor modulo 2^32, shifted right.
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn hash(codes: Self::Vector, factor: Self::Vector, shift: u32) -> Self::Vector;

    /// The smaller of both.
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn min(one: Self::Vector, other: Self::Vector) -> Self::Vector;

    /// A bit for each lane whose bit of a bitmap is set.
    ///
    /// # Safety
    /// The bitmap has a bit for each of these places.
    unsafe fn bits_at(bitmap: *const u32, places: Self::Vector) -> u64;

    /// How codes of up to [`NARROW_MAX`] bits are read.
    type Narrow: Unpack<Self>;

    /// How codes of any width are read.
    type Wide: Unpack<Self>;

    /// How numbers are read.
    type Plain: Unpack<Self>;

    /// # Safety
    /// See [`Lanes::splat`]; the width is at most [`NARROW_MAX`].
    unsafe fn narrow(width: u32) -> Self::Narrow;

    /// # Safety
    /// See [`Lanes::splat`]; the width is at most 32.
    unsafe fn wide(width: u32) -> Self::Wide;

    /// Numbers.
    fn plain() -> Self::Plain;
}

/// Bits of a code that lies within four bytes wherever it begins.
pub(super) const NARROW_MAX: u32 = 25;

/// A way to read the codes of a block.
pub(super) trait Unpack<L: Lanes>: Copy {
    /// Words of a block.
    fn block_words(&self) -> usize;

    /// The codes of a group: the first, second, .. [`Lanes::COUNT`] of the block.
    ///
    /// # Safety
    /// The block has its words, and unless they are numbers eight words may be read behind it; the
    /// instructions are there.
    unsafe fn unpack(&self, block: *const u64, group: usize) -> L::Vector;
}
