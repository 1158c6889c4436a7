//! Vector operations that scans need.
//!
//! A method that needs instructions of the machine is `unsafe`. Its callers are functions for which the instructions
//! are enabled, and the compiler inlines the method into them (`machine.rs`).

/// A vector of codes, and its operations.
pub(super) trait Lanes: Copy {
    /// Type of the vector.
    type Vector: Copy;

    /// Codes of a vector; divides 64.
    const COUNT: usize;

    /// Returns a vector with `code` in all lanes.
    ///
    /// # Safety
    /// The instructions are there, as for all methods.
    unsafe fn splat(code: u32) -> Self::Vector;

    /// Writes a vector.
    ///
    /// # Safety
    /// There is room for [`Lanes::COUNT`] codes at `to`, and the instructions are there.
    unsafe fn store(vector: Self::Vector, to: *mut u32);

    /// Returns a bit for each lane in which both vectors are equal.
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn equal(one: Self::Vector, other: Self::Vector) -> u64;

    /// Returns a bit for each lane in which the code less `first` is at most `most`, modulo 2^32.
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn in_range(codes: Self::Vector, first: Self::Vector, most: Self::Vector) -> u64;

    /// Returns the products with `factor` modulo 2^32, shifted right by `shift`.
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn hash(codes: Self::Vector, factor: Self::Vector, shift: u32) -> Self::Vector;

    /// Returns the smaller code of each lane.
    ///
    /// # Safety
    /// See [`Lanes::splat`].
    unsafe fn min(one: Self::Vector, other: Self::Vector) -> Self::Vector;

    /// Returns a bit for each lane whose bit of a bitmap is set.
    ///
    /// # Safety
    /// The bitmap has a bit for each of `places`, and the instructions are there.
    unsafe fn bits_at(bitmap: *const u32, places: Self::Vector) -> u64;

    /// Reader of codes of up to [`NARROW_MAX`] bits.
    type Narrow: Unpack<Self>;

    /// Reader of codes of any width.
    type Wide: Unpack<Self>;

    /// Reader of numbers.
    type Plain: Unpack<Self>;

    /// Returns the reader of codes of `width` bits.
    ///
    /// # Safety
    /// See [`Lanes::splat`]; the width is at most [`NARROW_MAX`].
    unsafe fn narrow(width: u32) -> Self::Narrow;

    /// Returns the reader of codes of `width` bits.
    ///
    /// # Safety
    /// See [`Lanes::splat`]; the width is at most 32.
    unsafe fn wide(width: u32) -> Self::Wide;

    /// Returns the reader of numbers.
    fn plain() -> Self::Plain;
}

/// Maximum bits of a code that lies within four bytes wherever it begins.
pub(super) const NARROW_MAX: u32 = 25;

/// A way to read the codes of a block.
pub(super) trait Unpack<L: Lanes>: Copy {
    /// Returns the words of a block.
    fn block_words(&self) -> usize;

    /// Returns the codes of a group: the first, second, .. [`Lanes::COUNT`] codes of the block.
    ///
    /// # Safety
    /// The block has its words, and unless the codes are plain numbers eight words may be read behind it; the
    /// instructions are there.
    unsafe fn unpack(&self, block: *const u64, group: usize) -> L::Vector;
}

/// Work on blocks of codes, in whichever way these are read.
pub(super) trait OnBlocks<L: Lanes> {
    /// Does the work.
    ///
    /// # Safety
    /// The instructions are there.
    unsafe fn run<U: Unpack<L>>(self, unpack: U);
}

/// Does work on blocks of packed codes of `width` bits by the fastest reader of such codes.
///
/// # Safety
/// See [`Lanes::splat`]; the width is 1 to 32.
#[inline(always)]
pub(super) unsafe fn by_width<L: Lanes>(width: u32, work: impl OnBlocks<L>) {
    // SAFETY: as the caller promises.
    unsafe {
        match width {
            ..=NARROW_MAX => work.run(L::narrow(width)),
            32 if cfg!(target_endian = "little") => work.run(L::plain()),
            _ => work.run(L::wide(width)),
        }
    }
}
