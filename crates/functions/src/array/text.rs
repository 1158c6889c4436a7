//! Conversions between texts and arrays: `string_to_array`, `array_to_string`.

use types::{Array, Result, Scalar, Sink, Type, Value};

use crate::{
    Context, Rows,
    argument::take,
    function::{Body, Function, Parameter, TEXT, TEXTS},
};

/// Returns the pieces of a text: all characters if there is no delimiter.
fn pieces<'a>(arguments: &[Value<'a>]) -> Result<Option<Vec<Value<'a>>>> {
    let Some(text) = take::<Option<&'a str>>(arguments, 0)? else {
        return Ok(None);
    };
    let null: Option<&str> = match arguments.len() {
        3 => take(arguments, 2)?,
        _ => None,
    };
    let value = |piece: &'a str| {
        if Some(piece) == null {
            Value::Null
        } else {
            Value::Text(piece)
        }
    };
    Ok(Some(match take::<Option<&str>>(arguments, 1)? {
        _ if text.is_empty() => Vec::new(),
        None => text
            .char_indices()
            .map(|(at, character)| value(&text[at..at + character.len_utf8()]))
            .collect(),
        Some("") => vec![value(text)],
        Some(delimiter) => text.split(delimiter).map(value).collect(),
    }))
}

fn split<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    match pieces(arguments)? {
        Some(pieces) => Array::of(Scalar::Text, &pieces, context.scratch).map(Value::Array),
        None => Ok(Value::Null),
    }
}

fn split_to_rows<'a>(_: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let pieces = pieces(arguments)?.unwrap_or_default();
    Ok(Box::new(pieces.into_iter().map(Ok)))
}

fn join<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let (array, delimiter): (Option<Array<'a>>, Option<&str>) =
        (take(arguments, 0)?, take(arguments, 1)?);
    let (Some(array), Some(delimiter)) = (array, delimiter) else {
        return Ok(Value::Null);
    };
    let null: Option<&str> = match arguments.len() {
        3 => take(arguments, 2)?,
        _ => None,
    };
    let ty = Type::Scalar(array.element());
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    let mut first = true;
    for value in array.iter() {
        let value = value?;
        if value.is_null() && null.is_none() {
            continue;
        }
        if !std::mem::replace(&mut first, false) {
            out.put(delimiter.as_bytes());
        }
        context.make_room(out.len())?;
        match (value, null) {
            (Value::Null, Some(null)) => out.put(null.as_bytes()),
            (value, _) => context.write(value, ty, &mut out)?,
        }
    }
    context.finish_text(out).map(Value::Text)
}

pub(super) static FUNCTIONS: &[Function] = &[
    Function::scalar("string_to_array", &[TEXT, TEXT, TEXT], TEXTS, split)
        .optional(1)
        .lenient(),
    Function::new(
        "string_to_table",
        &[TEXT, TEXT, TEXT],
        TEXT,
        Body::Set(split_to_rows),
    )
    .optional(1)
    .lenient(),
    Function::scalar(
        "array_to_string",
        &[Parameter::AnyArray, TEXT, TEXT],
        TEXT,
        join,
    )
    .optional(1)
    .lenient()
    .stable(),
];
