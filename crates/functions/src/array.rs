//! Functions and operators of arrays.

mod edit;
mod inspect;
mod text;
mod unnest;

use types::{Array, Result, Scalar, SqlError, SqlState, Type, Value};

use crate::{Context, Function};

pub(crate) static FUNCTIONS: &[&[Function]] = &[
    edit::FUNCTIONS,
    inspect::FUNCTIONS,
    text::FUNCTIONS,
    unnest::FUNCTIONS,
];
pub(crate) static OPERATORS: &[&[Function]] = &[edit::OPERATORS, inspect::OPERATORS];

/// The elements in the order of storage.
fn elements<'a>(array: Array<'a>) -> Result<Vec<Value<'a>>> {
    array.iter().collect()
}

/// The same array with other elements, as many.
fn reshaped<'a>(
    context: &Context<'a>,
    shape: Array<'_>,
    values: &[Value<'a>],
) -> Result<Array<'a>> {
    let dimensions: Vec<_> = shape.dimensions().collect();
    Array::build(shape.element(), &dimensions, values, context.scratch)
}

/// The element type that a polymorphic call has, by one of its arguments.
fn element_of(context: &Context<'_>, position: usize) -> Result<Scalar> {
    match context.argument_type(position) {
        Type::Array(scalar) | Type::Scalar(scalar) => Ok(scalar),
        _ => Err(SqlError::new(
            SqlState::INDETERMINATE_DATATYPE,
            "could not determine input data types",
        )),
    }
}

/// 0A000, for functions over one dimension.
fn only_one_dimension(what: &'static str) -> SqlError {
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, what)
}
