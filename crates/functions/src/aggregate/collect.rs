//! Aggregates that keep all values: `array_agg`, `string_agg`, and those that make JSON.

use types::{Array, Result, SqlError, SqlState, Value};

use super::{Aggregate, Inner, State, mismatch, ordered};
use crate::{
    Context,
    argument::take,
    function::{Body, Function, Parameter, TEXT},
};

fn array<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let values = state.values(context.scratch)?;
    let Some(element) = context.argument_type(0).scalar() else {
        return Err(SqlError::unsupported("array_agg of arrays"));
    };
    if values.is_empty() {
        return Ok(Value::Null);
    }
    Array::of(element, values, context.scratch).map(Value::Array)
}

/// The delimiter of each value stands before it; that of the first does not.
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
            if text.len() + delimiter.len() + next.len() >= crate::string::BYTES_MAX {
                return Err(SqlError::new(
                    SqlState::PROGRAM_LIMIT_EXCEEDED,
                    "string_agg result is too long",
                ));
            }
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
    Function::new("string_agg", &[TEXT, TEXT], TEXT, Body::Aggregate(&STRING)).lenient(),
];
