//! JSON from SQL values: `to_jsonb`, `jsonb_build_object`, and similar
//! functions.

use types::{Array, JsonbBuilder, Result, Sink, SqlError, SqlState, Type, Value};

use super::write;
use crate::{
    Context,
    argument::take,
    function::{Function, JSON, JSONB, Parameter, RECORD, TEXTS},
};

fn to_json<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    let value = take(arguments, 0)?;
    write::write(context, value, context.argument_type(0), &mut out)?;
    context.finish_text(out).map(Value::Json)
}

fn to_jsonb<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let mut builder = JsonbBuilder::new(context.scratch);
    let value = take(arguments, 0)?;
    write::add(context, value, context.argument_type(0), &mut builder)?;
    builder.finish().map(Value::Jsonb)
}

fn build_array<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    out.put_byte(b'[');
    for (position, value) in arguments.iter().enumerate() {
        if position > 0 {
            out.put(b", ");
        }
        write::write(context, *value, context.argument_type(position), &mut out)?;
    }
    out.put_byte(b']');
    context.finish_text(out).map(Value::Json)
}

fn build_array_binary<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let mut builder = JsonbBuilder::new(context.scratch);
    builder.begin_array()?;
    for (position, value) in arguments.iter().enumerate() {
        write::add(
            context,
            *value,
            context.argument_type(position),
            &mut builder,
        )?;
    }
    builder.end()?;
    builder.finish().map(Value::Jsonb)
}

fn check_pairs(arguments: &[Value<'_>], function: &str) -> Result<()> {
    if !arguments.len().is_multiple_of(2) {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "argument list must have even number of elements",
        )
        .hint(format!(
            "The arguments of {function}() must consist of alternating keys and values."
        )));
    }
    let null = arguments.chunks(2).position(|pair| pair[0].is_null());
    match null {
        Some(pair) => Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("argument {} cannot be null", 2 * pair + 1),
        )
        .hint("Object keys should be text.")),
        None => Ok(()),
    }
}

fn build_object<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    check_pairs(arguments, "json_build_object")?;
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    out.put_byte(b'{');
    for (pair, values) in arguments.chunks(2).enumerate() {
        if pair > 0 {
            out.put(b", ");
        }
        let key = write::key(context, values[0], context.argument_type(2 * pair))?;
        types::write_json_string(key, &mut out);
        out.put(b" : ");
        write::write(
            context,
            values[1],
            context.argument_type(2 * pair + 1),
            &mut out,
        )?;
    }
    out.put_byte(b'}');
    context.finish_text(out).map(Value::Json)
}

fn build_object_binary<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    check_pairs(arguments, "jsonb_build_object")?;
    let mut builder = JsonbBuilder::new(context.scratch);
    builder.begin_object()?;
    for (pair, values) in arguments.chunks(2).enumerate() {
        let key = write::key(context, values[0], context.argument_type(2 * pair))?;
        builder.key(key);
        write::add(
            context,
            values[1],
            context.argument_type(2 * pair + 1),
            &mut builder,
        )?;
    }
    builder.end()?;
    builder.finish().map(Value::Jsonb)
}

/// Returns the members of an object from an array of keys and values, or from
/// an array of each.
fn object<'a>(arguments: &[Value<'a>]) -> Result<Vec<(&'a str, Option<&'a str>)>> {
    let wrong = |message: &'static str| SqlError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    let texts = |position: usize| -> Result<Vec<Option<&'a str>>> {
        take::<Array<'a>>(arguments, position)?
            .iter()
            .map(|value| {
                Ok(match value? {
                    Value::Text(text) => Some(text),
                    _ => None,
                })
            })
            .collect()
    };
    let (keys, values): (Vec<_>, Vec<_>) = if arguments.len() == 2 {
        for position in 0..2 {
            if take::<Array<'a>>(arguments, position)?.dimensions().count() > 1 {
                return Err(wrong("wrong number of array subscripts"));
            }
        }
        let (keys, values) = (texts(0)?, texts(1)?);
        if keys.len() != values.len() {
            return Err(wrong("mismatched array dimensions"));
        }
        (keys, values)
    } else {
        let all = texts(0)?;
        let dimensions: Vec<u32> = take::<Array<'a>>(arguments, 0)?
            .dimensions()
            .map(|dimension| dimension.length)
            .collect();
        match dimensions.as_slice() {
            [] | [_] | [_, 2] => {}
            [_, _] => return Err(wrong("array must have two columns")),
            _ => return Err(wrong("wrong number of array subscripts")),
        }
        if !all.len().is_multiple_of(2) {
            return Err(wrong("array must have even number of elements"));
        }
        all.chunks(2).map(|pair| (pair[0], pair[1])).unzip()
    };
    let pairs = keys.into_iter().zip(values);
    pairs
        .map(|(key, value)| match key {
            Some(key) => Ok((key, value)),
            None => Err(SqlError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "null value not allowed for object key",
            )),
        })
        .collect()
}

fn object_text<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    out.put_byte(b'{');
    for (position, (key, value)) in object(arguments)?.into_iter().enumerate() {
        if position > 0 {
            out.put(b", ");
        }
        types::write_json_string(key, &mut out);
        out.put(b" : ");
        let value = value.map_or(Value::Null, Value::Text);
        write::write(context, value, Type::Unknown, &mut out)?;
    }
    out.put_byte(b'}');
    context.finish_text(out).map(Value::Json)
}

fn object_binary<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let mut builder = JsonbBuilder::new(context.scratch);
    builder.begin_object()?;
    for (key, value) in object(arguments)? {
        builder.key(key);
        match value {
            Some(text) => builder.string(text),
            None => builder.null(),
        }
    }
    builder.end()?;
    builder.finish().map(Value::Jsonb)
}

const ELEMENT: Parameter = Parameter::AnyElement;
const ARRAY: Parameter = Parameter::AnyArray;
const ANY: Parameter = Parameter::Any;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::scalar("to_json", &[ELEMENT], JSON, to_json)
        .stable()
        .typed(),
    Function::scalar("to_jsonb", &[ELEMENT], JSONB, to_jsonb)
        .stable()
        .typed(),
    Function::scalar("array_to_json", &[ARRAY], JSON, to_json)
        .stable()
        .typed(),
    Function::scalar("row_to_json", &[RECORD], JSON, to_json)
        .stable()
        .typed(),
    Function::scalar("json_build_array", &[ANY], JSON, build_array)
        .variadic()
        .optional(1)
        .lenient()
        .stable()
        .typed(),
    Function::scalar("jsonb_build_array", &[ANY], JSONB, build_array_binary)
        .variadic()
        .optional(1)
        .lenient()
        .stable()
        .typed(),
    Function::scalar("json_build_object", &[ANY], JSON, build_object)
        .variadic()
        .optional(1)
        .lenient()
        .stable()
        .typed(),
    Function::scalar("jsonb_build_object", &[ANY], JSONB, build_object_binary)
        .variadic()
        .optional(1)
        .lenient()
        .stable()
        .typed(),
    Function::scalar("json_object", &[TEXTS, TEXTS], JSON, object_text).optional(1),
    Function::scalar("jsonb_object", &[TEXTS, TEXTS], JSONB, object_binary).optional(1),
];
