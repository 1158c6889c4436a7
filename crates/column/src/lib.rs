//! Columns.
mod codes;
pub use codes::{CodeSet, Codes, PackedCodes};
