//! Sorted arrays: binary search that interleaves its cache misses with those of others.
//!
//! - [`SortedArray`]: elements of a fixed size: integers, tuples of them (composite keys), byte
//!   strings of a fixed size ([`FixedString`]), floats in their total order ([`TotalF64`]);
//! - [`SortedStrings`]: byte strings of any lengths;
//! - [`PagedArray`]: a sorted array under levels of separators in pages, for fewer misses of the
//!   cache and of the translation buffer.
//!
//! Elements of an array do not change; more may be added behind the last. All arrays are searched by
//! [`interleave::Lookup`], whose answer is that of the standard library's `binary_search`: `Ok` with the place of the
//! key, of equal elements always the *first*; or `Err` with the place where the key would have to be inserted. Each
//! array has one body (paper 003, listing 5).

#![allow(
    clippy::manual_async_fn,
    reason = "an async fn keeps its arguments twice: where they came from, and where they are used"
)]

mod array;
mod fixed_string;
mod float;
mod paged;
pub(crate) mod search;
mod strings;

pub use array::{OutOfOrder, SortedArray};
pub use fixed_string::FixedString;
pub use float::{TotalF32, TotalF64};
pub use paged::PagedArray;
pub use strings::{SortedStrings, StringsError};

#[cfg(all(test, not(loom)))]
mod tests;
