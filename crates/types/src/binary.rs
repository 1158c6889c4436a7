//! Values in PostgreSQL's binary form.

use crate::{Context, Result, Scratch, Sink, SqlError, Type, Value};

/// Reads a value that is not NULL from PostgreSQL's binary form, which is all of `bytes`.
///
/// # Errors
/// `22P03` if the bytes are not of the type, and what the type's values do not allow.
pub fn read<'a>(
    _bytes: &'a [u8],
    ty: Type,
    context: &Context<'_>,
    _scratch: &'a Scratch,
) -> Result<Value<'a>> {
    Err(SqlError::unsupported(format!(
        "binary form of type {}",
        ty.name(context.names)
    )))
}

/// Appends the binary form of a value that is not NULL.
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
        "binary form of type {}",
        ty.name(context.names)
    )))
}
