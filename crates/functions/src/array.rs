//! Functions and operators of arrays.

mod edit;
mod inspect;
mod text;
mod unnest;

use types::{Array, Result, Scalar, SqlError, SqlState, Type, Value};

use crate::{Context, Function};

pub(crate) use edit::append;

pub(crate) static FUNCTIONS: &[&[Function]] = &[
    edit::FUNCTIONS,
    inspect::FUNCTIONS,
    text::FUNCTIONS,
    unnest::FUNCTIONS,
];
pub(crate) static OPERATORS: &[&[Function]] = &[edit::OPERATORS, inspect::OPERATORS];

/// Returns the elements in the order of storage, for an array that is made from them.
fn elements<'a>(context: &Context<'_>, array: Array<'a>) -> Result<Vec<Value<'a>>> {
    room_for(context, array.len(), array.as_stored().len())?;
    array.iter().collect()
}

/// Asks for the memory of a list of `values` values, and of an array of `bytes` bytes made
/// from it.
///
/// # Errors
/// 54000 beyond the limit of arrays, 53200 beyond the statement's limit.
fn room_for(context: &Context<'_>, values: usize, bytes: usize) -> Result<()> {
    context.make_room(bytes)?;
    let list = values.saturating_mul(size_of::<Value<'_>>());
    context.scratch.ask(list.saturating_add(bytes))
}

/// Returns an array of the same shape with other elements.
fn reshaped<'a>(
    context: &Context<'a>,
    shape: Array<'_>,
    values: &[Value<'a>],
) -> Result<Array<'a>> {
    let dimensions: Vec<_> = shape.dimensions().collect();
    Array::build(shape.element(), &dimensions, values, context.scratch)
}

/// Returns the element type of a polymorphic call, by one of its arguments.
fn element_of(context: &Context<'_>, position: usize) -> Result<Scalar> {
    match context.argument_type(position) {
        Type::Array(scalar) | Type::Scalar(scalar) => Ok(scalar),
        _ => Err(SqlError::new(
            SqlState::INDETERMINATE_DATATYPE,
            "could not determine input data types",
        )),
    }
}

/// Returns 0A000, for functions over one dimension.
fn only_one_dimension(what: &'static str) -> SqlError {
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, what)
}
