//! SQL values as JSON: as text, with PostgreSQL's blanks, and as `jsonb`.

use types::{
    Array, Jsonb, JsonbBuilder, Numeric, Result, Scalar, Sink, SqlError, SqlState, Type, Value,
    write_json_string,
};

use crate::Context;

type Out<'a> = bumpalo::collections::Vec<'a, u8>;

/// Form of a scalar in JSON.
enum Form<'a> {
    Null,
    Boolean(bool),
    Number(&'a str),
    String(&'a str),
    Json(&'a str),
    Jsonb(Jsonb<'a>),
}

fn form<'a>(context: &Context<'a>, value: Value<'a>, ty: Type) -> Result<Form<'a>> {
    Ok(match value {
        Value::Null => Form::Null,
        Value::Bool(value) => Form::Boolean(value),
        Value::Json(text) => Form::Json(text),
        Value::Jsonb(document) => Form::Jsonb(document),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => {
            Form::Number(context.text_of(value, ty)?)
        }
        Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => {
            let text = context.text_of(value, ty)?;
            // A value that is no number in JSON is a string.
            if text.ends_with(|last: char| last.is_ascii_digit()) {
                Form::Number(text)
            } else {
                Form::String(text)
            }
        }
        Value::Text(text) => Form::String(text),
        Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_) => {
            Form::String(iso_8601(context, value, ty)?)
        }
        value => Form::String(context.text_of(value, ty)?),
    })
}

/// Formats a time with a `T` before it, and minutes in the zone's offset.
fn iso_8601<'a>(context: &Context<'a>, value: Value<'a>, ty: Type) -> Result<&'a str> {
    let text = context.text_of(value, ty)?;
    let Some((date, time)) = text.split_once(' ') else {
        return Ok(text);
    };
    if !time.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(text);
    }
    let (time, era) = match time.split_once(' ') {
        Some((time, _)) => (time, " BC"),
        None => (time, ""),
    };
    let short = matches!(value, Value::TimestampTz(_))
        && time
            .rfind(['+', '-'])
            .is_some_and(|sign| time.len() - sign == 3);
    let minutes = if short { ":00" } else { "" };
    Ok(context.text(&format!("{date}T{time}{minutes}{era}")))
}

/// Appends a value as JSON text.
pub(super) fn write<'a>(
    context: &Context<'a>,
    value: Value<'a>,
    ty: Type,
    out: &mut Out<'a>,
) -> Result<()> {
    match value {
        Value::Array(array) => write_array(context, array, out),
        Value::Record(record) => {
            let mut separator = b'{';
            record.each(|name, value, ty| {
                out.put_byte(separator);
                separator = b',';
                write_json_string(name, out);
                out.put_byte(b':');
                write(context, value, ty, out)
            })?;
            out.put(if separator == b'{' { b"{}" } else { b"}" });
            Ok(())
        }
        value => {
            match form(context, value, ty)? {
                Form::Null => out.put(b"null"),
                Form::Boolean(value) => out.put(if value { b"true" } else { b"false" }),
                Form::Number(text) | Form::Json(text) => out.put(text.as_bytes()),
                Form::String(text) => write_json_string(text, out),
                Form::Jsonb(document) => document.write_text(out)?,
            }
            Ok(())
        }
    }
}

/// Appends an array; several dimensions become arrays of arrays.
fn write_array<'a>(context: &Context<'a>, array: Array<'a>, out: &mut Out<'a>) -> Result<()> {
    let lengths: Vec<usize> = array
        .dimensions()
        .map(|dimension| dimension.length as usize)
        .collect();
    if lengths.is_empty() {
        out.put(b"[]");
        return Ok(());
    }
    let ty = Type::Scalar(array.element());
    for (position, value) in array.iter().enumerate() {
        let (opened, _) = brackets(&lengths, position);
        if position > 0 {
            out.put_byte(b',');
        }
        for _ in 0..opened {
            out.put_byte(b'[');
        }
        write(context, value?, ty, out)?;
        let (_, closed) = brackets(&lengths, position);
        for _ in 0..closed {
            out.put_byte(b']');
        }
    }
    Ok(())
}

/// Returns how many arrays begin with an element, and how many end with it.
fn brackets(lengths: &[usize], position: usize) -> (usize, usize) {
    let (mut opened, mut closed, mut size) = (0, 0, 1);
    for length in lengths.iter().rev() {
        size *= length;
        opened += usize::from(position.is_multiple_of(size));
        closed += usize::from((position + 1).is_multiple_of(size));
    }
    (opened, closed)
}

/// Adds a value to a `jsonb`.
pub(super) fn add<'a>(
    context: &Context<'a>,
    value: Value<'a>,
    ty: Type,
    builder: &mut JsonbBuilder<'a>,
) -> Result<()> {
    match value {
        Value::Array(array) => {
            let lengths: Vec<usize> = array
                .dimensions()
                .map(|dimension| dimension.length as usize)
                .collect();
            if lengths.is_empty() {
                builder.begin_array()?;
                return builder.end();
            }
            let ty = Type::Scalar(array.element());
            for (position, value) in array.iter().enumerate() {
                let (opened, closed) = brackets(&lengths, position);
                for _ in 0..opened {
                    builder.begin_array()?;
                }
                add(context, value?, ty, builder)?;
                for _ in 0..closed {
                    builder.end()?;
                }
            }
        }
        Value::Record(record) => {
            builder.begin_object()?;
            record.each(|name, value, ty| {
                builder.key(name);
                add(context, value, ty, builder)
            })?;
            builder.end()?;
        }
        value => match form(context, value, ty)? {
            Form::Null => builder.null(),
            Form::Boolean(value) => builder.boolean(value),
            Form::Number(text) => builder.number(Numeric::parse(text, context.scratch)?),
            Form::String(text) => builder.string(text),
            Form::Json(text) => builder.value(Jsonb::parse(text, context.scratch)?),
            Form::Jsonb(document) => builder.value(document),
        },
    }
    Ok(())
}

/// Returns the text of a key: scalars only, and not NULL.
pub(super) fn key<'a>(context: &Context<'a>, value: Value<'a>, ty: Type) -> Result<&'a str> {
    match (value, ty) {
        (Value::Null, _) => Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "argument of a key must not be null",
        )),
        (Value::Text(text), _) => Ok(text),
        (Value::Bool(value), _) => Ok(if value { "true" } else { "false" }),
        (Value::Array(_) | Value::Record(_) | Value::Json(_) | Value::Jsonb(_), _) => {
            Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "key value must be scalar, not array, composite, or json",
            ))
        }
        (value @ (Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_)), ty) => {
            iso_8601(context, value, ty)
        }
        (value, Type::Unknown) => context.text_of(value, Type::Scalar(Scalar::Text)),
        (value, ty) => context.text_of(value, ty),
    }
}
