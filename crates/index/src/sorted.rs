//! Sorted arrays, searched by bisection: what a column store's read-optimised dictionary is
//! (paper 003 section 2.1).
//!
//! | what | where |
//! | --- | --- |
//! | elements of one size: numbers, composite keys, short strings | [`SortedArray`] |
//! | byte strings of any length | [`SortedStrings`] |
//! | a layer of separators in pages, which spares translations | [`PagedArray`] |
//! | strings of one size, floats with a total order | [`FixedString`], [`TotalF64`], [`TotalF32`] |
//! | the steps of a search | `search.rs` |
//!
//! None ever changes. All answer as std's `binary_search` does: `Ok` with the place of the key, of equal
//! elements always the *first*; or `Err` with the place where it would have to be inserted. One body
//! each, sequential or interleaved ([`interleave::Lookup`]; paper 003, listing 5).

mod array;
mod fixed_string;
mod float;
mod paged;
pub(crate) mod search;
mod strings;

#[cfg(all(test, not(loom)))]
mod tests;

pub use array::{OutOfOrder, SortedArray};
pub use fixed_string::FixedString;
pub use float::{TotalF32, TotalF64};
pub use paged::PagedArray;
pub use strings::{SortedStrings, StringsError};
