//! Aggregates that keep all values: `array_agg`, `string_agg`, and those that make JSON.

use types::{Array, Result, SqlError, SqlState, Value, array::Dimension};

use super::{Aggregate, Inner, State, mismatch, ordered};
use crate::{
    Context,
    argument::take,
    function::{BYTEA, Body, Function, Parameter, TEXT},
};

fn array<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let values = state.values(context.scratch)?;
    let Some(element) = context.argument_type(0).scalar() else {
        return Err(mismatch());
    };
    if values.is_empty() {
        return Ok(Value::Null);
    }
    Array::of(element, values, context.scratch).map(Value::Array)
}

fn keep_array(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    match arguments.first() {
        Some(Value::Array(array)) if array.is_empty() => Err(SqlError::new(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "cannot accumulate empty arrays",
        )),
        Some(value @ Value::Array(_)) => state.keep(*value),
        _ => Err(SqlError::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "cannot accumulate null arrays",
        )),
    }
}

/// Returns an array of one dimension more.
fn array_of_arrays<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let kept = state.values(context.scratch)?;
    let Some(Value::Array(first)) = kept.first() else {
        return Ok(Value::Null);
    };
    let inner: Vec<Dimension> = first.dimensions().collect();
    let mut elements = Vec::new();
    for value in kept {
        let Value::Array(array) = value else {
            return Err(mismatch());
        };
        if !array.dimensions().eq(inner.iter().copied()) {
            return Err(SqlError::new(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                "cannot accumulate arrays of different dimensionality",
            ));
        }
        for element in array.iter() {
            elements.push(element?);
        }
    }
    let outer = Dimension {
        length: kept.len() as u32,
        lower: 1,
    };
    let dimensions: Vec<_> = std::iter::once(outer).chain(inner).collect();
    Array::build(first.element(), &dimensions, &elements, context.scratch).map(Value::Array)
}

/// Appends the next bytes to the bytes so far.
fn append_bytes(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    let Some(next) = take::<Option<&[u8]>>(arguments, 0)? else {
        return Ok(());
    };
    let Inner::Bytes(bytes) = &mut state.0 else {
        return Err(mismatch());
    };
    match bytes {
        None => *bytes = Some(next.to_vec()),
        Some(bytes) => {
            let delimiter = take::<Option<&[u8]>>(arguments, 1)?.unwrap_or_default();
            crate::string::check_length(bytes.len() + delimiter.len() + next.len())?;
            bytes.extend_from_slice(delimiter);
            bytes.extend_from_slice(next);
        }
    }
    Ok(())
}

fn bytes<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match &state.0 {
        Inner::Bytes(bytes) => Ok(bytes.as_deref().map_or(Value::Null, |bytes| {
            Value::Bytea(context.scratch.alloc_slice_copy(bytes))
        })),
        _ => Err(mismatch()),
    }
}

/// Appends a value behind its delimiter, which the first value does not have.
fn append(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    let Inner::Text(text) = &mut state.0 else {
        return Err(mismatch());
    };
    let Some(next) = take::<Option<&str>>(arguments, 0)? else {
        return Ok(());
    };
    match text {
        None => *text = Some(next.to_owned()),
        Some(text) => {
            let delimiter = take::<Option<&str>>(arguments, 1)?.unwrap_or("");
            crate::string::check_length(text.len() + delimiter.len() + next.len())?;
            text.push_str(delimiter);
            text.push_str(next);
        }
    }
    Ok(())
}

fn text<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match &state.0 {
        Inner::Text(text) => Ok(text
            .as_deref()
            .map_or(Value::Null, |text| Value::Text(context.text(text)))),
        _ => Err(mismatch()),
    }
}

static ARRAY: Aggregate = Aggregate::new(State::many, ordered::keep_all, array);
static ARRAYS: Aggregate = Aggregate::new(State::many, keep_array, array_of_arrays);
static BYTES: Aggregate = Aggregate::new(|| State(Inner::Bytes(None)), append_bytes, bytes);
static STRING: Aggregate = Aggregate::new(|| State(Inner::Text(None)), append, text);

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "array_agg",
        &[Parameter::AnyNonArray],
        Parameter::AnyArray,
        Body::Aggregate(&ARRAY),
    )
    .lenient()
    .typed(),
    Function::new(
        "array_agg",
        &[Parameter::AnyArray],
        Parameter::AnyArray,
        Body::Aggregate(&ARRAYS),
    )
    .lenient(),
    Function::new(
        "string_agg",
        &[BYTEA, BYTEA],
        BYTEA,
        Body::Aggregate(&BYTES),
    )
    .lenient(),
    Function::new("string_agg", &[TEXT, TEXT], TEXT, Body::Aggregate(&STRING)).lenient(),
];
