//! Patterns: `LIKE`, `SIMILAR TO`, and regular expressions.
//!
//! Regular expressions are PostgreSQL's advanced ones (`parse.rs`): of the matches that begin first
//! the longest or the shortest, as the expression prefers, with pieces for its parentheses as
//! PostgreSQL chooses them (`dissect.rs`), in time that is bounded (`scan.rs`). Back references are
//! refused by name.

mod automaton;
mod compiled;
mod dissect;
mod functions;
mod like;
mod options;
mod parse;
mod scan;
mod similar;
mod substring;
mod syntax;
#[cfg(test)]
mod tests;

pub use compiled::Patterns;
pub(crate) use compiled::compile;
pub(crate) use functions::{FUNCTIONS, SETS};
pub(crate) use like::{FUNCTIONS as LIKE_FUNCTIONS, OPERATORS as LIKE_OPERATORS, like_bytes};
pub(crate) use similar::FUNCTIONS as SIMILAR_FUNCTIONS;
pub(crate) use substring::{FUNCTIONS as SUBSTRING_FUNCTIONS, OPERATORS};
