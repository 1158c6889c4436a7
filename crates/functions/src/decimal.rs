//! Operators and functions of `numeric`. Its arithmetic is `types::Numeric`'s.

mod functions;
mod operators;

pub(crate) use functions::FUNCTIONS;
pub(crate) use operators::OPERATORS;
