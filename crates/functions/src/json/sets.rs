//! Rows from documents: `jsonb_each`, `jsonb_array_elements`, `jsonb_object_keys`.

use types::{Jsonb, JsonbView, Record, Result, SqlError, SqlState, Value};

use super::{
    extract::{as_text, json_text},
    scan::{Kind, Parts, check_escapes, unescaped},
};
use crate::{
    Context, Rows,
    argument::{Json, take},
    function::{Body, Function, JSON, JSONB, Parameter, RECORD, TEXT},
    set::SetFunction,
};

#[cold]
fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn entries<'a>(context: &Context<'a>, arguments: &[Value<'a>], as_texts: bool) -> Result<Rows<'a>> {
    let document: Jsonb<'a> = take(arguments, 0)?;
    let JsonbView::Object(object) = document.view()? else {
        return Err(invalid(format!(
            "cannot call {} on a non-object",
            if as_texts {
                "jsonb_each_text"
            } else {
                "jsonb_each"
            }
        )));
    };
    let context = *context;
    Ok(Box::new(object.iter().map(move |entry| {
        let (key, value) = entry?;
        let value = if as_texts {
            as_text(&context, value)?.map_or(Value::Null, Value::Text)
        } else {
            Value::Jsonb(value)
        };
        Ok(Record::plain(&[Value::Text(key), value], context.scratch))
    })))
}

fn keys<'a>(_: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let document: Jsonb<'a> = take(arguments, 0)?;
    match document.view()? {
        JsonbView::Object(object) => Ok(Box::new(
            object.iter().map(|entry| Ok(Value::Text(entry?.0))),
        )),
        JsonbView::Array(_) => Err(invalid(
            "cannot call jsonb_object_keys on an array".to_owned(),
        )),
        _ => Err(invalid(
            "cannot call jsonb_object_keys on a scalar".to_owned(),
        )),
    }
}

fn elements<'a>(
    context: &Context<'a>,
    arguments: &[Value<'a>],
    as_texts: bool,
) -> Result<Rows<'a>> {
    let document: Jsonb<'a> = take(arguments, 0)?;
    let array = match document.view()? {
        JsonbView::Array(array) => array,
        JsonbView::Object(_) => {
            return Err(invalid("cannot extract elements from an object".to_owned()));
        }
        _ => return Err(invalid("cannot extract elements from a scalar".to_owned())),
    };
    let context = *context;
    Ok(Box::new(array.iter().map(move |element| {
        let element = element?;
        if as_texts {
            return Ok(as_text(&context, element)?.map_or(Value::Null, Value::Text));
        }
        Ok(Value::Jsonb(element))
    })))
}

fn json_entries<'a>(
    context: &Context<'a>,
    arguments: &[Value<'a>],
    as_texts: bool,
) -> Result<Rows<'a>> {
    let document: Json<'a> = take(arguments, 0)?;
    match Kind::of(document.0) {
        Kind::Object => {}
        Kind::Array => {
            return Err(invalid(
                "cannot deconstruct an array as an object".to_owned(),
            ));
        }
        _ => return Err(invalid("cannot deconstruct a scalar".to_owned())),
    }
    check_escapes(document.0, context.scratch)?;
    let context = *context;
    Ok(Box::new(Parts::of(document.0).map(move |(key, value)| {
        let key = Value::Text(unescaped(key, context.scratch)?);
        let value = if as_texts {
            json_text(&context, value)?.map_or(Value::Null, Value::Text)
        } else {
            Value::Json(value)
        };
        Ok(Record::plain(&[key, value], context.scratch))
    })))
}

fn json_keys<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Rows<'a>> {
    let document: Json<'a> = take(arguments, 0)?;
    match Kind::of(document.0) {
        Kind::Object => {}
        Kind::Array => {
            return Err(invalid(
                "cannot call json_object_keys on an array".to_owned(),
            ));
        }
        _ => {
            return Err(invalid(
                "cannot call json_object_keys on a scalar".to_owned(),
            ));
        }
    }
    check_escapes(document.0, context.scratch)?;
    let context = *context;
    Ok(Box::new(Parts::of(document.0).map(move |(key, _)| {
        unescaped(key, context.scratch).map(Value::Text)
    })))
}

fn json_elements<'a>(
    context: &Context<'a>,
    arguments: &[Value<'a>],
    as_texts: bool,
) -> Result<Rows<'a>> {
    let document: Json<'a> = take(arguments, 0)?;
    let name = if as_texts {
        "json_array_elements_text"
    } else {
        "json_array_elements"
    };
    match Kind::of(document.0) {
        Kind::Array => {}
        Kind::Object => return Err(invalid(format!("cannot call {name} on a non-array"))),
        _ => return Err(invalid(format!("cannot call {name} on a scalar"))),
    }
    if as_texts {
        check_escapes(document.0, context.scratch)?;
    }
    let context = *context;
    Ok(Box::new(Parts::of(document.0).map(move |(_, value)| {
        if as_texts {
            return Ok(json_text(&context, value)?.map_or(Value::Null, Value::Text));
        }
        Ok(Value::Json(value))
    })))
}

const fn set(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Parameter,
    body: SetFunction,
) -> Function {
    Function::new(name, parameters, result, Body::Set(body))
}

pub(super) static FUNCTIONS: &[Function] = &[
    set("jsonb_each", &[JSONB], RECORD, |context, arguments| {
        entries(context, arguments, false)
    })
    .columns(&[("key", TEXT), ("value", JSONB)]),
    set("jsonb_each_text", &[JSONB], RECORD, |context, arguments| {
        entries(context, arguments, true)
    })
    .columns(&[("key", TEXT), ("value", TEXT)]),
    set("jsonb_object_keys", &[JSONB], TEXT, keys),
    set(
        "jsonb_array_elements",
        &[JSONB],
        JSONB,
        |context, arguments| elements(context, arguments, false),
    )
    .columns(&[("value", JSONB)]),
    set(
        "jsonb_array_elements_text",
        &[JSONB],
        TEXT,
        |context, arguments| elements(context, arguments, true),
    )
    .columns(&[("value", TEXT)]),
    set("json_each", &[JSON], RECORD, |context, arguments| {
        json_entries(context, arguments, false)
    })
    .columns(&[("key", TEXT), ("value", JSON)]),
    set("json_each_text", &[JSON], RECORD, |context, arguments| {
        json_entries(context, arguments, true)
    })
    .columns(&[("key", TEXT), ("value", TEXT)]),
    set("json_object_keys", &[JSON], TEXT, json_keys),
    set(
        "json_array_elements",
        &[JSON],
        JSON,
        |context, arguments| json_elements(context, arguments, false),
    )
    .columns(&[("value", JSON)]),
    set(
        "json_array_elements_text",
        &[JSON],
        TEXT,
        |context, arguments| json_elements(context, arguments, true),
    )
    .columns(&[("value", TEXT)]),
];
