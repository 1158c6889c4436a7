//! Which function, operator or common type a statement means: PostgreSQL 15, chapter 10.
//!
//! Pure functions over types. What has no type yet ([`Type::Unknown`]: a literal, a parameter) fits
//! everywhere, and takes the type that the choice gives it.

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

/// What a call means.
#[derive(Clone)]
pub struct Resolved {
    /// What is to be called.
    pub function: &'static Function,
    /// The types that the arguments are to be cast to, one for each.
    pub arguments: Vec<Type>,
    /// The type of the result.
    pub result: Type,
    /// Arguments from this position on are to be gathered into one array of this element type.
    pub gather: Option<(usize, Scalar)>,
}

#[cfg(test)]
mod tests;
