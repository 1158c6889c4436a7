//! The stored form of single values: of columns of rows and of elements of arrays.
//!
//! Integers are little-endian. Nothing is aligned, and no value holds its own length: its
//! owner knows where it ends. Bytes that do not fit their type are an error, never a panic.

use crate::{
    Array, Interval, Jsonb, Numeric, Result, Scalar, Sink, SqlError, SqlState, Type, Value,
};

/// Returns the bytes of each value of a type whose values are all of one size.
pub(crate) fn width(ty: Type) -> Option<usize> {
    let Type::Scalar(scalar) = ty else {
        return None;
    };
    match scalar {
        Scalar::Bool | Scalar::Char => Some(1),
        Scalar::Int2 => Some(2),
        Scalar::Int4
        | Scalar::Float4
        | Scalar::Date
        | Scalar::Oid
        | Scalar::Regclass
        | Scalar::Regtype
        | Scalar::Regproc
        | Scalar::Regnamespace
        | Scalar::Regrole
        | Scalar::Enum(_) => Some(4),
        Scalar::Int8 | Scalar::Float8 | Scalar::Time | Scalar::Timestamp | Scalar::TimestampTz => {
            Some(8)
        }
        Scalar::TimeTz => Some(12),
        Scalar::Uuid | Scalar::Interval => Some(16),
        Scalar::Numeric
        | Scalar::Text
        | Scalar::Varchar
        | Scalar::Bpchar
        | Scalar::Name
        | Scalar::Bytea
        | Scalar::Json
        | Scalar::Jsonb => None,
    }
}

/// Appends a value that is not NULL.
///
/// # Errors
/// `XX000` if the value is NULL or not of the type, which is a mistake of the caller.
pub(crate) fn write(value: Value<'_>, ty: Type, out: &mut impl Sink) -> Result<()> {
    match (ty, value) {
        (Type::Array(element) | Type::Vector(element), Value::Array(array))
            if array.element() == element =>
        {
            out.put(array.as_stored());
        }
        (Type::Scalar(scalar), value) => match (scalar, value) {
            (Scalar::Bool, Value::Bool(value)) => out.put_byte(value.into()),
            (Scalar::Char, Value::Char(value)) => out.put_byte(value),
            (Scalar::Int2, Value::Int2(value)) => out.put(&value.to_le_bytes()),
            (Scalar::Int4, Value::Int4(value)) | (Scalar::Date, Value::Date(value)) => {
                out.put(&value.to_le_bytes());
            }
            (Scalar::Int8, Value::Int8(value))
            | (Scalar::Time, Value::Time(value))
            | (Scalar::Timestamp, Value::Timestamp(value))
            | (Scalar::TimestampTz, Value::TimestampTz(value)) => out.put(&value.to_le_bytes()),
            (Scalar::Float4, Value::Float4(value)) => out.put(&value.to_le_bytes()),
            (Scalar::Float8, Value::Float8(value)) => out.put(&value.to_le_bytes()),
            (Scalar::Numeric, Value::Numeric(value)) => value.write_stored(out),
            (
                Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name,
                Value::Text(value),
            )
            | (Scalar::Json, Value::Json(value)) => out.put(value.as_bytes()),
            (Scalar::Bytea, Value::Bytea(value)) => out.put(value),
            (Scalar::Uuid, Value::Uuid(value)) => out.put(value),
            (Scalar::Jsonb, Value::Jsonb(value)) => out.put(value.as_stored()),
            (Scalar::TimeTz, Value::TimeTz(time, zone)) => {
                out.put(&time.to_le_bytes());
                out.put(&zone.to_le_bytes());
            }
            (Scalar::Interval, Value::Interval(value)) => {
                out.put(&value.microseconds.to_le_bytes());
                out.put(&value.days.to_le_bytes());
                out.put(&value.months.to_le_bytes());
            }
            (
                Scalar::Oid
                | Scalar::Regclass
                | Scalar::Regtype
                | Scalar::Regproc
                | Scalar::Regnamespace
                | Scalar::Regrole,
                Value::Oid(value),
            ) => {
                out.put(&value.to_le_bytes());
            }
            (Scalar::Enum(id), Value::Enum(of, label)) if of == id => {
                out.put(&label.to_le_bytes());
            }
            (_, value) => return Err(mismatch(value, ty)),
        },
        (_, value) => return Err(mismatch(value, ty)),
    }
    Ok(())
}

