//! Operators and functions of `numeric`. Its arithmetic is `types::Numeric`'s.

mod functions;
mod operators;
mod root;

pub(crate) use functions::FUNCTIONS;
pub(crate) use operators::OPERATORS;
pub(crate) use root::square_root_of_scale;
