//! Dictionary-encoded columns in the manner of a main-memory column store, whose dictionary lookups hide each other's
//! cache misses (paper 003 section 2.1).
//!
//! A column's distinct values are in a *dictionary*; its rows have the *codes* of their values. There are two
//! kinds of parts: a read-optimised [`Main`] and an update-friendly [`Delta`], which is merged into it now
//! and then.
//!
//! | purpose | items |
//! | --- | --- |
//! | a column shared by threads, its snapshots | [`Column`], [`Snapshot`] |
//! | merging, in steps | [`Merge`] |
//! | rows whose value is in a list | [`InPredicate`] |
//! | the parts, by themselves | [`Main`], [`Delta`] |
//! | vectors of codes, and scans of them | [`PackedCodes`], [`CodeSet`], [`Codes`] |
//! | values of a column | [`Value`]; [`Decimal`], [`Date`], [`Timestamp`] |
//!
//! The operation `extract` gives the value of a code; *locate*, which gives the code of a value, is a lookup
//! ([`interleave::Lookup`]) with one body, run sequentially or interleaved.
//!
//! The crate knows no transactions, and rows are not deleted.

mod column;
mod decimal;
mod delta;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod in_predicate;
mod main_part;
mod merge;
mod snapshot;
mod store;
mod sync;
mod value;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

pub use column::Column;
pub use decimal::{Decimal, DecimalError};
pub use delta::Delta;
pub use error::ColumnError;
pub use in_predicate::InPredicate;
pub use main_part::Main;
pub use merge::{Merge, Progress};
pub use segment::{CodeSet, Codes, PackedCodes};
pub use snapshot::Snapshot;
pub use store::{Bytes, Fixed, Store, Strings};
pub use value::{Date, Element, Key, Sought, Timestamp, Value};

/// Maximum distinct values of a part: two codes are left.
pub const DISTINCT_MAX: usize = u32::MAX as usize - 1;

/// Point before a latch is taken, for simulators.
#[cfg(feature = "simulation")]
pub const LATCH_WANTED: &str = "latch wanted";
/// Point at which another thread has the latch: the thread can do nothing until that thread goes on.
#[cfg(feature = "simulation")]
pub const LATCH_REFUSED: &str = "latch refused";
/// Point after the latch has been taken, with nothing done yet.
#[cfg(feature = "simulation")]
pub const LATCH_TAKEN: &str = "latch taken";

/// The README's example, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
