//! Values that carry their type: for rows whose reader knows no types, such as those that an operator puts by on the
//! device.
//!
//! ```text
//! ┌───────────────┬─────────────────────────────┬──────────────────────────────────────────────┐
//! │ type          │ bytes of the stored form,   │ the stored form; for a record: the number of │
//! │ (a mark, ..)  │ u32, if they vary           │ values, whether it is described, names and   │
//! │               │                             │ types of its fields, its values              │
//! └───────────────┴─────────────────────────────┴──────────────────────────────────────────────┘
//! ```
//!
//! The type is the most general one with such values (`text` for a `varchar`). NULL is a type without any bytes. A
//! mark below `ENUM` is the position of a scalar; an enum's is followed by its number, an array's by the type of its
//! elements. Integers are little-endian. Damaged bytes are an error, never a panic.

use crate::{
    Array, EnumId, Field, Record, Result, Scalar, Scratch, SqlError, SqlState, Type, Value,
    stored::{self, corrupted},
};

const ENUM: u8 = 28;
const ARRAY: u8 = 29;
const VECTOR: u8 = 30;
const RECORD: u8 = 31;
const UNKNOWN: u8 = 32;
const VOID: u8 = 33;

const _: () = assert!(Scalar::Enum(EnumId(0)).position() == ENUM);

/// Maximum records within each other, which are written and read by recursion.
const DEPTH_MAX: u32 = 1000;

/// Appends a value.
///
/// # Errors
/// 54000 for a value of 4 GB or more; 54001 for records that are nested too deeply.
pub fn write(value: Value<'_>, out: &mut Vec<u8>) -> Result<()> {
    write_within(value, out, DEPTH_MAX)
}

fn write_within(value: Value<'_>, out: &mut Vec<u8>, depth: u32) -> Result<()> {
    let ty = value.general_type();
    write_type(ty, out);
    match value {
        Value::Null => Ok(()),
        Value::Record(record) => write_record(record, out, depth),
        value if stored::width(ty).is_some() => stored::write(value, ty, out),
        value => {
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            stored::write(value, ty, out)?;
            let bytes = u32::try_from(out.len() - start - 4).map_err(|_| too_large())?;
            out[start..start + 4].copy_from_slice(&bytes.to_le_bytes());
            Ok(())
        }
    }
}

fn write_record(record: &Record<'_>, out: &mut Vec<u8>, depth: u32) -> Result<()> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    put_length(record.values.len(), out)?;
    out.push(u8::from(!record.fields.is_empty()));
    for field in record.fields {
        put_length(field.name.len(), out)?;
        out.extend_from_slice(field.name.as_bytes());
        write_type(field.ty, out);
    }
    let mut values = record.values.iter();
    values.try_for_each(|value| write_within(*value, out, depth))
}

fn put_length(length: usize, out: &mut Vec<u8>) -> Result<()> {
    let length = u32::try_from(length).map_err(|_| too_large())?;
    out.extend_from_slice(&length.to_le_bytes());
    Ok(())
}

fn write_type(ty: Type, out: &mut Vec<u8>) {
    match ty {
        Type::Scalar(scalar) => write_scalar(scalar, out),
        Type::Array(element) => {
            out.push(ARRAY);
            write_scalar(element, out);
        }
        Type::Vector(element) => {
            out.push(VECTOR);
            write_scalar(element, out);
        }
        Type::Record => out.push(RECORD),
        Type::Unknown => out.push(UNKNOWN),
        Type::Void => out.push(VOID),
    }
}

fn write_scalar(scalar: Scalar, out: &mut Vec<u8>) {
    out.push(scalar.position());
    if let Scalar::Enum(id) = scalar {
        out.extend_from_slice(&id.0.to_le_bytes());
    }
}

/// Reads the value that `bytes` begin with, and leaves the bytes behind it. A record is put together in `scratch`.
///
/// # Errors
/// `XX001` if the bytes are no value; 54001 for records that are nested too deeply.
pub fn read<'a>(bytes: &mut &'a [u8], scratch: &'a Scratch) -> Result<Value<'a>> {
    read_within(bytes, scratch, DEPTH_MAX)
}

fn read_within<'a>(bytes: &mut &'a [u8], scratch: &'a Scratch, depth: u32) -> Result<Value<'a>> {
    let ty = read_type(bytes)?;
    match ty {
        Type::Unknown => Ok(Value::Null),
        Type::Record => read_record(bytes, scratch, depth),
        Type::Array(_) => {
            let length = take_length(bytes)?;
            Array::from_stored(take(bytes, length)?).map(Value::Array)
        }
        ty => {
            let length = match stored::width(ty) {
                Some(width) => width,
                None => take_length(bytes)?,
            };
            stored::read(take(bytes, length)?, ty)
        }
    }
}

fn read_record<'a>(bytes: &mut &'a [u8], scratch: &'a Scratch, depth: u32) -> Result<Value<'a>> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    let count = take_length(bytes)?;
    // Each value has a byte at least.
    if count > bytes.len() {
        return Err(corrupted());
    }
    let [is_described] = *take_array(bytes)?;
    let mut fields = Vec::new();
    if is_described == 1 {
        for _ in 0..count {
            let length = take_length(bytes)?;
            let name = stored::text(take(bytes, length)?)?;
            let ty = read_type(bytes)?;
            fields.push(Field { name, ty });
        }
    }
    let values = (0..count).map(|_| read_within(bytes, scratch, depth));
    let values = values.collect::<Result<Vec<_>>>()?;
    Ok(Value::Record(scratch.alloc(Record {
        fields: scratch.alloc_slice_copy(&fields),
        values: scratch.alloc_slice_copy(&values),
    })))
}

fn read_type(bytes: &mut &[u8]) -> Result<Type> {
    let [mark] = *take_array(bytes)?;
    Ok(match mark {
        ARRAY => Type::Array(read_scalar(bytes)?),
        VECTOR => Type::Vector(read_scalar(bytes)?),
        RECORD => Type::Record,
        UNKNOWN => Type::Unknown,
        VOID => Type::Void,
        mark => Type::Scalar(scalar_of(mark, bytes)?),
    })
}

fn read_scalar(bytes: &mut &[u8]) -> Result<Scalar> {
    let [mark] = *take_array(bytes)?;
    scalar_of(mark, bytes)
}

fn scalar_of(mark: u8, bytes: &mut &[u8]) -> Result<Scalar> {
    if mark == ENUM {
        let id = u32::from_le_bytes(*take_array(bytes)?);
        return Ok(Scalar::Enum(EnumId(id)));
    }
    Scalar::at_position(mark).ok_or_else(corrupted)
}

fn take_length(bytes: &mut &[u8]) -> Result<usize> {
    Ok(u32::from_le_bytes(*take_array(bytes)?) as usize)
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length).ok_or_else(corrupted)?;
    *bytes = rest;
    Ok(taken)
}

fn take_array<'a, const N: usize>(bytes: &mut &'a [u8]) -> Result<&'a [u8; N]> {
    let (taken, rest) = bytes.split_first_chunk().ok_or_else(corrupted)?;
    *bytes = rest;
    Ok(taken)
}

#[cold]
fn too_large() -> SqlError {
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "value is too large")
}

#[cold]
fn too_deep() -> SqlError {
    SqlError::new(
        SqlState::STATEMENT_TOO_COMPLEX,
        format!("rows are nested in more than {DEPTH_MAX} levels"),
    )
}

#[cfg(test)]
mod tests;
