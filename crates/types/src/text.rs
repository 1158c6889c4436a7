//! Values as text.

use crate::{Context, Result, Scratch, Sink, SqlError, Type, Value};

mod offset;
pub(crate) use offset::{parse_offset, write_offset};

/// Reads a value that is not NULL from PostgreSQL's text form.
///
/// # Errors
/// As PostgreSQL's: `22P02`, `22003`, `22007`, `22008` and others, by type.
pub fn read<'a>(
    _text: &'a str,
    ty: Type,
    context: &Context<'_>,
    _scratch: &'a Scratch,
) -> Result<Value<'a>> {
    Err(SqlError::unsupported(format!(
        "text of type {}",
        ty.name(context.names)
    )))
}

/// Appends the text form of a value that is not NULL.
///
/// # Errors
/// `XX000` if it is NULL or not of the type.
pub fn write(
    _value: Value<'_>,
    ty: Type,
    context: &Context<'_>,
    _out: &mut impl Sink,
) -> Result<()> {
    Err(SqlError::unsupported(format!(
        "text of type {}",
        ty.name(context.names)
    )))
}

/// What may stand around values: C's `isspace`.
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
