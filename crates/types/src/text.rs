//! Values as text, as PostgreSQL reads and writes them.
//!
//! Other settings are fixed: `DateStyle` begins with `ISO`, `IntervalStyle` is `postgres`,
//! `extra_float_digits` is 1, `bytea_output` is `hex`.

mod array;
mod bytes;
mod interval;
mod moment;
mod names;
mod number;
mod offset;
mod record;
mod vector;

use crate::{
    Coercion, Context, Jsonb, Numeric, Result, Scalar, Scratch, Sink, SqlError, SqlState, Type,
    TypeModifier, Value,
};
pub(crate) use names::read_enum;
pub use offset::parse_offset;
pub(crate) use offset::{OFFSET_MAX, write_offset};

/// Reads a value that is not NULL from PostgreSQL's text form.
///
/// Ignores modifiers; see [`TypeModifier::apply`]. Reads `Unknown` as text.
///
/// # Errors
/// PostgreSQL's: `22P02`, `22003`, `22007`, `22008` and others, by type. `0A000` for rows.
pub fn read<'a>(
    text: &'a str,
    ty: Type,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<Value<'a>> {
    match ty {
        Type::Scalar(scalar) => read_scalar(text, scalar, context, scratch),
        Type::Array(element) => array::read(text, element, context, scratch).map(Value::Array),
        Type::Vector(element) => vector::read(text, element, context, scratch).map(Value::Array),
        Type::Unknown => read_scalar(text, Scalar::Text, context, scratch),
        Type::Record => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "input of anonymous composite types is not implemented",
        )),
        Type::Void => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot accept a value of type void",
        )),
    }
}

fn read_scalar<'a>(
    text: &'a str,
    scalar: Scalar,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<Value<'a>> {
    if text.as_bytes().contains(&0) {
        return Err(zero_byte());
    }
    Ok(match scalar {
        Scalar::Bool => Value::Bool(number::read_bool(text)?),
        Scalar::Int2 => Value::Int2(number::read_integer(text, scalar)?),
        Scalar::Int4 => Value::Int4(number::read_integer(text, scalar)?),
        Scalar::Int8 => Value::Int8(number::read_integer(text, scalar)?),
        Scalar::Float4 => Value::Float4(number::read_float4(text)?),
        Scalar::Float8 => Value::Float8(number::read_float8(text)?),
        Scalar::Numeric => Value::Numeric(Numeric::parse(text, scratch)?),
        Scalar::Text | Scalar::Varchar | Scalar::Bpchar => Value::Text(text),
        Scalar::Name => Value::Text(names::truncate(text)),
        Scalar::Char => Value::Char(bytes::read_char(text)),
        Scalar::Bytea => Value::Bytea(bytes::read_bytea(text, scratch)?),
        Scalar::Uuid => Value::Uuid(scratch.alloc(bytes::read_uuid(text)?)),
        Scalar::Json => {
            crate::json::check(text)?;
            Value::Json(text)
        }
        Scalar::Jsonb => Value::Jsonb(Jsonb::parse(text, scratch)?),
        Scalar::Date => Value::Date(moment::read_date(text, context)?),
        Scalar::Time => Value::Time(moment::read_time(text, context)?),
        Scalar::TimeTz => {
            let (time, zone) = moment::read_time_tz(text, context)?;
            Value::TimeTz(time, zone)
        }
        Scalar::Timestamp => Value::Timestamp(moment::read_timestamp(text, context)?),
        Scalar::TimestampTz => Value::TimestampTz(moment::read_timestamp_tz(text, context)?),
        Scalar::Interval => Value::Interval(interval::read(text, None)?),
        Scalar::Oid => Value::Oid(number::read_oid(text)?),
        Scalar::Regclass => Value::Oid(names::read_regclass(text, context)?),
        Scalar::Regtype => Value::Oid(names::read_regtype(text, context)?),
        Scalar::Regproc => Value::Oid(names::read_regproc(text, context)?),
        Scalar::Regnamespace => Value::Oid(names::read_regnamespace(text, context)?),
        Scalar::Regrole => Value::Oid(names::read_regrole(text, context)?),
        Scalar::Enum(id) => Value::Enum(id, names::read_enum(text, id, context)?),
    })
}

