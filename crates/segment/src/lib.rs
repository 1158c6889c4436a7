//! Vectors of codes of few bits each, and scans of them.
//!
//! | purpose | items |
//! | --- | --- |
//! | vectors of codes, and scans of them | [`PackedCodes`], [`PackedSlice`], [`CodeSet`], [`Codes`] |

pub mod codes;

pub use codes::{CodeSet, Codes, PackedCodes, PackedSlice};
