//! Patterns: `LIKE`, `SIMILAR TO`, and regular expressions.
//!
//! Regular expressions are PostgreSQL's advanced ones (`parse.rs`): among the matches that begin
//! first the longest or the shortest wins, as the expression prefers, with pieces for its
//! parentheses as PostgreSQL chooses them (`dissect.rs`), in time that is bounded (`scan.rs`). Back
//! references are refused by name.
//!
//! The crate knows how a pattern is read, compiled and matched, and the few that a session compiled
//! last ([`Patterns`]). The crate never knows the functions and operators of SQL that take patterns,
//! their arguments, or their use of a match.

mod automaton;
mod compiled;
mod dissect;
mod like;
mod literal;
mod options;
mod parse;
mod scan;
mod similar;
mod syntax;
#[cfg(test)]
mod tests;
mod walk;

pub use self::{
    compiled::{Matcher, Pattern, Patterns},
    dissect::Piece,
    like::{like, like_bytes, with_escape},
    literal::LiteralPattern,
    options::Options,
    similar::{escape_of, to_regular_expression},
    walk::{Captures, captures_from, matches_from, pieces},
};
