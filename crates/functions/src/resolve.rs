//! Resolution of functions, operators and common types in statements: PostgreSQL 15, chapter 10.
//!
//! The functions are pure, over types. An expression without a type ([`Type::Unknown`]: a literal,
//! a parameter) fits everywhere, and takes the type that the choice gives it.

mod candidates;
mod common;
mod function;
mod operator;
mod polymorphic;

use types::{Scalar, Type};

use crate::Function;

pub use common::{common_type, matching_types};
pub use function::{cast_by_name, resolve_function};
pub use operator::resolve_operator;

/// Meaning of a call.
#[derive(Clone)]
pub struct Resolved {
    /// The function to call.
    pub function: &'static Function,
    /// Types that the arguments are to be cast to, one for each.
    pub arguments: Vec<Type>,
    /// Type of the result.
    pub result: Type,
    /// Position from which arguments are gathered into one array, and its element type.
    pub gather: Option<(usize, Scalar)>,
}

#[cfg(test)]
mod tests;