/// Appends the text form of a value that is not NULL.
///
/// # Errors
/// `XX000` if the value is NULL or not of the type; `XX001` if it was stored and is damaged;
/// an error for names that the catalog does not know.
pub fn write(value: Value<'_>, ty: Type, context: &Context<'_>, out: &mut impl Sink) -> Result<()> {
    match value {
        Value::Null => return Err(no_text()),
        Value::Bool(value) => out.put(if value { b"t" } else { b"f" }),
        Value::Int2(value) => out.put(itoa::Buffer::new().format(value).as_bytes()),
        Value::Int4(value) => out.put(itoa::Buffer::new().format(value).as_bytes()),
        Value::Int8(value) => out.put(itoa::Buffer::new().format(value).as_bytes()),
        Value::Float4(value) => number::write_float4(value, out),
        Value::Float8(value) => number::write_float8(value, out),
        Value::Numeric(value) => value.write_text(out),
        Value::Text(value) | Value::Json(value) => out.put(value.as_bytes()),
        Value::Char(value) => bytes::write_char(value, out),
        Value::Bytea(value) => bytes::write_bytea(value, out),
        Value::Uuid(value) => bytes::write_uuid(value, out),
        Value::Jsonb(value) => value.write_text(out)?,
        Value::Date(value) => moment::write_date(value, out),
        Value::Time(value) => moment::write_time(value, out),
        Value::TimeTz(time, zone) => {
            moment::write_time(time, out);
            write_offset(zone.wrapping_neg(), out);
        }
        Value::Timestamp(value) => moment::write_timestamp(value, out),
        Value::TimestampTz(value) => moment::write_timestamp_tz(value, context, out),
        Value::Interval(value) => interval::write(value, out),
        Value::Oid(value) => match ty {
            Type::Scalar(Scalar::Regclass) => names::write_regclass(value, context, out),
            Type::Scalar(Scalar::Regtype) => names::write_regtype(value, context, out),
            Type::Scalar(Scalar::Regproc) => {
                names::write_named(value, context.names.function_name(value), out);
            }
            Type::Scalar(Scalar::Regnamespace) => {
                names::write_named(value, context.names.schema_name(value), out);
            }
            Type::Scalar(Scalar::Regrole) => {
                names::write_named(value, context.names.role_name(value), out);
            }
            _ => out.put(itoa::Buffer::new().format(value).as_bytes()),
        },
        Value::Enum(id, position) => out.put(names::enum_label(id, position, context)?.as_bytes()),
        Value::Array(value) if matches!(ty, Type::Vector(_)) => {
            vector::write(value, context, out)?;
        }
        Value::Array(value) => array::write(value, context, out)?,
        Value::Record(record) => record::write(record, context, out)?,
    }
    Ok(())
}

/// Returns the text form of a value that is not NULL, in the arena: the cast to `text`.
///
/// # Errors
/// Fails as [`write()`] does.
pub fn to_text<'a>(
    value: Value<'a>,
    ty: Type,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<&'a str> {
    match value {
        Value::Text(text) | Value::Json(text) => Ok(text),
        // A cast writes the word, where output has a letter.
        Value::Bool(value) => Ok(if value { "true" } else { "false" }),
        _ => {
            let mut out = bumpalo::collections::Vec::new_in(scratch);
            write(value, ty, context, &mut out)?;
            crate::stored::text(out.into_bump_slice())
        }
    }
}

/// Reads text as a type with a modifier, for a literal, a parameter or COPY.
///
/// # Errors
/// Fails as [`read`] and [`TypeModifier::apply`] do.
pub fn read_with_modifier<'a>(
    text: &'a str,
    ty: Type,
    modifier: TypeModifier,
    coercion: Coercion,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<Value<'a>> {
    let value = match ty {
        // The fields give the unit of a bare number.
        Type::Scalar(Scalar::Interval) => {
            Value::Interval(interval::read(text, modifier.interval_fields())?)
        }
        _ => read(text, ty, context, scratch)?,
    };
    modifier.apply(value, ty, coercion, scratch)
}

/// Returns whether the character may stand around values: C's `isspace`.
pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// Appends a number of at least two digits.
pub(crate) fn write_two(number: u32, out: &mut impl Sink) {
    if number < 10 {
        out.put_byte(b'0');
    }
    out.put(itoa::Buffer::new().format(number).as_bytes());
}

/// Returns PostgreSQL's error for text with a zero byte.
#[cold]
pub(crate) fn zero_byte() -> SqlError {
    SqlError::new(
        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        "invalid byte sequence for encoding \"UTF8\": 0x00",
    )
}

/// Returns PostgreSQL's error for text that is not of a type.
#[cold]
pub(crate) fn invalid(name: &str, text: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {name}: \"{text}\""),
    )
}

#[cold]
fn no_text() -> SqlError {
    SqlError::new(SqlState::INTERNAL_ERROR, "NULL has no text form")
}

#[cfg(test)]
mod tests;
