//! `->`, `->>`, `#>`, `#>>`, and the type of a document.

use types::{Array, Jsonb, JsonbView, Result, SqlError, SqlState, Value};

use super::scan::{Kind, Parts, check_escapes, unescaped};
use crate::{
    Context,
    argument::{Json, take},
    function::{Function, INT4, JSON, JSONB, TEXT, TEXTS, entry},
};

/// Returns a position, from the end if `position` is negative.
pub(super) fn index(position: i32, length: usize) -> Option<usize> {
    match usize::try_from(position) {
        Ok(position) => Some(position).filter(|position| *position < length),
        Err(_) => length.checked_sub(position.unsigned_abs() as usize),
    }
}

pub(super) fn field<'a>(document: Jsonb<'a>, key: &str) -> Result<Option<Jsonb<'a>>> {
    match document.view()? {
        JsonbView::Object(object) => object.get(key),
        _ => Ok(None),
    }
}

fn element<'a>(document: Jsonb<'a>, position: i32) -> Result<Option<Jsonb<'a>>> {
    match document.view()? {
        JsonbView::Array(array) => match index(position, array.len()) {
            Some(index) => array.get(index),
            None => Ok(None),
        },
        // A scalar is like an array of itself, only in this operator.
        JsonbView::Object(_) => Ok(None),
        _ => Ok(matches!(position, 0 | -1).then_some(document)),
    }
}

/// Returns a document as text: a string without quotes, `null` as NULL.
pub(super) fn as_text<'a>(context: &Context<'a>, document: Jsonb<'a>) -> Result<Option<&'a str>> {
    match document.view()? {
        JsonbView::Null => Ok(None),
        JsonbView::String(text) => Ok(Some(text)),
        _ => {
            let mut out = bumpalo::collections::Vec::new_in(context.scratch);
            document.write_text(&mut out)?;
            context.finish_text(out).map(Some)
        }
    }
}

fn text_of<'a>(
    context: &Context<'a>,
    document: Result<Option<Jsonb<'a>>>,
) -> Result<Option<&'a str>> {
    match document? {
        Some(document) => as_text(context, document),
        None => Ok(None),
    }
}

/// Takes a step of a path: a key, or a position in an array.
pub(super) fn step<'a>(document: Jsonb<'a>, step: &str) -> Result<Option<Jsonb<'a>>> {
    match document.view()? {
        JsonbView::Object(object) => object.get(step),
        JsonbView::Array(array) => match step.trim_start().parse() {
            Ok(position) => match index(position, array.len()) {
                Some(index) => array.get(index),
                None => Ok(None),
            },
            Err(_) => Ok(None),
        },
        _ => Ok(None),
    }
}

