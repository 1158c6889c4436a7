//! Immutable blocks of rows by columns, in one list of 64-bit words that can be written to a device and opened again.
//!
//! | purpose | items |
//! | --- | --- |
//! | a block, its columns and their values | [`Block`], [`Column`], [`Values`] |
//! | a block of which some columns are there | [`Directory`], [`Segment`] |
//! | values of a column | [`Integers`], [`IntegerDictionary`]; [`Bytes`], [`Dictionary`] |
//! | making blocks | [`Builder`], [`Cells`] |
//! | vectors of codes, and scans of them | [`PackedCodes`], [`PackedSlice`], [`CodeSet`], [`Codes`] |
//! | errors | [`SegmentError`], [`CellError`] |
//!
//! The crate knows no transactions, types or devices. A reader gets a single value without decoding others, a range of
//! values by vector instructions, and packed codes to scan without decoding any.
//!
//! # Forms
//! Each column takes the smallest form that is found for it:
//!
//! | values | forms |
//! | --- | --- |
//! | integers | a constant; packed differences from the least; sorted distinct values and packed codes; words |
//! | decimals | two columns of integers: the numbers, and their scales |
//! | bytes | a constant; sorted distinct values and packed codes; one value after the other, and their packed ends |
//!
//! Dictionaries are sorted, so their codes compare as the values do. Packed codes are described in [`codes`].
//!
//! # Layout
//! Words are numbers of the machine, and lists of bytes lie within words in the machine's order: a block that was
//! written by a machine of another byte order has no magic word. `u16@16` is a number of 16 bits from bit 16 on.
//!
//! ```text
//! block      header, entry of each column, bounds of each column of bytes, segment of each column, 8 words of 0
//! header     0  magic
//!            1  version u16@0, columns u16@16, rows u32@32
//!            2  words of header, entries and bounds u32@0, words of the block u32@32
//!            3  checksum of all other words of header, entries and bounds
//! entry      0  kind u8@0 (0 absent, 1 integers, 2 decimals, 3 bytes), form u8@8, bits of a code u8@16,
//!               second form or bits of an end u8@24, second bits u8@32, whether rows are absent u8@48
//!            1  first word of the segment u32@0, checksum of the segment u32@32
//!   integers 2  values of the dictionary u32@0, of that of the scales u32@32
//!            3  least, greatest, least scale, greatest scale
//!   bytes    2  values of the dictionary, bytes kept, bytes of all rows, place of the bounds,
//!               length of the least u32@0 and of the greatest u32@32
//! bounds     0  first 32 bytes of the least value
//!            4  first 32 bytes of the greatest value
//! segment       a bit for each absent row, if there are both absent rows and others; values
//!   integers    blocks of codes, then values of the dictionary; or values
//!   decimals    numbers, then scales
//!   bytes       blocks of codes, then blocks of ends (none if all values are equally long), then bytes
//! ```
//!
//! Forms are 0 constant, 1 packed, 2 dictionary, 3 plain. The words of 0 are there because a reader of codes loads
//! whole vectors, up to eight words behind the last block of codes. All bounds are before the segments, and each
//! segment has its own checksum: a reader may leave out segments that it does not need.
//!
//! # Damage
//! [`Block::open`] checks the directory, and that each part lies within the block. A read of a damaged segment
//! therefore stays within the block and does not panic, but gives wrong values and wrong codes: values may be outside
//! the column's bounds, and a dictionary gives 0 or an empty list for a code that no value has. A reader that takes
//! codes for places in a list of its own checks them. [`Block::verify`] and [`Block::verify_column`] tell damage.
//!
//! # Sources
//! Lang et al., "Data Blocks: hybrid OLTP and OLAP on compressed storage using both vectorization and compilation",
//! SIGMOD 2016: blocks of at most 2^16 rows that never change, a form for each column of each block, chosen by its size
//! among single values, sorted dictionaries and truncated differences, access to single rows, and minimum and maximum
//! for leaving blocks out. Codes of the paper have one, two, four or eight bytes, for access to single rows; codes of
//! this crate have as many bits as they need, and its scans find masks of bits instead of lists of positions. The
//! paper's small index of places within a block (PSMA) is not there. Paper 002 reads such blocks from a device, one
//! coroutine for each.

mod block;
mod builder;
mod bytes;
mod cells;
pub mod codes;
mod directory;
mod distinct;
mod encode;
mod entry;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod integers;
mod words;

#[cfg(test)]
mod tests;

pub use block::{Block, Column, Values};
pub use builder::Builder;
pub use bytes::{Bytes, Dictionary};
pub use cells::Cells;
pub use codes::{CodeSet, Codes, PackedCodes, PackedSlice};
pub use directory::{Directory, Segment};
pub use error::{CellError, SegmentError};
pub use integers::{IntegerDictionary, Integers};

/// Maximum rows of a block.
pub const ROWS_MAX: usize = 1 << 16;
