//! Types read and written as a name: `name`, enums, `regclass` and the other aliases of `oid`.

use std::borrow::Cow;

use super::number::read_oid;
use crate::{Context, EnumId, Result, Scalar, Sink, SqlError, SqlState, Type};

/// Bytes of a `name`, without the zero that PostgreSQL keeps behind it.
const NAME_BYTES_MAX: usize = 63;

/// Cuts a name to the maximum length.
pub(super) fn truncate(text: &str) -> &str {
    let mut end = text.len().min(NAME_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

pub(crate) fn read_enum(text: &str, id: EnumId, context: &Context<'_>) -> Result<u32> {
    context.names.enum_position(id, text).ok_or_else(|| {
        let name = Type::Scalar(Scalar::Enum(id)).name(context.names);
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input value for enum {name}: \"{text}\""),
        )
    })
}

pub(super) fn enum_label<'c>(id: EnumId, position: u32, context: &Context<'c>) -> Result<&'c str> {
    context.names.enum_label(id, position).ok_or_else(|| {
        SqlError::new(
            SqlState::INVALID_BINARY_REPRESENTATION,
            format!("invalid internal value for enum: {position}"),
        )
    })
}

/// Reads a number, `-` for none, or the name of a relation.
pub(super) fn read_regclass(text: &str, context: &Context<'_>) -> Result<u32> {
    read_named(text, SqlState::UNDEFINED_TABLE, "relation", |name| {
        context.names.relation_named(name)
    })
}

pub(super) fn write_regclass(oid: u32, context: &Context<'_>, out: &mut impl Sink) {
    write_named(oid, context.names.relation_name(oid), out);
}

/// Writes the name of a number; the number itself, if it has none.
pub(super) fn write_named(oid: u32, name: Option<Cow<'_, str>>, out: &mut impl Sink) {
    match name {
        _ if oid == 0 => out.put_byte(b'-'),
        Some(name) => out.put(name.as_bytes()),
        None => out.put(itoa::Buffer::new().format(oid).as_bytes()),
    }
}

/// Reads a number, `-` for none, or the name of a function.
pub(super) fn read_regproc(text: &str, context: &Context<'_>) -> Result<u32> {
    read_named(text, SqlState::UNDEFINED_FUNCTION, "function", |name| {
        context.names.function_named(name)
    })
}

/// Reads a number, `-` for none, or the name of a schema.
pub(super) fn read_regnamespace(text: &str, context: &Context<'_>) -> Result<u32> {
    read_named(text, SqlState::INVALID_SCHEMA_NAME, "schema", |name| {
        context.names.schema_named(name)
    })
}

/// Reads a number, `-` for none, or the name of a role.
pub(super) fn read_regrole(text: &str, context: &Context<'_>) -> Result<u32> {
    read_named(text, SqlState::UNDEFINED_OBJECT, "role", |name| {
        context.names.role_named(name)
    })
}

fn read_named(
    text: &str,
    state: SqlState,
    noun: &str,
    named: impl FnOnce(&str) -> Option<u32>,
) -> Result<u32> {
    if text == "-" {
        return Ok(0);
    }
    if is_number(text) {
        return read_oid(text);
    }
    named(text).ok_or_else(|| {
        // Folded like a name without quotes.
        let name = match text.contains('"') {
            true => text.replace('"', ""),
            false => text.to_lowercase(),
        };
        SqlError::new(state, format!("{noun} \"{name}\" does not exist"))
    })
}

/// Reads a number, `-` for none, or the name of a type.
pub(super) fn read_regtype(text: &str, context: &Context<'_>) -> Result<u32> {
    if text == "-" {
        return Ok(0);
    }
    if is_number(text) {
        return read_oid(text);
    }
    let quoted = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .and_then(Scalar::from_internal_name);
    if let Some(scalar) = quoted {
        return Ok(scalar.oid());
    }
    if let Some(ty) = Type::named(text) {
        return Ok(ty.oid());
    }
    match context.names.enum_named(text) {
        Some(id) => Ok(id.0),
        None => Err(SqlError::new(
            SqlState::UNDEFINED_OBJECT,
            format!("type \"{text}\" does not exist"),
        )),
    }
}

pub(super) fn write_regtype(oid: u32, context: &Context<'_>, out: &mut impl Sink) {
    if oid == 0 {
        return out.put_byte(b'-');
    }
    if let Some(ty) = Type::from_oid(oid) {
        return out.put(ty.name(context.names).as_bytes());
    }
    if let Some(name) = context.names.enum_name(EnumId(oid)) {
        return out.put(name.as_bytes());
    }
    // The type of an enum's arrays has the next number.
    match context.names.enum_name(EnumId(oid.wrapping_sub(1))) {
        Some(name) => {
            out.put(name.as_bytes());
            out.put(b"[]");
        }
        None => out.put(itoa::Buffer::new().format(oid).as_bytes()),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
