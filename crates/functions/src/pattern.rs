//! Patterns: `LIKE`, `SIMILAR TO`, and regular expressions.
//!
//! Regular expressions are those of the crate `regex`, to which PostgreSQL's are translated
//! (`translate.rs`). What it does not have, back references and constraints that look ahead or
//! behind, is refused by name. Where alternatives begin alike it takes the first that matches
//! and not the longest.

mod compiled;
mod functions;
mod like;
mod similar;
mod substring;
mod translate;

pub use compiled::Patterns;
pub(crate) use compiled::compile;
pub(crate) use functions::{FUNCTIONS, SETS};
pub(crate) use like::{FUNCTIONS as LIKE_FUNCTIONS, OPERATORS as LIKE_OPERATORS, like_bytes};
pub(crate) use similar::FUNCTIONS as SIMILAR_FUNCTIONS;
pub(crate) use substring::{FUNCTIONS as SUBSTRING_FUNCTIONS, OPERATORS};
