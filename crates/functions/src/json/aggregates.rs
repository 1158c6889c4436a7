//! Aggregates whose result is JSON.

use types::{JsonbBuilder, Record, Result, Sink, SqlError, SqlState, Value};

use super::write;
use crate::{
    Context,
    aggregate::{Aggregate, State},
    argument::take,
    function::{Body, Function, JSON, JSONB, Parameter},
};

fn array<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let values = state.values(context.scratch)?;
    if values.is_empty() {
        return Ok(Value::Null);
    }
    let ty = context.argument_type(0);
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    out.put_byte(b'[');
    for (position, value) in values.iter().enumerate() {
        if position > 0 {
            // Rows and arrays have lines of their own.
            out.put(match value {
                Value::Record(_) | Value::Array(_) => b", \n ".as_slice(),
                _ => b", ".as_slice(),
            });
        }
        write::write(context, *value, ty, &mut out)?;
    }
    out.put_byte(b']');
    context.finish_text(out).map(Value::Json)
}

fn array_binary<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let values = state.values(context.scratch)?;
    if values.is_empty() {
        return Ok(Value::Null);
    }
    let ty = context.argument_type(0);
    let mut builder = JsonbBuilder::new(context.scratch);
    builder.begin_array()?;
    for value in values {
        write::add(context, *value, ty, &mut builder)?;
    }
    builder.end()?;
    builder.finish().map(Value::Jsonb)
}

/// Keeps key and value as a row.
fn keep_pair(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    let pair: [Value<'_>; 2] = [take(arguments, 0)?, take(arguments, 1)?];
    if pair[0].is_null() {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "field name must not be null",
        ));
    }
    state.keep(Value::Record(&Record {
        fields: &[],
        values: &pair,
    }))
}

fn pair<'a>(value: &Value<'a>) -> Result<(Value<'a>, Value<'a>)> {
    match value {
        Value::Record(Record {
            values: [key, value],
            ..
        }) => Ok((*key, *value)),
        _ => Err(SqlError::new(
            SqlState::INTERNAL_ERROR,
            "a pair was not kept as one",
        )),
    }
}

fn object<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let values = state.values(context.scratch)?;
    if values.is_empty() {
        return Ok(Value::Null);
    }
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    out.put(b"{ ");
    for (position, value) in values.iter().enumerate() {
        let (key, value) = pair(value)?;
        if position > 0 {
            out.put(b", ");
        }
        let key = write::key(context, key, context.argument_type(0))?;
        types::write_json_string(key, &mut out);
        out.put(b" : ");
        write::write(context, value, context.argument_type(1), &mut out)?;
    }
    out.put(b" }");
    context.finish_text(out).map(Value::Json)
}

fn object_binary<'a>(context: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    let values = state.values(context.scratch)?;
    if values.is_empty() {
        return Ok(Value::Null);
    }
    let mut builder = JsonbBuilder::new(context.scratch);
    builder.begin_object()?;
    for value in values {
        let (key, value) = pair(value)?;
        builder.key(write::key(context, key, context.argument_type(0))?);
        write::add(context, value, context.argument_type(1), &mut builder)?;
    }
    builder.end()?;
    builder.finish().map(Value::Jsonb)
}

fn keep_one(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    state.keep(take(arguments, 0)?)
}

static ARRAY: Aggregate = Aggregate::new(State::many, keep_one, array);
static ARRAY_BINARY: Aggregate = Aggregate::new(State::many, keep_one, array_binary);
static OBJECT: Aggregate = Aggregate::new(State::many, keep_pair, object);
static OBJECT_BINARY: Aggregate = Aggregate::new(State::many, keep_pair, object_binary);

const ONE: &[Parameter] = &[Parameter::AnyElement];
const TWO: &[Parameter] = &[Parameter::Any, Parameter::Any];

const fn over(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Parameter,
    aggregate: &'static Aggregate,
) -> Function {
    Function::new(name, parameters, result, Body::Aggregate(aggregate))
        .lenient()
        .stable()
        .typed()
}

pub(super) static FUNCTIONS: &[Function] = &[
    over("json_agg", ONE, JSON, &ARRAY),
    over("jsonb_agg", ONE, JSONB, &ARRAY_BINARY),
    over("json_object_agg", TWO, JSON, &OBJECT),
    over("jsonb_object_agg", TWO, JSONB, &OBJECT_BINARY),
];
