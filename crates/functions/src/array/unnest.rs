//! Rows from arrays, and their subscripts.

use types::{Array, Record, Result, SqlError, SqlState, Value};

use crate::{
    Context, Rows,
    argument::take,
    function::{BOOL, Body, Function, INT4, Parameter, RECORD},
};

fn unnest<'a>(_: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let array: Array<'a> = take(arguments, 0)?;
    Ok(Box::new(
        (0..array.len()).map(move |index| array.get(index)),
    ))
}

/// Returns the subscripts along a dimension, upwards or downwards.
fn subscripts<'a>(_: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let array: Array<'a> = take(arguments, 0)?;
    let number: i32 = take(arguments, 1)?;
    let reversed = match arguments.len() {
        3 => take(arguments, 2)?,
        _ => false,
    };
    let dimension = usize::try_from(i64::from(number) - 1)
        .ok()
        .and_then(|position| array.dimensions().nth(position));
    let Some(dimension) = dimension else {
        return Ok(Box::new(std::iter::empty()));
    };
    let upper = dimension
        .lower
        .checked_add(dimension.length as i32)
        .ok_or_else(|| SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "array is too large"))?;
    let range = dimension.lower..upper;
    if reversed {
        return Ok(Box::new(range.rev().map(|place| Ok(Value::Int4(place)))));
    }
    Ok(Box::new(range.map(|place| Ok(Value::Int4(place)))))
}

/// Returns the elements of an array with their positions from 1.
fn numbered<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let array: Array<'a> = take(arguments, 0)?;
    let scratch = context.scratch;
    Ok(Box::new((0..array.len()).map(move |index| {
        let number = i32::try_from(index + 1).unwrap_or(i32::MAX);
        let row = [array.get(index)?, Value::Int4(number)];
        Ok(Record::plain(&row, scratch))
    })))
}

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "unnest",
        &[Parameter::AnyArray],
        Parameter::AnyElement,
        Body::Set(unnest),
    ),
    // In `information_schema`; drivers call it.
    Function::new(
        "_pg_expandarray",
        &[Parameter::AnyArray],
        RECORD,
        Body::Set(numbered),
    )
    .columns(&[("x", Parameter::AnyElement), ("n", INT4)]),
    Function::new(
        "generate_subscripts",
        &[Parameter::AnyArray, INT4, BOOL],
        INT4,
        Body::Set(subscripts),
    )
    .optional(1),
];