fn at_path<'a>(document: Jsonb<'a>, path: Array<'_>) -> Result<Option<Jsonb<'a>>> {
    let mut found = document;
    for name in path.iter() {
        let Value::Text(name) = name? else {
            return Ok(None);
        };
        match step(found, name)? {
            Some(next) => found = next,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

fn json_field<'a>(context: &Context<'a>, text: &'a str, wanted: &str) -> Result<Option<&'a str>> {
    if Kind::of(text) != Kind::Object {
        return Ok(None);
    }
    // The last of several equal keys counts.
    let mut found = None;
    for (key, value) in Parts::of(text) {
        if unescaped(key, context.scratch)? == wanted {
            found = Some(value);
        }
    }
    Ok(found)
}

fn json_element(text: &str, position: i32) -> Option<&str> {
    if Kind::of(text) != Kind::Array {
        return None;
    }
    let position = match position {
        0.. => position as usize,
        _ => index(position, Parts::of(text).count())?,
    };
    Parts::of(text).nth(position).map(|part| part.1)
}

pub(super) fn json_text<'a>(context: &Context<'a>, text: &'a str) -> Result<Option<&'a str>> {
    match Kind::of(text) {
        Kind::Null => Ok(None),
        Kind::String => unescaped(text.trim(), context.scratch).map(Some),
        _ => Ok(Some(text)),
    }
}

fn json_at_path<'a>(
    context: &Context<'a>,
    document: Json<'a>,
    path: Array<'_>,
) -> Result<Option<&'a str>> {
    let mut names = Vec::new();
    for name in path.iter() {
        match name? {
            Value::Text(name) => names.push(name),
            _ => return Ok(None),
        }
    }
    check_escapes(document.0, context.scratch)?;
    let mut found = document.0.trim();
    for name in names {
        let next = match Kind::of(found) {
            Kind::Object => json_field(context, found, name)?,
            Kind::Array => match name.trim_start().parse() {
                Ok(position) => json_element(found, position),
                Err(_) => None,
            },
            _ => None,
        };
        match next {
            Some(next) => found = next,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

fn json_text_of<'a>(
    context: &Context<'a>,
    found: Result<Option<&'a str>>,
) -> Result<Option<&'a str>> {
    match found? {
        Some(found) => json_text(context, found),
        None => Ok(None),
    }
}

fn no_length(message: &'static str) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

const OF_OBJECT: &str = "cannot get array length of a non-array";
const OF_SCALAR: &str = "cannot get array length of a scalar";

fn length(document: Jsonb<'_>) -> Result<i32> {
    match document.view()? {
        JsonbView::Array(array) => Ok(array.len() as i32),
        JsonbView::Object(_) => Err(no_length(OF_OBJECT)),
        _ => Err(no_length(OF_SCALAR)),
    }
}

fn json_length(document: Json<'_>) -> Result<i32> {
    match Kind::of(document.0) {
        Kind::Array => Ok(Parts::of(document.0).count() as i32),
        Kind::Object => Err(no_length(OF_OBJECT)),
        _ => Err(no_length(OF_SCALAR)),
    }
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("jsonb_typeof"(JSONB) -> TEXT, |document: Jsonb<'_>| -> Result<&'static str> {
        document.type_name()
    }),
    entry!("json_typeof"(JSON) -> TEXT, |document: Json<'_>| Kind::of(document.0).name()),
    entry!("jsonb_array_length"(JSONB) -> INT4, length),
    entry!("json_array_length"(JSON) -> INT4, json_length),
    entry!("jsonb_extract_path"(JSONB, TEXTS) -> JSONB, at_path).variadic(),
    Function::scalar("jsonb_extract_path_text", &[JSONB, TEXTS], TEXT, path_text).variadic(),
    Function::scalar("json_extract_path", &[JSON, TEXTS], JSON, json_path).variadic(),
    Function::scalar(
        "json_extract_path_text",
        &[JSON, TEXTS],
        TEXT,
        json_path_text,
    )
    .variadic(),
];

fn option_text(text: Option<&str>) -> Value<'_> {
    text.map_or(Value::Null, Value::Text)
}

fn option_json(text: Option<&str>) -> Value<'_> {
    text.map_or(Value::Null, Value::Json)
}

fn path_text<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let found = at_path(take(arguments, 0)?, take(arguments, 1)?);
    text_of(context, found).map(option_text)
}

fn json_path<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    json_at_path(context, take(arguments, 0)?, take(arguments, 1)?).map(option_json)
}

fn json_path_text<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let found = json_at_path(context, take(arguments, 0)?, take(arguments, 1)?);
    json_text_of(context, found).map(option_text)
}

fn json_arrow<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Option<&'a str>> {
    let document: Json<'a> = take(arguments, 0)?;
    check_escapes(document.0, context.scratch)?;
    match arguments.get(1) {
        Some(Value::Int4(position)) => Ok(json_element(document.0, *position)),
        _ => json_field(context, document.0, take(arguments, 1)?),
    }
}

fn arrow<'a>(arguments: &[Value<'a>]) -> Result<Option<Jsonb<'a>>> {
    let document: Jsonb<'a> = take(arguments, 0)?;
    match arguments.get(1) {
        Some(Value::Int4(position)) => element(document, *position),
        _ => field(document, take(arguments, 1)?),
    }
}

fn json_part<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    json_arrow(context, arguments).map(option_json)
}

fn json_part_text<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    json_text_of(context, json_arrow(context, arguments)).map(option_text)
}

fn part<'a>(_: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    Ok(arrow(arguments)?.map_or(Value::Null, Value::Jsonb))
}

fn part_text<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    text_of(context, arrow(arguments)).map(option_text)
}

pub(super) static OPERATORS: &[Function] = &[
    Function::scalar("->", &[JSONB, TEXT], JSONB, part),
    Function::scalar("->", &[JSONB, INT4], JSONB, part),
    Function::scalar("->>", &[JSONB, TEXT], TEXT, part_text),
    Function::scalar("->>", &[JSONB, INT4], TEXT, part_text),
    entry!("#>"(JSONB, TEXTS) -> JSONB, at_path),
    Function::scalar("#>>", &[JSONB, TEXTS], TEXT, path_text),
    Function::scalar("->", &[JSON, TEXT], JSON, json_part),
    Function::scalar("->", &[JSON, INT4], JSON, json_part),
    Function::scalar("->>", &[JSON, TEXT], TEXT, json_part_text),
    Function::scalar("->>", &[JSON, INT4], TEXT, json_part_text),
    Function::scalar("#>", &[JSON, TEXTS], JSON, json_path),
    Function::scalar("#>>", &[JSON, TEXTS], TEXT, json_path_text),
];