#[cold]
fn mismatch(value: Value<'_>, ty: Type) -> SqlError {
    SqlError::new(
        SqlState::INTERNAL_ERROR,
        format!("{value:?} cannot be stored as {ty:?}"),
    )
}

/// Reads the value that is all of `bytes`.
///
/// # Errors
/// `XX001` if the bytes are not of the type.
#[inline]
pub(crate) fn read(bytes: &[u8], ty: Type) -> Result<Value<'_>> {
    let scalar = match ty {
        Type::Scalar(scalar) => scalar,
        Type::Array(element) | Type::Vector(element) => {
            let array = Array::from_stored(bytes)?;
            return if array.element() == element {
                Ok(Value::Array(array))
            } else {
                Err(corrupted())
            };
        }
        _ => return Err(corrupted()),
    };
    Ok(match scalar {
        Scalar::Bool => match fixed(bytes)? {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            _ => return Err(corrupted()),
        },
        Scalar::Char => {
            let [byte] = fixed(bytes)?;
            Value::Char(byte)
        }
        Scalar::Int2 => Value::Int2(i16::from_le_bytes(fixed(bytes)?)),
        Scalar::Int4 => Value::Int4(i32::from_le_bytes(fixed(bytes)?)),
        Scalar::Int8 => Value::Int8(i64::from_le_bytes(fixed(bytes)?)),
        Scalar::Float4 => Value::Float4(f32::from_le_bytes(fixed(bytes)?)),
        Scalar::Float8 => Value::Float8(f64::from_le_bytes(fixed(bytes)?)),
        Scalar::Numeric => Value::Numeric(Numeric::from_stored(bytes)?),
        Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name => Value::Text(text(bytes)?),
        Scalar::Json => Value::Json(text(bytes)?),
        Scalar::Bytea => Value::Bytea(bytes),
        Scalar::Uuid => Value::Uuid(bytes.try_into().map_err(|_| corrupted())?),
        Scalar::Jsonb => Value::Jsonb(Jsonb::from_stored(bytes)?),
        Scalar::Date => Value::Date(i32::from_le_bytes(fixed(bytes)?)),
        Scalar::Time => Value::Time(i64::from_le_bytes(fixed(bytes)?)),
        Scalar::TimeTz => {
            let bytes: [u8; 12] = fixed(bytes)?;
            let (time, zone) = bytes.split_at(8);
            Value::TimeTz(
                i64::from_le_bytes(fixed(time)?),
                i32::from_le_bytes(fixed(zone)?),
            )
        }
        Scalar::Timestamp => Value::Timestamp(i64::from_le_bytes(fixed(bytes)?)),
        Scalar::TimestampTz => Value::TimestampTz(i64::from_le_bytes(fixed(bytes)?)),
        Scalar::Interval => {
            let bytes: [u8; 16] = fixed(bytes)?;
            let (microseconds, rest) = bytes.split_at(8);
            let (days, months) = rest.split_at(4);
            Value::Interval(Interval {
                microseconds: i64::from_le_bytes(fixed(microseconds)?),
                days: i32::from_le_bytes(fixed(days)?),
                months: i32::from_le_bytes(fixed(months)?),
            })
        }
        Scalar::Oid
        | Scalar::Regclass
        | Scalar::Regtype
        | Scalar::Regproc
        | Scalar::Regnamespace
        | Scalar::Regrole => Value::Oid(u32::from_le_bytes(fixed(bytes)?)),
        Scalar::Enum(id) => Value::Enum(id, u32::from_le_bytes(fixed(bytes)?)),
    })
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| corrupted())
}

/// Returns text that is valid UTF-8.
pub(crate) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| corrupted())
}

/// Reads a little-endian number of 32 bits at a position.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    bytes
        .map(|bytes| u32::from_le_bytes(*bytes))
        .ok_or_else(corrupted)
}

/// Returns the piece between the ends of pieces `index - 1` and `index`, where `ends` is a
/// table of little-endian numbers of 32 bits.
pub(crate) fn piece<'a>(ends: &[u8], data: &'a [u8], index: usize) -> Result<&'a [u8]> {
    let start = match index.checked_sub(1) {
        None => 0,
        Some(before) => u32_at(ends, before * 4)? as usize,
    };
    let end = u32_at(ends, index * 4)? as usize;
    data.get(start..end).ok_or_else(corrupted)
}

#[cold]
pub(crate) fn corrupted() -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, "stored value is corrupted")
}
